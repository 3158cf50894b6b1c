"""Damaged dumps: bytes of a pg_dump or mongodump changed at random, then listed and read whole.

    python benchmarks/fuzz_readers.py pg_dump FILE.sql [--times 300] [--seed 0]
    python benchmarks/fuzz_readers.py mongodump FOLDER [--times 300] [--seed 0]

Every damaged file must be read, or refused with a sentence of ours, within its time and memory: any other exception is
told with the seed that makes it again. The file given is copied, never changed.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from report import report

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import load_environment
from coset.environment.scan import EVERYTHING
from coset.errors import CosetError

LARGEST = 100_000
"""So many bytes in a row are damaged."""


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of: flipped, removed, doubled, replaced by hostile ones, cut off."""
    found = bytearray(content)
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(max(1, len(found)))
        kind = chance.randrange(6)
        if kind == 0 and found:
            found[place % len(found)] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del found[place : place + chance.randint(1, 40)]
        elif kind == 2:
            found[place:place] = found[place : place + chance.randint(1, 400)]
        elif kind == 3:
            found[place : place + 4] = chance.choice([b"\xff\xff\xff\x7f", b"\x00\x00\x00\x00", b"\xff\xff\xff\xff"])
        elif kind == 4:
            found[place:place] = chance.choice(
                [b"\x00", b"\\.\n", b"';--", b"\\\\", b"\n\n", b"COPY x (", b"$$", b"\x1b"]
            )
        elif chance.random() < 0.2:
            del found[place:]
    return bytes(found)


def read_everything(folder: Path) -> tuple[int, int]:
    """How many tables could be read, and how many were refused in our words."""
    read, refused = 0, 0
    catalogue = Catalogue(load_environment(folder))
    try:
        listing = catalogue.list_sources().listings["d"]
        if listing.problem:
            return 0, 1
        for table in listing.tables:
            try:
                for _ in catalogue.sources["d"].read(table, EVERYTHING):
                    pass
                read += 1
            except CosetError:
                refused += 1
            except Exception as error:
                cause: BaseException | None = error
                while cause is not None and not isinstance(cause, CosetError):
                    cause = cause.__cause__ or cause.__context__
                if cause is None:
                    raise
                refused += 1
        return read, refused
    finally:
        catalogue.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("pg_dump", "mongodump"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    read = refused = 0
    wrong: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as work:
        for seed in range(given.seed, given.seed + given.times):
            chance = random.Random(seed)
            folder = Path(work) / str(seed)
            folder.mkdir()
            if given.kind == "pg_dump":
                content = given.path.read_bytes()
                start = chance.randrange(max(1, len(content) - LARGEST))
                middle = damaged(content[start : start + LARGEST], chance)
                (folder / "d.sql").write_bytes(content[:start] + middle + content[start + LARGEST :])
                (folder / "coset.yaml").write_text("sources: {d: {location: d.sql}}\n")
            else:
                shutil.copytree(given.path, folder / "d")
                files = sorted((folder / "d").rglob("*.bson")) + sorted((folder / "d").rglob("*.json"))
                for file in chance.sample(files, k=min(6, len(files))):
                    file.write_bytes(damaged(file.read_bytes()[:LARGEST], chance))
                (folder / "coset.yaml").write_text("sources: {d: {location: d}}\n")
            started = time.process_time()
            try:
                one, other = read_everything(folder)
                read, refused = read + one, refused + other
            except CosetError:
                refused += 1
            except Exception as error:
                wrong.append(f"seed {seed}: {type(error).__name__}: {str(error)[:100]}")
                traceback.print_exc(limit=-4, file=sys.stderr)
            slowest = max(slowest, time.process_time() - started)
            shutil.rmtree(folder, ignore_errors=True)
    figures = {
        "damaged files": given.times, "tables read": read, "refused in a sentence": refused,
        "other exceptions": len(wrong), "slowest, CPU s": round(slowest, 2),
        "memory, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }  # fmt: skip
    report(f"damaged {given.kind}", figures, "no other exception", not wrong)
    for each in wrong[:20]:
        print(" ", each)


if __name__ == "__main__":
    main()
