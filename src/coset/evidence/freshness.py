"""Whether an environment is still as it was when it was comprehended, without reading its rows.

In: an environment and its open state. Out: what is new, gone, of another shape, or may have other content by the
source's own account. `coset comprehend` decides by the same signs, and then looks at the content.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.evidence.comprehend import token_of, units_of
from coset.evidence.state import EvidenceState
from coset.evidence.state.rows import reference_of, shape_of

What = Literal["new", "gone", "other columns", "other content", "not readable last time", "unreachable"]


@dataclass(frozen=True)
class Difference:
    """A source or table that is not as it is known."""

    reference: str
    what: What
    detail: str = ""


def differences(environment: Environment, state: EvidenceState) -> tuple[Difference, ...]:
    """What a `coset comprehend` would look at, in the order of the sources. Lists every source."""
    known = state.known_tables()
    source_of = {row["reference"]: row["source"] for row in state.rows("SELECT reference, source FROM tables")}
    found: list[Difference] = []
    catalogue = Catalogue(environment).list_sources()
    try:
        for name, listing in catalogue.listings.items():
            if listing.problem:
                found.append(Difference(name, "unreachable", listing.problem))
                continue
            source, present = catalogue.sources[name], set()
            for unit in units_of(listing):
                reference = str(reference_of(name, unit.table))
                present.add(reference)
                then = known.get(reference)
                if then is None:
                    found.append(Difference(reference, "new"))
                elif then.problem:
                    found.append(Difference(reference, "not readable last time", then.problem))
                elif then.shape != shape_of(unit.table):
                    found.append(Difference(reference, "other columns"))
                elif not source.settings.schema_only:
                    try:
                        if then.token is None or token_of(source, unit) != then.token:
                            found.append(Difference(reference, "other content"))
                    except CosetError as error:
                        found.append(Difference(reference, "unreachable", str(error)))
            found += [
                Difference(reference, "gone")
                for reference, owner in source_of.items()
                if owner == name and reference not in present
            ]
    finally:
        catalogue.close()
    found += [Difference(ref, "gone") for ref, owner in source_of.items() if owner not in catalogue.listings]
    return tuple(found)
