"""Cross-schema matching: hits in the top 5 on pairs of databases that share real attributes, against peers.

    python benchmarks/matching.py --corpus ../shared/corpora [--json]   # measure
    python benchmarks/matching.py --corpus ../shared/corpora --write    # fit the weights of the features first

Pairs come from two places. *Roles*: two databases whose annotation gives some roles (entity, attribute) exactly one
column in each; those columns are the truth. *Renamed*: a Spider database against itself under the other names that
Spider-Syn gives its tables and columns, without descriptions. Weights are fitted on pairs of training databases,
figures are of validation databases. Peers on the same pairs: names by rapidfuzz, MiniLM as published on names and
descriptions (needs torch), and valentine's Coma and Jaccard-Levenshtein matchers where they are installed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

sys.path.insert(0, str(Path(__file__).parent))
from report import report

from coset.identities.inventory import shipped_inventory
from coset.identities.matching import FEATURES, Attribute, Schema, compare, matching_weights, realise_schema
from coset.identities.model import load_model
from coset.identities.observed import ObservedTable
from coset.identities.words import words_of
from coset.training.objects import TrainingSet, disguise_tables, read_training_set

Pair = tuple[list[Attribute], list[Attribute], dict[int, int]]
LEAST_SHARED, MOST_ROLE_PAIRS, MOST_COLUMNS = 4, 60, 400


def attributes_of(tables: list[ObservedTable], *, words: bool = True) -> list[Attribute]:
    return [
        Attribute(
            f"{number}.{place}", table.name, column.name, column.description if words else "", column.type,
            column.samples,
        )
        for number, table in enumerate(tables)
        for place, column in enumerate(table.columns)
    ]  # fmt: skip


def role_pairs(training: TrainingSet, part: str, seed: int) -> list[Pair]:
    """Pairs of databases of one part that share roles which one column plays in each."""
    roles: dict[tuple[str, str], dict[tuple[int, int], tuple[str, str]]] = {}
    counts: dict[tuple[str, str], Counter[tuple[int, int]]] = {}
    for item in training.objects:
        label = item.label
        if item.part != part or label.database not in training.environments:
            continue
        if label.attribute is None or label.entity < 0:
            continue
        role = (label.entity, label.attribute)
        counts.setdefault(label.database, Counter())[role] += 1
        roles.setdefault(label.database, {})[role] = (label.table, str(label.column))
    unique = {
        key: {role: place for role, place in found.items() if counts[key][role] == 1} for key, found in roles.items()
    }
    pairs = [
        (one, other, sorted(set(unique[one]) & set(unique[other])))
        for one, other in itertools.combinations(sorted(unique), 2)
    ]
    pairs = [pair for pair in pairs if len(pair[2]) >= LEAST_SHARED and _unlike(training, pair[0], pair[1])]
    random.Random(seed).shuffle(pairs)
    found: list[Pair] = []
    for one, other, shared in pairs:
        left, right = (_annotated_tables(training, key) for key in (one, other))
        ours, theirs = attributes_of(left), attributes_of(right)
        if max(len(ours), len(theirs)) > MOST_COLUMNS or len(found) == MOST_ROLE_PAIRS:
            continue
        at = [{(a.table, a.column): n for n, a in enumerate(side)} for side in (ours, theirs)]
        truth = {at[0][unique[one][role]]: at[1][unique[other][role]] for role in shared}
        found.append((ours, theirs, truth))
    return found


def renamed_pairs(training: TrainingSet, part: str, seed: int) -> list[Pair]:
    """Spider databases against themselves under Spider-Syn's names."""
    keys = sorted(
        {item.label.database for item in training.objects if item.part == part and item.label.database[0] == "spider"}
    )
    found: list[Pair] = []
    for key in keys:
        names = training.held_out_synonyms(key) or _own_synonyms(training, key)
        if not names:
            continue
        tables = list(training.environments[key].tables)
        renamed = disguise_tables(tables, "synonyms", random.Random(f"{seed}:{key}"), names)
        ours, theirs = attributes_of(tables), attributes_of(list(renamed), words=False)
        theirs = [replace(attribute, samples=()) for attribute in theirs]
        truth = {n: n for n in range(len(ours)) if words_of(ours[n].column) != words_of(theirs[n].column)}
        if len(ours) <= MOST_COLUMNS and len(truth) >= 3:
            found.append((ours, theirs, truth))
    return found


def hits(pairs: list[Pair], score: Callable[[list[Attribute], list[Attribute]], np.ndarray], top: int = 5) -> float:
    """The share of true matches among the first `top`, over all pairs."""
    right = total = 0
    for ours, theirs, truth in pairs:
        scores = score(ours, theirs)
        for source, target in truth.items():
            order = np.argsort(-scores[source], kind="stable")[:top]
            right += int(target in order)
            total += 1
    return right / max(1, total)


def fit_weights(examples: list[tuple[np.ndarray, dict[int, int]]], rounds: int = 400) -> np.ndarray:
    """Weights that make the true target the likeliest of all targets: softmax regression, by gradient descent."""
    weights = np.ones(len(FEATURES))
    moment, variance = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, rounds + 1):
        gradient, count = 0.001 * weights, 0
        for features, truth in examples:
            rows, targets = list(truth), list(truth.values())
            scores = features[rows] @ weights * 4
            chance = np.exp(scores - scores.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            chance[np.arange(len(rows)), targets] -= 1
            gradient = gradient + np.einsum("rt,rtf->f", chance, features[rows]) / len(rows)
            count += 1
        gradient = gradient / count
        moment, variance = 0.9 * moment + 0.1 * gradient, 0.99 * variance + 0.01 * gradient**2
        weights = weights - 0.05 * (moment / (1 - 0.9**step)) / (np.sqrt(variance / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights, 0.0)
    return weights


def published_minilm() -> Callable[[list[str]], np.ndarray] | None:
    try:
        import torch

        from coset.identities.wordpieces import WordPieces
        from coset.training.recipe import published_minilm as folder
        from coset.training.text_model import TextModel
    except ImportError:
        return None
    pieces = WordPieces((folder() / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    model = TextModel.published(folder() / "model.safetensors").eval()

    def encode(texts: list[str]) -> np.ndarray:
        found = []
        with torch.no_grad():
            for begin in range(0, len(texts), 64):
                tokens, mask = pieces.batch([pieces.encode(text, 64) for text in texts[begin : begin + 64]])
                found.append(model(torch.from_numpy(tokens), torch.from_numpy(mask)).numpy())
        return np.concatenate(found)

    return encode


def valentine_scores(ours: list[Attribute], theirs: list[Attribute], name: str) -> np.ndarray:
    """What a matcher of valentine says, by names alone."""
    import pandas as pd
    from valentine import valentine_match
    from valentine.algorithms import Coma, JaccardDistanceMatcher

    matcher = Coma(use_instances=False) if name == "coma" else JaccardDistanceMatcher()
    # Its number must not be in a name: in renamed pairs that alone would give the match away.
    places = [{f"{a.table} {a.column}": n for n, a in enumerate(side)} for side in (ours, theirs)]
    frames = [
        pd.DataFrame({name: [*side[n].samples[:8], *[""] * 8][:8] for name, n in place.items()})
        for side, place in zip((ours, theirs), places, strict=True)
    ]
    found = valentine_match(frames, matcher)
    scores = np.zeros((len(ours), len(theirs)))
    for pair, value in found.items():
        left, right = pair.source_column, pair.target_column
        scores[places[0][left], places[1][right]] = value
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="fit the weights on training databases and write them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    model = load_model()
    training = read_training_set(chosen.corpus, shipped_inventory())
    realised: dict[tuple[Attribute, ...], Schema] = {}

    def schema(attributes: list[Attribute]) -> Schema:
        return realised.setdefault(tuple(attributes), realise_schema(attributes, model))

    if chosen.write:
        pairs = role_pairs(training, "train", chosen.seed)[:40] + renamed_pairs(training, "train", chosen.seed)[:40]
        weights = fit_weights([(compare(schema(left), schema(right)), truth) for left, right, truth in pairs])
        path = Path(__file__).parents[1] / "src/coset/identities/weights/matching.json"
        content = {
            "made by": "python benchmarks/matching.py --write",
            "weights": dict(zip(FEATURES, np.round(weights, 4).tolist(), strict=True)),
        }
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    weights = matching_weights()
    minilm = published_minilm()
    systems: dict[str, Callable[[list[Attribute], list[Attribute]], np.ndarray]] = {
        "coset": lambda left, right: compare(schema(left), schema(right)) @ weights,
        "joint membership alone": lambda left, right: compare(schema(left), schema(right))[:, :, 0],
        "names (rapidfuzz)": lambda left, right: process.cdist(
            [a.column for a in left], [a.column for a in right], scorer=fuzz.WRatio
        ),
    }
    if minilm is not None:

        def plain(side: list[Attribute]) -> np.ndarray:
            return minilm([f"{a.table} {a.column} {a.description}".replace("_", " ") for a in side])

        systems["MiniLM as published"] = lambda left, right: plain(left) @ plain(right).T
    try:
        import valentine  # noqa: F401

        systems["valentine Coma"] = lambda left, right: valentine_scores(left, right, "coma")
    except ImportError:
        print("valentine is not installed: its row is left out", file=sys.stderr)
    kinds = {
        "roles": role_pairs(training, "validation", chosen.seed),
        "renamed": renamed_pairs(training, "validation", chosen.seed),
    }
    figures: dict[str, float | str] = {}
    for kind, pairs in kinds.items():
        figures[f"{kind}: pairs, attributes"] = f"{len(pairs)}, {sum(len(truth) for _, _, truth in pairs)}"
        for name, score in systems.items():
            try:
                told = f"{hits(pairs, score, 1):.3f}, {hits(pairs, score):.3f}"
            except Exception as error:
                told = f"failed: {error!r}"
            figures[f"{kind}: {name}, hit@1, hit@5"] = told
            print(f"{kind}: {name}: {told}", file=sys.stderr, flush=True)
    report("cross-schema matching", figures)


def _unlike(training: TrainingSet, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Two versions of one database are no pair."""
    names = [{table.name.lower() for table in training.environments[key].tables} for key in (one, other)]
    return 3 * len(names[0] & names[1]) < min(len(names[0]), len(names[1]))


def _annotated_tables(training: TrainingSet, key: tuple[str, str]) -> list[ObservedTable]:
    names = {
        item.table.name for item in training.objects if item.label.database == key and item.label.attribute is not None
    }
    return [table for table in training.environments[key].tables if table.name in names]


def _own_synonyms(training: TrainingSet, key: tuple[str, str]) -> dict[str, list[str]]:
    wanted = {
        " ".join(words_of(name)) for table in training.environments[key].tables for name in (table.name, *table.names)
    }
    return {name: others for name, others in training.synonyms.items() if name in wanted}


if __name__ == "__main__":
    main()
