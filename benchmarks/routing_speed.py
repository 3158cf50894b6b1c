"""What routing costs on one thread, warm, and what its index costs, as the environment grows.

    python benchmarks/routing_speed.py [--columns 5000 20000 100000] [--json]

Generated columns (tables of 20), all different. Questions: CPU time of this process. Building, as a user's machine does
it, on all cores: texts, vectors, words, anchors; roles are comprehension's. Both CPU and wall time are told.
The peer in the same run is a plain dense retriever: the question's vector against every column's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
import resource
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from identities_speed import environment
from report import report

from coset.routing.anchors import AnchorIndex, find_anchors
from coset.routing.ranking.features import candidates
from coset.routing.ranking.index import build_index
from coset.routing.ranking.model import load_routing_model
from coset.routing.ranking.query_model import encode_question

ASKED = 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--columns", type=int, nargs="+", default=[5_000, 20_000, 100_000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model, builder = load_routing_model(threads=1), load_routing_model()
    figures: dict[str, float | str] = {}
    latency: dict[int, float] = {}
    for count in options.columns:
        observed = environment(count, 1)
        started, started_on_wall = time.process_time(), time.perf_counter()
        index = build_index(observed, builder.encoder, lambda reference: reference[:1])
        anchors = AnchorIndex.from_observed(observed)
        figures[f"{count:,} columns: CPU s to build"] = time.process_time() - started
        figures[f"{count:,} columns: s to build on {os.cpu_count()} cores"] = time.perf_counter() - started_on_wall
        names = random.Random(2).sample([table.names for table in observed.tables], ASKED)
        questions = [f"What is the average {own[3]} for each {own[7]} since 2019?" for own in names]
        find_anchors(questions[0], anchors)
        steps: list[list[float]] = []
        dense = []
        for question in questions:
            times = [time.process_time()]
            encoded = encode_question(question, model.encoder)
            times.append(time.process_time())
            found = find_anchors(question, anchors)
            times.append(time.process_time())
            demand = model.queries.demand_of(encoded.whole) if model.ranks_by_demand else None
            features = candidates(encoded, demand, found, index)
            times.append(time.process_time())
            model.ranker.rank(features, index)
            times.append(time.process_time())
            steps.append([after - before for before, after in pairwise(times)])
            started = time.process_time()
            (index.column_vectors @ model.encoder.encode_words(question)[0]).argsort()
            dense.append(time.process_time() - started)
        latency[count] = 1000 * statistics.median(map(sum, steps))
        figures[f"{count:,} columns: median CPU ms"] = latency[count]
        for part, own in zip(("encoding", "anchors", "features", "networks"), zip(*steps, strict=True), strict=True):
            figures[f"{count:,} columns: median CPU ms, {part}"] = 1000 * statistics.median(own)
        figures[f"{count:,} columns: median CPU ms, plain dense"] = 1000 * statistics.median(dense)
    figures["peak memory, GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    met = latency.get(5_000, 0.0) <= 15 and latency.get(100_000, 0.0) <= 50
    report("routing speed", figures, "15 ms at 5,000 columns, 50 ms at 100,000; built in 300 s and 2 GB", met)


if __name__ == "__main__":
    main()
