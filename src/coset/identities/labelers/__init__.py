"""The labelers, in the order in which `coset labelers` lists them."""

from __future__ import annotations

from coset.identities.labelers.keys import KEYS
from coset.identities.labelers.names import NAMES, NEIGHBOURS
from coset.identities.labelers.readings import READINGS
from coset.identities.labelers.shape import SHAPES
from coset.identities.labelers.values import TYPES, VALUES
from coset.identities.signals import Labeler

LABELERS: tuple[Labeler, ...] = (*NAMES, *READINGS, *TYPES, *KEYS, *SHAPES, *VALUES, *NEIGHBOURS)

__all__ = ["LABELERS"]
