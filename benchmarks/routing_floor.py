"""Is the order of tables anywhere worse than plain search? Gold tables among the first, beside BM25 and dense search.

    python benchmarks/routing_floor.py --environment DIR --questions FILE

For each question of a file with gold tables: the order of originals as views take it, BM25 over the same texts, BM25
with the words that documents lend, dense retrieval (a table's vector), and the learned order. Prints, for the first 5,
10, 20, 30 and 50 tables, the share of gold tables among them and the share of questions with all of theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coset.benchmark.views import is_same_table, read_view_questions
from coset.environment.configuration import load_environment
from coset.routing.anchors import look_up
from coset.routing.ranking.features import candidates
from coset.routing.ranking.query_model import encode_question
from coset.routing.router import Router

FIRST = (5, 10, 20, 30, 50)


def orders(router: Router, question: str) -> dict[str, list[str]]:
    """Originals by each way of ordering them."""
    index, encoded = router.index, encode_question(question, router.model.encoder)
    hits = router.lexical.find(question)
    anchors = look_up(question, router.anchors, None).anchors
    learned = router.model.ranker.rank(candidates(encoded, None, anchors, index), index).best_tables()
    by_score = {
        "BM25": hits.tables,
        "BM25 with documents' words": hits.lent,
        "dense": index.table_vectors @ encoded.whole,
    }
    found = {name: [index.tables[at] for at in np.argsort(-each, kind="stable")] for name, each in by_score.items()}
    found["learned"] = [index.tables[at] for at in learned]
    found["as views take it"] = list(router.order(question))
    original = router.objects.knowledge.original
    return {name: [table for table in several if original(table) == table] for name, several in found.items()}


def share(values: Sequence[bool]) -> float:
    return sum(values) / max(1, len(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    given = parser.parse_args()
    router = Router.open(load_environment(given.environment))
    tables: dict[tuple[str, int], list[bool]] = {}
    whole: dict[tuple[str, int], list[bool]] = {}
    for asked in read_view_questions(given.questions):
        for name, order in orders(router, asked.question).items():
            places = [
                min(
                    (at for at, each in enumerate(order) if any(is_same_table(one, each) for one in own)), default=9_999
                )
                for own in ((table, *asked.alternatives.get(table, ())) for table in asked.tables)
            ]
            for first in FIRST:
                tables.setdefault((name, first), []).extend(place < first for place in places)
                whole.setdefault((name, first), []).append(all(place < first for place in places))
    print(f"{'gold tables / questions with all, among the first':52}" + "".join(f"{first:>12}" for first in FIRST))
    for name in dict.fromkeys(name for name, _ in tables):
        cells = (f"{share(tables[name, first]):.2f} / {share(whole[name, first]):.2f}" for first in FIRST)
        print(f"{name:52}" + "".join(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
