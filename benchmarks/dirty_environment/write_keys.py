"""Step: every key column gets its way of writing. Columns that join share a domain; each picks its layers by itself."""

from __future__ import annotations

import random

from .clean import Value
from .draft import Draft, DraftColumn
from .key_forms import Domain, Layer, Reading, choose_layers, choose_reading, write_key
from .options import Options
from .thesaurus import SYNONYMS
from .words import split_words


def domains(draft: Draft) -> list[list[DraftColumn]]:
    """Key columns that hold the same kind of key, found by following references column by column."""
    group_of: dict[DraftColumn, list[DraftColumn]] = {column: [column] for column in draft.columns if column.is_key}
    for reference in draft.references:
        for child, parent in zip(reference.child, reference.parent, strict=True):
            one, other = group_of[child], group_of[parent]
            if one is not other:
                one.extend(other)
                for column in other:
                    group_of[column] = one
    order = {column: number for number, column in enumerate(draft.columns)}
    groups = {id(group): sorted(group, key=order.__getitem__) for group in group_of.values()}
    return sorted(groups.values(), key=lambda group: order[group[0]])


def write_keys(draft: Draft, options: Options) -> None:
    for columns in domains(draft):
        texts = frozenset(_text(value) for column in columns for value in column.values if value is not None)
        domain = Domain(texts)
        about = draft.chance("domain", str(columns[0].origin))
        reading = choose_reading(domain, about, options.structure_share / 2)
        for column in columns:
            _write(draft, column, domain, reading, options)


def _write(draft: Draft, column: DraftColumn, domain: Domain, reading: Reading, options: Options) -> None:
    rng = draft.chance("key", column.table.canonical_name, column.canonical_name)
    column.reading = reading
    known = [None if value is None else _text(value) for value in column.values]
    column.canonical = [None if text is None else reading.canonical(text) for text in known]
    if column.in_table_name:
        # A table's name is the value itself; only what the domain ignores has to be read away.
        ignored: list[Layer] = [Layer("case", "kept")] if reading.case else []
        column.layers = (*ignored, Layer("separators", "kept")) if reading.separators else tuple(ignored)
        return
    column.layers = choose_layers(
        domain, reading, rng, label=_label(column, rng),
        structure_share=options.structure_share, speck_share=options.speck_share, speck_rows=options.speck_rows,
        keeps_blanks=column.table.engine != "csv",
    )  # fmt: skip
    if column.table.engine == "csv" and column.layers == (Layer("numeric", "text"),):
        column.layers = ()  # A file of texts cannot tell 7 from '7'.
    is_changed = any(layer.how != "kept" for layer in column.layers)
    if is_changed or column.type == "text" or (column.type == "date" and column.table.engine == "mongodump"):
        written: list[Value] = [None if text is None else write_key(text, column.layers, rng) for text in known]
        column.values, column.type = written, "text"


def _label(column: DraftColumn, rng: random.Random) -> str:
    """What a person would put before the key: the thing it names, by one of its names."""
    words = [word for word in split_words(column.canonical_name) if word not in {"id", "code", "key", "no", "number"}]
    word = words[0] if words else split_words(column.table.canonical_name)[0]
    return rng.choice([word, *(synonym for synonym in SYNONYMS.get(word, ()) if " " not in synonym)])


def _text(value: Value) -> str:
    return str(value)
