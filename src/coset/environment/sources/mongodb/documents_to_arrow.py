"""Documents as Arrow record batches, with just the columns that `documents` learned of them.

A value that does not fit its column raises `DoesNotFit`, or, where the table has a rest column because its columns
were learned from a sample, goes into that column together with every field the sample did not have.

JSON text is plain where SQL has a plain text for the value (an ObjectId is its hex, a date is ISO, a decimal is its
digits as a string) and MongoDB's extended JSON where it has not (`{"$timestamp": ...}`, `{"$numberDouble": "NaN"}`).
Nothing here knows where documents come from.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from coset.environment.source import Column
from coset.environment.sources.mongodb.documents import (
    EARLIEST,
    EXACT_IN_DOUBLE,
    LATEST,
    Fields,
    Items,
    Scalar,
    Shape,
    as_mapping,
    decimal_of,
    exact_kind,
    kind_of,
    kinds_of_types,
    rest_column,
    shape_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

Document = dict[str, Any]


class DoesNotFit(Exception):
    """A value does not fit the shape that was learned; `path` says where."""

    def __init__(self, path: tuple[str, ...], found: str) -> None:
        super().__init__(f"{'.'.join(path)} holds a value of type {found}")
        self.path = path
        self.found = found

    def under(self, key: str) -> DoesNotFit:
        return DoesNotFit((key, *self.path), self.found)


def arrow_type(shape: Shape) -> pa.DataType:
    import pyarrow as pa

    if isinstance(shape, Items):
        return pa.list_(arrow_type(shape.item))
    if isinstance(shape, Fields):
        return pa.struct(
            [pa.field(name, arrow_type(field)) for name, (_, field) in zip(shape.names, shape.fields, strict=True)]
        )
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", shape.type)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    simple = {
        "BOOLEAN": pa.bool_(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "TIMESTAMP": pa.timestamp("us"),
        "BLOB": pa.binary(), "VARCHAR": pa.string(), "UUID": pa.string(), "JSON": pa.string(),
    }  # fmt: skip
    return simple[shape.type]


def to_arrow(shape: Shape, values: Sequence[Any]) -> pa.Array:
    """The values, all of them, as one array of the shape's type; `DoesNotFit` when one of them has another."""
    if isinstance(shape, Items):
        return _lists_to_arrow(shape, values)
    if isinstance(shape, Fields):
        return _documents_to_arrow(shape, values)
    import pyarrow as pa

    plain = _scalars(shape, values)
    try:
        return pa.array(plain, arrow_type(shape))
    except UnicodeEncodeError:
        # JSON can escape half a character, which no text can hold.
        return pa.array([None if v is None else v.encode("utf-8", "replace").decode() for v in plain], pa.string())
    except (pa.ArrowInvalid, OverflowError) as error:
        raise DoesNotFit((), f"{shape.found[0]}, out of range") from error


def _scalars(shape: Scalar, values: Sequence[Any]) -> Sequence[Any]:
    """The values as pyarrow takes them."""
    if shape.type == "JSON":
        return [None if value is None else json_text(value) for value in values]
    types = set(map(type, values)) - {type(None)}
    kinds = {kinds_of_types().get(python_type, python_type.__name__) for python_type in types}
    if kinds - _accepted(shape):
        raise DoesNotFit((), min(kinds - _accepted(shape)))
    if shape.type == "DOUBLE" and kinds != {"double"}:
        for value in values:
            if type(value) is not float and value is not None and not -EXACT_IN_DOUBLE <= value <= EXACT_IN_DOUBLE:
                raise DoesNotFit((), "long, out of the range that a DOUBLE holds exactly")
        return values
    convert = _conversion(shape.type, types, kinds)
    return values if convert is None else [None if value is None else convert(value) for value in values]


def _conversion(type_: str, types: set[type], kinds: set[str]) -> Callable[[Any], Any] | None:
    """What makes the values of a column what pyarrow takes; None where they are that already. The first rule holds."""
    rules: tuple[tuple[bool, Callable[[Any], Any] | None], ...] = (
        (type_ == "TIMESTAMP" and bool(types - {datetime.datetime}), _timestamp),
        (type_ in {"UUID", "BLOB"}, partial(_bytes_or_uuid, type_)),
        ("decimal" in kinds or type_.startswith("DECIMAL"), str if type_ == "VARCHAR" else _decimal),
        (kinds == {"objectId"}, lambda value: value.binary.hex()),
        ("objectId" in kinds or (type_ == "VARCHAR" and bool(kinds - {"string"})), str),
    )
    return next((convert for holds, convert in rules if holds), None)


def _accepted(shape: Scalar) -> frozenset[str]:
    """The types of value a column takes. Wider than what was found only where the value is the same in SQL."""
    found = {kind.partition("(")[0] for kind in shape.found}
    if shape.type in {"BIGINT", "DOUBLE"} or shape.type.startswith("DECIMAL"):
        found |= {"int", "long"} | ({"double"} if shape.type == "DOUBLE" else set())
    if shape.type in {"UUID", "BLOB"}:
        found |= {"binData", "uuid"}
    return frozenset(found)


def _timestamp(value: Any) -> Any:
    if value is None or isinstance(value, datetime.datetime):
        return value
    if not EARLIEST <= int(value) <= LATEST:
        raise DoesNotFit((), "date, out of the range of a TIMESTAMP")
    return int(value) * 1000


def _bytes_or_uuid(wanted: str, value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return str(value) if wanted == "UUID" else value.bytes
    if wanted == "BLOB":
        return value
    if exact_kind("binData", value) != "uuid":
        raise DoesNotFit((), "binData")
    return str(uuid.UUID(bytes=bytes(value)))


def _decimal(value: Any) -> Decimal:
    number = decimal_of(value) if hasattr(value, "bid") else Decimal(value)
    if not number.is_finite():
        raise DoesNotFit((), f"decimal, {number}")
    return number


def _lists_to_arrow(shape: Items, values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    wrong = set(map(type, values)) - {list, type(None)}
    if wrong:
        raise DoesNotFit((), min(kinds_of_types().get(python_type, python_type.__name__) for python_type in wrong))
    present = [value for value in values if value is not None]
    items = to_arrow(shape.item, list(chain.from_iterable(present)))
    offsets = pa.array([0, *accumulate(0 if value is None else len(value) for value in values)], pa.int32())
    mask = None if len(present) == len(values) else pa.array([value is None for value in values])
    return pa.ListArray.from_arrays(offsets, items, mask=mask)


def _documents_to_arrow(shape: Fields, values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    kinds = kinds_of_types()
    types = set(map(type, values))
    wrong = {kinds.get(python_type, python_type.__name__) for python_type in types - {type(None)}} - {"object"}
    if wrong:
        raise DoesNotFit((), min(wrong))
    mask = pa.array([value is None for value in values]) if type(None) in types else None
    documents = values if types == {dict} else [{} if value is None else as_mapping(value) for value in values]
    unknown = set(chain.from_iterable(documents)).difference(shape.keys)
    if unknown:
        key = min(unknown)
        raise DoesNotFit((key,), kind_of(next(document[key] for document in documents if key in document)))
    columns = fields_of(documents, shape.keys)
    arrays = []
    for (key, field), column in zip(shape.fields, columns, strict=True):
        try:
            arrays.append(to_arrow(field, column))
        except DoesNotFit as error:
            raise error.under(key) from error
    fields = [pa.field(name, array.type) for name, array in zip(shape.names, arrays, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def fields_of(documents: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[Sequence[Any]]:
    """The values of each key over all documents, None where it is missing."""
    shapes = set(map(tuple, documents))
    if len(shapes) == 1 and shapes == {tuple(keys)}:
        return list(zip(*[document.values() for document in documents], strict=True))
    return [[document.get(key) for document in documents] for key in keys]


class DocumentsToArrow:
    """Turns lists of documents into record batches with just the columns that were asked for.

    `all_columns` are the table's; `wanted` some of them, in the order of the output.
    """

    def __init__(self, all_columns: Sequence[Column], wanted: Sequence[Column]) -> None:
        import pyarrow as pa

        self.rest = rest_column(all_columns)
        self.known = {column.native_name for column in all_columns if column is not self.rest}
        self.wanted = wanted
        self.shapes = {column.name: shape_of(column) for column in all_columns}
        self.schema = pa.schema([pa.field(column.name, arrow_type(self.shapes[column.name])) for column in wanted])
        # The rest can only be told by trying every column.
        self.tried = all_columns if self.rest is not None and self.rest in wanted else wanted

    def batch(self, documents: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        import pyarrow as pa

        rests: dict[int, Document] = {}
        unknown = set(chain.from_iterable(documents)) - self.known
        if unknown and self.rest is None:
            key = min(unknown)
            raise DoesNotFit((key,), kind_of(next(document[key] for document in documents if key in document)))
        for row, document in enumerate(documents if unknown else ()):
            extra = {key: value for key, value in document.items() if key in unknown}
            if extra:
                rests[row] = extra
        tried = [column for column in self.tried if column is not self.rest]
        values = fields_of(documents, [column.native_name for column in tried])
        arrays = {
            column.name: self._array(column, column_values, rests)
            for column, column_values in zip(tried, values, strict=True)
        }
        if self.rest is not None:
            texts = [json_text(rests[row]) if row in rests else None for row in range(len(documents))]
            arrays[self.rest.name] = pa.array(texts, pa.string())
        return pa.RecordBatch.from_arrays([arrays[column.name] for column in self.wanted], schema=self.schema)

    def _array(self, column: Column, values: Sequence[Any], rests: dict[int, Document]) -> pa.Array:
        shape = self.shapes[column.name]
        try:
            return to_arrow(shape, values)
        except DoesNotFit as error:
            if self.rest is None:
                raise error.under(column.native_name) from error
        kept = list(values)
        for row in _unfit_rows(shape, values):
            rests.setdefault(row, {})[column.native_name] = kept[row]
            kept[row] = None
        return to_arrow(shape, kept)


def _unfit_rows(shape: Shape, values: Sequence[Any], start: int = 0) -> list[int]:
    """Which of the values do not fit, by halving: few of them cost few conversions."""
    try:
        to_arrow(shape, values)
    except DoesNotFit:
        if len(values) == 1:
            return [start]
        middle = len(values) // 2
        return _unfit_rows(shape, values[:middle], start) + _unfit_rows(shape, values[middle:], start + middle)
    return []


# --- values as JSON text ----------------------------------------------------------------------------------------

_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


def json_text(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """A value of JSON's own types that says the same."""
    python_type = type(value)
    if python_type in _AS_THEY_ARE:
        return value
    if python_type is float:
        return value if math.isfinite(value) else {"$numberDouble": _special_number(value)}
    if python_type is list:
        return [_plain(item) for item in value]
    if python_type is dict:
        return {key: _plain(item) for key, item in value.items()}
    kind = exact_kind(kind_of(value), value)
    if kind == "object":
        return {key: _plain(item) for key, item in as_mapping(value).items()}
    if kind == "long":
        return int(value)
    if kind == "date":
        return f"{value.isoformat()}Z" if isinstance(value, datetime.datetime) else _far_date(value)
    if kind == "uuid":
        return str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=bytes(value)))
    if kind in {"objectId", "decimal"}:
        return str(value)
    if kind == "farDate":
        return _far_date(value)
    if kind == "binData":
        subtype = f"{getattr(value, 'subtype', 0):02x}"
        return {"$binary": {"base64": base64.b64encode(value).decode("ascii"), "subType": subtype}}
    if kind == "javascript":
        return {"$code": str(value)} | ({} if value.scope is None else {"$scope": _plain(value.scope)})
    from bson import json_util

    return json_util.default(value, json_util.CANONICAL_JSON_OPTIONS)


def _far_date(value: Any) -> Document:
    return {"$date": {"$numberLong": str(int(value))}}


def _special_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
