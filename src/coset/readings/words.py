"""Names in words: `custBillingAddr_ID2` to `cust billing addr id 2`.

In: a name as a database writes it. Out: its words in lower case. Knows a few dozen abbreviations that every schema
uses, and no name of any schema.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

SHORT_FORMS_FILE = Path(__file__).parent / "data" / "trained_short_forms.tsv"
"""Forms without vowels and beginnings of the words that most databases use, where they mean one word alone."""
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

ABBREVIATIONS = {
    "acct": "account", "addr": "address", "amt": "amount", "approx": "approximate", "attr": "attribute",
    "avg": "average", "bal": "balance", "cat": "category", "cd": "code", "cnt": "count", "cntry": "country",
    "co": "company", "cust": "customer", "curr": "currency", "ctry": "country", "dept": "department",
    "desc": "description",
    "descr": "description", "dob": "birth date", "dt": "date", "emp": "employee", "fk": "key", "fname": "first name",
    "grp": "group", "img": "image", "inv": "invoice", "lang": "language", "lat": "latitude",
    "lname": "last name", "lng": "longitude", "loc": "location", "lon": "longitude", "max": "maximum", "mgr": "manager",
    "min": "minimum", "mod": "modified", "msg": "message", "nbr": "number", "nm": "name", "no": "number",
    "num": "number", "org": "organization", "pct": "percent", "perc": "percent", "ph": "phone", "pk": "key",
    "pos": "position", "prc": "price", "prod": "product", "pwd": "password", "qty": "quantity", "rec": "record",
    "ref": "reference", "seq": "sequence", "st": "street", "std": "standard", "stat": "status", "sts": "status",
    "tel": "telephone", "temp": "temperature", "tm": "time", "tot": "total", "trans": "transaction", "ts": "timestamp",
    "txn": "transaction", "typ": "type", "tz": "time zone", "uom": "unit of measure", "usr": "user", "val": "value",
    "ver": "version", "vol": "volume", "wt": "weight", "yr": "year",
}  # fmt: skip


@lru_cache(maxsize=200_000)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case, digits apart."""
    if name.isascii():
        return tuple(piece.lower() for piece in _PIECE.findall(name))
    composed = unicodedata.normalize("NFC", name)
    kinds = "".join(_kind(letter) for letter in composed)
    return tuple(composed[piece.start() : piece.end()].lower() for piece in _PIECE.finditer(kinds))


def _kind(letter: str) -> str:
    """What a letter of any script is, in ASCII: a capital, a small letter or one without case, a digit, or neither."""
    if letter.isalpha() or unicodedata.category(letter)[0] == "M":
        return "A" if letter.isupper() else "a"
    return "0" if letter.isdecimal() else "_"


@lru_cache(maxsize=200_000)
def spelled_out(name: str) -> tuple[str, ...]:
    """The words of a name with the common abbreviations written in full."""
    found: list[str] = []
    for word in words_of(name):
        found.extend(ABBREVIATIONS.get(word, word).split())
    return tuple(found)


@cache
def _short_forms() -> dict[str, str]:
    lines = SHORT_FORMS_FILE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


@lru_cache(maxsize=200_000)
def readable(name: str) -> tuple[str, ...]:
    """The words of a name; those that are a word without its vowels, or the beginning of one, are that word."""
    forms = _short_forms()
    return tuple(forms.get(word, word) for word in words_of(name))


_IRREGULAR = {
    "children": "child", "people": "person", "men": "man", "women": "woman", "diagnoses": "diagnosis",
    "analyses": "analysis", "indices": "index", "matrices": "matrix", "vertices": "vertex", "quizzes": "quiz",
    **{f"{word}s": word for word in ("movie", "cookie", "calorie", "rookie", "zombie", "selfie", "goalie", "cache")},
    **{f"{word}es": word for word in ("status", "bonus", "virus", "campus", "bus", "census", "corpus", "lens")},
}  # fmt: skip


@lru_cache(maxsize=50_000)
def singular(word: str) -> str:
    """A plural in the singular, as far as English spelling tells."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word.endswith(("ss", "us", "is", "series", "species", "news")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word
