"""A plain dump in the very text that pg_dump writes."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from .clean import Value
from .written_table import WrittenTable

HEAD = """--
-- PostgreSQL database dump
--

-- Dumped from database version 17.5
-- Dumped by pg_dump version 17.5

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

"""
FOOT = """--
-- PostgreSQL database dump complete
--

"""
TYPES = {
    "integer": "bigint", "real": "double precision", "text": "text", "boolean": "boolean", "date": "date",
    "timestamp": "timestamp without time zone",
}  # fmt: skip
# Words that pg_dump quotes although they are in lower case: all but the unreserved keywords.
_KEYWORDS = """
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast
    char character check coalesce collate collation column concurrently constraint create cross current_catalog
    current_date current_role current_schema current_time current_timestamp current_user dec decimal default
    deferrable desc distinct do else end except exists extract false fetch float for foreign freeze from full grant
    greatest group grouping having ilike in initially inner inout int integer intersect interval into is isnull join
    lateral leading least left like limit localtime localtimestamp national natural nchar none normalize not notnull
    null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary real
    references returning right row select session_user setof similar smallint some substring symmetric system_user
    table tablesample then time timestamp to trailing treat trim true union unique user using values varchar variadic
    verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi
    xmlroot xmlserialize xmltable
"""
KEYWORDS = frozenset(_KEYWORDS.split())
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"})


def write_pg_dump(tables: list[WrittenTable], path: Path) -> None:
    parts = [HEAD]
    ordered = sorted(tables, key=lambda table: table.name)
    for table in ordered:
        parts.append(_heading(f"Name: {table.name}; Type: TABLE"))
        columns = ",\n".join(
            f"    {quoted(column.name)} {TYPES[column.type]}{' NOT NULL' if column.name in table.primary_key else ''}"
            for column in table.columns
        )
        parts.append(f"CREATE TABLE public.{quoted(table.name)} (\n{columns}\n);\n\n\n")
        parts.append(f"ALTER TABLE public.{quoted(table.name)} OWNER TO postgres;\n\n")
    for table in ordered:
        parts.append(_heading(f"Data for Name: {table.name}; Type: TABLE DATA"))
        columns = ", ".join(quoted(column.name) for column in table.columns)
        parts.append(f"COPY public.{quoted(table.name)} ({columns}) FROM stdin;\n")
        parts.extend("\t".join(_field(value) for value in row) + "\n" for row in table.rows)
        parts.append("\\.\n\n\n")
    for table in ordered:
        if table.primary_key:
            name = f"{table.name[:58]}_pkey"
            parts.append(_heading(f"Name: {table.name} {name}; Type: CONSTRAINT"))
            key = ", ".join(quoted(column) for column in table.primary_key)
            parts.append(f"ALTER TABLE ONLY public.{quoted(table.name)}\n")
            parts.append(f"    ADD CONSTRAINT {quoted(name)} PRIMARY KEY ({key});\n\n\n")
    parts.append(FOOT)
    path.write_text("".join(parts), encoding="utf-8", newline="")


def quoted(name: str) -> str:
    if re.fullmatch("[a-z_][a-z0-9_]*", name) and name not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _heading(text: str) -> str:
    return f"--\n-- {text}; Schema: public; Owner: postgres\n--\n\n"


def _field(value: Value) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value).translate(_ESCAPES)
