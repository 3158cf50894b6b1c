"""The labelers, in the order in which `coset labelers` lists them."""

from __future__ import annotations

from coset.entry_points import LABELERS as GROUP
from coset.entry_points import added
from coset.identities.labelers.keys import KEYS
from coset.identities.labelers.names import NAMES, NEIGHBOURS
from coset.identities.labelers.readings import READINGS
from coset.identities.labelers.shape import SHAPES
from coset.identities.labelers.values import TYPES, VALUES
from coset.identities.signals import Labeler

LABELERS: tuple[Labeler, ...] = (*NAMES, *READINGS, *TYPES, *KEYS, *SHAPES, *VALUES, *NEIGHBOURS)


def added_labelers() -> tuple[Labeler, ...]:
    """Those of installed packages: an entry point of the group `coset.labelers` names one labeler or several."""
    found = [each if isinstance(each, tuple | list) else (each,) for each in added(GROUP).values()]
    return tuple(labeler for several in found for labeler in several if isinstance(labeler, Labeler))


__all__ = ["LABELERS", "added_labelers"]
