"""The prefix of a view: what is the same for every question of an environment, so that prompt caches hold it.

In: the facts of an environment, its main tables as they are told, and how many tokens documents and directory may cost.
Out: a `Prefix`: what was written of the environment and its sources, general rules, documents as wholes where they fit,
the main tables, and the directory: a line for each other table (name, what a row is, rows, copies folded in, a few
columns), grouped by source. Lines get shorter before
tables are left out; where not even names fit, those that people speak of come first and the rest is for the question
to choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coset.routing.objects.facts import TableFacts
from coset.routing.objects.knowledge import DOMAIN_OF_LIST, CodeSet, Rule, Section
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.document_search import tables_out_of_use
from coset.routing.views.budgets import Budget, lines_cost
from coset.routing.views.parts import MainTables
from coset.routing.views.text import CODES, codes_line, directory_lines, passage_lines, source_lines
from coset.routing.views.view import DirectoryEntry, Passage, ViewCodes, ViewRule
from coset.session.own_tables import LINKED

READING = 60
"""Letters of a reading in the directory."""
MOST_LINKED = 12
"""So many entities whose records were linked are told, and so many tables of each."""
WIDTHS = ((7, 7), (5, 5), (4, 4), (2, 4), (0, 4), (0, 3), (0, 2), (0, 0))
"""How many columns a line has at most, with a reading and without one; the first pair with which all tables fit. Where
nothing says what a table is, its columns do."""
LIKELY_COLUMNS = 4
STABLE_SHARE = 0.3
NAMED_COUNTS = 3
"""Of the directory's budget, for the tables that stand there whatever is asked, where not all fit."""


@dataclass(frozen=True)
class Prefix:
    """The parts of a view that no question changes."""

    description: str = ""
    sources: tuple[tuple[str, str, int], ...] = ()
    descriptions: tuple[tuple[str, str], ...] = ()
    rules: tuple[ViewRule, ...] = ()
    passages: tuple[Passage, ...] = ()
    directory: tuple[DirectoryEntry, ...] = ()
    unlisted: str = ""
    open_room: int = 0
    """Tokens left for directory lines that the question chooses; none where all tables are listed."""
    closed: tuple[tuple[str, str, str], ...] = ()
    """(reference, title, status) of documents that are not shown."""
    codes: tuple[ViewCodes, ...] = ()
    code_sets: Mapping[str, CodeSet] = field(default_factory=dict)
    """By column, the list among `codes` that decodes it."""
    main: MainTables = field(default_factory=MainTables)
    counted: list[int] = field(default_factory=list, compare=False, repr=False)
    """What its lines cost, once that was counted."""
    has_documents: bool = False
    """Whether those that govern anything are shown whole."""


def prefix_of(objects: StateObjects, budget: Budget, description: str, codes: ToldCodes, main: MainTables) -> Prefix:
    """The prefix of an environment with these main tables."""
    sources = tuple((each.name, each.kind, each.tables) for each in objects.sources.values())
    descriptions = _descriptions(objects, budget.documents // 2)
    if (linked := objects.knowledge.linked) and LINKED not in objects.sources:
        sources += ((LINKED, "record links", len(linked)),)
        descriptions += ((LINKED, _linked(linked)),)
    room = budget.documents - lines_cost(source_lines(description, sources, descriptions))
    passages, others = whole_documents(objects, room)
    general = [rule for rule in objects.knowledge.rules if rule.is_general and not rule.status]
    has_documents = bool(passages)
    if not passages:
        # Where documents are whole, every rule stands in its own.
        passages = _that_fit(rule_passages(general, objects, whole=True), room)
    shown = {passage.reference for passage in passages}
    rules = tuple(
        ViewRule(rule.reference, rule.text, "general", rule.about)
        for rule in general
        if rule.section in shown or rule.section.rpartition("#")[0] in shown
    )
    closed = tuple((each.reference, each.title, each.status) for each in others)
    entries, unlisted = _entries(objects)
    entries = [entry for entry in entries if entry.reference not in main.references]
    listed, left = _shortened(entries, budget.directory, objects)
    told = ", ".join(f"{count:,} {kind}" for kind, count in unlisted.items() if count)
    room = 0
    if left:
        room = max(0, budget.directory - lines_cost(directory_lines(listed)))
        told = ", ".join(part for part in (f"{left:,} further tables", told) if part)
    return Prefix(
        description,
        sources,
        descriptions,
        rules,
        passages,
        listed,
        told,
        room,
        closed,
        codes.codes,
        codes.sets,
        main,
        has_documents=has_documents,
    )


@dataclass(frozen=True)
class ToldCodes:
    """The lists that the prefix tells, and by column the one that decodes it."""

    codes: tuple[ViewCodes, ...] = ()
    sets: Mapping[str, CodeSet] = field(default_factory=dict)


def told_codes(objects: StateObjects, most: int) -> ToldCodes:
    """The lists that decode most columns, those that documents name first, as many as there is room for."""
    named = objects.knowledge.named_by_documents
    wrong = tables_out_of_use(objects)
    sets = [
        each
        for each in objects.knowledge.code_sets
        if each.codes.list_reference in objects.tables
        and each.codes.list_reference not in wrong
        and not objects.tables[each.codes.list_reference].schema_only
    ]
    found: list[ViewCodes] = []
    by_column: dict[str, CodeSet] = {}
    room = most - lines_cost([CODES])

    def weight(codes: CodeSet) -> float:
        """How much its columns matter: those of tables that documents name count for several."""
        tables = {objects.table_of(column) for column in codes.columns}
        return codes.codes.confidence * sum(NAMED_COUNTS if table in named else 1 for table in tables)

    for each in sorted(sets, key=lambda each: (each.codes.list_reference not in named, -weight(each), each.name)):
        source = objects.tables[each.codes.list_reference].sql_name
        domain = DOMAIN_OF_LIST.match(each.codes.condition)
        codes = ViewCodes(each.name, source + (f", {domain[0]}" if domain else ""), each.labels)
        price = lines_cost([codes_line(codes)])
        if price <= room:
            room -= price
            found.append(codes)
            by_column |= dict.fromkeys(each.columns, each)
    return ToldCodes(tuple(found), by_column)


def _linked(entities: Mapping[str, Sequence[str]]) -> str:
    """One line that says which records are known to be one thing, and how SQL reads that."""
    told = "; ".join(
        f"{LINKED}.{entity} of {', '.join(table.replace('/', '.') for table in tables[:MOST_LINKED])}"
        for entity, tables in list(entities.items())[:MOST_LINKED]
    )
    return f"records with one cluster are one thing, columns cluster, source, table_name, key, evidence, flags: {told}"


def _descriptions(objects: StateObjects, most: int) -> tuple[tuple[str, str], ...]:
    """What people wrote of each source, shortened where that takes too much room."""
    found = [
        (document.about, document.text)
        for document in objects.source_documents
        if document.kind in ("description", "hint") and document.about in objects.sources
    ]
    letters = max((len(text) for _, text in found), default=0)
    while found and letters > 100 and lines_cost([text[:letters] for _, text in found]) > most:
        letters = letters * 3 // 4
    return tuple((source, text if len(text) <= letters else f"{text[:letters]}…") for source, text in found)


def whole_documents(objects: StateObjects, most: int) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """The documents that are shown whole, and the others. Those in force that state a rule or name anything here come
    first: all of them, or none where they cost more than `most` together. What room they leave is for the others in
    force, the shortest first, since a rule in words that nothing here knows is a rule."""
    knowledge = objects.knowledge
    documents: dict[str, list[Section]] = {}
    for section in knowledge.sections:
        documents.setdefault(section.document or section.reference.rpartition("#")[0], []).append(section)
    found = {name: _document(name, sections) for name, sections in documents.items()}
    if not documents:
        found = {
            document.reference: Passage(
                document.reference, document.title or document.kind, document.text, document.provenance, whole=True
            )
            for document in objects.source_documents
            if document.kind == "file"
        }
    every = sorted(found, key=lambda name: (bool(found[name].status), found[name].reference))
    governing = {rule.section for rule in knowledge.rules} | set(knowledge.mentions)
    in_force = [name for name in every if not found[name].status]
    telling = [name for name in in_force if any(each.reference in governing for each in documents.get(name, ()))]
    costs = {name: lines_cost(passage_lines(found[name])) for name in in_force}
    room = most - sum(costs[name] for name in telling)
    kept = set(telling) if room >= 0 else set[str]()
    for name in sorted(set(in_force) - set(telling), key=lambda name: (costs[name], name)) if room >= 0 else ():
        room -= costs[name]
        if room >= 0:
            kept.add(name)
    return tuple(found[name] for name in every if name in kept), tuple(
        found[name] for name in every if name not in kept
    )


def rule_passages(rules: Iterable[Rule], objects: StateObjects, *, whole: bool) -> list[Passage]:
    """Rules by the section that states them, each word for word under the section's titles."""
    sections = {section.reference: section for section in objects.knowledge.sections}
    texts: dict[str, list[str]] = {}
    for rule in rules:
        texts.setdefault(rule.section or rule.reference, []).append(rule.text)
    found = []
    for reference, own in texts.items():
        section = sections.get(reference)
        found.append(Passage(reference, _title(section) if section else "rule", "\n".join(own), "rule", whole=whole))
    return found


def section_passage(section: Section) -> Passage:
    """A section by itself, word for word."""
    return Passage(section.reference, _title(section), section.text, "document", status=section.status)


def _title(section: Section) -> str:
    file = (section.document or section.reference.rpartition("#")[0]).rpartition("/")[2]
    return f"{file}: {' / '.join(section.titles)}" if section.titles else file


def _document(name: str, sections: Sequence[Section]) -> Passage:
    """The sections of one document under their titles, as they follow each other."""
    lines: list[str] = []
    before: tuple[str, ...] = ()
    for section in sections:
        fresh = section.titles if section.titles != before else ()
        if fresh:
            lines.append("# " + " / ".join(fresh) + (f" ({section.status})" if section.status else ""))
        lines += [line for line in section.text.splitlines() if line.strip()]
        before = section.titles
    statuses = {section.status for section in sections}
    status = statuses.pop() if len(statuses) == 1 else ""
    reference = sections[0].reference.rpartition("#")[0] or sections[0].reference
    return Passage(reference, name.rpartition("/")[2], "\n".join(lines), "document", whole=True, status=status)


def _that_fit(passages: Iterable[Passage], most: int) -> tuple[Passage, ...]:
    found: list[Passage] = []
    for passage in passages:
        most -= lines_cost(passage_lines(passage))
        if most < 0:
            break
        found.append(passage)
    return tuple(found)


def directory_entries(objects: StateObjects, references: Sequence[str]) -> list[DirectoryEntry]:
    """The entries of these tables, in their order."""
    copies = objects.knowledge.copies_of
    return [
        DirectoryEntry(
            table.reference, table.sql_name, _reading(objects, table), table.rows,
            copies.get(table.reference, 0), objects.first_columns.get(table.reference, ())[:LIKELY_COLUMNS],
        )
        for table in (objects.tables[reference] for reference in references)
    ]  # fmt: skip


def _entries(objects: StateObjects) -> tuple[list[DirectoryEntry], Counter[str]]:
    """An entry for each original that has rows, in the environment's order, and how many other tables there are."""
    unlisted: Counter[str] = Counter()
    originals = []
    for reference, table in objects.tables.items():
        original = objects.knowledge.original(reference)
        if original == reference:
            originals.append(table)
        elif original is None or original not in objects.tables:
            unlisted["leftovers without an original"] += 1
    some = any(table.rows for table in originals)
    kept = [table.reference for table in originals if table.rows != 0 or not some]
    unlisted["empty tables"] = len(originals) - len(kept)
    wide = [
        replace(entry, columns=objects.first_columns.get(entry.reference, ()))
        for entry in directory_entries(objects, kept)
    ]
    return wide, unlisted


def _reading(objects: StateObjects, table: TableFacts) -> str:
    """What a row is, or what people wrote of the table."""
    text = objects.reading_of(table.reference) or " ".join(objects.notes.get(table.reference, ())) or table.comment
    return text if len(text) <= READING else text[:READING].rsplit(" ", 1)[0]


def _shortened(
    entries: Sequence[DirectoryEntry], most: int, objects: StateObjects
) -> tuple[tuple[DirectoryEntry, ...], int]:
    """The entries at the greatest width at which all fit; where none does, as many of the foremost as a share holds,
    and how many are left."""
    for read, unread in WIDTHS:
        shown = [replace(entry, columns=entry.columns[: read if entry.reading else unread]) for entry in entries]
        if lines_cost(directory_lines(shown)) <= most:
            return tuple(shown), 0
    bare = [replace(entry, columns=(), reading="", rows=None) for entry in entries]
    if lines_cost(directory_lines(bare)) <= most:
        return tuple(bare), 0
    kept = foremost(objects)
    chosen: set[str] = set()
    room = int(most * STABLE_SHARE)
    by_reference = {entry.reference: replace(entry, columns=()) for entry in entries}
    for reference in kept:
        if reference in by_reference:
            price = lines_cost(directory_lines([by_reference[reference]]))
            if price > room:
                break
            room -= price
            chosen.add(reference)
    stable = tuple(entry for reference, entry in by_reference.items() if reference in chosen)
    return stable, len(entries) - len(stable)


def foremost(objects: StateObjects) -> list[str]:
    """Tables by how much speaks of them whatever is asked: documents that mention them, joins that lead to them."""
    weight: Counter[str] = Counter()
    for targets in objects.knowledge.mentions.values():
        for target in {objects.table_of(mention.target) for mention in targets}:
            if target is not None:
                weight[target] += 3
    for relation in objects.relations:
        weight[relation.left_table] += 1
        weight[relation.right_table] += 1
    return sorted(objects.tables, key=lambda table: (-weight[table], -(objects.tables[table].rows or 0), table))
