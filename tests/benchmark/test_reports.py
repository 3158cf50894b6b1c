"""The reports: that they hold what was kept, stand alone, and that no label covers another."""

from __future__ import annotations

import ast
import importlib
import json
import random
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coset.benchmark.attempting import KINDS, kind_of
from coset.benchmark.attempts import Attempt
from coset.benchmark.dab.run import write_submission
from coset.benchmark.report import figures, write_reports
from coset.benchmark.report.drawing import (
    FAINT,
    INK,
    ON_DEEP,
    ON_LIGHT,
    PALETTE,
    PAPER,
    SOFT,
    Drawing,
    fitted,
    spread_apart,
    ticks,
    width_of,
)
from coset.benchmark.report.tables import amount, dollars, duration, percent
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.systems import System, name_of, system_of

EVIL = '<script>alert("1")</script> | `x` & *y*'


def system(folder: Path, mode: str, model: str, skill: float, *, trials: int = 3, price: float | None = 1e-6) -> System:
    """A run with made-up attempts, kept and read back like any other."""
    chance = random.Random(f"{mode}{model}")
    names = [f"dataset_{letter}" for letter in "abc"] + ["a_dataset_with_a_very_long_name_indeed"]
    questions = {f"{name}/{number}": "x" for name in names for number in (1, 2)}
    run = RunFolder.begin(
        folder, {"mode": mode, "model": model}, questions, dict.fromkeys(questions, f"How many? {EVIL}")
    )
    for name in names:
        for number in ("1", "2"):
            for trial in range(1, trials + 1):
                tokens = chance.randint(5_000, 90_000)
                passed = chance.random() < skill
                attempt = Attempt(
                    dataset=name, question=number, trial=trial, status="answered", verdict="passed" if passed else "wrong",
                    input_tokens=tokens, cached_tokens=tokens // 2, output_tokens=tokens // 20, tool_calls=5, requests=4,
                    cost=None if price is None else tokens * price, seconds=3.0, tool_errors={chance.choice(KINDS): 1},
                )  # fmt: skip
                steps = [
                    {"kind": "view", "text": "xx", "mode": mode},
                    {
                        "kind": "tool",
                        "tool": "sql",
                        "arguments": {"query": f"SELECT {EVIL}"},
                        "failed": False,
                        "rows": 3,
                    },
                ]
                run.add(attempt, f"{number} {EVIL}", steps)
    return system_of(RunFolder.read(folder), name_of(run.settings))


def several(folder: Path, count: int, **changes: object) -> list[System]:
    return [
        system(folder / str(number), "learned" if number % 2 else "core", f"provider:model-{number}-of-a-long-name",
               0.3 + 0.1 * number, **changes)  # type: ignore[arg-type]
        for number in range(count)
    ]  # fmt: skip


class Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in {"src", "href", "xlink:href"}]


def test_the_page_stands_alone_and_cell_values_cannot_become_markup(tmp_path: Path):
    path = write_reports(several(tmp_path, 2), tmp_path / "out", "Title", "Lead")
    text = path.read_text()
    parts = Parts()
    parts.feed(text)
    assert "script" not in parts.tags and "link" not in parts.tags and "img" not in parts.tags
    assert parts.links == []
    assert re.findall(r"https?://[^\"'\s<]+", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert "@import" not in text and "url(" not in text
    assert parts.tags.count("svg") == 6


def test_markdown_and_page_have_the_same_sections_and_all_pictures(tmp_path: Path):
    write_reports(several(tmp_path, 2), tmp_path / "out", "Title")
    text = (tmp_path / "out" / "report.md").read_text()
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    page = (tmp_path / "out" / "report.html").read_text()
    assert [title for title in titles if title.replace("\\", "") not in page.replace("&amp;", "&")] == []
    assert len(titles) >= 8
    for name in re.findall(r"\]\(figures/(\w+)\.svg\)", text):
        ElementTree.fromstring((tmp_path / "out" / "figures" / f"{name}.svg").read_text())
    assert not re.search(r"(?<!\\)<", text)
    for line in text.splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) >= 3


def test_the_summary_has_the_form_that_all_benches_share(tmp_path: Path):
    systems = several(tmp_path, 2)
    write_reports(systems, tmp_path / "out", "Title")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {"benchmark", "figures", "aim", "met"} <= summary.keys()
    figures = summary["figures"][systems[0].name]
    assert figures["stratified_pass_at_1"] == systems[0].stratified
    assert figures["attempts"] == 24 and set(figures["pass_hat_k"]) == {"1", "2", "3"}
    assert summary["comparisons"][0]["questions"] == 8


def boxes(drawing: Drawing) -> list[tuple[float, float, float, float, str]]:
    """Where each text lies, by the same estimate of its width that the drawing is made with."""
    found = []
    for element in ElementTree.fromstring(drawing.svg()).iter("{http://www.w3.org/2000/svg}text"):
        size, text = float(element.get("font-size", "12")), element.text or ""
        x, y, width = float(element.get("x", "0")), float(element.get("y", "0")), width_of(text, size)
        left = {"start": x, "middle": x - width / 2, "end": x - width}[element.get("text-anchor", "start")]
        if element.get("transform"):
            found.append((x - size * 0.8, y - width / 2, x + size * 0.2, y + width / 2, text))
        else:
            found.append((left, y - size * 0.75, left + width, y + size * 0.2, text))
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("price", [None, 1e-6])
def test_no_label_covers_another_or_leaves_its_picture(tmp_path: Path, count: int, price: float | None):
    systems = several(tmp_path, count, price=price)
    drawings = [
        figures.accuracy(systems), figures.datasets(systems), figures.resources(systems),
        figures.tool_errors(systems), figures.quality_and_cost(systems),
        figures.capability_and_consistency(systems),
    ]  # fmt: skip
    for drawing in drawings:
        assert drawing is not None
        found = boxes(drawing)
        assert len(found) > 3
        for left, top, right, bottom, text in found:
            assert left >= -1 and top >= -1 and right <= drawing.width + 1 and bottom <= drawing.height + 1, (
                drawing.title,
                text,
            )
        for number, one in enumerate(found):
            for other in found[number + 1 :]:
                apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
                assert apart, (drawing.title, one[4], other[4])


def test_one_trial_has_no_consistency_and_is_reported_all_the_same(tmp_path: Path):
    only = several(tmp_path, 1, trials=1)
    assert figures.capability_and_consistency(only) is None
    text = write_reports(only, tmp_path / "out", "Title").read_text()
    assert "Capability and consistency" not in text and "Accuracy" in text


def test_a_leak_and_an_answer_without_verdict_stand_first(tmp_path: Path):
    run = RunFolder.begin(tmp_path / "run", {"mode": "core", "model": "p:m"}, {"a/1": "x"}, {"a/1": "How many?"})
    leaked = Attempt(
        dataset="a", question="1", trial=1, status="answered", verdict="passed", leaks=("it was in a prompt",)
    )
    unjudged = Attempt(dataset="a", question="1", trial=2, status="answered", verdict="not judged", reason="it hung")
    run.add(leaked, "7", [])
    run.add(unjudged, "7", [])
    run.note(not_runnable={"b": "its data file is missing"})
    text = write_reports([system_of(run)], tmp_path / "out", "Title").read_text()
    start = text.index("To know first")
    assert start < text.index("Accuracy")
    assert all(
        told in text[start : start + 900] for told in ("it was in a prompt", "could not be judged", "b was not run")
    )


def test_a_submission_has_whole_answers_and_says_how_they_came_about(tmp_path: Path):
    run = RunFolder.begin(tmp_path, {"mode": "learned", "model": "p:m", "hints": True}, {"a/1": "x"}, {})
    run.add(Attempt(dataset="a", question="1", trial=1, status="answered", verdict="passed"), "z" * 50_000, [])
    run.add(Attempt(dataset="a", question="1", trial=2, status="failed", verdict="no answer", error="down"), "", [])
    entries = json.loads(write_submission(system_of(run)).read_text())
    assert [(each["dataset"], each["query"], each["run"], len(each["answer"])) for each in entries] == [
        ("a", "1", "0", 50_000), ("a", "1", "1", 0),
    ]  # fmt: skip
    note = (tmp_path / "submission.md").read_text()
    assert "hints: used" in note and "fewer trials than the board asks for: 2 of 5" in note
    assert "ended with an error: 1" in note


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ({"text": "error: there is no table 'crm.nope'; did you mean crm.notes?", "error": "UserError"}, "unknown table or column"),
        ({"text": 'error: Referenced column "nope" not found in FROM clause!'}, "unknown table or column"),
        ({"text": "error: the statement does not parse: syntax error at or near \"selec\""}, "does not parse"),
        ({"text": "error: Could not convert string 'Firm 0' to INT32"}, "types do not fit"),
        ({"text": "error: column \"city\" must appear in the GROUP BY clause or"}, "not grouped"),
        ({"text": "not allowed: the function 'read_text' is refused"}, "not allowed"),
        ({"text": "not reachable: source 'crm': down"}, "source not reachable"),
        ({"text": "error: the statement was stopped after 60 seconds", "error": "LimitReached"}, "limit reached"),
        ({"text": "This ran before: its rows are result_1."}, "repeated statement"),
        ({"text": "Wrong arguments: query: Field required"}, "wrong arguments"),
        ({"text": "There is no tool 'python'."}, "unknown tool"),
        ({"text": "error: something else"}, "other"),
        ({}, "other"),
    ],
)  # fmt: skip
def test_tool_errors_have_kinds(step: dict[str, str], kind: str):
    assert kind_of(step) == kind and kind in KINDS


def test_numbers_as_people_read_them():
    assert [amount(each) for each in (0, 950, 12_345, 4_560_000, 0.5)] == ["0", "950", "12.3k", "4.56M", "0.5"]
    assert [dollars(each) for each in (None, 0.0, 0.0123, 41.1)] == ["unknown", "$0.00", "$0.0123", "$41.10"]
    assert [duration(each) for each in (1.25, 600, 9000)] == ["1.2 s", "10.0 min", "2.5 h"]
    assert percent(None) == "–" and percent(0.94666, 2) == "94.67 %"


def test_drawing_helpers():
    assert ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1.0] and ticks(3, 3) == [3]
    assert spread_apart([5, 5, 5], 10, 0, 100) == [5, 15, 25]
    assert spread_apart([99, 100], 10, 0, 100) == [90, 100]
    assert fitted("a very long text", 50).endswith("…") and width_of(fitted("a very long text", 50)) <= 50
    assert name_of({"mode": "core", "model": "http://127.0.0.1:1/v1#small", "hints": True}) == "core + hints · small"
    assert name_of({"mode": "learned", "model": "anthropic:large"}) == "learned · large"


def test_every_bench_is_listed():
    from coset.benchmark.catalogue import benches
    from coset.surfaces.command_line.measuring import bench_command as command

    installed = {bench.name for bench in benches() if bench.where == "installed"}
    assert set(command.commands) - {"list"} <= installed
    scripts = Path(__file__).parents[2] / "benchmarks"
    reporting = {path.stem for path in scripts.glob("*.py") if "import report\n" in path.read_text()}
    listed = {bench.name for bench in benches() if bench.where == "checkout"}
    assert reporting == listed, "every script that measures is listed, and every listed one prints the shared form"


def test_benchmarks_import_what_the_package_has():
    """They are scripts, which nothing else loads: a name that is renamed in the package would be missed here alone."""
    missing = []
    for script in sorted((Path(__file__).parents[2] / "benchmarks").rglob("*.py")):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("coset"):
                continue
            try:
                module = importlib.import_module(node.module)
            except ModuleNotFoundError as error:
                assert not (error.name or "").startswith("coset"), f"{script.name}: {error}"
                continue  # What training needs is not installed everywhere.
            missing += [
                f"{script.name}: {node.module}.{each.name}"
                for each in node.names
                if not hasattr(module, each.name)
                and not (hasattr(module, "__path__") and find_spec(f"{node.module}.{each.name}"))
            ]
    assert not missing


def test_a_page_in_the_dark_changes_the_tones_of_its_pictures_and_no_colour(tmp_path: Path):
    text = write_reports(several(tmp_path, 2), tmp_path / "out", "Title").read_text()
    rules = text[text.rindex("@media (prefers-color-scheme: dark)") : text.index("</style>")]
    changed = set(re.findall(r'="(#[0-9a-f]{6})"', rules))
    assert changed == {INK, SOFT, FAINT, PAPER}
    assert changed.isdisjoint({*PALETTE, ON_LIGHT, ON_DEEP}), "a bar, or a text on a bar, would change with the page"
    assert f'fill="{ON_LIGHT}"' in text or f'fill="{ON_DEEP}"' in text
