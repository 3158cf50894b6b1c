"""The view as JSON: the same content as its text, typed, for programs.

In: an `EvidenceView`. Out: plain values in a fixed order, and the bytes of them. Nothing is added or left out.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from coset.routing.view import EvidenceView

FORMAT = 2


def view_values(view: EvidenceView) -> dict[str, Any]:
    """The view in the types of JSON."""
    return {"format": FORMAT, **asdict(view)}


def view_json(view: EvidenceView) -> str:
    """One line of JSON; equal views give equal bytes. Letters beyond ASCII are escaped, so none steers a screen."""
    return json.dumps(view_values(view), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
