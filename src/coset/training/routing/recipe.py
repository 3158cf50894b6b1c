"""The recipe of routing: from the corpora to the routing weights that ship, in stages that each keep their result.

In: a corpus folder, trained identities, an output folder, a seed. Out: routing encoder, query model, ranker and cuts in
the output folder, with figures on validation databases. A stage whose result is there is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from coset.identities.model import VOCABULARY_FILE, WORDS_FILE, IdentityModel
from coset.identities.text_encoder import TextEncoder
from coset.routing.ranking.model import (
    ENCODER_FILE,
    RANKER_FILE,
    RoutingModel,
    encoder_name,
    load_ranker,
    save_about,
    save_ranker,
)
from coset.routing.ranking.query_model import QUERY_FILE, QueryModel
from coset.routing.ranking.ranker import Ranker, SelectionSettings, kept_columns
from coset.training.data.corpora import read_questions
from coset.training.data.labelled_objects import TrainingSet
from coset.training.encoders.distil import DistilSettings
from coset.training.encoders.retrieval import FURTHER, RetrievalSettings
from coset.training.model_card import routing_card
from coset.training.routing.examples import Examples, Pool, RoutingCorpus, read_routing_corpus
from coset.training.routing.query_stage import QuerySettings, train_queries
from coset.training.routing.ranker import Example, RankingSettings, train_ranker

Report = Callable[[str, float], None]
FIGURES, CARD = "routing_figures.json", "ROUTING_CARD.md"
BEST = (5, 10, 15)
WANTED_COLUMNS = 17.0
"""The cut is chosen on the ranker's databases so that about so many columns are kept: the aim is at most 18."""
WITHOUT: dict[str, tuple[str, ...]] = {
    "whole": (),
    "demand only": ("meaning", "words", "anchors"),
    "anchors only": ("meaning", "demand"),
    "without demand": ("demand",),
    "without anchors": ("anchors", "words"),
    "without graph reach": ("graph",),
    "without groups": ("groups",),
    "without competition for words": ("competition",),
}


@dataclass(frozen=True)
class RoutingSettings:
    seed: int = 1
    per_database: int = 60
    """Questions of one database that the ranker is judged by, at most."""
    learned_per_database: int = 60
    """Questions of one database that it learns from, at most."""
    ranks_by_demand: bool = False
    """Off, because it was measured to be better: see the ablations."""
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    shallow: DistilSettings = field(default_factory=DistilSettings)
    further: RetrievalSettings = FURTHER
    queries: QuerySettings = field(default_factory=QuerySettings)
    ranking: RankingSettings = field(default_factory=RankingSettings)

    def short(self) -> RoutingSettings:
        """As much of it as fits into three quarters of an hour together with the identities."""
        return replace(
            self, learned_per_database=25, retrieval=replace(self.retrieval, per_database=25),
            shallow=replace(self.shallow, questions=40, columns=30, tables=600),
            further=replace(self.further, per_database=8),
            ranking=replace(self.ranking, members=2, members_of_columns=1),
        )  # fmt: skip


def train_routing(
    corpus: Path, out: Path, training: TrainingSet, identities: IdentityModel, settings: RoutingSettings,
    report: Report, command: str, *, ablations: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """All stages after the routing encoder. Returns the figures on validation databases."""
    data = read_routing_corpus(corpus)
    encoder = TextEncoder(out / ENCODER_FILE, out / VOCABULARY_FILE, out / WORDS_FILE)
    figures: dict[str, Any] = {"settings": asdict(settings)}
    if not (out / QUERY_FILE).exists():
        queries, figures["queries"] = train_queries(
            training, read_questions(corpus), encoder, identities.inventory, identities, settings.seed,
            settings.queries, report,
        )  # fmt: skip
        replace(queries, made_with=encoder_name(out)).save(out, identities.inventory)
    queries = QueryModel.load(replace(identities, text_encoder=encoder, name=encoder_name(out)), out)
    model = RoutingModel(encoder, queries, Ranker({}), SelectionSettings(), "")
    # Roles are realised only where demand is looked at.
    by_demand = identities if settings.ranks_by_demand or ablations else None
    whole = _examples(data, model, by_demand, settings, report)
    hidden = () if settings.ranks_by_demand else ("demand",)
    learning, validation = (
        {name: [example.without(hidden) for example in part] for name, part in each.items()} for each in whole
    )
    if (out / RANKER_FILE).exists():
        ranker = load_ranker(out / RANKER_FILE)
    else:
        ranker = train_ranker(
            [example for part in learning.values() for example in part], settings.seed, settings.ranking, report
        )
        save_ranker(out / RANKER_FILE, ranker)
    selection = chosen_cut(learning["single"], ranker)
    figures |= {"selection": asdict(selection), "data": _data_figures(data, validation)}
    for way in ("", "_hinted"):
        figures[f"pooled{way}"] = recall(validation[f"pooled{way}"], ranker)
        figures[f"single{way}"] = kept(validation[f"single{way}"], ranker, selection)
    if ablations:
        figures["ablations"] = _ablations(*whole, settings, report)
    save_about(out, f"routing-{settings.seed}", selection, settings.ranks_by_demand)
    (out / CARD).write_text(routing_card(figures, command), encoding="utf-8")
    (out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def _examples(
    data: RoutingCorpus,
    model: RoutingModel,
    identities: IdentityModel | None,
    settings: RoutingSettings,
    report: Report,
) -> tuple[dict[str, list[Example]], dict[str, list[Example]]]:
    """Examples to learn from and to judge by, pooled and each database by itself, without the hints that came with some
    questions and, of those, once more with them. Validation databases are in no pool that is learned from."""
    examples = Examples(model)
    found = []
    for name, most, keys, pool_keys, alone in (
        ("ranker", settings.learned_per_database, data.for_ranker(), data.keys("train", "dev"),
         data.for_ranker_written()),
        ("validation", settings.per_database, data.keys("validation"), list(data.databases), []),
    ):  # fmt: skip
        questions = data.some_questions(keys, most, settings.seed)
        report(f"{name}: a pool of {len(pool_keys)} databases", 0.0)
        pool = Pool([data.databases[key] for key in pool_keys], model, identities)
        every = data.databases | data.written_for
        own = {key: Pool([every[key]], model, identities) for key in [*keys, *alone]}
        written = data.some_questions(alone, most, settings.seed)
        report(f"{name}: {len(questions) + len(written):,} questions", 0.5)
        together, hinted = {key: pool for key in keys}, [question for question in questions if question.evidence]
        found.append(
            {
                "pooled": examples.of(questions, together),
                "single": examples.of([*questions, *written], own),
                "pooled_hinted": examples.of(hinted, together, hinted=True),
                "single_hinted": examples.of(hinted, own, hinted=True),
            }
        )
    return found[0], found[1]


def recall(examples: Sequence[Example], ranker: Ranker) -> dict[str, Any]:
    """The share of questions whose gold tables all stand among the first, in all and by corpus."""
    hits: dict[str, list[list[bool]]] = {}
    for example in examples:
        best = ranker.rank(example.found, example.index).best_tables()
        for name in ("all", example.corpus):
            hits.setdefault(name, []).append([example.tables <= set(best[:count].tolist()) for count in BEST])
    return {
        name: {"questions": len(rows), **dict(zip(map(str, BEST), np.mean(rows, axis=0).tolist(), strict=True))}
        for name, rows in sorted(hits.items())
    }


def kept(examples: Sequence[Example], ranker: Ranker, selection: SelectionSettings) -> dict[str, Any]:
    """The share of questions whose gold tables and columns are all kept, and how many columns are."""
    found: dict[str, list[tuple[bool, int, int]]] = {}
    for example in examples:
        columns = kept_columns(ranker.rank(example.found, example.index), example.index, selection)
        tables = set(example.index.table_of[columns].tolist())
        all_kept = example.columns <= set(columns.tolist()) and example.tables <= tables
        for name in ("all", example.corpus):
            found.setdefault(name, []).append((all_kept, len(columns), len(example.index.columns)))
    return {
        name: dict(zip(("kept_all", "columns", "of"), np.mean(rows, axis=0).tolist(), strict=True))
        for name, rows in sorted(found.items())
    }


def chosen_cut(examples: Sequence[Example], ranker: Ranker) -> SelectionSettings:
    """The lowest cut that keeps as many columns as wanted, on the databases the ranker learned from."""
    best = SelectionSettings(least_column=0.3)
    for least in (0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001):
        tried = SelectionSettings(least_column=least)
        if kept(examples, ranker, tried)["all"]["columns"] > WANTED_COLUMNS:
            return best
        best = tried
    return best


def _ablations(
    learning: dict[str, list[Example]], validation: dict[str, list[Example]], settings: RoutingSettings, report: Report
) -> dict[str, Any]:
    """Every ablation learns its own ranker without a part of what is known, shortly and with one network of each kind,
    and is judged without it."""
    found = {}
    for name, parts in WITHOUT.items():
        report(f"ablation: {name}", 0.0)
        own = [example.without(parts) for part in learning.values() for example in part]
        quick = replace(settings.ranking, epochs=3, members=1, members_of_columns=1)
        ranker = train_ranker(own, settings.seed, quick, report)
        pooled = [example.without(parts) for example in validation["pooled"]]
        single = [example.without(parts) for example in validation["single"]]
        cut = chosen_cut([example.without(parts) for example in learning["single"]], ranker)
        found[name] = {"pooled": recall(pooled, ranker)["all"], "single": kept(single, ranker, cut)["all"]}
    return found


def _data_figures(data: RoutingCorpus, validation: dict[str, list[Example]]) -> dict[str, Any]:
    index = validation["pooled"][0].index
    return {
        "databases": {
            "encoder": len(data.for_encoder()),
            "ranker": len(data.for_ranker()) + len(data.for_ranker_written()),
            "validation": len(data.keys("validation")),
        },
        "validation_questions": len(validation["pooled"]),
        "pool": {"databases": len(index.groups), "tables": len(index.tables), "columns": len(index.columns)},
    }  # fmt: skip
