"""Which documents stand whole in the part of a view that all questions share."""

from dataclasses import replace
from types import SimpleNamespace

from coset.routing.objects.knowledge import Knowledge, Rule, Section
from coset.routing.views.directory import whole_documents

PAGES = ("rules.md", "opening hours.md", "rules of 2019.md")


def section(name: str, status: str = "") -> Section:
    return Section(f"docs/{name}#1", f"docs/{name}", "docs", ("Title",), f"What {name} says.", status)


def rule(name: str, status: str = "") -> Rule:
    return Rule(f"docs/{name}#1.1", f"docs/{name}#1", "Tests never count.", True, (), status)


def shown(knowledge: Knowledge, most: int = 2_000) -> tuple[list[str], list[str]]:
    objects = SimpleNamespace(knowledge=knowledge, source_documents=())
    kept, others = whole_documents(objects, most)  # type: ignore[arg-type]
    return [each.title for each in kept], [each.title for each in others]


SECTIONS = (section(PAGES[0]), section(PAGES[1]), section(PAGES[2], "superseded"))


def test_all_documents_in_force_stand_whole_where_there_is_room():
    rules = (rule(PAGES[0]), rule(PAGES[2], "superseded"))
    kept, others = shown(Knowledge(sections=SECTIONS, rules=rules))
    assert sorted(kept) == sorted(PAGES[:2]) and others == [PAGES[2]]


def test_documents_that_govern_something_come_first_where_room_is_short():
    long = replace(section(PAGES[1]), text="Nothing but opening hours. " * 40)
    kept, others = shown(Knowledge(sections=(SECTIONS[0], long), rules=(rule(PAGES[0]),)), most=100)
    assert kept == [PAGES[0]] and others == [PAGES[1]]


def test_where_none_is_known_to_govern_anything_all_in_force_stand():
    kept, others = shown(Knowledge(sections=SECTIONS))
    assert sorted(kept) == sorted(PAGES[:2]) and others == [PAGES[2]]


def test_documents_for_which_there_is_no_room_are_all_listed_by_name():
    kept, others = shown(Knowledge(sections=SECTIONS, rules=(rule(PAGES[0]),)), most=3)
    assert kept == [] and sorted(others) == sorted(PAGES)
