"""Routing on validation databases that nothing learned from: recall, columns kept, tokens, and two peers.

    python benchmarks/routing.py --corpus DIR [--only bird] [--most 20] [--json]

Pooled: all databases of the corpora that have questions are one environment; with `--only`, those of one corpus.
Single: each question sees its own database. Questions are read alone; with `--evidence` together with the hints that
some of them came with, by the peers too. Peers in the same run: BM25 over the words of each table, and a plain dense
retriever (our encoder's vector of the question against that of each table's text). Ablations are measured by
`coset train`, which learns each one anew.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from report import report

from coset.identities.model import load_model
from coset.routing.ranking.index import table_text
from coset.routing.ranking.model import load_routing_model
from coset.routing.schema_routing import MARK, SchemaRouter
from coset.routing.search.words import WordIndex, stems_of
from coset.routing.views.budgets import cost
from coset.training.data.corpora import Question
from coset.training.routing.examples import read_routing_corpus

BEST = (5, 15)
Rank = Callable[[str], Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--only", help="one corpus, by its name: its databases are the pool, its questions are asked")
    parser.add_argument("--most", type=int, default=20, help="questions of one database, so that none dominates")
    parser.add_argument("--evidence", action="store_true", help="read questions with the hints that they came with")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = read_routing_corpus(options.corpus)
    databases = {key: one for key, one in data.databases.items() if options.only in (None, key[0])}
    if not databases:
        parser.error(f"no corpus is called '{options.only}': {', '.join(sorted({key[0] for key in data.databases}))}")
    questions = data.some_questions([key for key in data.keys("validation") if key in databases], options.most, 1)
    if options.evidence:
        questions = [replace(question, text=question.hinted) for question in questions]
    model = load_routing_model(threads=1)
    identities = load_model() if model.ranks_by_demand else None
    pool = SchemaRouter(list(databases.values()), model, identities)
    figures: dict[str, float | str] = {
        "questions": len(questions), "databases in the pool": len(databases),
        "tables in the pool": len(pool.index.tables), "columns in the pool": len(pool.index.columns),
    }  # fmt: skip
    tables = [table for database in databases.values() for table in database.environment.tables]
    texts = [table_text(table) for table in tables]
    peers: dict[str, Rank] = {
        "coset": lambda text: pool.route(text).tables,
        "BM25": _bm25(texts, pool),
        "dense": lambda text: _named(pool, pool.index.table_vectors @ model.encoder.encode_words(text)[0]),
    }
    for name, rank in peers.items():
        hits, seconds = _measured(questions, rank)
        for number, count in enumerate(BEST):
            figures[f"{name}: all gold tables in the first {count}"] = float(np.mean([hit[number] for hit in hits]))
        figures[f"{name}: median ms a question"] = 1000 * statistics.median(seconds)
    kept = _single(data, questions, model, identities)
    figures |= kept
    met = (
        figures["coset: all gold tables in the first 15"] >= 0.97
        and figures["coset: all gold tables in the first 5"] >= 0.90
        and kept["single: all gold kept"] >= 0.90
        and kept["single: columns kept"] <= 18
    )
    report("routing", figures, "pooled .97 in 15 and .90 in 5; single .90 kept with at most 18 columns", met)


def _measured(questions: Sequence[Question], rank: Rank) -> tuple[list[list[bool]], list[float]]:
    hits, seconds = [], []
    for question in questions:
        gold = {f"{question.database[1]}.{name}" for name in question.tables}
        started = time.perf_counter()
        found = list(rank(question.text))
        seconds.append(time.perf_counter() - started)
        hits.append([gold <= set(found[:count]) for count in BEST])
    return hits, seconds


def _bm25(texts: Sequence[str], pool: SchemaRouter) -> Rank:
    """BM25 with the usual constants, on the same stems that coset uses."""
    words = [stems_of(text) for text in texts]
    index = WordIndex(words)
    mean = np.mean([len(own) for own in words])
    weight = 2.2 / (1 + 1.2 * (0.25 + 0.75 * np.array([len(own) for own in words]) / mean))
    return lambda text: _named(pool, index.overlap(stems_of(text)).of_question * weight)


def _named(pool: SchemaRouter, scores: np.ndarray) -> list[str]:
    order = np.argsort(-scores, kind="stable")[:50]
    return [pool.index.tables[number].split("/", 1)[1].replace(MARK, ".") for number in order]


def _single(data, questions, model, identities) -> dict[str, float]:  # type: ignore[no-untyped-def]
    routers: dict[tuple[str, str], SchemaRouter] = {}
    whole, counts, shares = [], [], []
    for question in questions:
        database = data.databases[question.database]
        if question.database not in routers:
            routers[question.database] = SchemaRouter([database], model, identities)
        kept = set(routers[question.database].route(question.text).kept)
        home = question.database[1]
        gold = {f"{home}.{table}.{column}" for table, column in question.columns}
        tables = {f"{home}.{table}" for table in question.tables}
        whole.append(gold <= kept and tables <= {column.rsplit(".", 1)[0] for column in kept})
        counts.append(len(kept))
        columns = [
            (f"{home}.{table.name}.{column.name}", f"{column.name} {column.type} {column.description} {column.samples}")
            for table in database.environment.tables
            for column in table.columns
        ]
        all_tokens = sum(cost(text) for _, text in columns)
        shares.append(sum(cost(text) for name, text in columns if name in kept) / max(1, all_tokens))
    return {
        "single: all gold kept": float(np.mean(whole)),
        "single: columns kept": float(np.mean(counts)),
        "single: tokens kept of the whole schema": float(np.mean(shares)),
    }


if __name__ == "__main__":
    main()
