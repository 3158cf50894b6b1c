"""Figures as people read them."""

from __future__ import annotations


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def amount(number: float) -> str:
    """A count in the unit a person would use: 950, 12.3k, 4.56M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            value = number / size
            return f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"
    return f"{number:.0f}" if number == int(number) else f"{number:.3g}"


def dollars(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
