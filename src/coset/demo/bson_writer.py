"""Documents as BSON, the format of a MongoDB dump, for the few types that the demo company has.

In: dictionaries of text, whole numbers, moments, object ids, lists and dictionaries. Out: bytes. Written out here since
reading a dump needs the [mongodb] extra and making one must not. Knows nothing of other types, and says so.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ObjectId:
    """MongoDB's own key: 12 bytes."""

    content: bytes

    def __str__(self) -> str:
        return self.content.hex()


def encode(document: Mapping[str, Any]) -> bytes:
    """One document. A moment without a zone is UTC, as MongoDB has it."""
    body = b"".join(_element(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\x00"


def _element(name: str, value: Any) -> bytes:
    kind, content = _value(value)
    return kind + name.encode() + b"\x00" + content


def _value(value: Any) -> tuple[bytes, bytes]:
    if isinstance(value, str):
        text = value.encode() + b"\x00"
        return b"\x02", struct.pack("<i", len(text)) + text
    if isinstance(value, Mapping):
        return b"\x03", encode(value)
    if isinstance(value, list):
        return b"\x04", encode({str(place): item for place, item in enumerate(value)})
    if isinstance(value, ObjectId):
        return b"\x07", value.content
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return b"\x09", struct.pack("<q", (moment - _EPOCH) // timedelta(milliseconds=1))
    if value is None:
        return b"\x0a", b""
    if isinstance(value, int) and not isinstance(value, bool):
        return b"\x12", struct.pack("<q", value)
    raise TypeError(f"the demo's BSON writer does not know {type(value).__name__}")
