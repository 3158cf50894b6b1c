"""Files by which a fresh reader, who has not seen the code, judges what documents and names were read as.

python benchmarks/judging.py mentions FOLDER MEANINGS.tsv OUT.md [--draw 110]    what documents name
python benchmarks/judging.py rules FOLDER MEANINGS.tsv OUT.md                    what is a rule, and what was missed
python benchmarks/judging.py readings FOLDER MEANINGS.tsv OUT.md [--draw 150]    what tables and columns mean
python benchmarks/judging.py count ANSWERS.tsv [SECOND.tsv]                      share right, and how far two agree

FOLDER is a comprehended environment, MEANINGS.tsv its truth (`source.table.column`, meaning). Each file says at its top
what to write. Items are drawn under a seed; their confidence is not shown.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from pathlib import Path

from coset.environment.configuration import load_environment
from coset.state import EvidenceState
from coset.state.documents import SURELY_NAMED, SectionRow, rules, sections
from coset.state.read_model import ReadModel
from coset.state.readings import ReadingStore

SEED = 20261118
ABOUT_MENTIONS = """\
# Judge: what documents name

A program read the documents of a company and says, for places in them, which table, column or system of the company's
databases the words at that place mean. Judge each item: **are the words meant as this thing, in this passage?**

- `y`: somebody who knows the company would follow the words to this table, column or system. A column that holds the
  named value counts when the words mean that value of that column. Where words mean all tables of a kind, each is
  right.
- `n`: the words mean something else, another table that is called alike, a copy where the original is meant, or
  nothing.
- `u`: it cannot be told from the passage and from what is said about the thing.

`meaning` is what the company's own dictionary says of the thing; where there is none, its columns or values are shown.
Write one line an item to the file you were given for answers: number, tab, y/n/u, tab, a few words why if n or u.
Judge alone, look at nothing but this file.
"""
ABOUT_RULES = """\
# Judge: rules

A program read the documents of a company and says which passages are **rules**: statements that change how a figure is
computed or what is counted (what counts and what does not, what a word or code means, how something is computed,
converted, rounded, dated, which system, table or field is right, how a number or date is written). No rules are:
greetings, headings, what a system is in general, what a document says of itself (owner, version), plans and tales.
Each rule is said to be **general** (to be kept in mind for every figure, whatever the question) or **particular**.

First the documents, paragraph by paragraph; then the rules that were found. Write lines to the file you were given:

1. for each rule: number, tab, y/n (is it a rule?), tab, y/n (is its scope right?), tab, a few words if n;
2. for each passage that is a rule and is in no rule of the list (its paragraph may hold several): `missed`, tab, its
   document and paragraph, tab, its first words.

Superseded documents count as any other. Judge alone, look at nothing but this file.
"""
ABOUT_READINGS = """\
# Judge: what names mean

A program that knows only names, types and values says in a few words what each table or column is. Beside it is what
the company's own dictionary says. Judge each item: **does the reading mean the same as the dictionary?**

- `y`: a colleague who is given the reading would take the thing for what it is. Fewer words are enough where nothing
  wrong is said (`claim` for "claim header, one row a claim"; `status` for "status now"; `number` for "policy number" in
  a table of policies), synonyms are right.
- `n`: it says something else, or so little that one would not know (`code` for "code of the natural event"), or is
  empty.

Write one line an item to the file you were given for answers: number, tab, y/n, tab, a few words why if n.
Judge alone, look at nothing but this file.
"""


def written(reference: str) -> str:
    return reference.replace('"', "").replace("[]", "").replace("/", ".").lower()


class Truth:
    """Meanings by reference; the schema of a source with one schema is left out there."""

    def __init__(self, path: Path) -> None:
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        self.meanings = {line[0].lower(): line[1] for line in lines}

    def of(self, reference: str) -> str:
        name = written(reference)
        first, *rest = name.split(".")
        for way in (name, ".".join((first, *rest[1:]))):
            if way in self.meanings:
                return self.meanings[way]
            pattern = re.escape(way).replace(r"\{\}", "[^.]+")
            if "{}" in way and (found := [each for each in self.meanings if re.fullmatch(pattern, each)]):
                return self.meanings[found[0]]
        return ""


def text_of(section: SectionRow) -> str:
    lines = [f"**{' / '.join(section.title_path)}**"]
    lines += [f"[{number}] {' '.join(text.split())}" for number, text in enumerate(section.paragraphs, start=1)]
    return "\n".join(lines)


def mentions(state: EvidenceState, truth: Truth, draw: int) -> str:
    model = ReadModel(state)
    pieces = {section.reference: section for section in sections(state)}
    drawn = state.rows(
        f"SELECT * FROM mentions WHERE confidence >= {SURELY_NAMED} "
        "ORDER BY section_reference, paragraph, target_reference"
    )
    random.Random(SEED).shuffle(drawn)
    drawn = sorted(drawn[:draw], key=lambda row: (row["section_reference"], row["paragraph"]))
    described = {source.source: source.description for source in model.sources.values()}
    out, before = [ABOUT_MENTIONS], ""
    for number, row in enumerate(drawn, start=1):
        section = pieces[row["section_reference"]]
        if section.reference != before:
            out.append(f"# {section.document}\n\n{text_of(section)}\n")
            before = section.reference
        place = "in the title" if row["paragraph"] < 0 else f"in paragraph {row['paragraph'] + 1}"
        target, meaning = row["target_reference"], _told(model, truth, row["target_reference"], described)
        if row["how"] == "value":
            meaning += f" (this column holds the value {row['words']!r})"
        out.append(f"{number}. words **{row['words']}**, {place}: said to mean `{target}`\n   meaning: {meaning}")
    return "\n".join(out)


def _told(model: ReadModel, truth: Truth, target: str, described: dict[str, str | None]) -> str:
    meaning = truth.of(target) or (described.get(target) or "")
    if target in described:
        return (
            f"a source (system) with {sum(each.source == target for each in model.tables.values())} tables. {meaning}"
        )
    table = next((each for each in model.tables if target == each or target.startswith(f"{each}.")), None)
    if not meaning and table:
        columns = ", ".join(column.name for column in model.columns_of.get(table, ())[:15])
        return f"not in the dictionary; columns of the table: {columns}"
    return meaning if target == table or not table else f"{meaning} (of the table: {truth.of(table) or '?'})"


def all_rules(state: EvidenceState) -> str:
    out = [ABOUT_RULES, "# Documents\n"]
    for section in sections(state):
        out.append(f"## {section.document} ({section.status})\n**{' / '.join(section.title_path)}**")
        out += [
            f"[{section.position + 1}.{n}] {' '.join(t.split())}" for n, t in enumerate(section.paragraphs, start=1)
        ]
        out.append("")
    out.append("# Rules that were found\n")
    for number, rule in enumerate(rules(state), start=1):
        document = rule.section_reference.rsplit("#", 1)[0].rsplit("/", 1)[-1]
        out.append(f"{number}. ({rule.scope}) [{document}] {' '.join(rule.text.split())}")
    return "\n".join(out)


def readings(state: EvidenceState, truth: Truth, draw: int) -> str:
    model = ReadModel(state)
    said = {each.reference: each for each in ReadingStore(state).all(best=True)}
    objects = [*model.tables, *model.columns]
    objects += [row["reference"] for row in state.rows("SELECT reference FROM paths ORDER BY reference")]
    known = [(each, truth.of(each)) for each in objects if truth.of(each)]
    random.Random(SEED).shuffle(known)
    out = [ABOUT_READINGS]
    for number, (reference, meaning) in enumerate(known[:draw], start=1):
        reading = said.get(reference)
        table = next((each for each in model.tables if reference.startswith(f"{each}.")), None)
        values = state.rows(
            "SELECT DISTINCT value FROM group_values WHERE column_reference = $1 AND value IS NOT NULL "
            "ORDER BY value LIMIT 5",
            [reference],
        )
        lines = [f"## {number}", f"`{reference}`" + ("" if table else " (a table)")]
        if table:
            lines.append(f"of the table: {truth.of(table) or '?'}")
        if values:
            lines.append("values: " + ", ".join(row["value"][:40] for row in values))
        detail = f" ({reading.meaning})" if reading and reading.meaning else ""
        shown = reading is not None and reading.confidence >= 0.3
        lines.append(f"reading: **{reading.name if reading and shown else '(none)'}**{detail if shown else ''}")
        lines.append(f"dictionary: {meaning}\n")
        out.append("\n".join(lines))
    return "\n".join(out)


def count(paths: list[Path]) -> None:
    answers = []
    for path in paths:
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        items = {
            line[0].strip().rstrip("."): [each.strip().lower() for each in line[1:3]]
            for line in lines
            if line[0].strip(". ").isdigit()
        }
        verdicts = Counter(item[0] for item in items.values())
        scopes = Counter(item[1] for item in items.values() if len(item) > 1 and item[1] in {"y", "n"})
        missed = sum(line[0].strip() == "missed" for line in lines)
        text = f"{path.name}: right {verdicts['y']} of {verdicts.total()} ({verdicts['y'] / verdicts.total():.3f})"
        if scopes:
            text += (
                f", scope right {scopes['y']} of {scopes.total()} ({scopes['y'] / scopes.total():.3f}), missed {missed}"
            )
            text += f", recall {verdicts['y'] / (verdicts['y'] + missed):.3f}"
        print(text)
        answers.append({number: item[0] for number, item in items.items()})
    if len(answers) == 2:
        both = answers[0].keys() & answers[1].keys()
        same = sum(answers[0][each] == answers[1][each] for each in both)
        print(f"the two agree on {same} of {len(both)} ({same / len(both):.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["mentions", "rules", "readings", "count"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--draw", type=int, default=110)
    chosen = parser.parse_args()
    if chosen.what == "count":
        count(chosen.paths)
        return
    folder, meanings, out = chosen.paths
    truth = Truth(meanings)
    with EvidenceState.read(load_environment(folder).state_folder) as state:
        if chosen.what == "rules":
            out.write_text(all_rules(state), encoding="utf-8")
        else:
            make = mentions if chosen.what == "mentions" else readings
            out.write_text(make(state, truth, chosen.draw), encoding="utf-8")


if __name__ == "__main__":
    main()
