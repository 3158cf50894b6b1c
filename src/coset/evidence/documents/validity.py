"""Which documents hold: from when, until when, and which were replaced by another.

In: the titles, names and sections of all documents. Out: a `Validity` for each. A document is superseded when it says
so, when another one says so, when a later version of it is there, or when its name marks it as old. It is a draft when
its name, title or first lines say so. Series (minutes, circulars, memos) are no versions of each other: there, only
what is written counts. Understands English, German, French, Italian, Spanish and Dutch.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coset.evidence.documents.sections import Section, title_of_file

Status = Literal["current", "superseded", "draft"]
HEAD_CHARACTERS = 700
"""What a document says of itself stands at its beginning."""


@dataclass(frozen=True)
class Validity:
    status: Status = "current"
    valid_from: datetime.date | None = None
    valid_to: datetime.date | None = None
    superseded_by: str | None = None
    """The reference of the document that took its place, where that one is known."""


@dataclass(frozen=True)
class Dated:
    """What is needed to judge a document."""

    reference: str
    file_name: str
    title: str
    sections: tuple[Section, ...]

    @property
    def head(self) -> str:
        text = " \n".join([self.title, *(section.text for section in self.sections[:3])])
        return text[:HEAD_CHARACTERS]


_SELF = (
    r"(?:this|the present|diese[rsn]?|vorliegende[rs]?|cette|ce|cet|la présente|le présent|quest[oa]|il presente|"
    r"la presente|est[ea]|dit|deze)\s+(?:\w+\s+){0,2}?(?:document|version|note|memo|circular|policy|manual|handbook|"
    r"guideline|guide|procedure|rules?|edition|letter|instruction|list|page|paper|dokument|fassung|ausgabe|richtlinie|"
    r"anweisung|rundschreiben|handbuch|version|merkblatt|circulaire|politique|manuel|procédure|directive|lettre|"
    r"documento|versione|nota|circolare|procedura|manuale|lettera|versión|manual|richtlijn|handleiding|notitie)"
)
_REPLACED = (
    r"(?:has been |was |is |are |have been |wurde |wird |ist |a été |est |è stat[oa] |è |ha sido |es |is |werd )?(?:now )?"
    r"(?:superseded|replaced|obsolete|withdrawn|repealed|cancelled|void|outdated|out of date|no longer (?:valid|in force|"
    r"applicable|applies|used)|retired|archived|überholt|ersetzt|aufgehoben|veraltet|außer kraft|nicht mehr gültig|"
    r"ungültig|remplacée?|abrogée?|caduque|périmée?|obsolète|n'est plus (?:valable|en vigueur)|annulée?|sostituit[oa]|"
    r"superat[oa]|abrogat[oa]|obsolet[oa]|non più (?:valid[oa]|in vigore)|annullat[oa]|sustituid[oa]|derogad[oa]|"
    r"anulad[oa]|vervangen|vervallen|ingetrokken|verouderd|ersatt|upphävd|substituíd[oa]|revogad[oa]|zastąpion[aye]|"
    r"uchylon[aye]|nieaktualn[aye])"
)
_BY = r"\s+(?:by|durch|par|da|dal(?:la)?|por|pel[oa]|door|av|przez)\s+(.{3,90}?)(?:[.;,()\n]|$)"
_SAYS_SO = re.compile(rf"{_SELF}[^.\n]{{0,40}}?\b{_REPLACED}\b", re.IGNORECASE)
_STAMP = re.compile(
    r"(?:^|\n|[\[(*!:-])\s*(?:status\s*[:=]\s*)?(?:(?:replaced by|ersetzt durch|remplacée? par|sostituit[oa] da)\b|"
    r"(?:superseded|obsolete|withdrawn|outdated|no longer valid|do not use|überholt|veraltet|ungültig|außer kraft|"
    r"périmée?|obsolète|abrogée?|superat[oa]|obsolet[oa]|abrogat[oa]|derogad[oa]|vervallen|verouderd)\b"
    r"(?=\s*(?:$|[\n\])*!:.,;–—-]|(?:by|on|since|as of|from|see|any ?more|this|durch|am|ab|seit|siehe|par|le|depuis|voir|"
    r"dal?|il|dalla|vedi|por|desde|el|door|per|sinds|zie)\b)))",
    re.IGNORECASE,
)
"""What stands by itself at the beginning of a line. *Withdrawn ones do not count* speaks of something else."""
_BY_OTHER = re.compile(rf"\b{_REPLACED}{_BY}", re.IGNORECASE)
_REPLACES = re.compile(
    r"\b(?:replaces?|supersedes?|replacing|superseding|takes? the place of|ersetzt|ersetzen|löst|lösen|remplace(?:nt)?|"
    r"annule(?:nt)? et remplace(?:nt)?|sostituiscono|sostituisce|sustituyen?|reemplazan?|vervangt|vervangen|"
    r"ersätter|substitu(?:i|em)|revoga[m]? e substitu(?:i|em)|zastępuj[eą])\s+(.{3,120}?)(?:[.;)\n]|$)",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(
    r"\b(?:is|are|was|were|has been|have been|ist|sind|wird|werden|est|sont|è|sono|es|son|wordt)\s+(?:hereby |hiermit |"
    r"now )?(?:given up|repealed|withdrawn|cancelled|revoked|abolished|void|no longer (?:valid|in force)|superseded|"
    r"aufgehoben|hinfällig|abrogée?s?|annulée?s?|supprimée?s?|abrogat[oaie]|annullat[oaie]|derogad[oa]s?|ingetrokken)|"
    r"\b(?:ceases? to (?:apply|be valid)|no longer applies|tritt außer kraft|verliert (?:hiermit |damit )?(?:ihre|seine) "
    r"gültigkeit|cesse (?:d'être en vigueur|de s'appliquer)|cessa di (?:valere|essere in vigore)|pierde (?:su )?(?:vigencia|"
    r"validez)|queda sin efecto|deixa de (?:vigorar|se aplicar)|fica (?:sem efeito|revogad[oa])|vervalt|upphör att gälla|"
    r"gäller inte längre|upphävs|traci moc|przestaje obowiązywać)\b",
    re.IGNORECASE,
)
_OLD_NAME = re.compile(
    r"(?:^|[_\-\s./(])(?:old|obsolete|superseded|outdated|deprecated|archive[ds]?|alt|veraltet|archiv|ancien(?:ne)?|"
    r"périmé|vecchi[oa]|obsoleto|superato|antigu[oa]|viejo|oud)(?:$|[_\-\s.)/])",
    re.IGNORECASE,
)
_DRAFT_NAME = re.compile(
    r"(?:^|[_\-\s./(\[])(?:draft|wip|entwurf|vorabversion|brouillon|projet|bozza|borrador|concept|rascunho)(?:$|[_\-\s.)\]\d/v])",
    re.IGNORECASE,
)
_DRAFT = re.compile(
    r"(?:^|\n|[\[(*!:-])\s*(?:draft|entwurf|brouillon|bozza|borrador)\b|\b(?:this|diese[rs]?|ce(?:tte)?|quest[oa])\s+\w+\s+"
    r"(?:is (?:still )?(?:a |only a )?draft|ist (?:noch )?ein entwurf|est un (?:projet|brouillon)|è una bozza)|"
    r"\bnot (?:yet )?(?:approved|in force|adopted)\b|\bfor discussion only\b",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"\b(?:in force|valid|effective|applies|applicable|in effect|gültig|in kraft|gilt|en vigueur|valable|applicable|"
    r"in vigore|valid[oa]|vale|vigente|geldig|gäller|giltig|em vigor|válid[oa]|obowiązuje|ważn[aye])\s*(?:as |since |à )?(?:från|"
    r"(?:a partir )?de(?:sde)?|od(?: dnia)?|from|of|since|on|ab|seit|vom|à partir du|à compter "
    r"du|depuis le|dès le|du|le|dal|a partire dal|desde el|a partir del|vanaf|:)\s*(?:the |dem |der )?",
    re.IGNORECASE,
)
_TO = re.compile(
    r"\b(?:valid|in force|applies|effective|gültig|gilt|valable|en vigueur|valid[oa]|in vigore|vigente|geldig)\s*[^.\n]{0,40}?"
    r"(?:until|till|through|up to|bis(?: zum)?|jusqu'au|fino al|hasta el|tot)\s*(?:the )?|\b(?:expires|läuft ab|expire|scade)"
    r"\s*(?:on|am|le|il)?\s*",
    re.IGNORECASE,
)
_SERIES = re.compile(
    r"\b(?:minutes|circular|memo|letter|report|newsletter|bulletin|release notes|meeting|statement|invoice|"
    r"protokoll|rundschreiben|bericht|brief|circulaire|procès-verbal|compte rendu|lettre|rapport|note de service|"
    r"verbale|circolare|lettera|relazione|acta|carta|informe|notulen)\b",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"[\s_\-(,]*\b(?:v|ver|version|rev|revision|edition|issue|ausgabe|fassung|versione|versión|révision|édition|versie)"
    r"[\s._-]*(\d+(?:\.\d+)*|[a-z](?![a-z]))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_MONTHS = (
    "jan gen ene|feb fev fév|mar mär mrt maa|apr avr abr|mai may mag mei|jun jui giu|jul lug juil|aug aoû ago aou|"
    "sep set|oct okt ott out|nov|dec dez déc dic"
)
_MONTH = {start: number for number, group in enumerate(_MONTHS.split("|"), 1) for start in group.split()}
_DATE = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})|(?P<d2>\d{1,2})[./](?P<m2>\d{1,2})[./](?P<y2>\d{4})|"
    r"(?:(?P<d3>\d{1,2})(?:\.|st|nd|rd|th|er|º)?\s+(?:de |of )?)?(?P<month>[^\W\d_]{3,10})\.?\s+(?:de |of )?"
    r"(?:(?P<d4>\d{1,2}),?\s+)?(?P<y3>(?:19|20)\d\d)",
    re.IGNORECASE,
)


def first_date(text: str) -> datetime.date | None:
    """The first date in a text: 2024-07-01, 1.7.2024, 1 July 2024, 1er juillet 2024; a month counts from its first."""
    for match in _DATE.finditer(text):
        found = match.groupdict()
        year = found["y"] or found["y2"] or found["y3"]
        month = int(found["m"] or found["m2"] or 0) or _month(found["month"] or "")
        day = int(found["d"] or found["d2"] or found["d3"] or found["d4"] or 1)
        try:
            return datetime.date(int(year), month, day)
        except ValueError:
            continue
    return None


def _month(word: str) -> int:
    word = word.lower()
    return _MONTH.get(word[:4]) or _MONTH.get(word[:3]) or 0


def judge(documents: Sequence[Dated]) -> dict[str, Validity]:
    """The validity of each document, by its reference."""
    found = {each.reference: _alone(each) for each in documents}
    for each in documents:
        if other := next(iter(_named_as_successor(each, documents)), None):
            found[each.reference] = replace(found[each.reference], superseded_by=other.reference)
    for each in documents:
        for older in _replaced_by(each, documents):
            if older.reference != each.reference:
                found[older.reference] = replace(
                    found[older.reference], status="superseded", superseded_by=each.reference
                )
    for older, newer in _versions(documents):
        # One that another replaced already is no later version of that one.
        if found[newer.reference].superseded_by == older.reference:
            continue
        if found[older.reference].superseded_by is None and found[newer.reference].status != "draft":
            found[older.reference] = replace(found[older.reference], status="superseded", superseded_by=newer.reference)
    return found


def _alone(document: Dated) -> Validity:
    """What a document's name, title and beginning say of it."""
    name = document.reference.rsplit(".", 1)[0]
    head = document.head
    status: Status = "current"
    if _SAYS_SO.search(head) or _STAMP.search(head) or _OLD_NAME.search(name):
        status = "superseded"
    elif _DRAFT_NAME.search(name) or _DRAFT.search(head):
        status = "draft"
    return Validity(status, _date_after(_FROM, head), _date_after(_TO, head))


def _date_after(words: re.Pattern[str], text: str) -> datetime.date | None:
    for match in words.finditer(text):
        if (date := first_date(text[match.end() : match.end() + 25])) is not None:
            return date
    return None


def _named_as_successor(document: Dated, documents: Sequence[Dated]) -> Iterable[Dated]:
    if _SAYS_SO.search(document.head) or _STAMP.search(document.head):
        for match in _BY_OTHER.finditer(document.head):
            yield from _resolve(match[1], document, documents)


def _replaced_by(document: Dated, documents: Sequence[Dated]) -> Iterable[Dated]:
    """The documents that a document says it replaces: in its title, at its beginning, or as given up."""
    for match in _REPLACES.finditer(document.head):
        yield from _resolve(match[1], document, documents)
    for section in document.sections:
        for paragraph in section.paragraphs:
            for sentence in re.split(r"(?<=[.;])\s+", paragraph):
                if (given_up := _GIVEN_UP.search(sentence)) is not None:
                    yield from _resolve(sentence[: given_up.start()], document, documents, numbered=True)


def _resolve(words: str, speaker: Dated, documents: Sequence[Dated], *, numbered: bool = False) -> Iterable[Dated]:
    """The documents that words name ("version 5", "guideline 2", "circular 2018-03", "the travel policy"). With
    `numbered`, the words must hold a number that the document bears."""
    if (version := _VERSION.search(words)) is not None and not _words_of(words) - _words_of(version[0]) - _FILLERS:
        base, _, _ = _base_and_version(speaker)
        for each in documents:
            other, number, _ = _base_and_version(each)
            if other == base and number == _version_number(version[1]) and each is not speaker:
                yield each
        return
    spoken = _words_of(words) - _FILLERS
    numbers = set(re.findall(r"\d[\d./-]*\d|\d|\b[A-Z]{1,5}-?\d+\b", words))
    if numbered and not numbers:
        return
    words_alone = {word for word in spoken if not any(letter.isdigit() for letter in word)}
    for each in documents:
        if each is speaker:
            continue
        called = f"{each.title} {title_of_file(each.file_name)} {each.file_name}"
        borne = set(re.findall(r"\d[\d./-]*\d|\d|\b[A-Z]{1,5}-?\d+\b", called.replace("_", " ")))
        own = _words_of(called)
        if numbers:
            # Guideline 2 is no other document that bears a 2.
            if numbers & borne and (words_alone or spoken) & own:
                yield each
        elif len(spoken) >= 2 and len(spoken & own) >= 0.8 * len(spoken):
            yield each


def _versions(documents: Sequence[Dated]) -> Iterable[tuple[Dated, Dated]]:
    """Pairs of an older and the newest version of one document."""
    groups: dict[str, list[tuple[tuple[int, ...], datetime.date, Dated]]] = defaultdict(list)
    for each in documents:
        titled, filed = _base_and_version(each), _base_and_version(replace(each, title=""))
        for base, version, date in (titled, filed) if filed[0] != titled[0] else (titled,):
            if base and (version or date):
                groups[base].append((version, date or datetime.date.min, each))
    for group in groups.values():
        numbered = [entry for entry in group if entry[0]]
        dated: list[tuple[tuple[int, ...], datetime.date, Dated]] = [
            ((), date, each) for _, date, each in group if date != datetime.date.min
        ]
        for some in (numbered, [] if any(_is_series(entry[2]) for entry in group) else dated):
            if len(some) > 1 and len({entry[:2] for entry in some}) > 1:
                *older, newest = sorted(some, key=lambda entry: entry[:2])
                yield from ((entry[2], newest[2]) for entry in older if entry[:2] != newest[:2])
                break


def _is_series(document: Dated) -> bool:
    return bool(_SERIES.search(f"{document.title} {title_of_file(document.file_name)}"))


def _base_and_version(document: Dated) -> tuple[str, tuple[int, ...], datetime.date | None]:
    """A document's title without what tells its versions apart, and that."""
    name = title_of_file(document.file_name)
    version = _VERSION.search(document.title) or _VERSION.search(name)
    if version is not None and _YEAR.fullmatch(version[1]):
        version = None  # The edition of 2021 is older than one that holds since 2025: years are dates.
    years = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", f"{document.title} {name}")
    date = first_date(document.title) or (datetime.date(max(map(int, years)), 1, 1) if years else None)
    text = document.title if _words_of(document.title) else name
    text = _VERSION.sub(" ", re.sub(r"\([^)]*\)", " ", text))
    text = re.sub(r"(?<!\w)(?:19|20)\d\d(?:[-/.]\d{1,2})*(?!\w)", " ", text)
    base = " ".join(sorted(_words_of(text) - set(_MONTH) - {"old", "new", "draft", "final", "neu", "alt"}))
    return base, _version_number(version[1]) if version else (), date


def _version_number(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else ord(part.lower()) - 96 for part in text.split("."))


_FILLERS = frozenset(
    "the and all earlier previous former older version versions this that of for from die der das den alle frühere "
    "la le les du de des précédente précédent il lo gli el los las het een as laid down in is are with".split()
)


def _words_of(text: str) -> set[str]:
    plain = unicodedata.normalize("NFKC", text).lower().replace("_", " ")
    return {word for word in re.findall(r"[^\W_]+", plain) if len(word) > 1 or word.isdigit()}
