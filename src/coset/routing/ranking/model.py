"""The routing model that ships: encoder of questions and schemas, query model, ranker, and where its cuts lie.

In: the package's weights, an identity model. Out: a `RoutingModel`. Weights of another version are refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import CosetError
from coset.identities.model import VOCABULARY_FILE, WORDS_FILE, IdentityModel, load_model
from coset.identities.text_encoder import TextEncoder
from coset.routing.ranking.query_model import QueryModel
from coset.routing.ranking.ranker import INPUTS, PARTS, Network, Ranker, SelectionSettings

VERSION = 2
ENCODER_FILE, RANKER_FILE, ABOUT_FILE = "routing_encoder.onnx", "ranker.safetensors", "routing.json"
AGAIN = "reinstall coset, or make them again with `coset train`"


@dataclass(frozen=True)
class RoutingModel:
    """Everything learned that routing needs."""

    encoder: TextEncoder
    queries: QueryModel
    ranker: Ranker
    selection: SelectionSettings
    name: str
    ranks_by_demand: bool = False
    """Whether the ranker was trained on the demand. It is not, where the ranking is better without it."""


def load_routing_model(
    identities: IdentityModel | None = None, folder: Path | None = None, threads: int = 0
) -> RoutingModel:
    """The routing model that ships, or the one in `folder`, for the inventory of `identities`."""
    identities = identities or load_model()
    folder = folder or shipped_folder()
    encoder = load_routing_encoder(folder, threads)
    try:
        about = json.loads((folder / ABOUT_FILE).read_text(encoding="utf-8"))
        version, name, selection = about["version"], about["name"], SelectionSettings(**about["selection"])
        ranks_by_demand = bool(about["ranks_by_demand"])
    except (OSError, ValueError, KeyError, TypeError):
        raise CosetError(f"the routing weights '{ABOUT_FILE}' cannot be read: {AGAIN}") from None
    if version != VERSION:
        raise CosetError(f"the routing weights have version {version}, this coset reads {VERSION}: {AGAIN}")
    queries = QueryModel.load(replace(identities, text_encoder=encoder, name=encoder_name(folder)), folder)
    return RoutingModel(encoder, queries, load_ranker(folder / RANKER_FILE), selection, name, ranks_by_demand)


def load_routing_encoder(folder: Path | None = None, threads: int = 0) -> TextEncoder:
    """The encoder of questions and schemas alone: what words mean, for whoever routes nothing."""
    shared = Path(str(files("coset.identities").joinpath("weights")))
    path = (folder or shipped_folder()) / ENCODER_FILE
    return TextEncoder(path, shared / VOCABULARY_FILE, shared / WORDS_FILE, threads)


def shipped_folder() -> Path:
    return Path(str(files("coset.routing").joinpath("weights")))


def encoder_name(folder: Path) -> str:
    """Names the routing encoder of a folder by its content: a query model belongs to one encoder."""
    path = folder / ENCODER_FILE
    if not path.exists():
        raise CosetError(f"the routing weights '{ENCODER_FILE}' are not in '{folder}': {AGAIN}")
    return "routing encoder " + hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()


def load_ranker(path: Path) -> Ranker:
    from safetensors.numpy import load_file

    try:
        tensors = load_file(str(path))
        networks = {}
        for part in PARTS:
            layers = sum(name.startswith(f"{part}.weight.") for name in tensors)
            networks[part] = Network(
                tensors[f"{part}.mean"],
                tensors[f"{part}.scale"],
                tuple(tensors[f"{part}.weight.{number}"].astype(np.float32) for number in range(layers)),
                tuple(tensors[f"{part}.bias.{number}"].astype(np.float32) for number in range(layers)),
            )
    except Exception:
        raise CosetError(f"the routing weights '{path.name}' cannot be read: {AGAIN}") from None
    for part, network in networks.items():
        if len(network.mean) != len(INPUTS[part]):
            raise CosetError(
                f"the routing weights '{path.name}' take {len(network.mean)} numbers for {part}, "
                f"this coset makes {len(INPUTS[part])}: {AGAIN}"
            )
    return Ranker(networks)


def save_ranker(path: Path, ranker: Ranker) -> None:
    from safetensors.numpy import save_file

    tensors: dict[str, NDArray[Any]] = {}
    for part, network in ranker.networks.items():
        tensors |= {f"{part}.mean": network.mean, f"{part}.scale": network.scale}
        for kind, arrays in (("weight", network.weights), ("bias", network.biases)):
            # Half precision is enough for what is weighed; means and scales are of any size.
            tensors |= {f"{part}.{kind}.{number}": array.astype(np.float16) for number, array in enumerate(arrays)}
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, str(path))


def save_about(folder: Path, name: str, selection: SelectionSettings, ranks_by_demand: bool) -> None:
    about = {
        "version": VERSION, "name": name, "selection": asdict(selection), "ranks_by_demand": ranks_by_demand,
    }  # fmt: skip
    (folder / ABOUT_FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
