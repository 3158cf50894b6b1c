"""Names cut into words, and words put together again in a case style."""

from __future__ import annotations

import re
from typing import Literal

Style = Literal["snake", "camel", "pascal", "upper", "flat", "title"]
STYLES: tuple[Style, ...] = ("snake", "snake", "camel", "pascal", "upper", "flat", "title")


def split_words(name: str) -> list[str]:
    """`CustomerID2` and `customer_id_2` are both customer, id, 2."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])", " ", name)
    return [word.lower() for word in re.findall(r"[A-Za-z]+|[0-9]+", spaced)] or ["field"]


def in_style(words: list[str], style: Style) -> str:
    match style:
        case "snake":
            return "_".join(words)
        case "camel":
            return words[0] + "".join(word.capitalize() for word in words[1:])
        case "pascal":
            return "".join(word.capitalize() for word in words)
        case "upper":
            return "_".join(words).upper()
        case "flat":
            return "".join(words)
        case "title":
            return "_".join(word.capitalize() for word in words)
