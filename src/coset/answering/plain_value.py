"""A stored value in words, as an answer's text has it: unquoted, dates in ISO form, never rounded."""

from __future__ import annotations

import datetime
from typing import Any


def plain_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
    return str(value)
