"""What tables a database has, as SQLAlchemy's dialects reflect them.

In: a connection and what is known of its engine. Out: `Table`s with columns, keys and comments, and where each lies. A
dialect that cannot reflect something (comments, say) loses that alone; one that cannot reflect columns is asked through
the standard's information_schema instead. Reads no rows; numbers of rows are counted by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from coset.environment.source import Column, ForeignKey, Table, unique_names
from coset.environment.sources.any_sql.dialects import Engine
from coset.environment.sources.any_sql.statements import UNBOUNDED

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Inspector

_Answer = TypeVar("_Answer")
_FROM_SQLGLOT = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DOUBLE",
    "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "JSON", "UUID", "BLOB",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a table lies, by its native names."""

    schema: str | None
    name: str


@dataclass(frozen=True)
class Reflected:
    tables: tuple[Table, ...]
    places: dict[tuple[str | None, str], Place]
    """By the exposed names of schema and table."""


def reflect(connection: Connection, engine: Engine) -> Reflected:
    """All tables and views of the schemas that are the user's."""
    from sqlalchemy import inspect

    inspector = inspect(connection)
    default = inspector.default_schema_name
    schemas = _schemas(inspector, engine, default)
    exposed = dict(zip(schemas, unique_names(_short(schema) or "main" for schema in schemas), strict=True))
    single = len(schemas) == 1
    tables: list[Table] = []
    places: dict[tuple[str | None, str], Place] = {}
    for schema in schemas:
        found = _of_schema(inspector, connection, engine, schema)
        names = dict(zip(found, unique_names(found), strict=True))
        for native, parts in found.items():
            shown = None if single else exposed[schema]
            columns = _named(parts.columns)
            if not columns:
                continue
            places[shown, names[native]] = Place(
                _native(inspector, _real(schema)), _native(inspector, native) or native
            )
            tables.append(
                Table(
                    name=names[native], native_name=_native(inspector, native) or native, columns=columns, schema=shown,
                    kind="view" if parts.is_view else "table", comment=parts.comment or None,
                    primary_key=_exposed(parts.primary, parts.columns, columns),
                    foreign_keys=_keys(parts, columns, found, names, exposed, schema, default, single),
                )
            )  # fmt: skip
    return Reflected(tuple(tables), places)


@dataclass
class _Parts:
    """What was reflected of one table. A column is (name as reflected, Column)."""

    columns: list[tuple[str, Column]]
    is_view: bool
    primary: tuple[str, ...] = ()
    foreign: tuple[dict[str, Any], ...] = ()
    comment: str | None = None


def _schemas(inspector: Inspector, engine: Engine, default: str | None) -> list[str | None]:
    database = inspector.engine.url.database
    if engine.name in {"mysql", "mariadb"} and database:
        return [database]
    names = _or_none(inspector.get_schema_names)
    if not names:
        return [default]
    if engine.name == "clickhouse" and database:
        return [database]
    kept: list[str | None] = [
        name
        for name in names
        if (_short(name) or "").strip('"').lower() not in engine.own_schemas
        and not name.startswith(("system.", "temp.", "pg_toast"))
    ]
    return sorted(kept, key=str) or [default]


def _short(schema: str | None) -> str | None:
    """`main` of DuckDB's `file.main`."""
    return schema.rpartition(".")[2].strip('"') if schema else schema


def _real(schema: str | None) -> str | None:
    return _short(schema)


def _native(inspector: Inspector, name: str | None) -> str | None:
    """The name as the engine keeps it: dialects of engines that write in capitals show `orders` for `ORDERS`."""
    if name is None or not getattr(inspector.dialect, "requires_name_normalize", False):
        return name
    return str(inspector.dialect.denormalize_name(name))


def _of_schema(inspector: Inspector, connection: Connection, engine: Engine, schema: str | None) -> dict[str, _Parts]:
    from sqlalchemy.engine.reflection import ObjectKind

    views = {*(_or_none(lambda: inspector.get_view_names(schema)) or ())}
    views |= {*(_or_none(lambda: inspector.get_materialized_view_names(schema)) or ())}
    tables = _or_none(lambda: inspector.get_table_names(schema)) or []
    names = sorted({*tables, *views})
    columns = _or_none(lambda: inspector.get_multi_columns(schema, kind=ObjectKind.ANY))
    if columns is None and names:
        described = _by_information_schema(connection, engine, _short(schema))
    else:
        by_name = {name: found for (_, name), found in (columns or {}).items()}
        described = {
            name: [(each["name"], _column(inspector, each, engine)) for each in by_name[name]]
            for name in names
            if name in by_name
        }
    primary = _by_table(_or_none(lambda: inspector.get_multi_pk_constraint(schema)))
    foreign = _by_table(_or_none(lambda: inspector.get_multi_foreign_keys(schema)))
    comments = _by_table(_or_none(lambda: inspector.get_multi_table_comment(schema)))
    return {
        name: _Parts(
            described[name], name in views, tuple((primary.get(name) or {}).get("constrained_columns") or ()),
            tuple(foreign.get(name) or ()), (comments.get(name) or {}).get("text"),
        )
        for name in names
        if name in described
    }  # fmt: skip


def _by_table(reflected: Any) -> dict[str, Any]:
    """What was reflected, by the table's name alone."""
    return {name: found for (_, name), found in (reflected or {}).items()}


def _or_none(ask: Callable[[], _Answer]) -> _Answer | None:
    """What a dialect reflects; None where it cannot. A lost connection is told by whoever asks next."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return ask()
    except (SQLAlchemyError, NotImplementedError, AttributeError, TypeError, ValueError, LookupError):
        return None


def _by_information_schema(
    connection: Connection, engine: Engine, schema: str | None
) -> dict[str, list[tuple[str, Column]]]:
    from sqlalchemy import text

    connection.rollback()  # the failed reflection may have left a transaction that takes no more questions
    rows = connection.execute(
        text(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = :schema ORDER BY table_name, ordinal_position"
        ),
        {"schema": schema},
    ).all()
    found: dict[str, list[tuple[str, Column]]] = {}
    for table, name, kind, nullable in rows:
        column = Column(name, type_of_text(str(kind), engine), name, str(kind), str(nullable).upper() != "NO")
        found.setdefault(table, []).append((name, column))
    return found


def _column(inspector: Inspector, reflected: Any, engine: Engine) -> Column:
    kind, native = duckdb_type(reflected["type"], inspector, engine)
    name = reflected["name"]
    return Column(
        name, kind, _native(inspector, name) or name, native, bool(reflected.get("nullable", True)),
        reflected.get("comment") or None,
    )  # fmt: skip


def duckdb_type(reflected: Any, inspector: Inspector, engine: Engine) -> tuple[str, str]:
    """The DuckDB type of a column, and the engine's own name of its type."""
    import sqlalchemy.types as kinds

    native = _or_none(lambda: str(reflected.compile(dialect=inspector.dialect))) or str(reflected.__class__.__name__)
    item = getattr(reflected, "nested_type", None) or getattr(reflected, "item_type", None)
    if isinstance(reflected, kinds.ARRAY) and item is not None:
        element, _ = duckdb_type(item, inspector, engine)
        return (f"{element}[]" if element in {"INTEGER", "BIGINT", "VARCHAR", "DOUBLE", "BOOLEAN"} else "JSON"), native
    if isinstance(reflected, kinds.Numeric) and not isinstance(reflected, kinds.Float):
        precision, scale = reflected.precision, reflected.scale or 0
        if engine.name == "sqlite":
            return "DOUBLE", native  # SQLite keeps decimals as binary numbers
        if precision is None:
            return "DOUBLE", UNBOUNDED
        if scale < 0 or precision > 38:
            return ("VARCHAR" if scale >= 0 else f"DECIMAL({min(precision - scale, 38)},0)"), native
        return f"DECIMAL({max(precision, scale)},{scale})", native
    by_class: tuple[tuple[type, str], ...] = (
        (kinds.Boolean, "BOOLEAN"), (kinds.BigInteger, "BIGINT"), (kinds.SmallInteger, "SMALLINT"),
        (kinds.JSON, "JSON"), (kinds.Uuid, "UUID"), (kinds.LargeBinary, "BLOB"), (kinds.Date, "DATE"),
        (kinds.Interval, "VARCHAR"), (kinds.Enum, "VARCHAR"),
    )  # fmt: skip
    for known, name in by_class:
        if isinstance(reflected, known):
            is_moment = name == "DATE" and engine.name == "oracle"  # Oracle's dates have a time of day
            return ("TIMESTAMP" if is_moment else _unsigned(reflected, name)), native
    if isinstance(reflected, kinds.DateTime):
        aware = bool(getattr(reflected, "timezone", False)) or (
            engine.dialect == "cosetmysql" and native.startswith("TIMESTAMP")
        )
        return ("TIMESTAMP WITH TIME ZONE" if aware else "TIMESTAMP"), native
    return type_of_text(native, engine), native


def _unsigned(reflected: Any, name: str) -> str:
    return f"U{name}" if getattr(reflected, "unsigned", False) and name.endswith("INT") else name


def type_of_text(native: str, engine: Engine) -> str:
    """The DuckDB type for a type as the engine writes it; VARCHAR for what neither sqlglot nor DuckDB knows."""
    import sqlglot
    import sqlglot.expressions as sge

    native = native.split(" CHARACTER SET ", maxsplit=1)[0].split(" COLLATE ", maxsplit=1)[0]
    try:
        kind = sge.DataType.build(native, dialect=engine.dialect or None)
        text = str(kind.sql(dialect="duckdb")).upper()
    except (sqlglot.ParseError, ValueError, AttributeError):
        return "VARCHAR"
    base = text.split("(")[0].strip()
    renamed = {"INT": "INTEGER", "TEXT": "VARCHAR", "REAL": "FLOAT", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    base = renamed.get(base, base)
    if base == "FLOAT":
        # SQLite and Snowflake have one width for all of them; elsewhere only REAL (and MySQL's FLOAT) is a narrow one.
        narrow = engine.name not in {"sqlite", "snowflake", "oracle", "bigquery"} and not native.upper().startswith(
            "DOUBLE"
        )
        return "FLOAT" if narrow and _is_narrow(native.upper(), engine) else "DOUBLE"
    if base in {"DECIMAL", "NUMERIC"}:
        sizes = [int(part) for part in text[len(base) :].strip("() ").replace(" ", "").split(",") if part.isdigit()]
        if not sizes:
            return "DOUBLE"
        precision, scale = sizes[0], sizes[1] if len(sizes) > 1 else 0
        return f"DECIMAL({precision},{scale})" if precision <= 38 else "VARCHAR"
    return base if base in _FROM_SQLGLOT or base == "TIMESTAMP WITH TIME ZONE" else "VARCHAR"


def _is_narrow(native: str, engine: Engine) -> bool:
    return (
        native.startswith("REAL")
        or native in {"FLOAT4", "FLOAT32", "NULLABLE(FLOAT32)"}
        or (native.startswith("FLOAT") and engine.dialect in {"cosetmysql", "duckdb"})
    )


def _named(columns: Iterable[tuple[str, Column]]) -> tuple[Column, ...]:
    from dataclasses import replace

    given = [column for _, column in columns]
    return tuple(
        replace(column, name=name)
        for name, column in zip(unique_names(column.name for column in given), given, strict=True)
    )


def _exposed(names: Iterable[str], reflected: list[tuple[str, Column]], columns: tuple[Column, ...]) -> tuple[str, ...]:
    """The exposed names of reflected ones; none where one of them is not listed."""
    known = {name: column.name for (name, _), column in zip(reflected, columns, strict=True)}
    found = tuple(known.get(name, "") for name in names)
    return found if all(found) else ()


def _keys(
    parts: _Parts, columns: tuple[Column, ...], found: dict[str, _Parts], names: dict[str, str],
    exposed: dict[str | None, str], schema: str | None, default: str | None, single: bool,
) -> tuple[ForeignKey, ...]:  # fmt: skip
    keys = []
    for key in parts.foreign:
        target_schema = key.get("referred_schema") or schema
        other = found.get(key["referred_table"]) if target_schema in {schema, default, _short(schema)} else None
        own = _exposed(key["constrained_columns"], parts.columns, columns)
        if other is None or not own:
            continue
        theirs = _exposed(key["referred_columns"], other.columns, _named(other.columns))
        if theirs:
            shown = None if single else exposed[schema]
            keys.append(ForeignKey(own, shown, names[key["referred_table"]], theirs))
    return tuple(keys)
