"""How many readings mean what the truth says: `python benchmarks/readings.py STATE_FOLDER MEANINGS.tsv [--show N]`.

STATE_FOLDER is the `.coset` folder of a comprehended environment; MEANINGS.tsv has a name (`source.table.column`) and a
meaning a line. The measure is a proxy for a judge: a reading agrees where it has enough of the truth's telling words
(compared by their beginnings, with a list of words that mean the same), or the truth has all of the reading's. It is
stricter than a person on synonyms and laxer on word order: judge a sample by hand as well (`--show`).
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from pathlib import Path

from coset.readings.observe import observe
from coset.readings.offline import read_offline
from coset.readings.vocabulary import stem
from coset.state import EvidenceState
from coset.state.readings import ReadingStore

SAME = [
    "number id identifier key no", "customer client partner", "broker agent intermediary",
    "supplier vendor provider", "date day moment time timestamp", "status state", "type kind category class",
    "name title label description text", "city town place", "postcode postal zip post", "amount sum total value",
    "start from begin since first beginning", "end to until last close finish",
    "article item part product material", "user login", "order job", "employee staff personnel worker",
    "cover coverage", "delete deleted", "note comment remark", "document voucher piece", "vat tax",
    "country land nation", "created creation create", "updated changed change modified update",
    "percent rate share percentage", "quantity count number amount", "reason cause", "bank account iban",
    "flag indicator yes", "claim loss damage", "policy contract", "plant factory site", "machine equipment",
    "stop downtime stops", "scrap reject rejects waste", "department team division unit", "valid effective",
    "history log", "line item position row", "header master head main", "phone telephone",
    "accident incident event", "list table codes", "licence license", "sequence number order", "mail email",
    "third party parties", "entry posting booking", "invoice bill", "payment settlement pay paid",
    "responsible owner",
]  # fmt: skip
GROUPS: dict[str, set[int]] = defaultdict(set)
for number, words in enumerate(SAME):
    for word in words.split():
        GROUPS[stem(word)].add(number)
SKIPPED = frozenset({
    "a", "an", "the", "of", "in", "on", "at", "by", "for", "with", "and", "or", "to", "is", "are", "as", "it", "its",
    "this", "that", "one", "row", "per", "each", "if", "no", "not",
})  # fmt: skip


def telling(text: str) -> list[str]:
    return [stem(word) for word in re.findall(r"[a-z]+|\d+", text.lower()) if word not in SKIPPED]


def same(left: str, right: str) -> bool:
    if left == right or (min(len(left), len(right)) >= 4 and left[:5] == right[:5]):
        return True
    return bool(GROUPS.get(left, set()) & GROUPS.get(right, set()))


def agrees(reading: str, truth: str, table: str = "") -> bool:
    """Whether a reading's words cover the head of the truth, or the truth (with that of the table) the reading's."""
    head = telling(re.split(r"[,;:(]", truth, maxsplit=1)[0])[:6] or telling(truth)[:6]
    said, whole = telling(reading), telling(f"{truth} {table}")
    if not said or not head:
        return False
    covered = sum(any(same(word, other) for other in said) for word in head) / len(head)
    precise = sum(any(same(word, other) for other in whole) for word in said) / len(said)
    return (covered >= 0.5 and precise >= 0.34) or (covered > 0 and precise >= 0.67)


def written(reference: str) -> str:
    return reference.replace('"', "").replace("[]", "").replace("/", ".").lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state", type=Path)
    parser.add_argument("meanings", type=Path)
    parser.add_argument("--show", type=int, default=0, help="so many readings that do not agree, and as many that do")
    parser.add_argument("--fresh", action="store_true", help="read anew instead of taking what the state holds")
    parser.add_argument("--only", default="", help="names that begin so")
    chosen = parser.parse_args()
    with EvidenceState.read(chosen.state) as state:
        if chosen.fresh:
            from coset.readings.comprehension import copies_of, texts_of
            from coset.readings.reading import best_readings

            observed = observe(state, with_readings=False)
            texts, copies = texts_of(state), copies_of(state)
            started = time.process_time()
            readings = list(best_readings(read_offline(observed, texts, copies)).values())
            objects = len(observed.objects)
            seconds = time.process_time() - started
            print(f"read {objects} objects in {seconds:.1f} s of one core, {1e4 * seconds / objects:.1f} s for 10,000")
        else:
            readings = ReadingStore(state).all(best=True)
    by_name = {}
    for reading in readings:
        by_name.setdefault(written(reading.reference), reading)
        parts = written(reading.reference).split(".")
        if len(parts) > 2:
            by_name.setdefault(".".join((parts[0], *parts[2:])), reading)
    families = [(re.compile(re.escape(name).replace(r"\{\}", "[^.]+")), name) for name in by_name if "{}" in name]
    lines = [line.split("\t") for line in chosen.meanings.read_text(encoding="utf-8").splitlines()[1:]]
    results, missing = [], 0
    truths = {line[0]: line[1] for line in lines}
    for name, meaning in (line[:2] for line in lines if line[0].startswith(chosen.only)):
        reading = by_name.get(name.lower())
        if reading is None:  # A member of a family is read as the family.
            reading = next((by_name[key] for pattern, key in families if pattern.fullmatch(name.lower())), None)
        if reading is None:
            missing += 1
            results.append((name, meaning, "", "none", False, 0.0))
        else:
            good = agrees(reading.name, meaning, truths.get(name.rsplit(".", 1)[0], ""))
            results.append((name, meaning, reading.name, reading.reader, good, reading.confidence))
    total = len(results)
    print(
        f"{sum(r[4] for r in results)} of {total} agree: {sum(r[4] for r in results) / total:.3f} ({missing} have none)"
    )
    for what, key in (("reader", lambda r: r[3]), ("source", lambda r: r[0].split(".")[0]),
                      ("confidence", lambda r: f"{r[5]:.1f}")):  # fmt: skip
        counts, right = Counter(map(key, results)), Counter(key(r) for r in results if r[4])
        print(f"by {what}: " + ", ".join(f"{k} {right[k]}/{n}" for k, n in sorted(counts.items())))
    random.Random(0).shuffle(results)
    for good in (False, True):
        for name, meaning, said, reader, _, confidence in [r for r in results if r[4] is good][: chosen.show]:
            print(f"{'+' if good else '-'} {name}: {said!r} ({reader} {confidence:.2f}); truth {meaning!r}")


if __name__ == "__main__":
    main()
