"""The stage of `coset comprehend` that reads: what every table and column is, in plain words.

In: an open state with its evidence, and the environment. Out: readings in the state, and a summary. Nothing is read
again while names, types, samples, texts and what people said are as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coset import __version__
from coset.entry_points import READERS as ADDED
from coset.entry_points import added
from coset.environment.configuration import Environment
from coset.evidence.documents.stated import described_sources
from coset.readings.kept import KeptNames, digest_of
from coset.readings.observe import observe
from coset.readings.observed import ObservedEnvironment
from coset.readings.offline import READERS_ARE, CopyOf, read_offline
from coset.readings.reading import READERS, Reading
from coset.readings.stated import Text
from coset.readings.vocabulary import shipped_words, vocabulary
from coset.readings.words import words_of
from coset.state import EvidenceState
from coset.state.documents import sections, sql_uses
from coset.state.evidence_state import corrections_in_force
from coset.state.read_model import ReadModel
from coset.state.readings import CORRECTIONS, OFFLINE, ReadingStore
from coset.state.tables import table_of_references

DIGEST = "readings"
log = logging.getLogger(__name__)
SURE_COPY, WRITTEN = 0.5, 0.8


@dataclass(frozen=True)
class ReadingSummary:
    """What the readers made of an environment."""

    objects: int
    """Tables, columns and nested paths that have a reading."""
    by_reader: tuple[tuple[str, int], ...]
    """For how many objects each reader has the best reading."""
    anew: bool
    """False where nothing had changed and nothing was read."""


def comprehend_readings(state: EvidenceState, environment: Environment) -> ReadingSummary:
    """Bring the readings of a state up to date with its evidence and with what people said."""
    store = ReadingStore(state)
    observed, texts = observe(state, with_readings=False), texts_of(state, environment)
    said = said_readings(state, environment)
    copies, renamed = copies_of(state), [*sql_readings(state), *added_readings(state, observed, texts)]
    digest = _digest(observed, texts, [*said, *renamed], copies)
    anew = state.meta(DIGEST) != digest
    if anew:
        with state.transaction():
            kept = KeptNames.of(*store.names_kept())
            store.replace([*read_offline(observed, texts, copies, kept), *renamed], OFFLINE)
            store.keep_names(kept.read, kept.counted)
            store.replace_said(said)
            state.set_meta(DIGEST, digest)
    counts = store.best_by_reader()
    return ReadingSummary(sum(count for _, count in counts), counts, anew)


def texts_of(state: EvidenceState, environment: Environment | None = None) -> list[Text]:
    """All texts about the data that the state and `coset.yaml` hold."""
    model = ReadModel(state)
    texts = [
        Text(row.description, f"description of {row.source}", None, row.source)
        for row in model.sources.values()
        if row.description is not None
    ]
    texts += [
        Text(paragraph, f"description of {source} in {section}", None, source)
        for source, (section, paragraph) in described_sources(state).items()
    ]
    if environment is not None and environment.description:
        texts.append(Text(environment.description, "description in coset.yaml"))
    for document in model.documents:
        about = document.about
        if document.text is not None and document.table_reference is None and about and about not in model.sources:
            texts.append(Text(document.text, document.title or document.reference, about))
    for section in sorted(sections(state), key=lambda each: each.reference):
        if section.status != "superseded":
            texts.append(Text(section.text or "", section.reference, None, section.source))
    return list({(text.text, text.about): text for text in reversed(texts)}.values())[::-1]


def said_readings(state: EvidenceState, environment: Environment) -> list[Reading]:
    """What people and agents said in the corrections file of objects that are here."""
    tables = table_of_references(state)
    return [
        Reading(
            said.reference, tables[said.reference], said.name, said.meaning or "", tuple(said.synonyms),
            said.reader, 1.0 if said.reader == "person" else 0.9, CORRECTIONS,
        )
        for said in corrections_in_force(environment, state).readings
        if said.reference in tables
    ]  # fmt: skip


def sql_readings(state: EvidenceState) -> list[Reading]:
    """What statements that people wrote call a column: `POLEFFDT AS effective_date`."""
    tables, found = table_of_references(state), dict[tuple[str, str], Reading]()
    for use in sql_uses(state, "rename"):
        words, reference = words_of(use.name or ""), use.columns[0]
        if reference in tables and len(" ".join(words)) > 3 and any(map(vocabulary().is_word, words)):
            reading = Reading(reference, tables[reference], " ".join(words), "", (), "sql", WRITTEN, use.statement)
            found.setdefault((reading.reference, reading.name), reading)
    return list(found.values())


def added_readings(state: EvidenceState, observed: ObservedEnvironment, texts: Sequence[Text]) -> list[Reading]:
    """What readers of installed packages say: an entry point of the group `coset.readers` names a function over the
    observed tables and the texts about them. Readings of objects that are not here are left out."""
    tables, found = table_of_references(state), list[Reading]()
    for name, read in added(ADDED).items():
        try:
            said = [each for each in read(observed, texts) if isinstance(each, Reading)]
        except Exception as error:  # One package must not take the readings of all others down.
            log.warning("the reader '%s' fails (%s: %s)", name, type(error).__name__, error)
            continue
        found += [
            each for each in said if each.reference in tables and each.reader in READERS and each.reader != "person"
        ]
    return found


def copies_of(state: EvidenceState) -> dict[str, CopyOf]:
    """The tables that are surely copies, each with its original."""
    return {
        each.table: CopyOf(each.original, each.kind)
        for each in state.copies()
        if each.original is not None and each.confidence >= SURE_COPY
    }


def _digest(
    environment: ObservedEnvironment, texts: Sequence[Text], said: Sequence[Reading], copies: Mapping[str, CopyOf]
) -> str:
    words = (__version__, READERS_ARE, shipped_words())
    return digest_of((words, environment.tables, texts, said, sorted(copies.items())))
