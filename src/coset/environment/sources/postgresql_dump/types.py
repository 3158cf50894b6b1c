r"""PostgreSQL's types as DuckDB's, and columns of PostgreSQL's text as Arrow columns that cast to them.

In: a `PgType`, and the text of values as a dump holds them, escapes already undone. Out: a DuckDB type, and an Arrow
array: text for everything that DuckDB casts exactly from text (all numbers, dates, JSON, UUID), bytes for bytea, lists
of text for arrays.

Some types depend on the values, because PostgreSQL's type holds more than DuckDB's. `Facts` are what the first pass
over the file learns of a column:
- numeric without precision: DECIMAL of the digits found, at most 38; NaN, infinity or more digits make it DOUBLE.
- integers: the next wider type when a value outgrows its own, as dumps that other programs wrote may have it.
- timestamp: text when a year is beyond DuckDB's last, 294246.
- arrays: T[], or JSON when one of them has several dimensions.
An interval is text that casts to INTERVAL, because Parquet has neither negative intervals nor microseconds in them.
`char(n)` comes without its padding, which PostgreSQL does not count as content. What DuckDB has no type for (ranges,
network addresses, money, enumerations, ...) is PostgreSQL's own text. Nothing here knows files or statements.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from coset.environment.sources.postgresql_dump.definitions import PgType

_TYPES = {
    "smallint": "SMALLINT", "int2": "SMALLINT", "smallserial": "SMALLINT", "serial2": "SMALLINT",
    "integer": "INTEGER", "int": "INTEGER", "int4": "INTEGER", "serial": "INTEGER", "serial4": "INTEGER",
    "bigint": "BIGINT", "int8": "BIGINT", "bigserial": "BIGINT", "serial8": "BIGINT",
    "real": "FLOAT", "float4": "FLOAT", "double precision": "DOUBLE", "float8": "DOUBLE", "float": "DOUBLE",
    "numeric": "DECIMAL", "decimal": "DECIMAL", "oid": "BIGINT",
    "boolean": "BOOLEAN", "bool": "BOOLEAN", "bytea": "BLOB", "uuid": "UUID", "json": "JSON", "jsonb": "JSON",
    "date": "DATE", "time": "TIME", "time without time zone": "TIME",
    "timestamp": "TIMESTAMP", "timestamp without time zone": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE", "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
_NUMBERS = {"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"}
_PADDED = {"character", "char", "bpchar", "nchar", "national character", "national char"}
_INTEGERS = ("SMALLINT", "INTEGER", "BIGINT", "DECIMAL(38,0)")
_LIMITS = {
    "SMALLINT": (-(2**15), 2**15 - 1), "INTEGER": (-(2**31), 2**31 - 1), "BIGINT": (-(2**63), 2**63 - 1),
    "DECIMAL(38,0)": (1 - 10**38, 10**38 - 1),
}  # fmt: skip
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}

_WIDEST_DECIMAL = 38
_USUAL_DECIMAL = 18
_LAST_YEARS = r"^(?:29424[7-9]|2942[5-9]\d)-"
_SEVERAL_DIMENSIONS = re.compile(r"^(?:\[[^=]*=)?\{\s*\{")


@dataclass
class Facts:
    """What the values of one column need."""

    integer_digits: int = 0
    scale: int = 0
    beyond: bool = False
    """A value that the plain DuckDB type does not hold."""
    nested: bool = False
    """An array of several dimensions."""
    smallest: int = 0
    largest: int = 0
    """The smallest and the largest integer, of those seen that may be beyond their type."""

    def merge(self, other: Facts) -> None:
        self.integer_digits = max(self.integer_digits, other.integer_digits)
        self.scale = max(self.scale, other.scale)
        self.beyond |= other.beyond
        self.nested |= other.nested
        self.smallest = min(self.smallest, other.smallest)
        self.largest = max(self.largest, other.largest)


def _base(type_: PgType) -> str:
    """The DuckDB type without precision, of the element where it is an array."""
    if type_.schema is not None:
        return "VARCHAR"
    if type_.name == "float" and type_.modifiers and type_.modifiers[0] <= 24:
        return "FLOAT"
    return _TYPES.get(type_.name, "VARCHAR")


def _declared_decimal(type_: PgType) -> tuple[int, int] | None:
    """(precision, scale) where the declaration has them and they fit. PostgreSQL's scale may be negative (the last
    digits before the point are zeros) or above the precision."""
    if not type_.modifiers:
        return None
    precision, scale = (*type_.modifiers, 0)[:2]
    if scale < 0:
        precision, scale = precision - scale, 0
    precision = max(precision, scale)
    return (precision, scale) if precision <= _WIDEST_DECIMAL else None


def duckdb_type(type_: PgType, facts: Facts) -> str:
    if type_.array and (type_.name == "box" and type_.schema is None):
        return "VARCHAR"  # the one type whose array elements are separated by something else than a comma
    if type_.array and facts.nested:
        return "JSON"
    if type_.name == "vector" and not type_.array:
        return "FLOAT[]"
    base = _base(type_)
    if base == "DECIMAL":
        base = _decimal(type_, facts)
    elif base in _INTEGERS:
        wider = _INTEGERS[_INTEGERS.index(base) :]
        base = next((each for each in wider if _holds(each, facts)), "VARCHAR")
    elif base in _TIMESTAMPS and facts.beyond:
        base = "VARCHAR"
    return base + ("[]" if type_.array else "")


def _holds(integer: str, facts: Facts) -> bool:
    lowest, highest = _LIMITS[integer]
    return lowest <= facts.smallest and facts.largest <= highest


def _decimal(type_: PgType, facts: Facts) -> str:
    if facts.beyond:
        return "DOUBLE"
    declared = _declared_decimal(type_)
    if declared is not None:
        return f"DECIMAL({declared[0]},{declared[1]})"
    digits = facts.integer_digits + facts.scale
    if digits == 0 or digits > _WIDEST_DECIMAL:
        return "DOUBLE"
    return f"DECIMAL({_USUAL_DECIMAL if digits <= _USUAL_DECIMAL else _WIDEST_DECIMAL},{facts.scale})"


def always_watched(type_: PgType) -> bool:
    """Whether the DuckDB type can only be known from all values."""
    return _base(type_) == "DECIMAL" and _declared_decimal(type_) is None


_NESTED = re.compile(rb"\{\{")
_NOT_A_NUMBER = (re.compile(rb"NaN"), re.compile(rb"nan"))
_MANY_DIGITS = {
    "SMALLINT": re.compile(rb"\d{5}"), "INTEGER": re.compile(rb"\d{10}"), "BIGINT": re.compile(rb"\d{19}")
}  # fmt: skip
_AFTER_LAST_YEAR = re.compile(rb"2942[4-9]\d-")


def suspects(type_: PgType) -> tuple[re.Pattern[bytes], ...]:
    """Where none of these is in a stretch of the file, it holds no value that needs another type than usual.
    Several patterns that each begin with a plain text are searched much faster than one with alternatives."""
    base = _base(type_)
    nested = (_NESTED,) if type_.array else ()
    if base == "DECIMAL":
        return (*nested, *_NOT_A_NUMBER)
    if base in _MANY_DIGITS:
        return (*nested, _MANY_DIGITS[base])
    return (*nested, _AFTER_LAST_YEAR) if base in _TIMESTAMPS else nested


def observe(type_: PgType, values: pa.Array, facts: Facts) -> None:
    """Add what `values` need to the facts of their column."""
    if type_.array:
        texts = values.drop_null().to_pylist()
        facts.nested |= any(_SEVERAL_DIMENSIONS.match(text) for text in texts)
        if facts.nested:
            return
        elements = [element for text in texts for element in array_elements(text)]
        values = pa.array(elements, pa.string())
    base = _base(type_)
    if base == "DECIMAL":
        _observe_decimals(values, facts)
    elif base in _MANY_DIGITS:
        long = values.filter(pc.match_substring_regex(values, _MANY_DIGITS[base].pattern.decode()))
        numbers = [int(text) for text in long.to_pylist() if re.fullmatch(r"\s*[+-]?\d{1,4000}\s*", text)]
        facts.smallest = min(facts.smallest, min(numbers, default=0))
        facts.largest = max(facts.largest, max(numbers, default=0))
    elif base in _TIMESTAMPS:
        facts.beyond |= _any(pc.match_substring_regex(values, _LAST_YEARS))


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())


def _observe_decimals(values: pa.Array, facts: Facts) -> None:
    odd = pc.match_substring_regex(values, r"[^0-9.\-]")
    if _any(odd):
        for text in values.filter(odd).drop_null().to_pylist():
            try:
                _, digits, exponent = Decimal(text.strip()).as_tuple()
            except InvalidOperation:
                exponent = "n"
            if isinstance(exponent, str):  # NaN, Infinity, or not a number
                facts.beyond = True
                continue
            facts.integer_digits = max(facts.integer_digits, len(digits) + exponent)
            facts.scale = max(facts.scale, -exponent)
        values = values.filter(pc.invert(odd))
    digits_only = pc.utf8_ltrim(values, "-")
    length = pc.binary_length(digits_only)
    point = pc.find_substring(digits_only, ".")
    whole = pc.equal(point, -1)
    integer_digits = pc.if_else(whole, length, point)
    scale = pc.if_else(whole, pa.scalar(0, pa.int32()), pc.subtract(pc.subtract(length, point), 1))
    facts.integer_digits = max(facts.integer_digits, pc.max(integer_digits).as_py() or 0)
    facts.scale = max(facts.scale, pc.max(scale).as_py() or 0)


def arrow_type(target: str) -> pa.DataType:
    element = pa.binary() if target.removesuffix("[]") == "BLOB" else pa.string()
    return pa.list_(element) if target.endswith("[]") else element


def to_arrow(type_: PgType, target: str, values: pa.Array) -> pa.Array:
    """PostgreSQL's text as an array of `arrow_type` that casts to the DuckDB type `target`."""
    if type_.array and target == "JSON":
        base = _base(type_)
        texts = [None if text is None else _nested_json(text, base) for text in values.to_pylist()]
        return pa.array(texts, pa.string())
    if not target.endswith("[]"):
        return _plain_to_arrow(type_, target, values)
    elements_of = array_elements if type_.array else _vector_elements
    offsets: list[int | None] = []
    flat: list[str | None] = []
    for text in values.to_pylist():
        offsets.append(None if text is None else len(flat))
        if text is not None:
            flat += elements_of(text)
    offsets.append(len(flat))
    elements = _plain_to_arrow(type_, target.removesuffix("[]"), pa.array(flat, pa.string()))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)


def _plain_to_arrow(type_: PgType, target: str, values: pa.Array) -> pa.Array:
    if target == "BLOB":
        return pa.array([None if text is None else bytea(text) for text in values.to_pylist()], pa.binary())
    if target == "DATE" or target in _TIMESTAMPS:
        # DuckDB reads '0044-03-15 10:00:00 BC' as the year 44 of our era; its own form is '0044-03-15 (BC) 10:00:00'.
        if _any(pc.ends_with(values, " BC")):
            return pc.replace_substring_regex(values, r"^([-\d]+)(.*) BC$", r"\1 (BC)\2")
    elif type_.schema is None and type_.name in _PADDED:
        return pc.utf8_rtrim(values, " ")
    elif type_.schema is None and type_.name.startswith("interval") and _any(pc.match_substring(values, "+")):
        return pc.replace_substring(values, "+", "")  # DuckDB casts PostgreSQL's text, but for a plus sign
    return values


_BYTEA_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(\\))")


def bytea(text: str) -> bytes:
    if text.startswith("\\x"):
        return bytes.fromhex(text[2:])
    return _BYTEA_ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 0xFF]) if match[1] else b"\\", text.encode())


def _vector_elements(text: str) -> list[str | None]:
    """[1,2,3] of the extension pgvector."""
    return list(text.strip("[]").split(","))


_ARRAY_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^,{}"\\]|\\.)*))\s*([,}])', re.S)


def array_elements(text: str) -> list[str | None]:
    """The elements of an array value of one dimension: {a,"b,c",NULL}."""
    if text.startswith("["):  # [0:2]={...}: the numbers of the elements, which DuckDB does not keep
        text = text[text.index("=") + 1 :]
    if text == "{}":
        return []
    if '"' not in text and "\\" not in text:
        parts: list[str | None] = list(text[1:-1].split(","))
        if "null" in text.lower():
            return [None if part is not None and part.upper() == "NULL" else part for part in parts]
        return parts
    elements: list[str | None] = []
    position = 1
    while position < len(text):
        match = _ARRAY_ELEMENT.match(text, position)
        if match is None:
            raise ValueError(f"'{text[:60]}' is not an array value")
        quoted, bare = match[1], match[2]
        if quoted is not None:
            elements.append(re.sub(r"(?s)\\(.)", r"\1", quoted))
        else:
            elements.append(None if bare.upper() == "NULL" else re.sub(r"(?s)\\(.)", r"\1", bare))
        position = match.end()
    return elements


_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NESTED_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|([{},])|((?:[^,{}"\\]|\\.)+)', re.S)


def _nested_json(text: str, base: str) -> str:
    """An array value of any dimensions as JSON: {{1,2},{3,NULL}} is [[1,2],[3,null]]."""
    if text.startswith("["):
        text = text[text.index("=") + 1 :]
    pieces: list[str] = []
    for match in _NESTED_PIECE.finditer(text):
        quoted, symbol, bare = match[1], match[2], match[3]
        if symbol is not None:
            pieces.append({"{": "[", "}": "]", ",": ","}[symbol])
        elif bare is not None and bare.upper() == "NULL":
            pieces.append("null")
        elif bare is not None and base in _NUMBERS and _JSON_NUMBER.fullmatch(bare):
            pieces.append(bare)
        elif bare is not None and base == "BOOLEAN":
            pieces.append("true" if bare.startswith("t") else "false")
        else:
            plain = re.sub(r"(?s)\\(.)", r"\1", quoted if quoted is not None else bare)
            pieces.append(json.dumps(plain, ensure_ascii=False))
    return "".join(pieces)
