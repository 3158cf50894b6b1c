"""What `coset ask --quick` saves: each question is put to the real command, with and without it, against a local model.

    python benchmarks/quick_savings.py [--seed 7] [--environment DIR --questions FILE] [--show] [--json]

The model is a server on this machine that speaks the OpenAI protocol and is as good as can be: it fixes the shape,
sends the one statement that is true, and answers. So the tokens without `--quick` are the least that a model's run
costs; real ones take more steps. Counted at the server: which questions reach it at all, and the tokens that come and
go (by the rule of views/budgets.py). An answer that `--quick` gives is right when its rows are those of the true
statement: numbers to six digits, in any order unless the statement orders them.

By default the demo company is made and comprehended in a temporary folder, and asked its five questions and ten more,
which were written before any of them was tried. With `--environment`, a comprehended folder is asked the questions of
a file of JSON lines with `question` and `sql`, any SELECT over its sources.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from report import report

from answering.wire_servers import Say, Wire, call
from coset.demo import make_company, prepare_folder, truth
from coset.demo.questions import Truth, comprehend_demo
from coset.environment.configuration import load_environment
from coset.routing.views.budgets import cost
from coset.session.query_session import QuerySession

ORDER_DAY = "try_strptime(order_date, ['%Y-%m-%d', '%d.%m.%Y', '%d %b %Y'])"
MORE = (
    ("How many paid invoices are there?", "SELECT count(*) FROM atlas.invoices WHERE status = 'paid'"),
    (
        "What was the Atlas revenue in 2023?",
        "SELECT sum(amount_eur) FROM atlas.invoices WHERE status = 'paid' AND year(issued_on) = 2023",
    ),
    (
        "How many tickets were opened by phone in 2024?",
        "SELECT count(*) FROM support.tickets WHERE channel = 'phone' AND year(opened_at) = 2024",
    ),
    ("What is the average length of a session in minutes?", "SELECT avg(minutes) FROM atlas.sessions"),
    (
        "How many orders were cancelled in 2023?",
        "SELECT count(*) FROM beacon.orders JOIN office.order_status USING (status_code) "
        f"WHERE meaning = 'Cancelled' AND year({ORDER_DAY}) = 2023",
    ),
    (
        "Which plan has the most subscriptions?",
        "SELECT plan FROM atlas.subscriptions JOIN office.plans USING (plan_code) "
        "GROUP BY plan ORDER BY count(*) DESC LIMIT 1",
    ),
    ("How many buyers are there in each country?", "SELECT country, count(*) FROM beacon.buyers GROUP BY country"),
    (
        "Which article has the highest list price?",
        "SELECT title FROM beacon.articles ORDER BY list_price_cents DESC LIMIT 1",
    ),
    (
        "How many orders did buyers from the Nordics place?",
        "SELECT count(*) FROM beacon.orders o JOIN beacon.buyers b ON b.buyer_id = "
        "lower(trim(o.buyer_id, ' #')) JOIN office.countries c ON c.country = b.country WHERE c.region = 'Nordics'",
    ),
    (
        "How many hours does it take to close a ticket on average?",
        "SELECT avg(date_diff('second', opened_at, handled.closed_at)) / 3600 FROM support.tickets",
    ),
)


@dataclass(frozen=True)
class Asked:
    """One question, the statement that is true, and the generator's own truth where the demo has it."""

    question: str
    sql: str
    known: Truth | None = None


@dataclass(frozen=True)
class Outcome:
    question: str
    requests: int
    """That reached the model with `--quick`."""
    right: bool
    """Of an answer without a request: whether it is true."""
    tokens: int
    """Of the model's run without `--quick`."""
    tokens_quick: int


class PerfectModel:
    """Knows the true statement of the question that is being asked, and counts what it is sent and sends."""

    def __init__(self) -> None:
        self.sql = ""
        self.requests = self.tokens = 0

    def __call__(self, request: dict[str, Any]) -> Say:
        said = self._reply(request)
        sent = cost(json.dumps([request["messages"], request["tools"]], ensure_ascii=False))
        said.tokens = (sent, cost(json.dumps(said.calls)))
        self.requests += 1
        self.tokens += sum(said.tokens)
        return said

    def _reply(self, request: dict[str, Any]) -> Say:
        if any(tool["function"]["name"] == "records" for tool in request["tools"]):
            return call("records", shape={"meaning": "what was asked", "form": "table"})
        if not any(message["role"] == "tool" for message in request["messages"]):
            return call("sql", query=self.sql)
        return call("answer", text="", results=["result_1"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--environment", type=Path, help="a comprehended folder instead of the demo company")
    parser.add_argument("--questions", type=Path, help="its questions, as JSON lines")
    parser.add_argument("--show", action="store_true", help="print every question with what became of it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if (options.environment is None) != (options.questions is None):
        parser.error("--environment and --questions go together")
    with tempfile.TemporaryDirectory(prefix="coset-quick-") as where:
        if options.environment is None:
            folder, asked = demo_company(Path(where) / "company", options.seed)
        else:
            # Runs are kept in the folder's state: a copy keeps the original as it is.
            folder = Path(shutil.copytree(options.environment, Path(where) / "environment"))
            asked = [Asked(**json.loads(line)) for line in options.questions.read_text().splitlines() if line.strip()]
        outcomes = list(tried(folder, asked, show=options.show))
    quick = [each for each in outcomes if not each.requests]
    tokens, tokens_quick = sum(each.tokens for each in outcomes), sum(each.tokens_quick for each in outcomes)
    report(
        "coset ask --quick against a perfect model",
        {
            "questions": str(len(outcomes)),
            "answered without a request": str(len(quick)),
            "of these right": str(sum(each.right for each in quick)),
            "tokens of a perfect model's runs": str(tokens),
            "tokens with --quick": str(tokens_quick),
            "share of tokens saved": 1 - tokens_quick / tokens,
        },
        "every answer without a request is right",
        all(each.right for each in quick),
    )


def demo_company(folder: Path, seed: int) -> tuple[Path, list[Asked]]:
    company = make_company(seed)
    prepare_folder(folder, company)
    comprehend_demo(load_environment(folder))
    # The five have a truth of their own; the statement that the model sends for them only has to run.
    five = [Asked(known.question.text, "SELECT count(*) FROM atlas.customers", known) for known in truth(company)]
    return folder, [*five, *(Asked(*each) for each in MORE)]


def tried(folder: Path, asked: list[Asked], *, show: bool) -> Iterator[Outcome]:
    model = PerfectModel()
    with Wire(model) as wire, true_rows(folder) as rows_of:
        for each in asked:
            model.sql = each.sql
            counts, found = [], {}
            for quick in (False, True):
                model.requests = model.tokens = 0
                found = run_command(folder, each.question, wire.url, quick=quick)
                counts.append((model.requests, model.tokens))
            (_, tokens), (requests, tokens_quick) = counts
            right = not requests and is_true(each, found, rows_of(each.sql))
            if show:
                verdict = f"model, {requests} requests" if requests else "right" if right else "WRONG"
                print(f"{verdict:18} {tokens:>7,} tokens without --quick | {each.question}", flush=True)
            yield Outcome(each.question, requests, right, tokens, tokens_quick)


@contextmanager
def true_rows(folder: Path) -> Iterator[Any]:
    with QuerySession(load_environment(folder)) as session:
        yield lambda sql: session.sql(sql).rows()


def run_command(folder: Path, question: str, model: str, *, quick: bool) -> dict[str, Any]:
    command = [
        str(Path(sys.executable).with_name("coset")),
        "ask",
        question,
        "--model",
        model,
        "--verify",
        "none",
        "--json",
    ]
    command += ["-e", str(folder / "coset.yaml"), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if not done.stdout:  # a run that stopped without an answer is told as JSON too, and what it cost was counted
        raise SystemExit(f"coset ask ended with {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)


def is_true(asked: Asked, found: dict[str, Any], expected: list[tuple[Any, ...]]) -> bool:
    if asked.known is not None:
        return asked.known.agrees(found["rows"])
    got, true = ([tuple(map(plain, row)) for row in rows] for rows in (found["rows"], expected))
    return got == true if "order by" in asked.sql.lower() else sorted(got) == sorted(true)


def plain(cell: Any) -> str:
    try:
        return f"{float(cell):.6g}"
    except (TypeError, ValueError):
        return "" if cell is None else str(cell)


if __name__ == "__main__":
    main()
