"""Trains the ranker anew, on readable databases and on the same databases in disguise.

In: a corpus, routing weights whose encoder and query model stay, an output folder, a seed. Out: `ranker.safetensors` in
the output folder. Learned from: the databases kept for the ranker, each by itself and pooled, as they are; and pools of
them in disguise, two thirds as offline readers read them. Demand is not looked at. By itself:
`python -m coset.training.routing.learn_disguised --corpus DIR --out DIR [--most 20]`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from pathlib import Path

import torch

from coset.errors import CosetError, UserError
from coset.identities.model import load_model
from coset.routing.ranking.model import (
    ABOUT_FILE,
    ENCODER_FILE,
    RANKER_FILE,
    RoutingModel,
    load_routing_model,
    save_ranker,
    shipped_folder,
)
from coset.routing.ranking.query_model import QUERY_FILE
from coset.routing.schema_files import Key
from coset.training.data.disguised_names import KINDS
from coset.training.routing.examples import Examples, Pool, RoutingCorpus, read_routing_corpus
from coset.training.routing.measure_disguised import HiddenPool, hidden_pool
from coset.training.routing.ranker import Example, RankingSettings, train_ranker

DISGUISES = 2


def learning_examples(data: RoutingCorpus, model: RoutingModel, most: int, seed: int) -> list[Example]:
    """Questions over the databases kept for the ranker: as they are, and in disguise."""
    keys = data.for_ranker()
    questions = data.some_questions(keys, most, seed)
    examples = Examples(model)
    pool = Pool([data.databases[key] for key in keys], model, None)
    own = {key: Pool([data.databases[key]], model, None) for key in keys}
    found = examples.of(questions, dict.fromkeys(keys, pool)) + examples.of(questions, own)
    for number in range(DISGUISES):
        hidden = _mixed(data, keys, f"ranker:{seed}:{number}")
        together = Pool(hidden.databases, model, None)
        asked = [each for question in questions if (each := hidden.asked(question)) is not None]
        found += examples.of(asked, dict.fromkeys(keys, together))
    return [example.without(("demand",)) for example in found]


def _mixed(data: RoutingCorpus, keys: list[Key], seed: str) -> HiddenPool:
    """A pool in which each database has its own kind of names."""
    parts = []
    for key in keys:
        generator = random.Random(f"{seed}:{'/'.join(key)}")
        parts.append(
            hidden_pool([data.databases[key]], generator.choice(KINDS[1:]), seed, read=generator.random() < 0.67)
        )
    return HiddenPool(
        tuple(database for part in parts for database in part.databases),
        {origin: name for part in parts for origin, name in part.renamed.items()},
        {copy: original for part in parts for copy, original in part.copies.items()},
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.routing.learn_disguised",
        description="Train the ranker.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with schemas and questions")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--most", type=int, default=20, help="questions of one database")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    started = time.process_time()

    def report(text: str, share: float) -> None:
        print(f"{time.process_time() - started:.0f} CPU s: {text}", file=sys.stderr, flush=True)

    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with schemas and questions")
        model = load_routing_model(load_model(threads=1), threads=1)
        examples = learning_examples(read_routing_corpus(chosen.corpus), model, chosen.most, chosen.seed)
        report(f"{len(examples):,} examples", 0.3)
        settings = RankingSettings(members=chosen.members, members_of_columns=max(1, chosen.members // 2))
        ranker = train_ranker(examples, chosen.seed, settings, report)
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    chosen.out.mkdir(parents=True, exist_ok=True)
    for file in (ENCODER_FILE, QUERY_FILE, ABOUT_FILE):
        shutil.copy(shipped_folder() / file, chosen.out / file)
    save_ranker(chosen.out / RANKER_FILE, ranker)
    return 0


if __name__ == "__main__":
    sys.exit(main())
