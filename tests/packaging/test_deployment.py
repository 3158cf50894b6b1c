"""What is deployed: the Dockerfile and what it runs, the compose example, the workflows, and where coset does not run."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from coset.environment.configuration import parse_environment
from coset.people import read_people

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def test_the_dockerfile_is_one_that_its_check_can_run_and_the_linter_has_nothing_to_say():
    spec = importlib.util.spec_from_file_location("deploy_check", DEPLOY / "check.py")
    check = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = check
    spec.loader.exec_module(check)
    steps = check.instructions((ROOT / "Dockerfile").read_text())
    assert {name for name, _ in steps} <= check.KNOWN
    for name, rest in steps:
        if name == "COPY" and "--from" not in rest:
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
    assert [rest for name, rest in steps if name == "USER"] == ["10001"]
    kept = (ROOT / ".dockerignore").read_text().split()
    copied = {source for name, rest in steps if name == "COPY" and "--from" not in rest for source in rest.split()[:-1]}
    assert {f"!{source}" for source in copied} <= set(kept)
    if linter := shutil.which("hadolint"):
        subprocess.run([linter, str(ROOT / "Dockerfile")], check=True)


def test_what_the_image_and_the_example_run_are_commands_of_coset():
    from coset.surfaces.command_line import coset

    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    image = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[1]
    commands = [yaml.safe_load(image)]
    commands += [service["command"] for service in compose["services"].values() if "command" in service]
    assert len(commands) == 2
    for name, *arguments in commands:
        command = coset.get_command(None, name)
        command.make_context(name, list(map(str, arguments)))  # raises for what it does not take


def test_the_example_holds_no_secret_and_what_it_mounts_is_there(tmp_path):
    text = (DEPLOY / "compose.yaml").read_text()
    compose = yaml.safe_load(text)
    for service in compose["services"].values():
        for mounted in service["volumes"]:
            source = mounted.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in compose["volumes"]
        for value in (service.get("environment") or {}).values():
            assert str(value).startswith("${") or value == "crm"
    needed = set(re.findall(r"\$\{(\w+)", text))
    given = {line.partition("=")[0] for line in (DEPLOY / "example.env").read_text().splitlines() if "=" in line}
    assert needed == given
    environment = parse_environment((DEPLOY / "environment" / "coset.yaml").read_text(), tmp_path / "coset.yaml")
    assert list(environment.sources) == ["crm"]
    people = read_people(DEPLOY / "environment" / "people.yaml", {name: name * 5 for name in needed})
    assert {person.name: sorted(person.rights) for person in people.values()} == {
        "ann": ["ask", "correct", "look"], "reports": ["look"],
    }  # fmt: skip
    subprocess.run(["sh", "-n", str(DEPLOY / "environment" / "reader.sh")], check=True)


def test_the_workflows_try_every_python_that_the_package_names():
    named = set(re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text()))
    for name, job in (("ci", "versions"), ("release", "try")):
        workflow = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text())
        assert set(workflow["jobs"][job]["strategy"]["matrix"]["python"]) == named
    if linter := shutil.which("actionlint"):
        subprocess.run([linter, *map(str, (ROOT / ".github" / "workflows").glob("*.yml"))], check=True)


@pytest.mark.parametrize(("system", "runs"), [("win32", False), ("darwin", True)])
def test_windows_is_refused_in_a_sentence_and_macos_is_not(system: str, runs: bool):
    """Named as another system before anything is loaded."""
    code = f"import sys; sys.platform = {system!r}; import coset; coset.calculate; print('runs')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(place for place in sys.path if place)},
    )  # fmt: skip
    assert (done.stdout == "runs\n") is runs, done.stderr
    if not runs:
        assert "use it within WSL 2" in done.stderr.splitlines()[-1]


def test_without_landlock_statements_run_confined_by_the_other_means(tmp_path):
    """As on macOS: no rule of the kernel's, but limits, a locked DuckDB and the guard."""
    (tmp_path / "shop.csv").write_text("id\n1\n2\n")
    code = f"""
import sys
from pathlib import Path
from coset.session import confinement
sys.platform = "darwin"
print(confinement.confine.__module__)
holds = confinement.confine(4_000_000_000)
assert not any("TCP" in each or "changed" in each for each in holds), holds
try:
    Path({str(tmp_path / "written")!r}).write_text("x" * 10)
    print("written")
except OSError as error:
    print("refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(place for place in sys.path if place)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "refused", done.stderr
