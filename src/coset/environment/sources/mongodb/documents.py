"""Documents (BSON from MongoDB, or plain JSON values) as tables: which columns they have.

`Observed` looks at lists of documents, one list after the other, and knows at the end one `Shape` for all of them:
nested documents are STRUCT, arrays are lists, values of one type are that type. Where documents disagree at a path, or
their keys are data rather than names, or they nest without end, that path alone is JSON, so nothing is lost.
`columns_of` writes the shape as columns. A column's `native_type` holds the whole shape as text, so that
`documents_to_arrow` can read documents into columns that were listed long ago, by another process.

A key that one document holds twice counts once, with its last value, as in every MongoDB driver.
Nothing here knows where documents come from, or how their values are converted.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache, cached_property
from itertools import chain
from typing import Any

from coset.environment.source import Column, unique_names
from coset.environment.sources.mongodb.driver import bson_is_there
from coset.sql_text import identifier

MOST_LEVELS = 8
"""Documents and arrays nested deeper than this are JSON from there on."""
MOST_FIELDS = 1000
"""A nested document with more different keys than this is JSON; of the outermost fields, later ones go to the rest."""
SPARSE_FIELDS, SPARSE_SHARE = 64, 0.1
"""More nested keys than the first of these, of which a document has on average less than this share: keys are data."""
EXACT_IN_DOUBLE = 2**53
EARLIEST, LATEST = -9_223_372_022_400_000, 9_223_372_036_854_775
"""What DuckDB's TIMESTAMP can hold, in milliseconds since 1970."""
REST = "rest"
"""The `native_type` of the column that takes what fits in no other."""


# --- the shape of documents -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """One value, or JSON. `found` are MongoDB's names of the types that were seen, `decimal(10,2)` for decimals."""

    type: str
    found: tuple[str, ...]


@dataclass(frozen=True)
class Items:
    item: Shape


@dataclass(frozen=True)
class Fields:
    """A document; keys are the native ones, `names` what SQL calls them (SQL ignores case, documents do not)."""

    fields: tuple[tuple[str, Shape], ...]

    @cached_property
    def keys(self) -> list[str]:
        return [key for key, _ in self.fields]

    @cached_property
    def names(self) -> list[str]:
        return unique_names(self.keys)


Shape = Scalar | Items | Fields


def duckdb_type(shape: Shape) -> str:
    if isinstance(shape, Scalar):
        return shape.type
    if isinstance(shape, Items):
        return f"{duckdb_type(shape.item)}[]"
    fields = zip(map(identifier, shape.names), shape.fields, strict=True)
    inner = ", ".join(f"{name} {duckdb_type(field)}" for name, (_, field) in fields)
    return f"STRUCT({inner})"


def shape_text(shape: Shape) -> str:
    """`string`, `int|long`, `json(int|string)`, `["double"]`, `{"street": "string"}`: read back by `shape_of`."""
    if isinstance(shape, Scalar):
        return _scalar_text(shape)
    return json.dumps(_nested_text(shape), ensure_ascii=False)


def shape_of(column: Column) -> Shape:
    text = column.native_type
    return _shape_from(json.loads(text) if text[:1] in {"[", "{"} else text)


def _scalar_text(scalar: Scalar) -> str:
    text = "|".join(scalar.found)
    return f"json({text})" if scalar.type == "JSON" else text


def _nested_text(shape: Shape) -> object:
    if isinstance(shape, Scalar):
        return _scalar_text(shape)
    if isinstance(shape, Items):
        return [_nested_text(shape.item)]
    return {key: _nested_text(field) for key, field in shape.fields}


def _shape_from(described: Any) -> Shape:
    if isinstance(described, list):
        return Items(_shape_from(described[0]))
    if isinstance(described, dict):
        return Fields(tuple((key, _shape_from(field)) for key, field in described.items()))
    json_leaf = re.fullmatch(r"json\((.*)\)", described)
    if json_leaf or described == REST:
        return Scalar("JSON", tuple((json_leaf[1] if json_leaf else described).split("|")))
    found = tuple(described.split("|"))
    return Scalar(_scalar_type(found), found)


def _scalar_type(found: Iterable[str]) -> str:
    """The DuckDB type for values of these types; JSON when no one type holds them all."""
    kinds = {kind.partition("(")[0] for kind in found}
    if kinds <= {"int", "long"}:
        return "BIGINT"
    if kinds <= {"int", "long", "double"}:
        return "DOUBLE"
    if kinds <= {"int", "long", "decimal"}:
        return next((kind.upper() for kind in found if kind.startswith("decimal(")), "VARCHAR")
    if kinds <= {"string", "objectId"}:
        return "VARCHAR"
    if kinds == {"uuid"}:
        return "UUID"
    if kinds <= {"binData", "uuid"}:
        return "BLOB"
    return {frozenset({"bool"}): "BOOLEAN", frozenset({"date"}): "TIMESTAMP"}.get(frozenset(kinds), "JSON")


# --- learning the shape -----------------------------------------------------------------------------------------


@cache
def kinds_of_types() -> dict[type, str]:
    """MongoDB's type names for the Python types that documents decode to. Plain JSON needs no MongoDB package."""
    kinds: dict[type, str] = {
        bool: "bool", int: "int", float: "double", str: "string", dict: "object", list: "array",
        bytes: "binData", uuid.UUID: "uuid", datetime.datetime: "date",
    }  # fmt: skip
    if not bson_is_there():
        return kinds
    import bson
    from bson.datetime_ms import DatetimeMS
    from bson.dbref import DBRef
    from bson.raw_bson import RawBSONDocument
    from bson.son import SON

    return kinds | {
        bson.Int64: "long", bson.Decimal128: "decimal", bson.ObjectId: "objectId", bson.Binary: "binData",
        DatetimeMS: "date", SON: "object", RawBSONDocument: "object", DBRef: "object",
        bson.Timestamp: "timestamp", bson.Regex: "regex", bson.Code: "javascript",
        bson.MinKey: "minKey", bson.MaxKey: "maxKey",
    }  # fmt: skip


def kind_of(value: object) -> str:
    return kinds_of_types().get(type(value), type(value).__name__)


_NEEDS_NO_LOOK = frozenset({"bool", "double", "string", "objectId"})


class Observed:
    """What has been seen at one path of many documents. Two of them merge into one that has seen both."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.lowest, self.highest = 0, 0
        # Digits before the point, digits after it as written, and after it without trailing zeros.
        self.digits, self.scale, self.needed_scale = 0, 0, 0
        self.finite = True
        self.documents, self.cells = 0, 0
        self.fields: dict[str, Observed] = {}
        self.items: Observed | None = None
        self.opaque = False
        """Documents or arrays here are not looked into: too deep, or too many keys."""

    def observe_documents(self, documents: Sequence[Mapping[str, Any]], level: int = 0) -> None:
        """Take in a list of documents, field by field rather than document by document, which is many times faster."""
        self.documents += len(documents)
        for key, values in _by_field(documents).items():
            self.cells += len(values)
            field = self.fields.get(key)
            if field is None:
                if len(self.fields) >= MOST_FIELDS:
                    self.opaque = True
                    if level:
                        self.fields.clear()
                        return
                    continue
                field = self.fields[key] = Observed()
            field.observe(values, level + 1)

    def observe(self, values: Sequence[Any], level: int) -> None:
        types = set(map(type, values))
        for python_type in types - {type(None)}:
            kind = kinds_of_types().get(python_type, python_type.__name__)
            if kind in _NEEDS_NO_LOOK:
                self.found.add(kind)
                continue
            some: Sequence[Any] = (
                values if len(types) == 1 else [value for value in values if type(value) is python_type]
            )
            if kind in {"object", "array"}:
                self.found.add(kind)
                self.opaque = self.opaque or level >= MOST_LEVELS
                if not self.opaque and kind == "object":
                    self.observe_documents([as_mapping(value) for value in some], level)
                elif not self.opaque:
                    self.items = self.items or Observed()
                    self.items.observe(list(chain.from_iterable(some)), level + 1)
            elif kind in {"int", "long"}:
                self.found.add(kind)
                self.lowest, self.highest = min(self.lowest, *_ends(some)), max(self.highest, *_ends(some))
            elif kind == "decimal":
                self._observe_decimals(some)
            else:
                self.found.update({exact_kind(kind, value) for value in some})

    def _observe_decimals(self, values: Sequence[Any]) -> None:
        self.found.add("decimal")
        for value in values:
            number = decimal_of(value)
            if not number.is_finite():
                self.finite = False
                continue
            scale = max(-int(number.as_tuple().exponent), 0)
            self.digits = max(self.digits, number.adjusted() + 1 if number else 0)
            self.scale = max(self.scale, scale)
            self.needed_scale = max(self.needed_scale, scale if scale <= 6 else _needed_scale(number))

    def merge(self, other: Observed) -> None:
        self.found |= other.found
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        self.digits, self.scale = max(self.digits, other.digits), max(self.scale, other.scale)
        self.needed_scale = max(self.needed_scale, other.needed_scale)
        self.finite = self.finite and other.finite
        self.documents, self.cells = self.documents + other.documents, self.cells + other.cells
        self.opaque = self.opaque or other.opaque
        for key, field in other.fields.items():
            self.fields.setdefault(key, Observed()).merge(field)
        if other.items is not None:
            self.items = self.items or Observed()
            self.items.merge(other.items)

    def shape(self) -> Shape:
        if self.found == {"object"} and not self._keys_are_data:
            return self.document_shape()
        if self.found == {"array"} and not self.opaque and self.items is not None:
            return Items(self.items.shape())
        found = tuple(sorted(self.found))
        kinds = self.found
        if not kinds:
            return Scalar("JSON", ("null",))
        if not kinds - {"int", "long"} and not self._integers_within(-(2**63), 2**63 - 1):
            return Scalar("JSON", found)
        if "double" in kinds and kinds - {"double"} and not self._integers_within(-EXACT_IN_DOUBLE, EXACT_IN_DOUBLE):
            return Scalar("JSON", found)
        if "decimal" in kinds and not kinds - {"int", "long", "decimal"}:
            found = tuple(sorted({self._decimal_type, *(kinds - {"decimal"})}))
        return Scalar(_scalar_type(found), found)

    def document_shape(self) -> Fields:
        """The shape of a document with these fields, the recursive ones as JSON."""
        return Fields(
            tuple(
                (key, Scalar("JSON", tuple(sorted(field.found))) if _recurs(key, field) else field.shape())
                for key, field in self.fields.items()
            )
        )

    @property
    def _keys_are_data(self) -> bool:
        many = len(self.fields) > SPARSE_FIELDS
        return (
            self.opaque or not self.fields or (many and self.cells < SPARSE_SHARE * self.documents * len(self.fields))
        )

    def _integers_within(self, least: int, most: int) -> bool:
        return least <= self.lowest and self.highest <= most

    @property
    def _decimal_type(self) -> str:
        digits = max(self.digits, len(str(max(-self.lowest, self.highest))) if self.lowest or self.highest else 0)
        for scale in (self.scale, self.needed_scale):
            if self.finite and digits + scale <= 38:
                return f"decimal({max(digits + scale, 1)},{scale})"
        return "decimal"


def _by_field(documents: Sequence[Mapping[str, Any]]) -> Mapping[str, Sequence[Any]]:
    """The values of each key over all documents, keys in the order in which they are first seen."""
    if len(set(map(tuple, documents))) == 1:
        return dict(zip(documents[0], zip(*[document.values() for document in documents], strict=True), strict=True))
    columns: dict[str, list[Any]] = {}
    for document in documents:
        for key, value in document.items():
            try:
                columns[key].append(value)
            except KeyError:
                columns[key] = [value]
    return columns


def _ends(values: Sequence[int]) -> tuple[int, int]:
    return int(min(values)), int(max(values))


def as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else value.as_doc()


def exact_kind(kind: str, value: Any) -> str:
    """The kind, where it hangs on the value: a binary value that is a UUID, a date that no TIMESTAMP holds."""
    if kind == "binData" and getattr(value, "subtype", 0) == 4 and len(value) == 16:
        return "uuid"
    if kind == "date" and not isinstance(value, datetime.datetime) and not EARLIEST <= int(value) <= LATEST:
        return "farDate"
    return kind


_WIDE = Context(prec=40)


def decimal_of(value: Any) -> Decimal:
    """A Decimal128 as Python's: what its own `to_decimal` gives, several times faster for the common encoding."""
    bits = int.from_bytes(value.bid, "little")
    coefficient = bits & ((1 << 113) - 1)
    if bits >> 125 & 3 == 3 or bits >> 127 or coefficient >= 10**34:
        return Decimal(value.to_decimal())
    return _WIDE.scaleb(Decimal(coefficient), (bits >> 113) - 6176)


def _needed_scale(number: Decimal) -> int:
    # Decimal.normalize would round to the context's 28 digits.
    _, digits, exponent = number.as_tuple()
    while digits and digits[-1] == 0:
        digits, exponent = digits[:-1], int(exponent) + 1
    return max(-int(exponent), 0) if digits else 0


def _recurs(key: str, field: Observed) -> bool:
    """Whether documents under `key` hold, at any depth, the same key with the same kind of document: a tree."""
    top = _documents_in(field)
    stack = list(top.fields.items()) if top else []
    while top and stack:
        inner_key, inner_field = stack.pop()
        inner = _documents_in(inner_field)
        if inner is None:
            continue
        if (
            inner_key == key
            and inner.fields
            and (top.fields.keys() >= inner.fields.keys() or top.fields.keys() <= inner.fields.keys())
        ):
            return True
        stack.extend(inner.fields.items())
    return False


def _documents_in(field: Observed) -> Observed | None:
    """What was seen of the documents in a field, be they in arrays or not."""
    while field.items is not None and not field.fields:
        field = field.items
    return field if field.fields else None


def columns_of(observed: Observed, *, complete: bool, comments: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """The columns of documents that were observed: `_id` first, then as first seen, and a rest column when the
    observation was of a sample or there were more fields than a table can well have."""
    fields = list(observed.document_shape().fields)
    if not observed.documents:
        fields = [("_id", Scalar("VARCHAR", ("objectId",)))]
    fields.sort(key=lambda field: field[0] != "_id")
    rest = not complete or observed.opaque
    names = unique_names([*(key for key, _ in fields), *(["_rest"] if rest else [])])
    columns = [
        Column(name, duckdb_type(shape), key, shape_text(shape), comment=(comments or {}).get(key))
        for name, (key, shape) in zip(names, fields, strict=False)
    ]
    if rest:
        comment = "one document of the fields, and of the values of other types, that are in no other column"
        columns.append(Column(names[-1], "JSON", "", REST, comment=comment))
    return tuple(columns)


def rest_column(columns: Iterable[Column]) -> Column | None:
    return next((column for column in columns if column.native_type == REST), None)
