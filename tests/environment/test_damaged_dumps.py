"""Dumps whose bytes were changed at random are read or refused in a sentence; nothing else happens."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from fuzz_readers import damaged, read_everything

from coset.errors import CosetError

DUMP = """--
-- PostgreSQL database dump
--

-- Dumped from database version 15.4
-- Dumped by pg_dump version 15.4

SET client_encoding = 'UTF8';

CREATE TABLE public.orders (
    id integer NOT NULL,
    customer text,
    paid numeric(10,2),
    at timestamp without time zone,
    tags text[]
);

COPY public.orders (id, customer, paid, at, tags) FROM stdin;
{rows}\\.

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (id);
"""
ROWS = "".join(f"{n}\tFirm \\\\ {n}\t{n}.50\t2024-01-0{n % 9 + 1} 10:00:00\t{{a,b}}\n" for n in range(80))


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_damaged_pg_dump(first: int, tmp_path: Path):
    for seed in range(first, first + 10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "d.sql").write_bytes(damaged(DUMP.replace("{rows}", ROWS).encode(), Random(seed)))
        (folder / "coset.yaml").write_text("sources: {d: {location: d.sql}}\n")
        assert sum(told(folder)) > 0


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_damaged_mongodump(first: int, tmp_path: Path):
    bson = pytest.importorskip("bson")
    content = b"".join(bson.encode({"_id": n, "name": f"n{n}", "tags": ["a", {"b": 1.5}]}) for n in range(60))
    for seed in range(first, first + 10):
        folder = tmp_path / str(seed)
        (folder / "d" / "shop").mkdir(parents=True)
        (folder / "d" / "shop" / "orders.bson").write_bytes(damaged(content, Random(seed)))
        (folder / "d" / "shop" / "orders.metadata.json").write_text('{"options":{},"indexes":[]}')
        (folder / "coset.yaml").write_text("sources: {d: {location: d}}\n")
        assert sum(told(folder)) > 0


def told(folder: Path) -> tuple[int, int]:
    try:
        return read_everything(folder)
    except CosetError:
        return 0, 1
