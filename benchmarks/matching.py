"""Cross-schema matching: hits in the top 5 on pairs of databases that share real attributes, against peers.

    python benchmarks/matching.py --corpus ../shared/corpora [--json]   # measure
    python benchmarks/matching.py --corpus ../shared/corpora --write    # fit the weights of the features first

Pairs come from three places. *Systems*: pairs of real systems that store the same business (`matching_pairs`:
Salesforce and HubSpot, SAP and Oracle, Sentinel and PCORnet, ...), written from memory by language models with the
correspondences that an integrator would draw; three of the nine are clinical. *Roles*: two databases whose annotation
gives some roles (entity, attribute) exactly one column in each; those columns are the truth. *Renamed*: a Spider
database against itself under the other names that Spider-Syn gives its tables and columns, without descriptions.
Weights are fitted on the pairs of systems that are not clinical and on pairs of training databases; clinical pairs and
validation databases measure. Peers on the same pairs: names by rapidfuzz, MiniLM as published on names and descriptions
(needs torch), and valentine's Coma matcher where it is installed.
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
from rapidfuzz import fuzz, process, utils

sys.path.insert(0, str(Path(__file__).parent))
from report import report

from coset.identities.inventory import shipped_inventory
from coset.identities.matching import (
    FEATURES,
    Attribute,
    MatchingSettings,
    Schema,
    compare,
    read_attributes,
    realise_schema,
    scores,
    shipped_settings,
)
from coset.identities.model import load_model
from coset.json_lines import json_lines
from coset.readings.observed import ObservedTable
from coset.readings.words import words_of
from coset.routing.ranking.model import load_routing_encoder
from coset.training.data.labelled_objects import TrainingSet, disguise_tables, read_training_set

Pair = tuple[list[Attribute], list[Attribute], dict[int, list[int]]]
Score = Callable[[list[Attribute], list[Attribute]], np.ndarray]
LEAST_SHARED, MOST_ROLE_PAIRS, MOST_COLUMNS = 4, 60, 400
CLINICAL = ("claims", "hospital", "trial")
FITTED = {"systems": 0.45, "roles": 0.35, "renamed": 0.2}
"""What each kind of pairs counts when the weights are fitted."""
MOST_FITTED = 20
"""So many pairs of training databases of each kind are fitted on, at most."""


def system_pairs(*, clinical: bool) -> list[Pair]:
    """The pairs of systems, those of medicine or the others."""
    folder = Path(__file__).parent / "matching_pairs"
    found: list[Pair] = []
    for path in sorted(folder.glob("*.gold.jsonl.zst")):
        name = path.name.split(".")[0]
        if (name in CLINICAL) == clinical:
            sides = [read_attributes(folder / f"{name}.{side}.jsonl.zst") for side in ("a", "b")]
            at = [{attribute.id: n for n, attribute in enumerate(side)} for side in sides]
            truth = {
                at[0][entry["source"]]: [at[1][each] for each in entry["targets"]] for _, entry in json_lines(path)
            }
            found.append((*sides, truth))
    return found


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
        truth = {at[0][unique[one][role]]: [at[1][unique[other][role]]] for role in shared}
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
        truth = {n: [n] for n in range(len(ours)) if words_of(ours[n].column) != words_of(theirs[n].column)}
        if len(ours) <= MOST_COLUMNS and len(truth) >= 3:
            found.append((ours, theirs, truth))
    return found


def places(pairs: list[Pair], score: Score) -> np.ndarray:
    """The place of the best true match of every attribute that has one, counted from 0."""
    found = []
    for ours, theirs, truth in pairs:
        told = score(ours, theirs)
        for source, targets in truth.items():
            order = np.argsort(-told[source], kind="stable")
            found.append(int(np.isin(order, targets).argmax()))
    return np.array(found)


def fit_settings(pairs: dict[str, list[Pair]], score: Callable[[MatchingSettings], Score]) -> MatchingSettings:
    """Weights under which true matches come first, one after the other made smaller or greater while that helps. That
    of values stays: the pairs of systems have none."""

    def worth(settings: MatchingSettings) -> float:
        ways = score(settings)
        total = 0.0
        for kind, share in FITTED.items():
            found = places(pairs[kind], ways)
            total += share * float((found < 5).mean() + (1 / (1 + found)).mean())
        return total - 0.0005 * float(settings.weights.sum())

    best = MatchingSettings(np.array([0.65, 0.7, 1.2, 4.0, 0.65, 0.5, 0.4]), 0.6, 5)
    most = worth(best)
    for step in range(2 * (len(FEATURES) + 1)):
        number = step % (len(FEATURES) + 1)
        if number == len(FEATURES):
            tried = [replace(best, tables=best.tables * factor) for factor in (0.7, 1.4)]
        elif FEATURES[number] == "values":
            continue
        else:
            now = best.weights[number]
            tried = []
            for other in (0.0, 0.6 * now, 1.6 * now, now + 0.5):
                weights = best.weights.copy()
                weights[number] = other
                tried.append(replace(best, weights=weights))
        for settings in tried:
            found = worth(settings)
            if found > most + 1e-4:
                best, most = settings, found
        print(f"fitting, step {step + 1}: {most:.4f}", file=sys.stderr, flush=True)
    return best


def published_minilm() -> Callable[[list[str]], np.ndarray] | None:
    try:
        import torch

        from coset.identities.text_encoder import WordPieces
        from coset.training.encoders.stage import published_minilm as folder
        from coset.training.encoders.text_model import TextModel
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
    model, meanings = load_model(), load_routing_encoder()
    training = read_training_set(chosen.corpus, shipped_inventory())
    realised: dict[tuple[Attribute, ...], Schema] = {}
    compared: dict[tuple[int, int], np.ndarray] = {}

    def schema(attributes: list[Attribute]) -> Schema:
        if tuple(attributes) not in realised:
            realised[tuple(attributes)] = realise_schema(attributes, model, meanings)
        return realised[tuple(attributes)]

    def features(left: list[Attribute], right: list[Attribute]) -> np.ndarray:
        key = (id(left), id(right))
        if key not in compared:
            compared[key] = compare(schema(left), schema(right))
        return compared[key]

    def by(settings: MatchingSettings) -> Score:
        return lambda left, right: scores(schema(left), schema(right), features(left, right), settings)

    if chosen.write:
        fitted = {
            "systems": system_pairs(clinical=False),
            "roles": role_pairs(training, "train", chosen.seed)[:MOST_FITTED],
            "renamed": renamed_pairs(training, "train", chosen.seed)[:MOST_FITTED],
        }
        best = fit_settings(fitted, by)
        content = {
            "made by": "python benchmarks/matching.py --write",
            "weights": dict(zip(FEATURES, np.round(best.weights, 4).tolist(), strict=True)),
            "tables": round(best.tables, 4),
            "nearest": best.nearest,
        }
        path = Path(__file__).parents[1] / "src/coset/identities/weights/matching.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    settings = shipped_settings()
    without = settings.weights * [name not in ("role", "attribute", "embedding") for name in FEATURES]
    own = np.array([float(name == "role") for name in FEATURES])
    minilm = published_minilm()
    systems: dict[str, Score] = {
        "coset": by(settings),
        "without the schemas as wholes": lambda left, right: features(left, right) @ settings.weights,
        "without memberships": by(replace(settings, weights=without)),
        "joint membership alone": lambda left, right: features(left, right) @ own,
        "names (rapidfuzz)": lambda left, right: process.cdist(
            [a.column for a in left], [a.column for a in right], scorer=fuzz.WRatio, processor=utils.default_process
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
        "clinical systems": system_pairs(clinical=True),
        "other systems (fitted on)": system_pairs(clinical=False),
        "roles": role_pairs(training, "validation", chosen.seed),
        "renamed": renamed_pairs(training, "validation", chosen.seed),
    }
    figures: dict[str, float | str] = {}
    for kind, pairs in kinds.items():
        figures[f"{kind}: pairs, attributes"] = f"{len(pairs)}, {sum(len(truth) for _, _, truth in pairs)}"
        for name, score in systems.items():
            try:
                found = places(pairs, score)
                told = f"{(found < 1).mean():.3f}, {(found < 5).mean():.3f}"
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
