"""Disguises: the same schema as another team would have named it.

In: names and a random generator. Out: names in another case, with abbreviations, prefixes or synonyms. Training hides
names behind disguises so that identities do not hang on spelling, and the renaming bar is measured with them. The
thesaurus (`annotation/thesaurus.tsv`: words and whole names of training databases with what other teams say for them,
written by language models) is for training alone.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from coset.readings.words import ABBREVIATIONS, words_of
from coset.training.annotation import FOLDER, tab_separated

Names = Mapping[str, Sequence[str]]

_SHORT: dict[str, list[str]] = {}
for _short, _long in ABBREVIATIONS.items():
    if " " not in _long:
        _SHORT.setdefault(_long, []).append(_short)
STYLES = ("snake", "camel", "pascal", "upper", "joined", "kebab")
PREFIXES = ("t_", "tbl_", "dim_", "fact_", "stg_", "x_", "f_", "my_", "v_", "raw_")


@dataclass(frozen=True)
class Thesaurus:
    """What else a word or a whole name of a few words is called, in full and short."""

    synonyms: Names = field(default_factory=dict)
    shorts: Names = field(default_factory=dict)

    def reword(self, words: Sequence[str], generator: random.Random, chance: float) -> list[str]:
        """The words, or other words for all of them together or for some."""
        others = self.synonyms.get(" ".join(words)) if len(words) > 1 else None
        if others and generator.random() < chance:
            return generator.choice(others).split()
        found: list[str] = []
        for word in words:
            others = self.synonyms.get(word)
            found += generator.choice(others).split() if others and generator.random() < chance else [word]
        return found


NO_THESAURUS = Thesaurus()


@cache
def shipped_thesaurus() -> Thesaurus:
    return read_thesaurus(FOLDER / "thesaurus.tsv")


def read_thesaurus(path: Path) -> Thesaurus:
    """Lines of a name, its synonyms and its short forms, with `;` between them and `-` for none."""
    synonyms: dict[str, tuple[str, ...]] = {}
    shorts: dict[str, tuple[str, ...]] = {}
    for _, fields in tab_separated(path, 3):
        for home, told in ((synonyms, fields[1]), (shorts, fields[2])):
            if others := tuple(other for part in told.split(";") if (other := part.strip()) not in ("", "-")):
                home[fields[0]] = others
    return Thesaurus(synonyms, shorts)


def restyle(words: Sequence[str], style: str) -> str:
    """The words in one of the usual cases."""
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "pascal":
        return "".join(word.capitalize() for word in words)
    joints = {"snake": "_", "upper": "_", "kebab": "-", "joined": ""}
    text = joints[style].join(words)
    return text.upper() if style == "upper" else text


def abbreviate(word: str, generator: random.Random, shorts: Names | None = None) -> str:
    """A shorter form: a common one, without vowels, or its first letters."""
    if shorts and word in shorts and generator.random() < 0.5:
        return generator.choice(shorts[word]).replace(" ", "")
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
    synonyms: Names | None = None,
    thesaurus: Thesaurus = NO_THESAURUS,
    rewording: float = 0.0,
    prefix: str = "",
) -> str:
    """One name in disguise. Synonyms replace the whole name; without one, the thesaurus rewords it with a chance of
    `rewording`; then each word is abbreviated with the given probability."""
    words = list(words_of(name))
    if others := (synonyms or {}).get(" ".join(words)):
        words = list(words_of(generator.choice(list(others))))
    elif rewording:
        words = thesaurus.reword(words, generator, rewording)
    if not words:
        return name
    words = [
        abbreviate(word, generator, thesaurus.shorts) if generator.random() < abbreviations else word for word in words
    ]
    return prefix + restyle(words, style)
