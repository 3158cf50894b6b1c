"""The short forms that are read as a word: `python -m coset.training.short_forms --corpus DIR` writes them.

In: the names of training databases. Out: `readings/data/trained_short_forms.tsv`, for each word that many databases
use, the forms without vowels and the beginnings of it that mean no other word. A form that databases themselves use,
or that is a word of English, is left alone: the text encoders have met it.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from coset.identities.inventory import shipped_inventory
from coset.readings.words import ABBREVIATIONS, SHORT_FORMS_FILE, singular, words_of
from coset.training.data.labelled_objects import TrainingSet, read_training_set

LEAST_DATABASES, LONG_ENOUGH, LEAST_LETTERS, TIMES = 6, 5, 4, 3
"""Words in so many databases, of so many letters; forms of so many; a word must be so many times as frequent as the
next that has the form."""


def short_forms(databases: dict[str, int], known: frozenset[str]) -> dict[str, str]:
    """Words by form. `databases`: in how many databases each word is; `known`: what is a word by itself."""
    words = {word: count for word, count in databases.items() if count >= LEAST_DATABASES and len(word) >= LONG_ENOUGH}
    meant: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in words.items():
        if word not in known:
            continue
        forms = {word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou"), word[:4], word[:5]}
        for form in forms:
            if LEAST_LETTERS <= len(form) < len(word):
                meant[form][singular(word)] += count
    found = {}
    for form, counts in sorted(meant.items()):
        (best, count), *rest = counts.most_common(2)
        used = form in known or form in ABBREVIATIONS or databases.get(form, 0) >= TIMES
        if not used and (not rest or count >= TIMES * rest[0][1]):
            found[form] = best
    return found


def words_of_training(training: TrainingSet) -> dict[str, int]:
    homes: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for item in training.objects:
        if item.part == "train":
            for word in words_of(item.column.name if item.column else item.table.name):
                if word.isascii() and word.isalpha():
                    homes[word].add(item.label.database)
    return {word: len(found) for word, found in homes.items()}


def main() -> None:
    from coset.training.encoders.stage import published_minilm
    from coset.training.encoders.text_model import published_pieces

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    corpus = parser.parse_args().corpus
    training = read_training_set(corpus, shipped_inventory())
    found = short_forms(words_of_training(training), frozenset(published_pieces(published_minilm())))
    SHORT_FORMS_FILE.write_text("".join(f"{form}\t{word}\n" for form, word in found.items()), encoding="utf-8")
    print(f"{len(found)} short forms")


if __name__ == "__main__":
    main()
