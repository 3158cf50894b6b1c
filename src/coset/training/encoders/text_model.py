"""The text encoder in torch: MiniLM (6 layers of 384) with mean pooling, and its export to int8 ONNX.

In: published weights (safetensors). Out: a module to fine-tune, the steps of its learning (which go on from a
checkpoint as if nothing had been), and a file that onnxruntime runs. Only training needs it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.text_encoder import load_runtime

WIDTH, HEADS, INNER, VOCABULARY, POSITIONS, NORM_EPSILON = 384, 12, 1536, 30522, 512, 1e-12
EXPORTED_POSITIONS = 128
PLACES = "positions.weight"
LAYER_PARTS = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "output": "attention.output.dense", "attention_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense", "narrow": "output.dense", "output_norm": "output.LayerNorm",
}  # fmt: skip
"""The parts of a layer, and what BERT calls them."""


class Layer(nn.Module):
    """One transformer layer of BERT: attention and feed-forward, each with its residual and norm after it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.attention_norm = nn.LayerNorm(WIDTH, eps=NORM_EPSILON)
        self.widen, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, eps=NORM_EPSILON)

    def forward(self, hidden: Tensor, bias: Tensor, dropout: float) -> Tensor:
        count, length, _ = hidden.shape
        query, key, value = (
            part(hidden).view(count, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        mixed = self.output(mixed.transpose(1, 2).reshape(count, length, WIDTH))
        hidden = self.attention_norm(hidden + functional.dropout(mixed, dropout, self.training))
        inner = self.narrow(functional.gelu(self.widen(hidden)))
        normed: Tensor = self.output_norm(hidden + functional.dropout(inner, dropout, self.training))
        return normed


class TextModel(nn.Module):
    """Token numbers and mask to one vector of 384 per text."""

    def __init__(self, layers: int = 6, dropout: float = 0.1) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.kinds = nn.Parameter(torch.zeros(WIDTH))
        self.norm = nn.LayerNorm(WIDTH, eps=NORM_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.dropout = dropout

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.pooled(self.hidden(tokens, mask), mask)

    def hidden(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """One vector per token."""
        return self.hidden_of_words(self.words(tokens), mask)

    def hidden_of_words(self, words: Tensor, mask: Tensor) -> Tensor:
        """The same, from the vectors of the words."""
        places = torch.arange(words.shape[1], device=words.device)
        hidden = self.norm(words + self.positions(places)[None] + self.kinds)
        hidden = functional.dropout(hidden, self.dropout, self.training)
        bias = ((1.0 - mask.to(hidden.dtype)) * -1e4)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, bias, self.dropout)
        return hidden

    def pooled(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The mean over the tokens, of length 1."""
        weights = mask.to(hidden.dtype)
        mean = (hidden * weights[:, :, None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1.0)
        return functional.normalize(mean, dim=-1)

    @classmethod
    def published(cls, path: Path, layers: int = 6, dropout: float = 0.1) -> TextModel:
        """MiniLM as published, from its safetensors file."""
        from safetensors.torch import load_file

        stored = load_file(str(path))
        stored = {name.removeprefix("bert."): value for name, value in stored.items()}
        model = cls(layers, dropout)
        own = {
            "words.weight": stored["embeddings.word_embeddings.weight"],
            "positions.weight": stored["embeddings.position_embeddings.weight"],
            "kinds": stored["embeddings.token_type_embeddings.weight"][0],
            "norm.weight": stored["embeddings.LayerNorm.weight"],
            "norm.bias": stored["embeddings.LayerNorm.bias"],
        }
        for layer in range(layers):
            for ours, theirs in LAYER_PARTS.items():
                for part in ("weight", "bias"):
                    own[f"layers.{layer}.{ours}.{part}"] = stored[f"encoder.layer.{layer}.{theirs}.{part}"]
        model.load_state_dict(own)
        return model

    @classmethod
    def exported(cls, path: Path, published: Path, layers: int) -> TextModel:
        """What `export` wrote, to learn further. Its words, and places that it left out, are as published."""
        import onnx
        from onnx import numpy_helper

        graph = onnx.load(str(path)).graph
        stored = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in graph.initializer}
        model = cls.published(published, layers)
        own = model.state_dict()
        for name in own:
            if name != PLACES and (told := stored.get(f"model.{name}")) is not None:
                own[name] = told
        places = stored[f"model.{PLACES}_quantized"]
        zero, scale = (stored[f"model.{PLACES}_{part}"] for part in ("zero_point", "scale"))
        own[PLACES][: len(places)] = (places.float() - zero) * scale
        for node in graph.node:
            if node.op_type == "MatMulInteger":
                # Such a node is named by its place: /layers.0/query/MatMul_quant.
                layer, part = node.name.split("/")[1:3]
                weight = node.input[1].removesuffix("_quantized")
                own[f"{layer}.{part}.weight"] = (stored[f"{weight}_quantized"] * stored[f"{weight}_scale"]).T
        model.load_state_dict(own)
        return model


class WithoutWords(nn.Module):
    """What is exported: vectors of words and mask to one vector a text and one a token."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.model.hidden_of_words(words, mask)
        return self.model.pooled(hidden, mask), hidden


def published_pieces(published: Path) -> list[str]:
    """The vocabulary of MiniLM as published: what models in training take."""
    return (published / "vocab.txt").read_text(encoding="utf-8").split("\n")


def export_words(model: TextModel, published: Path, vocabulary: Path, path: Path) -> None:
    """Write the vectors of the words, which no encoder changes, so that all share one file, and the words beside them.

    A thousand places that BERT left unused are left out of both.
    """
    from coset.identities.text_encoder import WordVectors

    pieces = published_pieces(published)[:VOCABULARY]
    kept = [number for number, piece in enumerate(pieces) if not piece.startswith("[unused")]
    vocabulary.write_text("\n".join(pieces[number] for number in kept) + "\n", encoding="utf-8")
    WordVectors.rounded(model.words.weight.detach().numpy()[kept]).save(path)


def export(model: TextModel, path: Path, longest: int = EXPORTED_POSITIONS) -> None:
    """Write the model without its words, for texts of so many tokens, as int8 ONNX, and check that the file says what
    the model says."""
    import numpy as np

    onnxruntime = load_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = model.eval()
    model.positions = nn.Embedding.from_pretrained(model.positions.weight[:longest].detach().clone())
    whole = path.with_suffix(".float.onnx")
    # Two tensors of different content: passing one twice gives a file that is silently wrong.
    tokens = torch.randint(1000, 20000, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(tokens)
    mask[1, 6:] = 0
    words = model.words(tokens).detach()
    length = {0: "texts", 1: "length"}
    torch.onnx.export(
        WithoutWords(model).eval(),
        (words, mask),
        str(whole),
        input_names=["words", "mask"],
        output_names=["vectors", "hidden"],
        dynamic_axes={"words": length, "mask": length, "vectors": {0: "texts"}, "hidden": length},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8, per_channel=True)
    with torch.no_grad():
        expected = model(tokens, mask).numpy()
    for file, least in ((whole, 0.9999), (path, 0.95)):
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        given = session.run(["vectors"], {"words": words.numpy(), "mask": mask.numpy()})[0]
        agreement = float((given * expected).sum(axis=1).min())
        if not np.isfinite(agreement) or agreement < least:
            raise RuntimeError(f"the exported text encoder disagrees with the trained one: {agreement:.4f} < {least}")
    whole.unlink()


Report = Callable[[str, float], None]
T = TypeVar("T")
KEPT_AFTER = 100
"""Steps between two checkpoints."""


@dataclass(frozen=True)
class Pace:
    rate: float
    weight_decay: float = 0.0
    rising: float = 0.06
    """The share of the steps in which the rate rises; then it falls."""
    lowest: float = 0.02
    """The share of the rate that is left at the end."""


def learn_in_steps(
    model: TextModel,
    steps: int,
    loss_of: Callable[[int], Tensor],
    pace: Pace,
    name: str,
    report: Report,
    checkpoint: Path | None,
) -> None:
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=pace.rate, weight_decay=pace.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (pace.rising * steps)) * max(pace.lowest, 1 - step / steps)
    )
    begin = 0
    if checkpoint is not None and checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"]), optimiser.load_state_dict(stored["optimiser"])
        schedule.load_state_dict(stored["schedule"])
        begin = int(stored["step"])
    model.train()
    started, mean = time.monotonic(), 0.0
    for step in range(begin, steps):
        loss = loss_of(step)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step(), schedule.step()
        mean = loss.item() if step == begin else 0.98 * mean + 0.02 * loss.item()
        if step % 10 == 0:
            left = (time.monotonic() - started) / (step - begin + 1) * (steps - step) / 60
            report(f"{name}, step {step + 1} of {steps}, loss {mean:.3f}, {left:.0f} min left", step / steps)
        if checkpoint is not None and step % KEPT_AFTER == KEPT_AFTER - 1:
            torch.save(
                {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "schedule": schedule.state_dict(),
                 "step": step + 1}, checkpoint.with_suffix(".part"),
            )  # fmt: skip
            checkpoint.with_suffix(".part").replace(checkpoint)
    model.eval()


def batches_of_like_length(
    entries: list[T], size: int, generator: random.Random, length: Callable[[T], int]
) -> list[list[T]]:
    """Batches of like length, so that little is spent on padding, in random order."""
    generator.shuffle(entries)
    found = []
    for begin in range(0, len(entries), size * 40):
        pool = sorted(entries[begin : begin + size * 40], key=length)
        found += [pool[at : at + size] for at in range(0, len(pool), size)]
    generator.shuffle(found)
    return found
