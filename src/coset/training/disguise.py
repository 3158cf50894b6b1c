"""Disguises: the same schema as another team would have named it.

In: names and a random generator. Out: names in another case, with abbreviations, prefixes or synonyms. Training hides
names behind disguises so that identities do not hang on spelling, and the renaming bar is measured with them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from coset.identities.words import ABBREVIATIONS, words_of

_SHORT: dict[str, list[str]] = {}
for _short, _long in ABBREVIATIONS.items():
    if " " not in _long:
        _SHORT.setdefault(_long, []).append(_short)
STYLES = ("snake", "camel", "pascal", "upper", "joined", "kebab")
PREFIXES = ("t_", "tbl_", "dim_", "fact_", "stg_", "x_", "f_", "my_", "v_", "raw_")


def restyle(words: Sequence[str], style: str) -> str:
    """The words in one of the usual cases."""
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "pascal":
        return "".join(word.capitalize() for word in words)
    joints = {"snake": "_", "upper": "_", "kebab": "-", "joined": ""}
    text = joints[style].join(words)
    return text.upper() if style == "upper" else text


def abbreviate(word: str, generator: random.Random) -> str:
    """A shorter form: a common one, without vowels, or its first letters."""
    if word in _SHORT and generator.random() < 0.7:
        return generator.choice(_SHORT[word])
    if len(word) < 6:
        return word
    if generator.random() < 0.5:
        return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
    return word[: generator.randint(3, 5)]


def rename(
    name: str,
    generator: random.Random,
    *,
    style: str,
    abbreviations: float = 0.3,
    synonyms: Mapping[str, Sequence[str]] | None = None,
    prefix: str = "",
) -> str:
    """One name in disguise. Each word is abbreviated with the given probability; synonyms replace the whole name."""
    others = (synonyms or {}).get(" ".join(words_of(name)))
    words = list(words_of(generator.choice(list(others)))) if others else list(words_of(name))
    if not words:
        return name
    words = [abbreviate(word, generator) if generator.random() < abbreviations else word for word in words]
    return prefix + restyle(words, style)
