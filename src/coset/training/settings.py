"""What the stages of training are set to, and the objects of one database as stage 2 learns from them.

Needs no torch, so that what was trained can be measured without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coset.identities.text_encoder import LONGEST, LONGEST_TABLE


@dataclass(frozen=True)
class FineTuneSettings:
    layers: int = 3
    frozen: int = 0
    """How many of the lower layers stay as published."""
    longest: int = LONGEST
    """Tokens of a text."""
    epochs: int = 3
    batch: int = 32
    text_rate: float = 2e-4
    head_rate: float = 2e-3
    smoothing: float = 0.05
    average: float = 0.998
    """The weights that are kept are a running mean of the later steps, in which each step weighs this much less than
    the next: on databases never seen it is better than any single step."""
    average_from: float = 0.3
    hidden: int = 256
    embedding: int = 64
    rotation: int = 3
    """Invented databases are many, and real ones tell more: one in so many of them is seen in an epoch, in turn. Of
    tables all are seen: with a third of them the entities of dev tables were .02 worse."""


OF_COLUMNS = FineTuneSettings()
OF_TABLES = FineTuneSettings(
    layers=5, frozen=1, longest=LONGEST_TABLE, epochs=3, text_rate=1.5e-4, smoothing=0.1, rotation=1
)


@dataclass(frozen=True)
class ObjectiveSettings:
    """Every coefficient by name: lambda_soft, lambda_+, lambda_-, lambda_unc, lambda_reg, xi_-, and the rest."""

    soft: float = 0.3
    attraction: float = 0.002
    repulsion: float = 0.002
    calibration: float = 0.3
    regularisation: float = 0.001
    opposition_margin: float = 9.0
    temperature: float = 1.0
    shrinkage: float = 6.0
    support_cap: float = 3.0
    epsilon: float = 1e-3
    soft_share: float = 0.1
    """How much of a soft target is the label model's posterior; the rest is the annotation."""


@dataclass(frozen=True)
class Database:
    """The objects of one database in one coordinate; several variants of the same features (plain and disguised)."""

    texts: NDArray[np.float32]
    """variants x objects x (3 * 384), as `encode_in_tables` makes them"""
    numbers: NDArray[np.float32]
    """variants x objects x numbers"""
    supporting: NDArray[np.float32]
    opposing: NDArray[np.float32]
    targets: NDArray[np.int64]


@dataclass(frozen=True)
class FitSettings:
    epochs: int = 14
    objects: int = 160
    """How many objects an episode has at the least: small databases are joined."""
    rate: float = 2e-3
    hidden: int = 256
    embedding: int = 64
    dropout: float = 0.25
    text_dropout: float = 0.15
    """The text vectors were fine-tuned on the same databases: hiding parts keeps the encoder from leaning on them."""
    diagonal: bool = False
    members: int = 1
    """So many encoders are trained, each from its own seed, and used as one."""
    mixture: int = 0
    """Width of the layer that tells the shares of a column's mixture; 0 leaves columns by themselves."""
    objective: ObjectiveSettings = field(default_factory=ObjectiveSettings)


OF_ATTRIBUTES = FitSettings(members=3)
OF_ENTITIES = FitSettings(epochs=10, hidden=256, embedding=96, text_dropout=0.35, members=2, mixture=48)
"""What a table is about has more kinds than what a column holds, leans more on what was fine-tuned, and is what most of
its columns are about."""
