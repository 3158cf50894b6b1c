"""The frames between a session and its worker process: a JSON head and a block of bytes, each with its length first."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

_LENGTHS = struct.Struct("<IQ")


def encode(head: dict[str, Any], payload: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


def decode(read_exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes]:
    """One frame. `read_exactly` raises EOFError when the other side is gone."""
    head_length, payload_length = _LENGTHS.unpack(read_exactly(_LENGTHS.size))
    head = json.loads(read_exactly(head_length))
    return head, read_exactly(payload_length) if payload_length else b""
