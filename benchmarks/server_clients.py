"""One MCP server over HTTP, many clients for minutes: latency, memory, what failed, and whether every run was kept.

    python benchmarks/server_clients.py ENVIRONMENT QUESTIONS.json [--clients 20] [--minutes 5] [--refresh 60s] [--json]

ENVIRONMENT is a comprehended folder, QUESTIONS a list of texts or of objects with `question`; the folder is copied and
the copy is comprehended on a schedule meanwhile (`coset comprehend --every`). Each client has a token of its own and
asks for views one after the other; every tenth call is a question that coset answers itself, without a model, and must
be found as a run under its client's name. Memory is what the server says of itself under /metrics.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx2
import psutil
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from report import report

from coset.answering.audit.runs import Runs
from coset.people import new_token

COSET = [sys.executable, "-m", "coset"]


class Load:
    """What the clients did."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {"view": [], "ask": []}
        self.failed: Counter[str] = Counter()
        self.runs: dict[int, str] = {}
        self.memory: list[tuple[float, float]] = []


async def one_client(name: str, token: str, address: str, questions: list[str], until: float, load: Load) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    order = random.Random(name)
    headers = {"Authorization": f"Bearer {token}"}
    number = order.randrange(10)
    while time.monotonic() < until:
        try:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=120) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                while time.monotonic() < until:
                    number += 1
                    tool = "ask" if number % 10 == 0 else "view"
                    started = time.monotonic()
                    answer = await client.call_tool(tool, {"question": order.choice(questions)})
                    load.seconds[tool].append(time.monotonic() - started)
                    if answer.is_error:
                        load.failed[f"{tool}: {answer.content[0].text[:100]}"] += 1
                    elif tool == "ask":
                        load.runs[int(answer.structured_content["run"])] = name
        except Exception as error:
            load.failed[f"connection: {type(error).__name__}"] += 1
            await asyncio.sleep(0.5)


async def watch(address: str, token: str, started: float, until: float, load: Load) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        while time.monotonic() < until:
            with contextlib.suppress(httpx2.HTTPError):
                text = (await http.get(address.removesuffix("/mcp") + "/metrics")).text
                found = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
                load.memory.append((time.monotonic() - started, float(found[1]) / 1e6))
            await asyncio.sleep(5)


async def all_clients(address: str, tokens: dict[str, str], questions: list[str], minutes: float) -> Load:
    load, started = Load(), time.monotonic()
    until = started + minutes * 60
    first = next(iter(tokens.values()))
    await asyncio.gather(
        watch(address, first, started, until, load),
        *(one_client(name, token, address, questions, until, load) for name, token in tokens.items()),
    )
    return load


def slope(points: list[tuple[float, float]]) -> float:
    """MB a minute over the second half."""
    half = points[len(points) // 2 :]
    return statistics.linear_regression(*zip(*half, strict=True)).slope * 60 if len(half) > 2 else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--refresh", default="60s")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    listed = json.loads(options.questions.read_text())
    questions = [each if isinstance(each, str) else each["question"] for each in listed]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "environment"
        shutil.copytree(options.environment, folder, symlinks=True)
        for audit in (folder / ".coset").glob("runs*"):
            shutil.rmtree(audit) if audit.is_dir() else audit.unlink()
        tokens, people = {}, {}
        for number in range(options.clients):
            token, digest = new_token()
            tokens[f"client{number:02}"] = token
            people[f"client{number:02}"] = {"token_sha256": digest, "may": ["look", "ask"]}
        (folder / "people.yaml").write_text(yaml.safe_dump({"people": people}))
        environment = {name: value for name, value in os.environ.items() if name != "COSET_MODEL"}
        with (Path(scratch) / "log").open("w") as log:
            server = subprocess.Popen(
                [*COSET, "mcp", "-e", str(folder), "--http", "--port", "0", "--people", str(folder / "people.yaml")],
                stderr=subprocess.PIPE, text=True, env=environment,
            )  # fmt: skip
            address = server.stderr.readline().split()[-1]
            refresh = subprocess.Popen(
                [*COSET, "comprehend", "-e", str(folder), "--jobs", "1", "--everything", "--every", options.refresh],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
            )  # fmt: skip
            try:
                load = asyncio.run(all_clients(address, tokens, questions, options.minutes))
            finally:
                processes = len(psutil.Process(server.pid).children(recursive=True))
                refresh.terminate()
                refreshed = len([line for line in refresh.communicate()[0].splitlines() if "relations" in line])
                server.terminate()
                server.wait(30)
        kept = {each.number: each.by for each in Runs(folder / ".coset").summaries(10**9)} if load.runs else {}
    lost = sum(kept.get(number) != name for number, name in load.runs.items())
    views, asked = sorted(load.seconds["view"]), sorted(load.seconds["ask"])
    figures: dict[str, float | str] = {
        "clients": options.clients, "minutes": options.minutes, "views": len(views), "questions asked": len(asked),
        "view, median seconds": statistics.median(views), "view, 95 of 100": views[int(len(views) * 0.95)],
        "view, longest": views[-1],
        "question, median seconds": statistics.median(asked) if asked else 0.0,
        "failed calls": sum(load.failed.values()), "runs lost or under another name": lost,
        "comprehensions meanwhile": refreshed,
        "memory after 30 s, MB": next((size for at, size in load.memory if at > 30), load.memory[-1][1]),
        "memory at the end, MB": load.memory[-1][1], "memory, most, MB": max(size for _, size in load.memory),
        "memory, MB a minute over the second half": slope(load.memory),
        "processes below the server at the end": processes,
    }  # fmt: skip
    for what, count in load.failed.most_common(5):
        figures[f"failed {count}"] = what
    met = lost == 0 and not load.failed
    report("server_clients", figures, "no call failed, no run lost", met)


if __name__ == "__main__":
    main()
