"""How well a column goes with a code list by names, readings, and sentences of documents that name the list.

In: a column with its name, what it is read as and its table; a part of a list; sentences of documents that name lists.
Out: a number from 0 to 1. Nothing here looks at codes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from coset.readings.vocabulary import folds, languages, vocabulary
from coset.relations.code_lists.lists import ListPart
from coset.relations.copies.stage import SENTENCE, is_telling
from coset.relations.joins.names import (
    KEY_WORDS,
    agreement,
    bare_name,
    column_names_table,
    columns_agree,
    table_prefix,
    word_agreement,
    words,
)

_CODE_ENDS = ("code", "cod", "cd", "typ", "type", "kz")
BY_TABLE = 0.65
"""What it is worth that a domain is called after the column's table and source, and not after the column."""
SAID = 0.9
LEAST_OWN, SHORTEST_SPELLED = 0.6, 3
LEAST_SPELLED, FULLY_SPELLED = 0.6, 0.3
LEAST_BACK, OF_OTHERS = 0.7, 0.59
_COMMON = ("status", "sts", "state", "type", "typ", "kind", "class", "category", "reason", "level", "group", "code")
_LIST_MARK = re.compile(
    r"^(?:refs?|lkp?|lkup|lookups?|tbl|tab|dict?|dim|cat|codes?|cod|lists?|enum|[tzcd])[_\W]+|^zz?(?=[a-z])|"
    r"[_\W]+(?:lists?|codes?|ref|lkp|lookup|tab)$",
    re.IGNORECASE,
)
"""What a table's name says of its being a list, and not of what."""
_ASIDE = re.compile(r"\([^)]*\)")
_WORD = re.compile(r"[A-Za-z_][\w$]*")
_SMALL = frozenset(("of", "the", "a", "an", "and", "or", "by", "for", "in", "code", "codes", "list", "type"))


@dataclass(frozen=True)
class CodeColumn:
    """A column that may hold codes, with its values and how many rows have each."""

    reference: str
    table: str
    name: str
    siblings: tuple[str, ...]
    """The names of all columns of its table."""
    table_reference: str
    counts: Mapping[str, int]
    reading: str = ""
    """What the column is in plain words, where that is known."""
    table_reading: str = ""


@dataclass(frozen=True)
class Said:
    """A sentence that names a list: with `domains` it speaks of these, with none of the whole list."""

    words: frozenset[str]
    domains: frozenset[tuple[str, ...]]


def agreement_of(column: CodeColumn, part: ListPart, said: Sequence[Said]) -> float:
    """The best of names, titles and what documents say."""
    if (column.table.lower(), column.name.lower()) in part.decodes:
        return 1.0
    best = max(domain_agreement(column, part), words_agreement(column, part))
    read = _telling(column.reading)
    if part.domain:
        best = max(best, _by_place(column, part), agreement(read, _telling(part.title)))
    if len(read) > 1 and best < SAID:
        # "Pay methods are explained in codes, list 12/PM", and the column is read as pay method.
        for sentence in said:
            speaks = part.domain in sentence.domains or not (part.domain or sentence.domains)
            if speaks and set(read) <= sentence.words:
                return SAID
    return best


@lru_cache(maxsize=50_000)
def _telling(text: str) -> tuple[str, ...]:
    plain = _ASIDE.sub("", text)
    return tuple(word for word in words(plain) if word not in _SMALL and word not in KEY_WORDS and not word.isdigit())


def words_agreement(column: CodeColumn, part: ListPart) -> float:
    """How well a column and its table go with what the list is called: word by word, by the names as they stand, in
    English, and by a short form that is put together of the pieces of several words (`RDRCAT` for the category of
    readers)."""
    bare = bare_name(column.name, table_prefix(column.siblings))
    ways = {
        (_telling(bare), _telling(column.table)),
        (_telling(column.name), _telling(column.table)),
        (_telling(column.reading), (*_telling(column.table_reading), *_telling(column.table))),
    }
    names = [*part.domain, " ".join(part.domain)] if part.domain else [_LIST_MARK.sub("", _list_name(part))]
    targets = {_telling(name) for name in names} | {_telling(part.title)}
    targets |= {_in_english(target) for target in targets}
    best = max((_told(own, table, target) for own, table in ways for target in targets), default=0.0)
    glued = [re.sub(r"[^a-z]", "", name.lower()) for name in names]
    for own, table in ways:
        best = max(best, *(_spelled(text, table, own) for text in glued))
    short, named = re.sub(r"[^a-z]", "", _core(bare)), (*_telling(column.table_reading), *_telling(column.table))
    spelled = max(_spelled(short, named, target) for target in targets)
    # It grows with the share of the list's words that the column's name is put together of.
    return max(best, _weighed(spelled, (spelled - LEAST_SPELLED) / FULLY_SPELLED, short))


def _told(own: tuple[str, ...], table: tuple[str, ...], target: tuple[str, ...]) -> float:
    """The share of a column's words that a list is called after, and of the list's words that the column and its table
    have."""
    if not own or not target:
        return 0.0
    found = sum(max(word_agreement(word, each) for each in target) * len(word) for word in own)
    mine = found / sum(map(len, own))
    if mine < LEAST_OWN:
        return 0.0
    near = (*own, *table)
    back = sum(max(word_agreement(word, each) for each in near) * len(word) for word in target) / sum(map(len, target))
    return _weighed(0.6 * mine + 0.4 * back, back, "".join(own))


def _weighed(agreement: float, back: float, name: str) -> float:
    """Less where all that agrees is that both are a status or a kind: of other things, as far as one can tell."""
    common = any(each.startswith(name[:3]) for each in _COMMON) and len(name) <= 8
    return min(agreement, OF_OTHERS) if common and back < LEAST_BACK else agreement


@lru_cache(maxsize=50_000)
def _in_english(found: tuple[str, ...]) -> tuple[str, ...]:
    """Words of another language in English, as far as one that is known has them."""
    result: list[str] = []
    for word in found:
        known = (
            []
            if vocabulary().is_word(word)
            else [
                each
                for folded in folds(word)
                for language in languages().values()
                if (each := language.english(folded)[:1] or language.compound(folded))
            ]
        )
        result += [each for said in (known[0] if known else ()) for each in words(said)] or [word]
    return tuple(result)


@lru_cache(maxsize=200_000)
def _spelled(text: str, table: tuple[str, ...], own: tuple[str, ...]) -> float:
    """Whether a text is put together of the beginnings or letters of words in their order, all of it and at least one
    of the column's own words: less where some of these are left out."""
    if len(text) < SHORTEST_SPELLED or not own or vocabulary().is_word(text):
        return 0.0
    reached = {0: 0}
    for place, word in enumerate((*table, *own)):
        is_own = place >= len(table)
        further = dict(reached)
        for begin, used in reached.items():
            for end in range(begin + 2, min(len(text), begin + len(word)) + 1):
                if _is_short_form(text[begin:end], word):
                    further[end] = max(further.get(end, 0), used + is_own * len(word))
        reached = further
    used = reached.get(len(text), 0)
    return LEAST_SPELLED + FULLY_SPELLED * used / sum(map(len, own)) if used else 0.0


def _is_short_form(piece: str, word: str) -> bool:
    letters = iter(word)
    return piece[0] == word[0] and all(letter in letters for letter in piece)


def _by_place(column: CodeColumn, part: ListPart) -> float:
    """A domain each word of which is one of the source, the table or the column: `CRM_STAGE` of crm.deal_stages,
    `orderState` of orders.state.code; one that is called like the column's table (`Ticket`)."""
    source = column.reference.split("/")[0]
    table, own = words(column.table), words(column.name)
    for domain in part.domain:
        if domain.lower() == column.table.lower() and column_names_table(column.name, _list_name(part), "") >= 0.8:
            return 1.0
        named = [word for word in words(domain) if word not in KEY_WORDS]
        if len(named) < 2 or len("".join(named)) < 5:
            continue
        found = [max(word_agreement(word, each) for each in (source.lower(), *table, *own)) for word in named]
        if min(found) >= 0.75:
            is_own = any(word_agreement(word, each) >= 0.75 for word in named for each in own if each not in KEY_WORDS)
            return 0.9 if is_own else BY_TABLE
    return 0.0


def _list_name(part: ListPart) -> str:
    return part.table.reference.table or ""


def domain_agreement(column: CodeColumn, part: ListPart) -> float:
    """How well a column's name agrees with a domain's (or, of a list without domains, with the table's and its code's):
    `ORPRTY` of ORDMST with PRIORTY, `sts_cd` of ord_hdr with ORDSTS."""
    bare_column = bare_name(column.name, table_prefix(column.siblings))
    bare = _core(bare_column)
    whole = _core(column.name)
    if not whole:
        return 0.0
    if not part.domain:
        siblings = tuple(each.name for each in part.table.columns)
        list_name, code = part.table.reference.table or "", part.code_column
        return max(
            columns_agree(column.name, code),
            columns_agree(bare_column, bare_name(code, table_prefix(siblings))),
            column_names_table(column.name, list_name, code),
        )
    targets = [*part.domain, "".join(part.domain)]
    near = re.sub(r"[^a-z0-9]", "", column.table.lower()) + whole
    best = 0.0
    for target in targets:
        plain = re.sub(r"[^a-z0-9]", "", target.lower())
        if len(plain) < 2:
            continue
        starts = {word[0] for word in words(target)}
        for name in {bare, whole}:
            ends = len(words(target)) == 1 and (plain.endswith(name) or plain[:-1].endswith(name))
            if len(name) < 2 or not (name[0] in starts or ends):
                continue  # Letters here and there in a long name say nothing.
            own = _common(plain, name) / len(name)
            back = _common(plain, near) / len(plain)
            best = max(best, _weighed(0.6 * own + 0.4 * back, back, name) if own >= 0.75 else 0.0)
    return best


def _core(name: str) -> str:
    """A column's name without what says that it is a code."""
    kept = [word for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name) if word.lower() not in KEY_WORDS]
    text = "".join(kept).lower()
    for end in _CODE_ENDS:
        if text.endswith(end) and len(text) >= len(end) + 2:
            return text[: -len(end)]
    return text


@lru_cache(maxsize=50_000)
def _common(one: str, other: str) -> int:
    """The length of the longest text that both hold with letters left out."""
    places: dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    whole = (1 << len(one)) - 1
    free = whole  # One bit a letter that is not matched yet: the algorithm of Hyyrö.
    for letter in other:
        met = free & places.get(letter, 0)
        free = (free + met | free - met) & whole
    return len(one) - free.bit_count()


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
            named = {word.lower() for word in _WORD.findall(sentence)} & domains.keys()
            for name in named:
                for reference, known in domains[name].items():
                    spoken = frozenset(domain for domain in known if domain and _names(sentence, domain))
                    found[reference].append(Said(frozenset(words(sentence)), spoken))
    return dict(found)


def sentences_about(texts: Iterable[str], tables: Set[str]) -> list[str]:
    """The sentences that name one of the tables (their names in small letters)."""
    sentences = (sentence for text in texts for sentence in SENTENCE.split(text))
    return [sentence for sentence in sentences if not tables.isdisjoint(map(str.lower, _WORD.findall(sentence)))]


def _names(sentence: str, domain: tuple[str, ...]) -> bool:
    if not all(piece in sentence for piece in domain) or len("".join(domain)) < 3:
        return False
    written = r"\W{1,3}".join(map(re.escape, domain))
    return re.search(rf"(?<!\w){written}(?!\w)", sentence) is not None
