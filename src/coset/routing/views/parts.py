"""The details of a view while it is built: what was taken at which depth, and what its text costs so far.

In: objects to take. Out: the cost of taking each, known before it is taken, and in the end the parts of a view. Costs
are those of the very lines that the text will have. Decides nothing; `ViewBuilder` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from coset.routing.objects.facts import ColumnFacts, RelationFacts
from coset.routing.objects.knowledge import CodeSet
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.views.budgets import cost, lines_cost
from coset.routing.views.details import (
    DEPTHS,
    Depth,
    Width,
    description_text,
    duplicates_text,
    family_line,
    joined_columns,
    table_role,
    view_column,
    view_relation,
)
from coset.routing.views.join_plan import in_order
from coset.routing.views.text import (
    JOINS,
    bare_text,
    column_line,
    is_bare,
    is_more,
    join_line,
    more_line,
    more_of_line,
    table_lines,
    why_text,
)
from coset.routing.views.view import ViewColumn, ViewRelation, ViewTable, Why

ALSO = cost("  also ") + 1
MORE = cost(more_line(1_000)) + 1
WHY_ORDER: tuple[Why, ...] = ("demanded", "named", "holds a value", "competitor", "join key", "key", "context")


@dataclass
class TakenColumn:
    facts: ColumnFacts
    score: float
    why: list[Why]
    depth: Depth


@dataclass(frozen=True)
class MainTables:
    """Tables that matter whatever is asked, as the prefix tells of them."""

    tables: tuple[ViewTable, ...] = ()
    relations: tuple[ViewRelation, ...] = ()
    shorthands: tuple[tuple[str, str], ...] = ()
    columns: Mapping[str, TakenColumn] = field(default_factory=dict)
    shown: Mapping[str, ViewColumn] = field(default_factory=dict)
    """By column, what stands there."""
    joins: Mapping[str, RelationFacts] = field(default_factory=dict)
    """The same relations, by reference."""
    references: frozenset[str] = frozenset()
    cost: int = 0

    @property
    def names(self) -> set[str]:
        """The short names that are told."""
        return {name for name, _ in self.shorthands}


@dataclass
class ViewParts:
    """The parts taken so far. `anchored` are the stored values that the question named, by column. Main tables are
    there from the beginning and cost nothing but for what the question adds to them."""

    objects: StateObjects
    width: Width
    anchored: Mapping[str, Sequence[str]]
    named_members: Mapping[str, Sequence[str]]
    """By family, the members that the question names."""
    tables: dict[str, float] = field(default_factory=dict)
    described: set[str] = field(default_factory=set)
    columns: dict[str, TakenColumn] = field(default_factory=dict)
    planned: list[RelationFacts] = field(default_factory=list)
    others: list[RelationFacts] = field(default_factory=list)
    spent: int = 0
    shortens: bool = True
    """Whether long expressions that come again and again are called by short names."""
    names: set[str] = field(default_factory=set)
    """The short names whose lines are paid for."""
    _bare: set[str] = field(default_factory=set)

    widest: int = 0
    """A table comes with all its columns by name, as far as they cost no more than this."""
    _own: dict[str, dict[str, ColumnFacts]] = field(default_factory=dict)
    code_sets: Mapping[str, CodeSet] = field(default_factory=dict)
    """By column, the list in the prefix that decodes it."""
    main: MainTables = field(default_factory=MainTables)
    _more: set[str] = field(default_factory=set)
    """Main tables that the question adds something to."""

    def begin_with_main(self, scores: Mapping[str, float]) -> None:
        """Take the main tables as they stand in the prefix; where the question names a value that does not stand
        there, with it."""
        for table in self.main.tables:
            self.tables[table.reference] = scores.get(table.reference, 0.0)
        for reference, taken in self.main.columns.items():
            self.columns[reference] = replace(taken, why=list(taken.why))
        self.names |= self.main.names
        for reference in self.anchored:
            known = self.columns.get(reference)
            if known is not None and not self._stands(known.facts, known.depth):
                self.spent += self._more_cost(known.facts, known.depth)
                self._more.add(known.facts.table)
                self.spent += self.column_cost(known.facts, known.why, known.depth)

    @property
    def own_tables(self) -> list[str]:
        """Those that were taken for the question."""
        return [table for table in self.tables if table not in self.main.references]

    @property
    def known_joins(self) -> list[RelationFacts]:
        """The joins of the plan and those between main tables."""
        return [*self.main.joins.values(), *self.planned]

    # What things cost

    def table_cost(self, reference: str) -> int:
        """Of a new table's own lines, with the columns that come with it and the line that counts the others."""
        own = self._coming_with(reference)
        names = sum(self.column_cost(column, (), "name") for column in own.values()) + (ALSO if own else 0)
        return self._table_lines_cost(reference, described=False) + MORE + names

    def _coming_with(self, table: str) -> dict[str, ColumnFacts]:
        """The columns that a table comes with, by reference."""
        known = self._own.get(table)
        if known is None:
            self._own[table] = known = {}
            room = self.widest
            for column in self.objects.columns(table) if room else ():
                if column.kind == "column" and (room := room - self.column_cost(column, (), "name")) >= 0:
                    known[column.reference] = column
        return known

    def _table_lines_cost(self, reference: str, *, described: bool) -> int:
        key = (reference, described, *self.named_members.get(reference, ()))
        known = self.objects.costs.get(key)
        if known is None:
            known = lines_cost(table_lines(self.table(reference, (), described=described)))
            self.objects.costs[key] = known
        return known

    def column_cost(self, column: ColumnFacts, why: Sequence[Why], depth: Depth) -> int:
        """Of a column's line; by name only, of its place among the table's other names."""
        if column.table in self.main.references and self._stands(column, depth):
            return 0
        key = self._key(column, depth)
        known = self.objects.costs.get(key)
        if known is None:
            shown = self.view_column(column, 0.0, (), depth)
            known = cost(bare_text(shown) + ", ") if is_bare(shown) else cost(column_line(shown, column.table)) + 1
            self.objects.costs[key] = known
            self.objects.names_used[key] = self._names_in([each.short for each in shown.cleaning])
        return known if depth == "name" and column.kind == "column" else known + why_cost(tuple(why))

    def _stands(self, column: ColumnFacts, depth: Depth) -> bool:
        """Whether the prefix says as much of a column."""
        known = self.main.columns.get(column.reference)
        if known is None or DEPTHS.index(known.depth) < DEPTHS.index(depth):
            return False
        if known.depth != depth or column.reference not in self.anchored:
            return True
        return not is_more(self.view_column(column, 0.0, (), depth), self.main.shown.get(column.reference))

    def _more_cost(self, column: ColumnFacts, depth: Depth) -> int:
        """Of the line that names a main table, where this is the first that the question adds to it."""
        if column.table not in self.main.references or column.table in self._more or self._stands(column, depth):
            return 0
        return lines_cost([more_of_line(self.objects.tables[column.table].sql_name)])

    def _key(self, column: ColumnFacts, depth: Depth) -> tuple[object, ...]:
        anchored = self.anchored.get(column.reference)
        named = column.reference in self.code_sets
        plain = (column.reference, depth, self.width.values, self.width.description, self.shortens, named)
        return (*plain, *anchored) if anchored else plain

    def _names_in(self, texts: Sequence[str]) -> tuple[str, ...]:
        texts = [text for text in texts if text]
        if not texts:
            return ()
        return tuple(name for name in self.objects.shorthands.lines if any(f"{name}(" in text for text in texts))

    def _new_names(self, column: ColumnFacts, depth: Depth) -> list[str]:
        """The short names of a column's line that nothing taken has yet."""
        return [name for name in self.objects.names_used.get(self._key(column, depth), ()) if name not in self.names]

    def _names_cost(self, names: Sequence[str]) -> int:
        return sum(lines_cost([self.objects.shorthands.lines[name]]) for name in names)

    def take_cost(self, column: ColumnFacts, why: Sequence[Why], depth: Depth) -> int:
        """What taking a column adds, with its table where that is new, less what it costs already."""
        added = self.column_cost(column, self.reasons(column.reference, why), depth)
        added += self._names_cost(self._new_names(column, depth)) + self._more_cost(column, depth)
        known = self.columns.get(column.reference)
        if column.table not in self.tables:
            own = self._coming_with(column.table)
            added += self.table_cost(column.table)
            if column.reference in own:
                return added - self.column_cost(column, (), "name")
            return added + (ALSO if depth == "name" and not own else 0)
        if depth == "name" and column.table not in self._bare and added:
            added += ALSO
        return added - self.column_cost(known.facts, known.why, known.depth) if known else added

    def description_cost(self, reference: str) -> int:
        plain = self._table_lines_cost(reference, described=False)
        return self._table_lines_cost(reference, described=True) - plain

    def join_cost(self, relation: RelationFacts, *, in_plan: bool) -> int:
        names = self.sql_names([relation.left_table, relation.right_table])
        shown = self.relation(relation, names, in_plan=in_plan)
        new = self._names_cost([name for name in self._names_in([shown.short]) if name not in self.names])
        return lines_cost([join_line(shown)]) + (0 if self.planned or self.others else lines_cost([JOINS])) + new

    def plan_cost(self, relation: RelationFacts) -> int:
        """Of a join of the plan, with the keys and tables that it needs and that are not there."""
        if relation.reference in self.main.joins:
            return 0
        ends = {relation.left_table, relation.right_table}
        total = self.join_cost(relation, in_plan=True)
        total += sum(self.table_cost(table) for table in ends if table not in self.tables)
        for key in self.key_columns(relation):
            known = self.columns.get(key.reference)
            if known is not None:
                total += self.take_cost(key, ["join key"], known.depth)
            elif key.table in self.tables or key.reference not in self._coming_with(key.table):
                total += self.column_cost(key, ["join key"], "name") + ALSO
        return total

    # Taking

    def take_plan(self, relation: RelationFacts) -> None:
        """Take a join of the plan, with its keys and its tables."""
        if relation.reference in self.main.joins:
            return
        for table in (relation.left_table, relation.right_table):
            self.take_table(table, 0.0)
        for key in self.key_columns(relation):
            known = self.columns.get(key.reference)
            score, depth = (known.score, known.depth) if known else (0.0, "name")
            self.take_column(key, score, ["join key"], depth, 0.0)
        self.take_join(relation, in_plan=True)

    def take_table(self, reference: str, score: float) -> None:
        if reference in self.tables:
            return
        self.spent += self.table_cost(reference)
        self.tables[reference] = score
        for own in self._coming_with(reference).values():
            self.columns[own.reference] = TakenColumn(own, 0.0, ["context"], "name")
            self._bare.add(reference)

    def take_column(self, column: ColumnFacts, score: float, why: Sequence[Why], depth: Depth, table: float) -> None:
        """Take a column, or take it deeper, or for one more reason."""
        standing = self.main.columns.get(column.reference)
        if standing is not None:
            depth = max(depth, standing.depth, key=DEPTHS.index)
        self.take_table(column.table, table)
        self.spent += self.take_cost(column, why, depth)
        if self._more_cost(column, depth):
            self._more.add(column.table)
        self.names.update(self._new_names(column, depth))
        if depth == "name" and self.column_cost(column, (), depth):
            self._bare.add(column.table)
        reasons = self.reasons(column.reference, why)
        self.columns[column.reference] = TakenColumn(column, score, list(reasons), depth)

    def take_join(self, relation: RelationFacts, *, in_plan: bool) -> None:
        self.spent += self.join_cost(relation, in_plan=in_plan)
        names = self.sql_names([relation.left_table, relation.right_table])
        self.names.update(self._names_in([self.relation(relation, names, in_plan=in_plan).short]))
        (self.planned if in_plan else self.others).append(relation)

    def describe(self, reference: str) -> None:
        self.spent += self.description_cost(reference)
        self.described.add(reference)

    def key_columns(self, relation: RelationFacts) -> list[ColumnFacts]:
        """The columns that a relation joins which are not shown as its keys yet; a nested place stands for its
        column."""
        found = []
        for table, references in joined_columns(relation).items():
            known = {column.reference: column for column in self.objects.columns(table)}
            found += [known[each] for each in references if each in known and not self._is_key(each)]
        return found

    def _is_key(self, reference: str) -> bool:
        taken = self.columns.get(reference)
        return taken is not None and "join key" in taken.why

    # What it comes to

    def relation(self, facts: RelationFacts, names: dict[str, str], *, in_plan: bool) -> ViewRelation:
        key = (facts.reference, names[facts.left_table], names[facts.right_table], in_plan, self.shortens)
        known = self.objects.shown_relations.get(key)
        if known is None:
            known = view_relation(facts, names, in_plan=in_plan)
            short, used = self.objects.shorthands.short(known.condition) if self.shortens else ("", ())
            known = replace(known, short=short) if used else known
            self.objects.shown_relations[key] = known
        return known

    def view_shorthands(
        self, tables: Sequence[ViewTable], relations: Sequence[ViewRelation]
    ) -> tuple[tuple[str, str], ...]:
        """The short names that lines have, with what they stand for."""
        cleaning = [each.short for table in tables for column in table.columns for each in column.cleaning]
        used = self._names_in([*cleaning, *(relation.short for relation in relations)])
        return tuple((name, self.objects.shorthands.lines[name]) for name in used)

    def sql_names(self, references: Sequence[str]) -> dict[str, str]:
        return {reference: self.objects.tables[reference].sql_name for reference in references}

    def view_column(self, column: ColumnFacts, score: float, why: Sequence[Why], depth: Depth) -> ViewColumn:
        ordered = tuple(reason for reason in WHY_ORDER if reason in why)
        key = self._key(column, depth)
        known = self.objects.shown.get(key)
        if known is None:
            short = self.objects.shorthands if self.shortens else None
            anchored = self.anchored.get(column.reference, ())
            codes = self.code_sets.get(column.reference)
            known = view_column(column, (), 0.0, depth, self.width, anchored, short, codes)
            self.objects.shown[key] = known
        return replace(known, why=ordered, score=score) if ordered or score else known

    def view_tables(self) -> tuple[ViewTable, ...]:
        """Tables in the environment's order, columns in the table's."""
        by_table: dict[str, list[TakenColumn]] = {}
        for taken in self.columns.values():
            by_table.setdefault(taken.facts.table, []).append(taken)
        found = []
        for reference in sorted(self.tables, key=lambda each: self.objects.tables[each].order):
            several = sorted(by_table.get(reference, ()), key=lambda taken: taken.facts.order)
            columns = tuple(self.view_column(each.facts, each.score, each.why, each.depth) for each in several)
            found.append(self.table(reference, columns, described=reference in self.described))
        return tuple(found)

    def view_relations(self) -> tuple[ViewRelation, ...]:
        ends = {table for each in (*self.planned, *self.others) for table in (each.left_table, each.right_table)}
        names = self.sql_names([*self.tables, *ends])
        strongest = sorted(self.tables, key=lambda table: (-self.tables[table], table))
        planned = [self.relation(relation, names, in_plan=True) for relation in in_order(self.planned, strongest)]
        told = {relation.reference for relation in self.planned}
        others = {each.reference: each for each in self.others if each.reference not in told}
        found = (*planned, *(self.relation(others[each], names, in_plan=False) for each in sorted(others)))
        return (*self.main.relations, *found)

    def table(self, reference: str, columns: tuple[ViewColumn, ...], *, described: bool) -> ViewTable:
        facts = self.objects.tables[reference]
        shown = sum(column.kind == "column" for column in columns)
        return ViewTable(
            reference=reference,
            sql_name=facts.sql_name,
            rows=facts.rows,
            score=self.tables.get(reference, 0.0),
            columns=columns,
            left_out=max(0, facts.columns - shown),
            entity=table_role(self.objects.role(reference)),
            description=description_text(self.objects, facts) if described else "",
            reading=self.objects.reading_of(reference),
            family=family_line(self.objects, facts, self.named_members.get(reference, ())),
            duplicates=duplicates_text(facts, full=described),
            problem=facts.problem,
        )

    def reasons(self, reference: str, why: Sequence[Why]) -> list[Why]:
        """Why a column is shown, with these reasons added; context is one only where there is no other."""
        known = self.columns.get(reference)
        both = {*(known.why if known else ()), *why}
        return [reason for reason in WHY_ORDER if reason in both and (reason != "context" or len(both) == 1)]


@lru_cache(maxsize=256)
def why_cost(why: tuple[Why, ...]) -> int:
    return cost(why_text(why))
