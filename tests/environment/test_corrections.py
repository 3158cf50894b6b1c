"""coset.corrections.yaml: what people said is read, written and never lost."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from coset.environment.configuration import Environment, parse_environment
from coset.environment.corrections import (
    CodeList,
    Copy,
    Join,
    Link,
    Note,
    Question,
    Reading,
    Record,
    Role,
    Rule,
    add_corrections,
    load_corrections,
    remove_corrections,
)
from coset.errors import UserError

EVERYTHING = (
    Role(reference="crm/orders.buyer", is_="customer.identifier", by="anna"),
    Role(reference="crm/orders.buyer", is_not=".name"),
    Note(reference="crm/orders", text="Line one: with a colon\n\n# and no comment"),
    Reading(reference="erp/vbrk", name="billing header", meaning="one row a document", synonyms=("invoice", "bill")),
    Join(left=("erp/vbrk.kunag",), right=("erp/kna1.kunnr",), left_expression="ltrim(kunag, '0')"),
    Join(left=("a/b.c", "a/b.d"), right=("x/y.z", "x/y.w"), rejected=True),
    Copy(table="erp/vbrk_bak", original="erp/vbrk", kind="backup"),
    CodeList(column="erp/vbrk.fkart", list="erp/tvfkt", code="fkart", label="vtext", condition="spras = 'E'"),
    Rule(text="Test customers are left out of every figure."),
    Link(entity="customer", records=(Record(table="crm/account", key="0013"), Record(table="erp/kna1", key="NO"))),
    Question(question="How many orders?", needs=("crm/orders",)),
)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return parse_environment("sources:\n  a: {location: x.csv}\n", tmp_path / "coset.yaml")


def file_of(environment: Environment) -> Path:
    return environment.path.parent / "coset.corrections.yaml"


def test_what_is_written_is_read_again(environment: Environment):
    assert load_corrections(environment).lines == ()
    add_corrections(environment, EVERYTHING)
    add_corrections(environment, EVERYTHING)  # What is said already is not said twice.
    content = load_corrections(environment)
    assert tuple(entry for entry, _ in content.lines) == EVERYTHING
    assert content.joins[1].rejected
    assert content.problems == ()


def test_a_change_leaves_every_other_line_as_it_was(environment: Environment):
    written = """\
# Ours.
notes:
    # About the orders.
    - reference: crm/orders   # the big one
      text: |
        Two
        lines.

    - {reference: crm/buyers, text: "old"}

# Joins of the database team.
joins: [{left: a/b.c, right: d/e.f}]
readings:
copies: []
"""
    file_of(environment).write_text(written)
    add_corrections(environment, [Note(reference="crm/x", text="new")])
    changed = file_of(environment).read_text()
    added = "    - reference: crm/x\n      text: new\n"
    assert changed.replace(added, "") == written
    assert changed.index("new") < changed.index("# Joins")
    remove_corrections(environment, [Note(reference="crm/x", text="new")])
    assert file_of(environment).read_text() == written
    add_corrections(environment, [Reading(reference="a/b", name="bee"), Copy(table="a/b2", original="a/b")])
    add_corrections(environment, [Join(left=("a/b.c",), right=("g/h.i",))])
    remove_corrections(environment, [Note(reference="crm/orders", text="Two\nlines.\n")])
    content = load_corrections(environment)
    assert [note.reference for note in content.notes] == ["crm/buyers"]
    assert (len(content.joins), len(content.readings), len(content.copies)) == (2, 1, 1)
    remove_corrections(environment, [*content.notes, *content.joins, *content.copies])
    content = load_corrections(environment)
    assert [entry.references() for entry, _ in content.lines] == [("a/b",)]
    for comment in ("# Ours.", "# About the orders.", "# Joins of the database team."):
        assert comment in file_of(environment).read_text()


def test_mistakes_are_named_with_their_line_and_nothing_is_lost(environment: Environment):
    written = """\
notes:
  - reference: crm/orders
    text: fine
  - reference: crm/orders
    txt: wrong
roles:
  - {reference: crm/orders, is: a., is_not: b.}
colours: [red]
"""
    file_of(environment).write_text(written)
    content = load_corrections(environment)
    assert [problem.line for problem in content.problems] == [4, 4, 7, 8]
    assert str(content.problems[1]) == "coset.corrections.yaml, line 4: unknown key 'txt'"
    assert "either 'is' or 'is_not'" in str(content.problems[2])
    assert [str(each) for each in content.unknown(lambda reference: False)] == [
        "coset.corrections.yaml, line 2: there is no 'crm/orders' (any more)"
    ]
    add_corrections(environment, [Note(reference="crm/x", text="new")])
    assert "txt: wrong" in file_of(environment).read_text()
    file_of(environment).write_text(written + "rules: [unclosed\n")
    with pytest.raises(UserError, match="line 10"):
        add_corrections(environment, [Note(reference="crm/x", text="new")])
    assert file_of(environment).read_text() == written + "rules: [unclosed\n"


def _add_twenty(environment: Environment, writer: int) -> None:
    for number in range(20):
        add_corrections(environment, [Note(reference="crm/orders", text=f"{writer} {number}")])


def test_two_processes_that_write_lose_nothing(environment: Environment):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_add_twenty, args=(environment, writer)) for writer in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(load_corrections(environment).notes) == 40
    assert [path.name for path in environment.path.parent.iterdir()] == ["coset.corrections.yaml"]
