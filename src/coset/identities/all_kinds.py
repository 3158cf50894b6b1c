"""Memberships of the other kinds of evidence: value groups, relations, sections of documents, rules.

In: an open state whose tables and columns are realised, and the model. Out: a soft profile for each object, in the
state. Every kind has a look of its own:

- a value group is what its values say in their table, without the name of their column: it is encoded as a column
  without a name beside a table of which the name and the reading are told;
- a relation lies between the columns that it joins, weighed by their precision;
- a section or rule is encoded as a table is, from its titles and sentences. That place is where belief begins; what its
  words name (the inventory's names) and what tables and columns it mentions then speak for entities like labelers.

All are measured against the bank that the environment's tables and columns realised. So a rule about customers is
found because a question touches *customer*, though they share no word. Encoded again is only what changed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coset import __version__
from coset.identities.features import numbers_of, text_of
from coset.identities.inventory import COORDINATES, Coordinate, Lexicon, Phrase, phrase_of
from coset.identities.model import IdentityModel
from coset.identities.prototypes import Array, PrototypeBank, distances
from coset.identities.signals import Signal
from coset.identities.store import IdentityStore, StoredRow
from coset.identities.text_encoder import ObjectTexts, encode_in_tables
from coset.readings.observed import ObservedColumn, ObservedTable, type_family
from coset.state import EvidenceState
from coset.state.documents import rules, sections
from coset.state.memberships import (
    EvidenceKind,
    EvidenceProfileRow,
    data_digest,
    evidence_profiles,
    number_of_objects,
    replace_profiles,
    sure_entities,
)
from coset.state.read_model import ReadModel
from coset.state.readings import ReadingStore
from coset.state.tables import ColumnRow, GroupValueRow

MOST_VALUES, LONGEST_TEXT = 12, 300
WRITTEN: tuple[EvidenceKind, ...] = ("section", "rule")
OF_DATA: tuple[EvidenceKind, ...] = ("value group", "relation")
DATA_REALISED = "value groups and relations realised"
"""The key of `meta` under which stands what the profiles of these were made from."""
SURE = 0.4
"""What a mentioned table is about speaks for a section from this membership on."""


@dataclass(frozen=True)
class Look:
    """An object as the encoders and labelers see it."""

    kind: EvidenceKind
    reference: str
    texts: ObjectTexts
    numbers: np.ndarray
    signals: tuple[Signal, ...] = ()

    @property
    def digest(self) -> str:
        words = f"{self.kind}\x00{self.texts.own}\x00{self.texts.table}".encode("utf-8", "replace")
        return hashlib.blake2b(words + self.numbers.tobytes(), digest_size=12).hexdigest()


def comprehend_all_kinds(state: EvidenceState, model: IdentityModel) -> int:
    """Bring the profiles of value groups, relations, sections and rules up to date; how many objects have one. Those of
    value groups and relations stay while the data, its readings and its roles are as they were."""
    store = IdentityStore(state)
    banks: dict[Coordinate, PrototypeBank] = {}
    for coordinate in COORDINATES:
        bank = _bank(store, coordinate, model)
        if bank is None:
            return 0
        banks[coordinate] = bank
    digest = f"{__version__} {model.name} {data_digest(state)}"
    kinds = WRITTEN if state.meta(DATA_REALISED) == digest else (*WRITTEN, *OF_DATA)
    looks = list(_written(state, model, sure_entities(state, SURE)))
    if kinds is not WRITTEN:
        looks = [*_value_groups(state), *looks]
    known: dict[tuple[str, str], Array] = {
        (row.digest, row.coordinate): np.array(row.embedding)
        for row in evidence_profiles(state, kinds)
        if row.embedding
    }
    found: list[EvidenceProfileRow] = []
    for coordinate, bank in banks.items():
        found += _seen(looks, coordinate, bank, model, known)
        if kinds is not WRITTEN:
            found += _relations(state, store.rows(coordinate), coordinate, bank, model)
    with state.transaction():
        replace_profiles(state, found, kinds)
        state.set_meta(DATA_REALISED, digest)
    return number_of_objects(state)


def _seen(
    looks: Sequence[Look],
    coordinate: Coordinate,
    bank: PrototypeBank,
    model: IdentityModel,
    known: Mapping[tuple[str, str], Array],
) -> Iterator[EvidenceProfileRow]:
    """The profiles of what is encoded, in one coordinate: what was written has entities alone."""
    own = [look for look in looks if coordinate == "entity" or look.kind == "value group"]
    if not own:
        return
    places = _places(own, coordinate, model, known)
    profile = model.coordinates[coordinate].profile(distances(places, bank))
    labels, count = model.coordinates[coordinate].labels, len(model.inventory.of(coordinate))
    for number, look in enumerate(own):
        said = [signal for signal in look.signals if signal.coordinate == coordinate]
        belief = labels.posterior(said, count, profile[number]) if said else profile[number]
        reasons = tuple(signal.reason for signal in said)
        yield _row(look.kind, look.reference, coordinate, look.digest, belief, places[number], reasons, model)


def _bank(store: IdentityStore, coordinate: Coordinate, model: IdentityModel) -> PrototypeBank | None:
    """The bank of the last realisation, where it is one of this inventory."""
    for identities, bank in store.banks(coordinate).values():
        if tuple(identities) == tuple(model.inventory.ids(coordinate)):
            return bank
    return None


def _places(
    looks: Sequence[Look], coordinate: Coordinate, model: IdentityModel, known: Mapping[tuple[str, str], Array]
) -> Array:
    """z of each object; what was encoded before is taken over."""
    part = model.coordinates[coordinate]
    width = part.prior.centres.shape[1]
    places = np.zeros((len(looks), width))
    keys = [(f"{model.name}:{look.digest}", coordinate) for look in looks]
    fresh = [number for number, key in enumerate(keys) if key not in known]
    if fresh:
        vectors = encode_in_tables(model.text_encoder, model.table_encoder, [looks[number].texts for number in fresh])
        places[fresh] = part.encoder.encode(vectors, np.stack([looks[number].numbers for number in fresh]))[0]
    for number, key in enumerate(keys):
        if key in known:
            places[number] = known[key]
    return places


def _value_groups(state: EvidenceState) -> Iterator[Look]:
    model = ReadModel(state)
    values: dict[str, list[str]] = defaultdict(list)
    for row in model.all(GroupValueRow):
        if row.value is not None and row.part != "tail" and len(values[row.column_reference]) < MOST_VALUES:
            values[row.column_reference].append(row.value)
    columns: Mapping[str, ColumnRow] = model.columns
    read = {each.reference: each.name for each in ReadingStore(state).all(best=True)}
    for reference, listed in sorted(values.items()):
        column = columns.get(reference)
        family = type_family(column.type) if column is not None else "unknown"
        seen = ObservedColumn("", family, samples=tuple(listed))
        table = ObservedTable("", (seen,))
        owner = column.table_reference if column is not None else ""
        told = read.get(owner) or owner.rpartition("/")[2]
        yield Look("value group", reference, ObjectTexts(text_of(table, seen), told), numbers_of(table, seen))


def _written(state: EvidenceState, model: IdentityModel, entities: Mapping[str, str]) -> Iterator[Look]:
    """Sections and rules. A rule stands in a section, whose titles say what it is about."""
    lexicon = Lexicon(model.inventory)
    told = sections(state)
    about: dict[str, set[str]] = defaultdict(set)
    stated = rules(state)
    for rule in stated:
        about[rule.section_reference].update(rule.about)
    titles = {section.reference: ". ".join(section.title_path) for section in told}
    for section in told:
        signals = _signals(section.text, titles[section.reference], about[section.reference], model, lexicon, entities)
        yield _as_table("section", section.reference, f"{titles[section.reference]}. {section.text}", signals)
    for rule in stated:
        signals = _signals(rule.text, "", rule.about, model, lexicon, entities)
        yield _as_table("rule", rule.reference, rule.text, signals)


def _as_table(kind: EvidenceKind, reference: str, text: str, signals: Sequence[Signal]) -> Look:
    short = " ".join(text.split())[:LONGEST_TEXT]
    return Look(kind, reference, ObjectTexts(short, short), numbers_of(ObservedTable("", ()), None), tuple(signals))


def _signals(
    text: str,
    title: str,
    about: Sequence[str] | set[str],
    model: IdentityModel,
    lexicon: Lexicon,
    entities: Mapping[str, str],
) -> list[Signal]:
    found = []
    for labeler, words in (("words of the title", title), ("words of the text", text)):
        named = entities_named(phrase_of(words[: 4 * LONGEST_TEXT]), lexicon)
        if named:
            told = ", ".join(sorted({" ".join(phrase) for phrase, _ in named}))
            identities = tuple(dict.fromkeys(identity for _, several in named for identity in several))
            found.append(Signal(labeler, "entity", identities, True, f"it says {told}"))
    mentioned = {entities[reference] for reference in about if reference in entities}
    if mentioned:
        places = tuple(sorted(model.inventory.position("entity", identity) for identity in mentioned))
        found.append(
            Signal("mentions", "entity", places, True, f"it names what is about {', '.join(sorted(mentioned))}")
        )
    return found


def entities_named(words: Phrase, lexicon: Lexicon) -> list[tuple[Phrase, tuple[int, ...]]]:
    """The names of entities in a text, longer ones before the shorter ones inside them."""
    found: list[tuple[Phrase, tuple[int, ...]]] = []
    place = 0
    while place < len(words):
        for length in (3, 2, 1):
            phrase = words[place : place + length]
            meant = lexicon.meaning("entity", phrase) if len(phrase) == length else ()
            if meant:
                found.append((phrase, meant))
                place += length
                break
        else:
            place += 1
    return found


def _relations(
    state: EvidenceState,
    roles: Mapping[str, StoredRow],
    coordinate: Coordinate,
    bank: PrototypeBank,
    model: IdentityModel,
) -> Iterator[EvidenceProfileRow]:
    """A relation lies between its ends."""
    for row in ReadModel(state).relations:
        ends = [roles[column] for column in (*row.left_columns, *row.right_columns) if column in roles]
        if not ends:
            continue
        weights = np.array([end.precision.mean() for end in ends])
        place = np.average(np.stack([end.embedding for end in ends]), axis=0, weights=weights)
        belief = model.coordinates[coordinate].profile(distances(place[None], bank))[0]
        yield _row("relation", row.id, coordinate, "", belief, None, (), model)


def _row(
    kind: EvidenceKind,
    reference: str,
    coordinate: Coordinate,
    digest: str,
    belief: Array,
    place: Array | None,
    reasons: tuple[str, ...],
    model: IdentityModel,
) -> EvidenceProfileRow:
    ids = model.inventory.ids(coordinate)
    first, second = np.argsort(-belief, kind="stable")[:2].tolist()
    return EvidenceProfileRow(
        kind, reference, coordinate, f"{model.name}:{digest}" if digest else "", ids[first], float(belief[first]),
        ids[second], float(belief[second]), tuple(belief.tolist()),
        () if place is None else tuple(place.tolist()), reasons,
    )  # fmt: skip
