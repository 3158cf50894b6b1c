"""How right short forms are spelled out, by how sure that is said to be, on names that others abbreviated.

    python benchmarks/short_forms.py --corpus DIR [--part validation] [--show N] [--fit]
    python benchmarks/short_forms.py --company STATE_FOLDER MEANINGS.tsv [--show N]

In: databases of the corpora with what their makers wrote about tables and columns (labels and descriptions), or the
`.coset` folder of a company and what its objects mean. The readers see names, types and values, never what is written
there. Counted are short forms that the written meaning tells: their letters stand in order in words of it (`strt` in
*start of the lease*, `uom` in *unit of measure*), or the words they were read as do; what a database writes and is read
alike counts once. An expansion is right where all its words stand in the meaning of its object or its table. Precision
is of those said so surely; recall of all short forms, also of those nobody read. Views show what is .5 and more sure.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from coset.readings.certainty import Signs
from coset.readings.expansion import Expander, Expansion
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.offline import read_offline
from coset.readings.reading import Reading
from coset.readings.vocabulary import content_words, stem, vocabulary
from coset.readings.words import singular, words_of

MOST_OF_DATABASE = 400
"""Objects of one database that are counted, the same ones always: some have tens of thousands of one kind."""
REACH = 25
"""Words of a meaning that are looked at for the letters of a short form: in a long text any letters stand in order."""
RIDGE, OF_COMPANY = 5.0, 3
LEVELS = (0.0, 0.3, 0.43, 0.5, 0.6, 0.7)


@dataclass(frozen=True)
class Judged:
    """One short form of one object."""

    database: str
    name: str
    form: str
    said: str
    meaning: str
    confidence: float
    right: bool
    signs: Signs | None = None


def words_in(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def same(left: str, right: str) -> bool:
    return stem(singular(left)) == stem(singular(right)) or (min(len(left), len(right)) >= 5 and left[:5] == right[:5])


def told(form: str, words: list[str]) -> bool:
    """Whether words of a meaning hold the letters of a short form: of one word, of initials that follow each other, or
    of several words written together."""
    if any(of_word(form, word) for word in words):
        return True
    initials = "".join(word[0] for word in content_words(" ".join(words)))
    if 2 <= len(form) <= 5 and (form in initials or form in "".join(word[0] for word in words)):
        return True
    ends = {0}
    for begin in range(len(form)):
        if begin in ends:
            ends |= {
                end for end in range(begin + 2, len(form) + 1)
                if any(of_word(form[begin:end], word) or form[begin:end] == word for word in words)
            }  # fmt: skip
    return len(form) >= 4 and len(form) in ends


def of_word(form: str, word: str) -> bool:
    if len(word) <= len(form) or word[0] != form[0] or len(form) < 2:
        return False
    letters = iter(word)
    return all(letter in letters for letter in form)


def judge(
    database: str, name: str, meaning: str, around: str, readings: list[Reading], seen: Mapping[tuple[str, str], Signs]
) -> Iterator[Judged]:
    """The short forms of one object. `around`: what is written about its table as well."""
    words, more = words_in(meaning)[:REACH], words_in(f"{meaning} {around}")
    read = next((each for each in readings if each.reader == "abbreviations"), None)
    pairs = dict(each.split(" = ", 1) for each in read.source.split(", ") if " = " in each) if read else {}
    known = vocabulary()
    forms = dict.fromkeys([*pairs, *(piece for piece in words_of(name) if piece.isalpha())])
    for form in forms:
        said = pairs.get(form, "")
        plain = not said and (known.is_word(form) or any(form in pair for pair in pairs))
        right = bool(said) and all(any(same(each, word) for word in more) for each in content_words(said))
        if plain or form in words or len(form) < 2 or not (right or told(form, words)):
            continue
        if all(known.is_word(piece) for piece in form.split()):
            continue
        signs = seen.get((read.reference, form)) if read else None
        yield Judged(database, name, form, said, meaning, read.confidence if read and said else 0.0, right, signs)


def of_corpus(folder: Path, wanted: Sequence[str]) -> Iterator[Judged]:
    from coset.training.annotation import split_databases
    from coset.training.data.corpora import read_environments

    environments = read_environments(folder, rows=False)
    names = {key: frozenset(table.name for table in each.tables) for key, each in environments.items()}
    parts = split_databases(environments, names)
    for key, environment in sorted(environments.items()):
        if parts[key] in wanted:
            yield from of_database("/".join(key), environment)


def of_database(name: str, environment: ObservedEnvironment) -> Iterator[Judged]:
    written: dict[str, tuple[str, str, str, str]] = {}
    tables = []
    for number, table in enumerate(environment.tables):
        reference = f"s/{number}"
        about = f"{table.label} {table.description}"
        written[reference] = (reference, table.name, f"{table.label} {table.description}", "")
        columns = []
        for place, column in enumerate(table.columns):
            own = f"{reference}.{place}"
            written[own] = (reference, column.name, f"{column.label} {column.description}", about)
            columns.append(replace(column, reference=own, label="", description="", target=""))
        tables.append(replace(table, reference=reference, label="", description="", columns=tuple(columns), source="s"))
    told_of = [each for each, (_, own, meaning, _) in written.items() if meaning.strip() and _short(own)]
    chosen = set(random.Random(name).sample(told_of, min(len(told_of), MOST_OF_DATABASE)))
    if not chosen:
        return
    kept = [table for table in tables if any(own in chosen for own in (table.reference, *_references(table)))]
    with signs_seen() as seen:
        readings = by_object(read_offline(ObservedEnvironment(name, tuple(kept[:300]))))
    for own in sorted(chosen):
        _, physical, meaning, about = written[own]
        if own in readings:
            yield from judge(name, physical, meaning, about, readings[own], seen)


def _references(table: ObservedTable) -> list[str]:
    return [column.reference for column in table.columns]


def _short(name: str) -> bool:
    return any(piece.isalpha() and not vocabulary().is_word(piece) for piece in words_of(name))


def by_object(readings: list[Reading]) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {}
    for each in readings:
        found.setdefault(each.reference, []).append(each)
    return found


def of_company(folder: Path, meanings: Path) -> Iterator[Judged]:
    from coset.readings.comprehension import copies_of, texts_of
    from coset.readings.observe import observe
    from coset.state import EvidenceState
    from readings import written

    with EvidenceState.read(folder) as state:
        observed = observe(state, with_readings=False)
        with signs_seen() as seen:
            readings = by_object(read_offline(observed, texts_of(state), copies_of(state)))
    names: dict[str, str] = {}
    for table, column in observed.objects:
        reference, name = (column or table).reference, (column or table).name
        whole = written(reference).split(".")
        for each in {".".join(whole), ".".join((whole[0], *whole[2:]))}:
            names.setdefault(each, f"{reference}\t{name}")
    lines = [line.split("\t") for line in meanings.read_text(encoding="utf-8").splitlines()[1:]]
    truths: Mapping[str, str] = {line[0]: line[1] for line in lines}
    for wanted, meaning in (line[:2] for line in lines):
        if known := names.get(wanted.lower()):
            reference, name = known.split("\t")
            about = truths.get(wanted.rsplit(".", 1)[0], "")
            yield from judge(wanted.split(".")[0], name, meaning, about, readings.get(reference, []), seen)


@contextmanager
def signs_seen() -> Iterator[dict[tuple[str, str], Signs]]:
    """What spoke for and against the short forms of columns, while names are read."""
    seen: dict[tuple[str, str], Signs] = {}
    expand = Expander.expand

    def watched(self: Expander, pieces: Sequence[str], column: ObservedColumn | None = None) -> Expansion:
        spelled = expand(self, pieces, column)
        seen.update({(column.reference, form): signs for form, signs in spelled.signs} if column else {})
        return spelled

    Expander.expand = watched  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        Expander.expand = expand  # type: ignore[method-assign]


def fit(rows: list[tuple[Signs, bool]]) -> None:
    """Prints the weights of `coset.readings.certainty`: a logistic regression with a ridge."""
    signs = np.array([row.inputs() for row, _ in rows])
    right = np.array([right for _, right in rows], dtype=float)
    mean, spread = signs.mean(axis=0), signs.std(axis=0) + 1e-9
    inputs = np.hstack([(signs - mean) / spread, np.ones((len(rows), 1))])
    weights = np.zeros(inputs.shape[1])
    for _ in range(30):
        said = 1.0 / (1.0 + np.exp(-inputs @ weights))
        curvature = inputs.T @ (inputs * (said * (1 - said))[:, None]) + RIDGE * np.eye(len(weights))
        weights += np.linalg.solve(curvature, inputs.T @ (right - said) - RIDGE * weights)
    plain = weights[:-1] / spread
    print(f"{len(rows)} short forms, {right.mean():.3f} right")
    print(f"WEIGHTS = ({', '.join(f'{each:.2f}' for each in plain)})\nBIAS = {weights[-1] - plain @ mean:.2f}")


def times(each: Judged, company: Sequence[Path] | None) -> int:
    """A company's short forms are few beside those of the corpora, and what is to be read."""
    return OF_COMPANY if company and "/" not in each.database else 1


def report(found: list[Judged], show: int) -> None:
    right = sum(each.right for each in found)
    print(f"{len(found)} short forms of {len({each.database for each in found})} databases; {right} spelled out right")
    for low, high in zip(LEVELS, (*LEVELS[1:], 1.01), strict=True):
        said = [each for each in found if each.said and low <= each.confidence < high]
        above = [each for each in found if each.said and each.confidence >= low]
        if above:
            share = f"{sum(each.right for each in said) / len(said):.3f} of {len(said)}" if said else "none"
            precision = sum(each.right for each in above) / len(above)
            recall = sum(each.right for each in above) / len(found)
            print(f"  said {low:.2f} to {min(high, 1.0):.2f}: right {share}; from {low:.2f} up: "
                  f"precision {precision:.3f}, recall {recall:.3f}")  # fmt: skip
    random.Random(0).shuffle(found)
    for each in [each for each in found if not each.right and each.said][:show]:
        print(f"- {each.name}: {each.form} = {each.said!r} ({each.confidence:.2f}); {each.meaning.strip()[:90]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--part", choices=("train", "dev", "validation"), action="append")
    parser.add_argument("--company", type=Path, nargs=2, metavar=("STATE", "MEANINGS"))
    parser.add_argument("--show", type=int, default=0, help="so many wrong ones")
    parser.add_argument("--fit", action="store_true", help="print what speaks for a short form how much")
    chosen = parser.parse_args()
    every: list[Judged] = []
    if chosen.corpus:
        every += of_corpus(chosen.corpus, chosen.part or ["validation"])
    if chosen.company:
        every += of_company(*chosen.company)
    # What one database writes a hundred times and is read alike is one short form.
    found = list({(each.database, each.form, each.said, each.right): each for each in every}.values())
    if chosen.fit:
        fit([(each.signs, each.right) for each in found if each.signs for _ in range(times(each, chosen.company))])
    report(found, chosen.show)


if __name__ == "__main__":
    main()
