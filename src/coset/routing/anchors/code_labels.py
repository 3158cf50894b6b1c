"""Codes and what they stand for: from pairs of columns in one table, and from texts that say so.

In: an evidence state, and a session for the pairs of columns. Out: `CodeLabel`s: in this column, this code stands for
this label, by that origin. A text is believed only for codes that the data holds, except about columns of which no
value is known. Nothing here looks at questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from coset.errors import CosetError
from coset.evidence.column_expressions import column_kind
from coset.routing.anchors.indexed_columns import ValueIndexSettings, sql_name, stays
from coset.routing.anchors.spelling import normalised, plain_words
from coset.session.query_session import QuerySession
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state.indexes import (
    ColumnToIndex,
    TableToIndex,
    TextRow,
    holders_of_values,
    known_values,
    texts_about_codes,
)
from coset.state.relations import code_list_labels
from coset.state.tables import named_columns

LONGEST_LABEL = 80
_VERBS = r"means|stands for|is short for|denotes|indicates|refers to"
_SAYS = re.compile(rf"=>?|->|→|:|\s[-–—]\s|\s(?:{_VERBS})\s")
"""What stands between a code and its label. Only there is the text before and after looked at: texts may be long."""
_CODE_BEFORE = re.compile(
    r"(?:^|[\n,;|(•*\[{]|[.:-] |\bor |\band )\s*[\"'`“]?([A-Za-z0-9][A-Za-z0-9_.+/-]{0,15})[\"'`”]?\s*$"
)
_LABEL_AFTER = re.compile(r"\s*[\"'`“]?([^\n,;|()\[\]{}\"”=]{2,80})")
_SAYS_MORE = re.compile(rf"\s(?:{_VERBS})\s|[:→]|->")
LOOK_BACK = 32
_CODE_IN_BRACKETS = re.compile(r"\((?P<code>[A-Z][A-Z0-9-]{1,11})\)")
MOST_BEFORE, MOST_WORDS = 120, 8
"""So many characters and words before a code in brackets may be its label."""
_LABEL_IN_BRACKETS = re.compile(
    r"(?<![\w-])(?P<code>[A-Z0-9][A-Z0-9-]{0,11})\s*\((?P<label>[^\W\d_][^()\n=:;]{2,80})\)"
)  # fmt: skip
_ENDS = re.compile(r"\s+(?:and|or|while|which|where|otherwise)$|\.\s.*$|[.\s'\"`”*]+$", re.DOTALL)
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de", "la", "&", "to", "with"))


def label_pairs(text: str) -> list[tuple[str, str]]:
    """(code, label) of every sentence that says so, each once, in order."""
    found: dict[tuple[str, str], None] = {}
    for match in _SAYS.finditer(text):
        code = _CODE_BEFORE.search(text[max(0, match.start() - LOOK_BACK) : match.start()])
        after = _LABEL_AFTER.match(text, match.end()) if code else None
        said = re.split(r"[.!?]\s", after[1])[0] if after else ""
        if code and said and not _SAYS_MORE.search(said):
            _add(found, code[1], said)
    for match in _LABEL_IN_BRACKETS.finditer(text):
        _add(found, match["code"], match["label"])
    for match in _CODE_IN_BRACKETS.finditer(text):
        before = re.split(r"[\n.;:()]", text[max(0, match.start() - MOST_BEFORE) : match.start()])[-1]
        if label := _before(before.split()[-MOST_WORDS:], match["code"]):
            _add(found, match["code"], label)
    return list(found)


def listed_pairs(text: str, known: Collection[str]) -> list[tuple[str, str]]:
    """`P paid, S sent, C cancelled`: a list whose entries each begin with a code that is known."""
    found = []
    for piece in re.split(r"[,;\n|]", text):
        first, _, rest = piece.strip().partition(" ")
        if first in known and rest.strip():
            found.append((first, _trimmed(rest)))
    return [pair for pair in found if pair[1]] if len(found) >= 2 else []


def _before(words: list[str], code: str) -> str:
    """Of the words before a code in brackets, those that it stands for: as many as it has letters when their initials
    are the code; else the run of capitalised words; else from the nearest word with its first letter."""
    letters = code.replace("-", "")
    tail = words[-len(letters) :]
    if len(tail) == len(letters) and all(word[0].upper() == letter for word, letter in zip(tail, letters, strict=True)):
        return " ".join(tail)
    begin = len(words)
    while (
        begin and (words[begin - 1][0].isupper() or words[begin - 1] in _SMALL) and not words[begin - 1].endswith(",")
    ):
        begin -= 1
    while begin < len(words) and words[begin] in _SMALL:
        begin += 1
    if begin == len(words):
        begin = max((place for place, word in enumerate(words) if word[0].upper() == code[0]), default=len(words))
    return " ".join(words[begin:])


def _add(found: dict[tuple[str, str], None], code: str, label: str) -> None:
    label = _trimmed(label)
    if label and label.lower() != code.lower() and any(letter.isalpha() for letter in label):
        found.setdefault((code.strip("."), label))


def _trimmed(label: str) -> str:
    before = None
    label = label.strip()
    while before != label:
        before, label = label, _ENDS.sub("", label).strip(" \t'\"`“”*-–")
    return label[:LONGEST_LABEL] if len(label) >= 2 else ""


NARROW = 6
"""A table of so many columns may be a lookup table, whatever its columns are called."""
MOST_PAIRS = 6
CODE_WORDS = {"code", "id", "key", "abbreviation", "abbr", "symbol", "short", "acronym", "cd", "no", "number", "iso"}
LABEL_WORDS = {
    "name",
    "label",
    "title",
    "description",
    "desc",
    "meaning",
    "long",
    "text",
    "full",
    "value",
    "definition",
}
LONGEST_CODE = 16
MOST_TEXT = 4_000_000
"""So many characters of documents are read for codes; passages come last."""


@dataclass(frozen=True)
class CodeLabel:
    """In the column `reference`, `code` stands for `label`."""

    reference: str
    code: str
    label: str
    origin: str
    """Where that is written: the label's column, or a document."""


def list_labels(state: EvidenceState) -> list[CodeLabel]:
    """The labels of codes whose list stands in another table, by the lists that are kept up to date."""
    return [
        CodeLabel(each.column_reference, each.code, each.label, each.list_reference) for each in code_list_labels(state)
    ]


def table_labels(
    session: QuerySession, table: TableToIndex, columns: Sequence[ColumnToIndex], settings: ValueIndexSettings
) -> list[CodeLabel]:
    """The labels of codes whose column stands beside that of the labels, one to one."""
    if table.schema_only or table.problem or table.family:
        return []
    pairs = _pairs_of_columns(columns, settings)
    if not pairs:
        return []
    try:
        if stays(session, table):
            return []
        return [label for code, text in pairs for label in _read_pair(session, table, code, text, settings)]
    except CosetError:
        return []  # The table's values said already why it cannot be read.


def _pairs_of_columns(
    columns: Sequence[ColumnToIndex], settings: ValueIndexSettings
) -> list[tuple[ColumnToIndex, ColumnToIndex]]:
    """Columns that may be code and label: as many different values, one short, one in words, named or placed so."""
    fitting = [
        column
        for column in columns
        if not column.personal and 2 <= (column.distinct_values or 0) <= settings.most_codes
    ]
    labels = [
        column
        for column in fitting
        if column_kind(column.type) in ("text", "enum")
        and column.role != "codes"
        and 3 <= (column.mean_length or 0) <= settings.longest_mean
    ]
    found = []
    for label in labels:
        for code in fitting:
            if code is label or not _may_be_code(code, label):
                continue
            many = label.distinct_values or 0
            same = abs((code.distinct_values or 0) - many) <= 0.02 * many
            if same and (len(columns) <= NARROW or _are_named_so(code.name, label.name)):
                found.append((code, label))
    return found[:MOST_PAIRS]


def _may_be_code(code: ColumnToIndex, label: ColumnToIndex) -> bool:
    kind = column_kind(code.type)
    if kind == "integer":
        return True
    short = (code.maximum_length or 0) <= LONGEST_CODE
    return kind in ("text", "enum") and short and (code.mean_length or 0) < (label.mean_length or 0)


def _are_named_so(code: str, label: str) -> bool:
    """`state_code` beside `state_name`, `Listing Exchange` beside `Listing Exchange Name`, `code` beside `label`."""
    code_words, label_words = set(plain_words(code)), set(plain_words(label))
    rest_code, rest_label = code_words - CODE_WORDS, label_words - LABEL_WORDS
    told = bool(code_words & CODE_WORDS or label_words & LABEL_WORDS)
    return told and rest_code == rest_label


def _read_pair(
    session: QuerySession,
    table: TableToIndex,
    code: ColumnToIndex,
    label: ColumnToIndex,
    settings: ValueIndexSettings,
) -> Iterable[CodeLabel]:
    most = settings.most_codes + 1
    coded, labelled = identifier(code.name), identifier(label.name)
    result = session.sql(
        f"SELECT DISTINCT CAST({coded} AS VARCHAR) AS code, {labelled} AS label "
        f"FROM {sql_name(table)} WHERE {coded} IS NOT NULL AND {labelled} IS NOT NULL "
        f"LIMIT {most}",
        max_rows=most,
        seconds=settings.table_seconds,
    )
    pairs = [(str(one), str(other)) for one, other in result.rows()]
    if result.truncated or len(pairs) >= most:
        return []
    codes, labels = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    if any(count > 1 for count in (*codes.values(), *labels.values())):
        return []
    if sum(_is_in_words(other) for other in labels) < MOST_IN_WORDS * len(labels):
        return []  # Two ids side by side are no dictionary.
    return [
        CodeLabel(code.reference, one, other, label.reference)
        for one, other in sorted(pairs)
        if normalised(other) and normalised(one) != normalised(other)
    ]


def _is_in_words(label: str) -> bool:
    return bool(_WORDS.fullmatch(label.strip()))


MOST_IN_WORDS = 0.6
_WORDS = re.compile(r"(?=.*[^\W\d_]{3})[^\W\d_][^\d_]*(?:\s\S*\d\S*)*")

# ---- texts

_LIKE_CODE = re.compile(r"[A-Z0-9][A-Z0-9._/-]{0,15}|[a-z]{1,3}|\d+")


def document_labels(state: EvidenceState) -> list[CodeLabel]:
    """What descriptions, hints, comments, dictionaries and notes say of codes; passages last."""
    found: dict[tuple[str, str, str], CodeLabel] = {}
    budget = MOST_TEXT
    columns = {column.reference for column in named_columns(state)}
    pending: list[tuple[str, str, str, str]] = []
    for row in texts_about_codes(state):
        budget -= len(row.text)
        if budget < 0:
            break
        about, text = row.about or "", row.text
        origin = _origin(row)
        if about in columns:
            for label in _labels_of_column(state, about, text, origin):
                found.setdefault((label.reference, label.code, label.label), label)
        else:
            pending += [(about, code, label, origin) for code, label in label_pairs(text) if _LIKE_CODE.fullmatch(code)]
    for label in _labels_by_value(state, pending):
        found.setdefault((label.reference, label.code, label.label), label)
    return list(found.values())


def _origin(row: TextRow) -> str:
    title = str(row.title or row.about)
    return f"{row.kind} {title}" if row.kind not in ("note", "file") else title


def _labels_of_column(state: EvidenceState, reference: str, text: str, origin: str) -> Iterable[CodeLabel]:
    """Of a text about one column: what it says of the values that the column has."""
    written = label_pairs(text)
    known = known_values(state, reference)
    if not known:
        believed = [(code, label) for code, label in written if _LIKE_CODE.fullmatch(code)]
        return [CodeLabel(reference, *pair, origin) for pair in believed] if len(believed) >= 2 else []
    by_form: dict[str, str] = {}
    for value in sorted(known):
        by_form.setdefault(_form(value), value)
    pairs = [*written, *listed_pairs(text, known)]
    return [
        CodeLabel(reference, by_form[_form(code)], label, origin) for code, label in pairs if _form(code) in by_form
    ]


def _form(value: str) -> str:
    """A code as it is compared: `1.0` of a number column is the `1` of a text."""
    return re.sub(r"\.0+$", "", value.strip()).lower()


def _labels_by_value(state: EvidenceState, pending: Sequence[tuple[str, str, str, str]]) -> Iterable[CodeLabel]:
    """Of texts about a table, a source or nothing: their codes in the columns that hold them, the nearest ones."""
    codes = sorted({code for _, code, _, _ in pending if len(code) >= 2})
    holders = holders_of_values(state, codes)
    for about, code, label, origin in pending:
        everywhere = holders.get(code, [])
        near = [each for each in everywhere if each.startswith((f"{about}.", f"{about}/"))]
        same_source = [each for each in everywhere if each.split("/")[0] == about.split("/")[0]]
        for reference in near or same_source or everywhere:
            yield CodeLabel(reference, code, label, origin)
