"""Patterns of values: one small test per pattern on samples, shared by the labelers and the features.

In: a few values of a column as text. Out: for each pattern the share of the samples that fit. Knows no name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
_GROUPED = re.compile(
    r"[$€£¥]?\s?[+-]?\d{1,3}(,\d{3})+(\.\d+)?\s?[%$€£¥]?|[$€£¥]\s?[+-]?\d+(\.\d+)?|\d+(\.\d+)?\s?[$€£¥]"
)
_YEAR = re.compile(r"(1[5-9]|20)\d\d(\.0)?")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}.{0,20}|\d{1,2}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ]\d{2,4}.{0,16}"
    r"|[A-Za-z]{3,9}\.? \d{1,2}(st|nd|rd|th)?,? \d{4}.{0,16}|\d{1,2} [A-Za-z]{3,9} \d{4}.{0,16}|(19|20)\d{6}"
)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?([ap]\.?m\.?)?", re.IGNORECASE)
_STAMP = re.compile(r".*\d{1,2}:\d{2}.*")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(https?|ftp)://\S+|www\.\S+", re.IGNORECASE)
_DOMAIN = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,6}", re.IGNORECASE)
_IP = re.compile(
    r"\d{1,3}(\.\d{1,3}){3}(/\d+)?|([0-9a-f]{2}:){5}[0-9a-f]{2}|([0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}", re.IGNORECASE
)
_UUID = re.compile(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_HASH = re.compile(r"(0x)?[0-9a-f]{24,}|[A-Za-z0-9+/=_-]{32,}", re.IGNORECASE)
_PHONE = re.compile(r"\+?[\d(][\d\s().x/-]{6,22}\d")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9._/#-]{1,24}")
_CAPITALS = re.compile(r"[A-Z]{1,5}")
_FILE = re.compile(r".*[\w)]\.(jpe?g|png|gif|pdf|csv|txt|docx?|xlsx?|html?|mp[34]|svg|zip|json|xml|py)", re.IGNORECASE)
_PATH = re.compile(r"(/[\w.@-]+){2,}/?|[A-Za-z]:\\.*|\w+(/[\w.-]+)+")
_NESTED = re.compile(r"\s*([\[{].*[\]}]|<\w+.*>)\s*", re.DOTALL)
_LOCALE = re.compile(r"[a-z]{2}([-_][A-Z]{2})?")
_PERCENT = re.compile(r"[+-]?\d+(\.\d+)?\s?%")
_POSTAL = re.compile(r"\d{5}(-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}")
_STREET = re.compile(
    r"\d+[A-Za-z]? \w.*|.*\b(street|st|avenue|ave|road|rd|lane|drive|blvd|apt|suite)\b.*", re.IGNORECASE
)
_PROPER = re.compile(r"[A-Z][\w'.-]+")
_PERSON = re.compile(r"([A-Z][\w'.-]*,? ){1,3}[A-Z][\w'.-]+")
_TITLE_CASE = re.compile(
    r"[A-Z0-9][\w'.&-]*+(?:[ ,]++(?:(?:of|the|and|de|in|for|on|a)[ ,]++)*+[A-Z0-9][\w'.&-]*+)*+[ ,]*+"
)
_SENTENCE = re.compile(r".*\w[.!?](\s.*)?", re.DOTALL)
_TRUTHS = {"0", "1", "0.0", "1.0", "t", "f", "true", "false", "y", "n", "yes", "no", "on", "off"}
_GENDERS = {"m", "f", "male", "female", "man", "woman", "other", "nonbinary", "unknown", "w"}
_NOTHING = {"", "na", "n/a", "null", "none", "nan", "-", "unknown", "[not available]", "[]", "{}"}
_WEEKDAYS_MONTHS = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "wed", "thu", "fri",
    "sat", "sun", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
}  # fmt: skip


def _full(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return pattern.fullmatch


PATTERNS: dict[str, Callable[[str], object]] = {
    "number": _full(_NUMBER), "whole": _full(_WHOLE), "grouped": _full(_GROUPED), "year": _full(_YEAR),
    "date": _full(_DATE), "clock": _full(_CLOCK), "stamp": _full(_STAMP), "email": _full(_EMAIL), "url": _full(_URL),
    "domain": _full(_DOMAIN), "network": _full(_IP), "uuid": _full(_UUID), "hash": _full(_HASH), "phone": _full(_PHONE),
    "code": _full(_CODE), "capitals": _full(_CAPITALS), "file": _full(_FILE), "path": _full(_PATH),
    "nested": _full(_NESTED), "locale": _full(_LOCALE), "percent": _full(_PERCENT), "postal": _full(_POSTAL),
    "street": _full(_STREET), "proper": _full(_PROPER), "person": _full(_PERSON), "title_case": _full(_TITLE_CASE),
    "wordy": lambda value: len(value.split()) >= 5, "sentence": _full(_SENTENCE),
    "truth": lambda value: value.lower() in _TRUTHS, "gender": lambda value: value.lower() in _GENDERS,
    "calendar": lambda value: value.lower() in _WEEKDAYS_MONTHS, "negative": lambda value: value.startswith("-"),
    "decimal": lambda value: _NUMBER.fullmatch(value) is not None and not _WHOLE.fullmatch(value),
}  # fmt: skip
LONGEST_VALUE = 400


def present(samples: Sequence[str]) -> tuple[str, ...]:
    """The samples that say something, cut to a length that any pattern reads quickly."""
    return _present(tuple(samples))


@lru_cache(maxsize=4096)
def _present(samples: tuple[str, ...]) -> tuple[str, ...]:
    """Every labeler asks for them."""
    return tuple(text for sample in samples if (text := sample[:LONGEST_VALUE].strip()).lower() not in _NOTHING)


def pattern_shares(samples: Sequence[str]) -> Mapping[str, float]:
    """For each pattern, the share of the samples that fit; all zero without samples."""
    return _pattern_shares(present(samples))


@lru_cache(maxsize=4096)
def _pattern_shares(values: tuple[str, ...]) -> Mapping[str, float]:
    if not values:
        return MappingProxyType(dict.fromkeys(PATTERNS, 0.0))
    shares = {name: sum(map(bool, map(test, values))) / len(values) for name, test in PATTERNS.items()}
    return MappingProxyType(shares)


def numbers_in(samples: Sequence[str]) -> NDArray[np.float64]:
    """The samples that are plain finite numbers."""
    found = [float(value) for value in present(samples) if _NUMBER.fullmatch(value)]
    numbers = np.array(found, dtype=np.float64)
    return numbers[np.isfinite(numbers)]
