"""coset.yaml: what it may say, and how every mistake in it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from coset.environment.configuration import load_environment, parse_environment
from coset.environment.source import Limits
from coset.errors import UserError


def parse(text: str, tmp_path: Path):
    return parse_environment(text, tmp_path / "coset.yaml")


def test_reads_every_setting_of_a_source(tmp_path: Path):
    (tmp_path / "about.md").write_text("The orders.")
    (tmp_path / "orders.csv").write_text("id\n1\n")
    environment = parse(
        """
sources:
  orders:
    location: orders.csv
    description: Orders of the shop.
    description_file: about.md
    hints: amounts are in cents
    include: ["ord*"]
    exclude: [old_*]
    schema_only: true
    limits: {snapshot_rows: 5, query_seconds: 1.5}
""",
        tmp_path,
    )
    settings = environment.settings("orders")
    assert settings.kind == "files"
    assert settings.location == str(tmp_path / "orders.csv")
    assert settings.description == "Orders of the shop.\n\nThe orders."
    assert settings.hints == ("amounts are in cents",)
    assert (settings.include, settings.exclude) == (("ord*",), ("old_*",))
    assert settings.schema_only
    assert settings.limits == Limits(snapshot_rows=5, query_seconds=1.5)


def test_names_all_unknown_keys_and_missing_ones_at_once(tmp_path: Path):
    with pytest.raises(UserError) as error:
        parse(
            "sorces: {}\nsources:\n  a: {lokation: x, colour: red}\n  b: {location: y, limits: {rows: 1}}\n", tmp_path
        )
    for name in ("sorces", "sources.a.lokation", "sources.a.colour", "sources.b.limits.rows", "sources.a.location"):
        assert f"'{name}'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sources:\n  a: {location: x}\n  a: {location: y}\n", "line 3: 'a' stands here twice"),
        ("sources:\n  a: {location: x}\n  A: {location: y}\n", "'a' and 'A' are the same name to SQL"),
        ("sources:\n  main: {location: x}\n", "'main' means something else in SQL"),
        ("sources:\n  two words: {location: x}\n", "'two words' cannot name a source"),
        ("sources: [", "line 1"),
        ("sources: {}", "at least 1"),
        ("", "'sources' is missing"),
        ("- a\n- b\n", "dictionary"),
        ("sources:\n  a: {location: ''}\n", "'sources.a.location'"),
        ("sources:\n  a: {location: 'postgresql://u:secret@h/d'}\n", "source 'a' holds a password"),
        ("sources:\n  a: {location: 'postgresql://h/d?user=u&password=secret'}\n", "source 'a' holds a password"),
    ],
)
def test_mistakes_are_told_in_one_sentence(text: str, expected: str, tmp_path: Path):
    with pytest.raises(UserError) as error:
        parse(text, tmp_path)
    assert expected in str(error.value)
    assert "secret" not in str(error.value)


def test_finds_the_nearest_file_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "coset.yaml").write_text("sources:\n  a: {location: x}\n")
    below = tmp_path / "one" / "two"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert load_environment().path == tmp_path / "coset.yaml"
    assert load_environment(tmp_path).names == ("a",)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="coset init"):
        load_environment()
    with pytest.raises(UserError, match="no environment file"):
        load_environment(tmp_path / "nowhere.yaml")


def test_an_unreadable_description_file_is_named(tmp_path: Path):
    environment = parse("sources:\n  a: {location: '.', description_file: gone.md}\n", tmp_path)
    with pytest.raises(UserError, match=r"gone\.md"):
        environment.settings("a")


def test_reads_what_is_said_of_the_environment_as_a_whole(tmp_path: Path):
    environment = parse(
        """
description: Everything of the group.
documents: [handbook/*.docx, rules.md]
models: {reader: "anthropic:claude"}
sources:
  erp: {location: erp.db, documents: erp/, queries: ["sql/**/*.sql", target/manifest.json]}
""",
        tmp_path,
    )
    assert environment.description == "Everything of the group."
    assert environment.documents == (str(tmp_path / "handbook/*.docx"), str(tmp_path / "rules.md"))
    assert environment.models == {"reader": "anthropic:claude"}
    assert environment.sources["erp"].queries == ["sql/**/*.sql", "target/manifest.json"]
