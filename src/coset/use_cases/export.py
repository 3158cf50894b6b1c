"""What coset knows as a draft semantic model: to be read, reviewed and committed by people, and read by other tools.

In: a workspace. Out: a `SemanticModel`, and its text in one of the formats. Copies are folded into their originals, a
family of like tables is one dataset, joins and readings below a confidence are left out. No value of a source is in
it but codes that a list explains, and numbers of rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from coset.errors import UserError
from coset.semantics.cube import to_cube
from coset.semantics.dbt import to_dbt
from coset.semantics.markdown import to_markdown
from coset.semantics.model import Code, Dataset, Field, Metric, Relationship, Rule, SemanticModel, as_json
from coset.semantics.osi import to_osi
from coset.state import EvidenceState
from coset.state.documents import document_files, rules, sections, sql_uses, written_sql
from coset.state.read_model import ReadModel
from coset.state.readings import Reading, ReadingStore
from coset.state.relations import all_roles, code_list_labels
from coset.state.tables import ColumnRow, DiagnosticRow, FamilyRow, TableRow
from coset.use_cases.workspace import Workspace

LEAST = 0.5
"""Confidence of joins and readings, and membership of roles."""
MOST_CODES, MOST_METRICS = 200, 500
_AGGREGATE = re.compile(r"\b(?:sum|count|avg|min|max|median)\s*\(", re.IGNORECASE)


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=120)


FORMATS: dict[str, Callable[[SemanticModel], str]] = {
    "osi": lambda model: _yaml(to_osi(model)),
    "dbt": lambda model: _yaml(to_dbt(model)),
    "cube": lambda model: _yaml(to_cube(model)),
    "markdown": to_markdown,
    "json": as_json,
}


def export(workspace: Workspace, format_: str, least: float = LEAST) -> str:
    """The environment in one of `FORMATS`."""
    if format_ not in FORMATS:
        raise UserError(f"{format_!r} is no format: it is one of {', '.join(FORMATS)}")
    return FORMATS[format_](semantic_model(workspace, least))


def semantic_model(workspace: Workspace, least: float = LEAST) -> SemanticModel:
    configuration = workspace.configuration
    with workspace.reading() as state:
        return _Gathering(state, least).model(configuration.path.parent.name, configuration.description or "")


class _Gathering:
    """What a state knows, by what it is about."""

    def __init__(self, state: EvidenceState, least: float) -> None:
        self.state, self.least = state, least
        self.known = ReadModel(state)
        self.readings: dict[str, Reading] = {
            each.reference: each for each in ReadingStore(state).all(best=True) if each.confidence >= least
        }
        self.roles: dict[str, dict[str, str]] = defaultdict(dict)
        for role in all_roles(state):
            if role.membership >= least:
                self.roles[role.reference][role.coordinate] = role.identity
        self.copies: dict[str, list[str]] = defaultdict(list)
        copied = set()
        for copy in state.copies():
            copied.add(copy.table)
            if copy.original:
                self.copies[copy.original].append(copy.table)
        self.datasets = {
            reference: table for reference, table in self.known.tables.items()
            if reference not in copied and table.family is None
        }  # fmt: skip
        self.codes: dict[str, dict[str, str]] = defaultdict(dict)
        for label in code_list_labels(state):
            self.codes[label.column_reference].setdefault(label.code, label.label)
        self.lists = {each.column: each for each in reversed(state.code_lists()) if each.status == "current"}
        self.quality: dict[str, list[DiagnosticRow]] = defaultdict(list)
        for diagnostic in self.known.all(DiagnosticRow):
            self.quality[diagnostic.column_reference].append(diagnostic)

    def model(self, name: str, description: str) -> SemanticModel:
        tables = [self._table(table) for table in self.datasets.values()]
        families = [self._family(family) for family in self.known.families.values()]
        return SemanticModel(
            name, description, tuple(sorted([*tables, *families], key=lambda each: each.name)), self._joins(),
            self._metrics(), self._rules(),
        )  # fmt: skip

    def sql_name(self, reference: str) -> str:
        """As SQL has it; a family by the name of its union."""
        if family := self.known.families.get(reference):
            schema = reference.removeprefix(f"{family.source}/").rpartition("/")[0]
            return ".".join(part for part in (family.source, schema, family.relation) if part)
        table = self.known.tables[reference]
        return ".".join(part for part in (table.source, table.schema_name, table.name) if part)

    def _table(self, table: TableRow) -> Dataset:
        return self._dataset(table.reference, table.rows, table.comment or "", tuple(table.primary_key))

    def _family(self, family: FamilyRow) -> Dataset:
        return self._dataset(family.reference, family.rows, f"{len(family.members)} tables of one shape, read as one")

    def _dataset(self, reference: str, rows: int | None, comment: str, key: tuple[str, ...] = ()) -> Dataset:
        label, description, synonyms = self._said(reference, comment)
        fields = tuple(self._field(column) for column in self.known.columns_of.get(reference, ()))
        copies = tuple(self.sql_name(each) for each in self.copies[reference] if each in self.known.tables)
        entity = self.roles[reference].get("entity", "")
        return Dataset(self.sql_name(reference), label, description, synonyms, entity, rows, key, fields, copies)

    def _field(self, column: ColumnRow) -> Field:
        label, description, synonyms = self._said(column.reference, column.comment or "")
        role = self.roles[column.reference]
        codes = list(self.codes[column.reference].items())[:MOST_CODES]
        found = self.lists.get(column.reference)
        code_list = ""
        if found and found.list in self.known.tables:
            code_list = self.sql_name(found.list) + (f" where {found.condition}" if found.condition else "")
        quality = self.quality[column.reference]
        return Field(
            column.name, column.type, label, description, synonyms,
            ".".join((role.get("entity", ""), role.get("attribute", ""))).strip("."),
            tuple(Code(value, text) for value, text in codes), code_list,
            next((each.expression for each in quality if each.expression), ""),
            tuple(f"{each.kind.replace('_', ' ')} in {each.share:.0%} of values" for each in quality),
        )  # fmt: skip

    def _said(self, reference: str, comment: str) -> tuple[str, str, tuple[str, ...]]:
        """Label, description and synonyms: of the best reading, and what the source itself says."""
        reading = self.readings.get(reference)
        if reading is None:
            return "", comment, ()
        meaning = reading.meaning or comment
        return reading.name, "" if meaning.lower() == reading.name.lower() else meaning, reading.synonyms

    def _joins(self) -> tuple[Relationship, ...]:
        found = []
        for each in self.known.relations:
            shown = each.left_table in self._shown and each.right_table in self._shown
            if each.confidence < self.least or not shown:
                continue
            left, right = self._columns(each.left_columns), self._columns(each.right_columns)
            found.append(Relationship(
                self.sql_name(each.left_table), left, self.sql_name(each.right_table), right,
                _unless_plain(each.left_expression, left), _unless_plain(each.right_expression, right),
                each.cardinality, round(each.left_match, 4), round(each.right_match, 4), round(each.confidence, 3),
            ))  # fmt: skip
        return tuple(sorted(found, key=lambda each: (each.left, each.left_columns, each.right, each.right_columns)))

    @property
    def _shown(self) -> Mapping[str, object]:
        return {**self.datasets, **self.known.families}

    def _columns(self, references: tuple[str, ...]) -> tuple[str, ...]:
        known = self.known.columns
        return tuple(known[each].name if each in known else each.rpartition(".")[2] for each in references)

    def _metrics(self) -> tuple[Metric, ...]:
        """Aggregates that people wrote and named: in views, files, models, and confirmed answers."""
        names = {each.reference: each.name for each in written_sql(self.state)}
        found: dict[tuple[str, str], Metric] = {}
        for use in sql_uses(self.state, "formula"):
            tables = {column.rpartition(".")[0] for column in use.columns}
            if use.name and _AGGREGATE.search(use.text) and tables <= set(self._shown):
                datasets = tuple(sorted(self.sql_name(each) for each in tables))
                said = names.get(use.statement, "")
                found.setdefault(
                    (use.name, use.text), Metric(use.name, use.text, f"in {said}" if said else "", datasets)
                )
        return tuple(list(found.values())[:MOST_METRICS])

    def _rules(self) -> tuple[Rule, ...]:
        titles = {each.document: each.title for each in document_files(self.state)}
        places = {each.reference: titles.get(each.document, each.document) for each in sections(self.state)}
        found = []
        for rule in rules(self.state):
            if rule.status != "current":
                continue
            about = tuple(self._name(each) for each in rule.about) if rule.scope != "general" else ()
            found.append(
                Rule(
                    rule.text.strip().lstrip("-*• "), tuple(filter(None, about)), places.get(rule.section_reference, "")
                )
            )
        return tuple(dict.fromkeys(found))

    def _name(self, reference: str) -> str:
        if column := self.known.columns.get(reference):
            if column.table_reference in self.known.tables or column.table_reference in self.known.families:
                return f"{self.sql_name(column.table_reference)}.{column.name}"
            return ""
        return self.sql_name(reference) if reference in self._shown else reference


def _unless_plain(expression: str, columns: tuple[str, ...]) -> str:
    """An expression that does more than name its columns."""
    plain = ", ".join('"' + each.replace('"', '""') + '"' for each in columns)
    return "" if expression in (plain, f"({plain})") else expression
