"""New keys in the manner of old ones: for rows that are added, and for references that lead nowhere."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable

from .clean import Value


class FreshKeys:
    """Gives keys that are in none of the `taken` ones, each once."""

    def __init__(self, taken: Iterable[Value]) -> None:
        known = [value for value in taken if value is not None]
        self.highest = max((value for value in known if isinstance(value, int)), default=0)
        # Whoever ignores case and separators must find a new key new as well.
        self.known = {_bare(str(value)) for value in known}

    def like(self, example: Value, rng: random.Random) -> Value:
        """A new key of the type and shape of `example`."""
        if isinstance(example, int):
            self.highest += rng.randrange(1, 9)
            return self.highest
        text = str(example)
        for attempt in range(1000):
            made = "".join(_another(letter, rng) for letter in text)
            if attempt > 20 or _bare(made) == _bare(text):
                made += str(rng.randrange(1, 10**4))
            if _bare(made) not in self.known:
                self.known.add(_bare(made))
                return made
        raise ValueError(f"no key like '{example}' is free")


def _bare(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _another(letter: str, rng: random.Random) -> str:
    if letter in string.digits:
        return rng.choice("123456789")
    if letter in string.ascii_lowercase:
        return rng.choice(string.ascii_lowercase)
    return rng.choice(string.ascii_uppercase) if letter in string.ascii_uppercase else letter
