"""What the name of a table hints at: that it is a backup, a load, an archive, a trial, the state of a year.

In: a name. Out: its words, the hints among them with the kind of copy they speak of, and what is left without them.
A hint decides nothing alone: `new` and `old` are put on tables that everybody uses. The words are those that people
put on tables everywhere, in English, German, French, Italian, Spanish, Portuguese, Dutch, Polish and Swedish; no
company's own are among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

CopyKind = Literal[
    "backup", "staging", "archive", "year copy", "test", "superseded", "extract", "view", "snapshot", "leftover"
]
COPY_KINDS: tuple[CopyKind, ...] = get_args(CopyKind)

_WORDS: dict[CopyKind, str] = {
    "backup": "bak bk bck bckp bkp bkup bup backup back b sav save saved sauv sauvegarde sicherung sich kopie copy cpy "
    "copia kopia kopii copias dup duplicate respaldo resguardo zapasowa reservkopia säkerhetskopia "
    "sakerhetskopia salva reserve restore recovery before fix rollback",
    "staging": "stg stage staging stag ld load loading ldg landing lnd in inb inbound imp import imported raw tmp temp "
    "temporary appo appoggio wrk work working buffer buf puffer zwischen delta incr sync ods queue que dedup "
    "dedupe doublons dubletten prov provisional upload intake stub transit carico laden chargement carga "
    "cargas tymcz tymczasowa robocze inläsning inlasning",
    "archive": "arch archive archived archiv arc arx archivio archivo hist history histo historie historique stor "
    "storico storage cold purged frozen closed histórico historico archiwum archiwalne arkiv arkiverad "
    "arquivo",
    "test": "test tests tst testing trial sandbox sbx demo essai essais prova prove prueba pruebas ensayo teste próba "
    "proba probe proef dummy sample poc pilot spike dev qa uat try training mock fake toy z zz zt x xx t",
    "superseded": "old olds alt alte altes anc ancien ancienne vecchio vecchia viejo vieja antiguo antigua antigo "
    "antiga ant anterior anteriores stary stara stare starych poprzedni poprzednia gammal gamla gammalt tidigare oud "
    "oude prev previous legacy leg obsolete obs deprecated depr dep retired dead orig original former last "
    "new neu neue neuf nuovo nuevo nieuw draft entwurf brouillon bozza borrador superseded replaced migrated "
    "mig n o",
    "extract": "extract extrait estratto auszug extracto export exp exported ext list liste lista listing dump "
    "download feed out outbound",
    "view": "v vw view views rpt report reports mv mview report",
    "snapshot": "snap snapshot asof stand stichtag",
    "leftover": "trash junk del deleted drop dropped unused todelete remove removed misc xxx",
}
HINTS: dict[str, CopyKind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_VERSION = re.compile(r"v\d{1,2}")
_DATE = re.compile(r"(19|20)\d{2}((0[1-9]|1[0-2])([0-2]\d|3[01])?)?|(19|20)\d{2}q?[1-4]")
_SHORT_YEAR = re.compile(r"(0\d|1\d|2\d|9\d)")


@dataclass(frozen=True)
class NameHints:
    """`stem`: the words that are no hint, in order, lower case; `kinds`: what the others speak of; `year`: the date or
    year at an end of the name, if there is one."""

    stem: tuple[str, ...]
    kinds: frozenset[CopyKind]
    year: str | None

    @property
    def is_plain(self) -> bool:
        """Without any hint. Two digits at the end may be a year as well as the number of a table, so they are none."""
        return not self.kinds - {"year copy"} and (self.year is None or len(self.year) == 2)


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, cut at case, digits and signs; `v2` stays one word."""
    parts = [part.lower() for part in _PARTS.findall(re.sub(r"\s+", "_", name))]
    words: list[str] = []
    for part in parts:
        if words and words[-1] == "v" and part.isdigit() and len(part) <= 2:
            words[-1] += part
        else:
            words.append(part)
    return words


def _is_letter_hint(letter: str, place: int, count: int) -> bool:
    """A single letter hints at the end of a name, and a few at its start (`v_orders`, `z_orders`)."""
    return place == count - 1 or (place == 0 and letter in "vxz")


def name_hints(name: str, *, schema: str | None = None) -> NameHints:
    """The hints of a table's name, and of its schema (`stg.orders`)."""
    stem: list[str] = []
    kinds: set[CopyKind] = set()
    year: str | None = None
    words = words_of(name)
    for place, word in enumerate(words):
        if _VERSION.fullmatch(word):
            kinds.add("superseded")
        elif word in HINTS and len(words) > 1 and (len(word) > 1 or _is_letter_hint(word, place, len(words))):
            kinds.add(HINTS[word])
        elif _DATE.fullmatch(word) or (place and place == len(words) - 1 and _SHORT_YEAR.fullmatch(word)):
            kinds.add("year copy")
            year = word
        else:
            stem.append(word)
    if schema is not None:
        kinds |= {HINTS[word] for word in words_of(schema) if word in HINTS and len(word) > 1}
    return NameHints(tuple(stem), frozenset(kinds), year)
