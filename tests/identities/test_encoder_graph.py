"""A text encoder whose layers share their shapes says what its file says, to the bit, with fewer steps."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import onnxruntime
import pytest

from coset.identities.encoder_graph import with_shared_shapes

ENCODERS = ("identities/weights/text_encoder.onnx", "identities/weights/table_encoder.onnx",
            "routing/weights/routing_encoder.onnx")  # fmt: skip


@pytest.mark.parametrize("path", ENCODERS)
def test_no_result_changes(path: str) -> None:
    stored = files("coset").joinpath(path).read_bytes()
    shared = with_shared_shapes(stored)
    assert shared.count(b"Unsqueeze") < stored.count(b"Unsqueeze")
    before, after = (_session(model) for model in (stored, shared))
    random = np.random.default_rng(3)
    for texts, length in ((1, 9), (1, 22), (4, 13)):
        given = {
            "words": random.normal(0.0, 0.05, (texts, length, 384)).astype(np.float32),
            "mask": (np.arange(length) < random.integers(2, length + 1, (texts, 1))).astype(np.int64),
        }
        for one, other in zip(before.run(None, given), after.run(None, given), strict=True):
            assert np.array_equal(one, other)


def test_sharing_twice_changes_nothing_more() -> None:
    shared = with_shared_shapes(files("coset").joinpath(ENCODERS[0]).read_bytes())
    assert with_shared_shapes(shared) == shared


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises((ValueError, IndexError)):
        with_shared_shapes(b"\x0f not a model")


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
