"""What documents say of code lists: the sentences that name a list, with the domains that they speak of.

In: texts, and the parts of lists. Out: `Said` for each table. A table is found by its name as a whole word; a domain by
its name, or by its parts with signs between them (`12/PM`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from coset.relations.code_lists.agreement import Said
from coset.relations.code_lists.lists import ListPart
from coset.relations.copies.statements import SENTENCE, is_telling
from coset.relations.joins.names import words


def said_of_lists(texts: Iterable[str], parts: Sequence[ListPart]) -> dict[str, list[Said]]:
    """The sentences that name each list, by the reference of its table."""
    domains: dict[str, dict[str, set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
    for part in parts:
        name = (part.table.reference.table or "").lower()
        if is_telling(name):
            domains[name][str(part.table.reference)].add(part.domain)
    found: dict[str, list[Said]] = defaultdict(list)
    for text in texts:
        for sentence in SENTENCE.split(text):
            named = {word.lower() for word in re.findall(r"[A-Za-z_][\w$]*", sentence)} & domains.keys()
            for name in named:
                for reference, known in domains[name].items():
                    spoken = frozenset(domain for domain in known if domain and _names(sentence, domain))
                    found[reference].append(Said(frozenset(words(sentence)), spoken))
    return dict(found)


def _names(sentence: str, domain: tuple[str, ...]) -> bool:
    if len("".join(domain)) < 3:
        return False
    written = r"\W{1,3}".join(map(re.escape, domain))
    return re.search(rf"(?<!\w){written}(?!\w)", sentence) is not None
