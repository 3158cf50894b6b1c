"""Links between records: rules are proposed and tested, their pairs followed, what is left compared by likeness.

In: originals with what is known of them, joins, documents in force, and what people said of records. Out:
`EntityLinks`, one for each entity that lives in several tables or several times in one: its clusters, and the pairs
that were followed or refused. Which tables hold the same entity is not asked of their names: two that share most things
do. A cluster belongs to the entity that most of its tables hold, so that the brokers among the accounts are brokers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import duckdb

from coset.errors import CosetError, UserError
from coset.evidence.reading import JoinableTable
from coset.relations.links.clusters import Clustering, Clusters, Pair, RecordFacts, Refused
from coset.relations.links.likeness import has_splink, likenesses
from coset.relations.links.records import (
    RECORDS,
    SINGLE,
    Agreement,
    KnownTables,
    Master,
    make_records,
    masters_of,
    names_agree,
)
from coset.relations.links.rules import (
    PRECEDENCE,
    WORDS,
    Rule,
    Testing,
    is_cross_reference,
    rules_by_cross_references,
    rules_by_joins,
    rules_by_merges,
    rules_by_names,
    rules_by_strong_keys,
)
from coset.state.relations import RelationRow, SectionText

MOST_RECORDS = 300_000
"""A table of more records is linked only when it is asked for."""
MOST_ALTOGETHER = 2_000_000
LEAST_LINKED = 3
MOST_NEAR_MISSES = 5_000
GENERIC = frozenset({"", "link", "address", "category", "log_event", "setting", "other", "table"})
_NEVER = re.compile(
    r"\b(?:never|not|nie|niemals|jamais|mai|nunca)\b[^.;:]{0,40}?\b(?:by|over|über|per|par|por)\b([^.;:]{0,80})",
    re.IGNORECASE
)  # fmt: skip
_FORBIDDEN = (
    ("likeness", re.compile(r"\bnames?\b|\bnamen?\b|\bnoms?\b|\bnomi?\b|\bnombres?\b", re.IGNORECASE)),
    ("email", re.compile(r"\be-?mails?\b|\bcourriel", re.IGNORECASE)),
    ("phone", re.compile(r"\b(tele)?phones?\b|\btelefon|\btéléphone", re.IGNORECASE)),
    ("tax", re.compile(r"\btax\b|\bvat\b", re.IGNORECASE)),
)  # fmt: skip
Opens = Callable[[JoinableTable], None]
PassingOver = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class SaidLink:
    """Two records that a person called the same, or (`same` is False) not the same."""

    left: tuple[str, str]
    """Table and key."""
    right: tuple[str, str]
    same: bool


@dataclass(frozen=True)
class Given:
    """What linking is told."""

    tables: Sequence[JoinableTable]
    """Originals alone."""
    known: KnownTables
    relations: Sequence[RelationRow]
    sections: Sequence[SectionText] = ()
    said: Sequence[SaidLink] = ()
    large: bool = False
    """Whether tables above the usual size are linked as well."""


@dataclass(frozen=True)
class Record:
    table: str
    key: str
    flags: str | None


@dataclass(frozen=True)
class EntityLinks:
    entity: str
    tables: tuple[str, ...]
    clusters: Mapping[int, tuple[Record, ...]]
    followed: tuple[tuple[Record, Record, str, str, float | None], ...]
    """(one, other, kind, in words, match weight)."""
    refused: tuple[tuple[Record, Record, str, str, float | None, str], ...]
    """The same, with why it was not followed."""
    evidence: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """What links each record, by table and key."""


@dataclass(frozen=True)
class Links:
    entities: tuple[EntityLinks, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Tables that were not linked, and why."""
    problems: tuple[str, ...] = ()


def find_links(connection: duckdb.DuckDBPyConnection, given: Given, opens: Opens, passing_over: PassingOver) -> Links:
    spoken_of = {table for each in given.said for table, _ in (each.left, each.right)}
    masters, left_out = _within_bounds(masters_of(given.tables, given.known, spoken_of), given.large)
    opened = []
    for master in masters:
        with passing_over(master.reference):
            opens(master.table)
            opened.append(master)
    linking = _Linking(connection, opened, given)
    crossing = [table for table in given.tables if is_cross_reference(table, given.known)]
    for table in crossing:
        with passing_over(str(table.reference)):
            opens(table)
    linking.say_what_is_not_there()
    linking.follow_rules(crossing, passing_over)
    linking.follow_likeness()
    return Links(tuple(linking.entities()), tuple(left_out), tuple(linking.problems))


def _within_bounds(masters: Sequence[Master], large: bool) -> tuple[list[Master], list[tuple[str, str]]]:
    kept, left_out, total = [], [], 0
    for master in sorted(masters, key=lambda each: each.table.rows):
        rows = master.table.rows
        if not large and (rows > MOST_RECORDS or total + rows > MOST_ALTOGETHER):
            left_out.append((master.reference, f"{rows:,} records, above {MOST_RECORDS:,}: link it with --large"))
            continue
        total += rows
        kept.append(master)
    return sorted(kept, key=lambda each: each.number), left_out


class _Linking:
    """The steps over one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, masters: Sequence[Master], given: Given) -> None:
        self.connection, self.given = connection, given
        self.testing = Testing(connection, masters)
        self.masters = {master.number: master for master in masters}
        make_records(connection, masters)
        self.records, self.clustering = self._records()
        self.rules: list[Rule] = []
        self.words: dict[tuple[int, int, int], str] = {}
        self.problems: list[str] = []
        self.forbidden = forbidden_by(given.sections, {master.reference for master in masters})

    def _records(self) -> tuple[list[tuple[int, Record]], Clustering]:
        names = sorted(SINGLE)
        rows = self.connection.execute(
            f"SELECT master, key, flags, {', '.join(names)} FROM {RECORDS} ORDER BY record"
        ).fetchall()
        records = [(row[0], Record(self.masters[row[0]].reference, row[1], row[2])) for row in rows]
        self.number = {(record.table, record.key): place for place, (_, record) in enumerate(records)}
        single = {name: [row[3 + place] for row in rows] for place, name in enumerate(names)}
        apart = frozenset(
            (min(pair), max(pair))
            for each in self.given.said
            if not each.same and (pair := self._pair(each)) is not None
        )
        return records, Clustering(RecordFacts([master for master, _ in records], single, apart))

    def say_what_is_not_there(self) -> None:
        """The records that a person spoke of and that cannot be linked: they must not be passed over in silence."""
        read = {master.reference for master in self.masters.values()}
        for table, key in dict.fromkeys(end for each in self.given.said for end in (each.left, each.right)):
            if (table, key) not in self.number:
                why = f"has no record '{key}'" if table in read else "has no key that its records are told by"
                self.problems.append(f"{table} {why}, which 'links' of the corrections name")

    def _pair(self, said: SaidLink) -> tuple[int, int] | None:
        one, other = self.number.get(said.left), self.number.get(said.right)
        return (one, other) if one is not None and other is not None else None

    def follow_rules(self, crossing: Sequence[JoinableTable], passing_over: PassingOver) -> None:
        ways: tuple[tuple[str, Callable[[], Iterable[Rule]]], ...] = (
            ("cross-references", lambda: rules_by_cross_references(self.testing, crossing, self.given.known)),
            ("merged records", lambda: rules_by_merges(self.testing)),
            ("joins between records", lambda: rules_by_joins(self.testing, self.given.relations)),
            ("codes of records", lambda: rules_by_names(self.testing)),
            ("keys of records", lambda: rules_by_strong_keys(self.testing)),
        )
        for what, propose in ways:
            with passing_over(what):
                for rule in propose():
                    if not self._is_forbidden(rule):
                        self.rules.append(rule)
        pairs = [
            Pair(*pair, rank=0, rule=-1, alike=True)
            for each in self.given.said
            if each.same and (pair := self._pair(each)) is not None
        ]
        for number, rule in enumerate(self.rules):
            pairs += self._pairs(number, rule)
        self.clustering.follow(pairs)

    def _is_forbidden(self, rule: Rule) -> bool:
        tables = {self.masters[rule.left].reference, self.masters[rule.right].reference}
        return any(rule.kind == kind and (not scope or scope & tables) for kind, scope in self.forbidden)

    def _pairs(self, number: int, rule: Rule) -> Iterable[Pair]:
        rows = self.connection.execute(
            f"SELECT left_record, right_record, CASE WHEN l.name IS NOT NULL AND r.name IS NOT NULL "
            f"THEN {names_agree('l', 'r')} END FROM ({rule.pairs}) JOIN {RECORDS} l ON l.record = left_record "
            f"JOIN {RECORDS} r ON r.record = right_record"
        ).fetchall()
        return [Pair(left, right, rule.rank, number, alike) for left, right, alike in rows]

    def follow_likeness(self) -> None:
        """Compare what keys have not linked, among the tables of one entity."""
        scope = [scope for kind, scope in self.forbidden if kind == "likeness"]
        for numbers in self._communities(self.clustering.result()):
            free = [each for each in numbers if not any(not s or self.masters[each].reference in s for s in scope)]
            named = [each for each in free if self.masters[each].name and _tells(self.masters[each])]
            if not named:
                continue
            if not has_splink():
                self.problems.append("records were not compared by likeness: pip install 'coset[links]'")
                return
            try:
                self._compare(named)
            except (CosetError, UserError) as error:
                self.problems.append(f"{', '.join(self.masters[each].reference for each in named)}: {error}")

    def _compare(self, masters: Sequence[int]) -> None:
        self.connection.execute("CREATE OR REPLACE TEMP TABLE link_clusters (record BIGINT, cluster BIGINT)")
        of = self.clustering.result().of
        if of:
            import pyarrow as pa

            self.connection.register("arriving_clusters", pa.table({"record": list(of), "cluster": list(of.values())}))
            self.connection.execute("INSERT INTO link_clusters FROM arriving_clusters")
            self.connection.unregister("arriving_clusters")
        rank = PRECEDENCE.index("likeness")
        pairs, near = [], []
        for each in likenesses(self.connection, masters):
            pair = Pair(each.left, each.right, rank, -2, True, each.weight)
            self.words[each.left, each.right, rank] = each.words
            if each.sure:
                pairs.append(pair)
            else:
                near.append(pair)
        self.clustering.follow(pairs)
        self.near = [*getattr(self, "near", []), *near]

    # Entities

    def _communities(self, clusters: Clusters) -> list[list[int]]:
        """Tables that hold the same things: each goes with the one that it shares most things with. Tables alone whose
        records are named stand beside others of their role."""
        shared, held = self._shared(clusters)
        best: dict[int, int] = {}
        for one in held:
            partners = [
                (count / (held[one] + held[other] - count), -other)
                for (a, b), count in shared.items()
                for other in ((b,) if a == one else (a,) if b == one else ())
            ]
            if partners:
                best[one] = -max(partners)[1]
        groups = _components(best.items(), held)
        return self._with_lonely(groups)

    def _shared(self, clusters: Clusters) -> tuple[Counter[tuple[int, int]], Counter[int]]:
        members: dict[int, set[int]] = defaultdict(set)
        for record, cluster in clusters.of.items():
            members[cluster].add(self.records[record][0])
        shared: Counter[tuple[int, int]] = Counter()
        for masters in members.values():
            ordered = sorted(masters)
            for place, one in enumerate(ordered):
                for other in ordered[place + 1 :]:
                    shared[one, other] += 1
        return shared, Counter(master for master, _ in self.records)

    def _with_lonely(self, groups: list[list[int]]) -> list[list[int]]:
        by_role: dict[str, list[int]] = {}
        for group in groups:
            if len(group) > 1:
                by_role.setdefault(self._role(group), group)
        kept = [group for group in groups if len(group) > 1]
        for group in groups:
            master = self.masters[group[0]]
            if len(group) == 1:
                if master.entity in by_role and _tells(master) and master.name:
                    by_role[master.entity].append(master.number)
                else:
                    by_role.setdefault(master.entity, group)
                    kept += [] if group in kept else [group]
        return kept

    def _role(self, group: Iterable[int]) -> str:
        votes: Counter[str] = Counter()
        for number in group:
            master = self.masters[number]
            if master.entity not in GENERIC:
                votes[master.entity] += round(1000 * master.sure)
        return max(votes, key=lambda each: (votes[each], each)) if votes else ""

    def entities(self) -> Iterable[EntityLinks]:
        clusters = self.clustering.result()
        groups = self._communities(clusters)
        place_of = {master: place for place, group in enumerate(groups) for master in group}
        members: dict[int, list[int]] = defaultdict(list)
        for record in range(len(self.records)):
            members[clusters.of.get(record, record)].append(record)
        things: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for cluster, records in members.items():
            votes = Counter(place_of[master] for master in {self.records[record][0] for record in records})
            home = min(votes, key=lambda place: (-votes[place], place))
            things[home][cluster] = records
        taken: set[str] = set()
        # A link that a person declared counts by itself; what keys propose counts where it is no chance.
        said = {clusters.of.get(pair.left) for pair in clusters.followed if pair.rule == -1}
        for place, group in enumerate(groups):
            found = things[place]
            linked = sum(len(records) > 1 for records in found.values())
            if linked >= LEAST_LINKED or (linked and not said.isdisjoint(found)):
                yield self._entity(self._called(group, taken), found, clusters)

    def _called(self, group: Sequence[int], taken: set[str]) -> str:
        role = self._role(group)
        largest = max(group, key=lambda number: self.masters[number].table.rows)
        table = re.sub(r"\W+", "_", (self.masters[largest].table.reference.table or "").lower()).strip("_")
        names = [name for name in (role, f"{role}_{table}" if role else table, table) if name]
        name = next((each for each in names if each not in taken), f"{names[-1]}_{len(taken)}")
        taken.add(name)
        return name

    def _entity(self, name: str, found: Mapping[int, list[int]], clusters: Clusters) -> EntityLinks:
        here = {record for records in found.values() for record in records}
        followed = [pair for pair in clusters.followed if pair.left in here]
        apart = [each for each in clusters.refused if each.pair.left in here or each.pair.right in here]
        apart += [
            Refused(pair, "alike, but not surely enough") for pair in getattr(self, "near", []) if pair.left in here
        ]
        apart = [each for each in apart if clusters.of.get(each.pair.left, -1) != clusters.of.get(each.pair.right, -2)]
        evidence: dict[int, dict[str, int]] = defaultdict(dict)
        for pair in followed:
            for record in (pair.left, pair.right):
                evidence[record].setdefault(self._said(pair), pair.rank)
        told = {
            (self.records[record][1].table, self.records[record][1].key): "; ".join(
                sorted(words, key=lambda word: (words[word], word))[:4]
            )
            for record, words in evidence.items()
        }
        return EntityLinks(
            name,
            tuple(sorted({self.records[record][1].table for record in here})),
            {cluster: tuple(self.records[record][1] for record in records) for cluster, records in found.items()},
            tuple((*self._ends(pair), self._kind(pair), self._said(pair), pair.weight or None) for pair in followed),
            tuple(
                (
                    *self._ends(each.pair),
                    self._kind(each.pair),
                    self._said(each.pair),
                    each.pair.weight or None,
                    each.reason,
                )
                for each in apart[:MOST_NEAR_MISSES]
            ),
            told,
        )

    def _ends(self, pair: Pair) -> tuple[Record, Record]:
        return self.records[pair.left][1], self.records[pair.right][1]

    def _kind(self, pair: Pair) -> str:
        return PRECEDENCE[pair.rank]

    def _said(self, pair: Pair) -> str:
        if pair.rule == -1:
            return "a person said so"
        if pair.rule == -2:
            return f"alike: {self.words.get((pair.left, pair.right, pair.rank), '')}"
        rule = self.rules[pair.rule]
        return rule.words if rule.kind in WORDS else f"{rule.kind} {rule.words}"


def _tells(master: Master) -> bool:
    return bool(set(master.attributes) & {"birth", "email", "phone", "street", "postal_code", "tax", "bank_account"})


def _components(pairs: Iterable[tuple[int, int]], all_of: Iterable[int]) -> list[list[int]]:
    home = {each: each for each in all_of}

    def root(each: int) -> int:
        while home[each] != each:
            each = home[each]
        return each

    for one, other in pairs:
        home[max(root(one), root(other))] = min(root(one), root(other))
    groups: dict[int, list[int]] = defaultdict(list)
    for each in sorted(home):
        groups[root(each)].append(each)
    return sorted(groups.values())


def forbidden_by(sections: Iterable[SectionText], masters: set[str]) -> list[tuple[str, frozenset[str]]]:
    """Kinds of evidence that documents say must not be used ("never by name or e-mail"), each with the tables that the
    section names; for all tables where it names none."""
    found = []
    for section in sections:
        for said in _NEVER.finditer(section.text):
            named = {target.split("#")[0] for target in section.named}
            scope = frozenset(master for master in masters if any(_within(target, master) for target in named))
            found += [(kind, scope) for kind, pattern in _FORBIDDEN if pattern.search(said[1])]
    return found


def _within(target: str, table: str) -> bool:
    return target == table or target.startswith(f"{table}.")


def summary(rules: Iterable[tuple[str, Agreement]]) -> list[str]:
    return [f"{words}: {found.pairs:,} pairs" for words, found in rules]
