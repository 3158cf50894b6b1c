"""Rules: the sentences of a document that change figures.

In: sections, and what each paragraph names. Out: `Rule`s. A sentence is a rule when it says what counts and what does
not, what a word means, how something is computed, converted, rounded or dated, which of several systems or fields is
right, or what a code or format stands for, and speaks of data or business at all. A rule is general when it holds for
every figure (tests, deletions, currencies, time zones, calendars, rounding), and else about what it names.
Understands English, German, French, Italian, Spanish and Dutch by their commonest words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from coset.evidence.documents.nameable import Mention
from coset.evidence.documents.sections import Section

Scope = Literal["general", "particular"]
IsBusiness = Callable[[str], bool]
LONGEST_RULE = 600
"""Characters of a paragraph that is kept whole; of a longer one, only its sentences that are rules."""
MOST_ABOUT = 30
SURE, LIKELY = 2, 1
"""Signs that make a sentence a rule: by itself, and beside other rules."""
RULING = 0.4
"""The share of a document's paragraphs that are rules, from which on it is a document of rules."""
SHORT = 25
"""Characters of a paragraph ("To all departments.") that says nothing of what a document is."""


@dataclass(frozen=True)
class Rule:
    section: str
    paragraph: int
    text: str
    scope: Scope
    about: tuple[str, ...]


def _cue(words: Sequence[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(words) + r")\b", re.IGNORECASE)


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
RULE_WORDS = yaml.load(Path(__file__).with_name("rule_words.yaml").read_text(encoding="utf-8"), _LOADER)  # noqa: S506
_COUNTING, _COMPUTING, _MEANING = (
    _cue(RULE_WORDS["counting"]),
    _cue(RULE_WORDS["computing"]),
    _cue(RULE_WORDS["meaning"]),
)
_TIMING, _PRECEDENCE, _DUTY = _cue(RULE_WORDS["timing"]), _cue(RULE_WORDS["precedence"]), _cue(RULE_WORDS["duty"])
_OBLIGES, _STORY = _cue(RULE_WORDS["obliges"]), _cue(RULE_WORDS["story"])
_BUSINESS, _TALK = _cue(RULE_WORDS["business"]), _cue(RULE_WORDS["talk"])
_EVERY_FIGURE, _ALL_BELOW = _cue(RULE_WORDS["every_figure"]), _cue(RULE_WORDS["all_below"])
_GENERAL_TOPICS = tuple(_cue(words) for words in RULE_WORDS["general_topics"].values())

_CODING = re.compile(
    r"\b\w{1,12}\s*=\s*[\w\"'“]|\b[A-Z0-9]{1,5}\s*\((?:[^)]{3,40})\)|\b\d+\s*(?:digits?|characters?|stellen|chiffres|cifre|letters?)\b|leading zeros?|"
    r"\bprefix\b|\bsuffix\b|\bcheck digit\b|\bcode[ds]?\b|\bflag(?:ged)?\b|\bmarked\b|\bday before month\b|"
    r"\b(?:ends?|ending|starts?|starting|beginning) (?:in|with)\b|\bpräfix\b|\bkennzeichen\b|\bschlüssel\b|\bcodes?\b|\bcodici?\w*\b|\bstatut\b|\bstato\b|\bstatus\b",
    re.IGNORECASE,
)
_OF_ITSELF = re.compile(
    r"^(?:this|diese[rs]?|cette|ce|quest[oa]|deze|est[ea]) (?:\w+ )?(?:version|note|document|circular|memo|guideline|policy|manual|fassung|richtlinie|"
    r"circulaire|procédure|nota|circolare|versione|procedura|versie)\b.{0,60}\b(?:replaces|supersedes|ersetzt|remplace|annule|sostituisce|reemplaza|vervangt)\b|"
    r"^(?:from|to|owner|author|date|issue|version|status|subject|approved|distribution|present|attendees|apologies|supplier|contact|von|an|betreff|"
    r"datum|anwesend|entschuldigt|lieferant|anbieter|kontakt|objet|date|présents?|excusée?s?|fournisseur|oggetto|da|presenti|assenti|fornitore|"
    r"asistentes|proveedor|aanwezig|afwezig|leverancier)\s*:|"
    r"^[^.]{0,60}\b(?:issue|version|edition|rev|ausgabe|fassung|last edited)\b[^.]{0,30}\.?$|"
    r"^(?:these|the following|diese|die folgenden|ces|les) (?:rules|regeln|règles) (?:hold|apply|are|gelten|valent|s'appliquent)\b|"
    r"^queste regole (?:valgono|si applicano)\b|^(?:replaces|supersedes|ersetzt|remplace|sostituisce|vervangt)\b.{0,40}$|"
    r"^(?:in force|valid|gültig|en vigueur|in vigore) (?:from|since|ab|à partir|depuis|dal)\b.{0,30}$|^(?:to|an|à|a) (?:all|alle|tous|tutti)\b.{0,40}$",
    re.IGNORECASE,
)
"""What a document says of itself, not of figures."""
_FOR_ALL = re.compile(
    r"\b(?:these rules|the following rules|the following|they|diese regeln|sie|ces règles|elles|queste regole|esse|estas reglas|"
    r"deze regels|zij|ze) (?:hold|apply|gelten|s'appliquent|valent|valgono|si applicano|valen|se aplican|gelden)\b[^.]{0,40}\b"
    r"(?:every|all|any|jede[rsnm]?|alle[rsn]?|tous|toutes?|chaque|tutt[ieoa]|ogni|tod[ao]s?|cada|elke?)\b",
    re.IGNORECASE,
)
"""At the beginning of a document: all of its rules are for every figure."""
_DESCRIBES_SYSTEM = re.compile(
    r"\b(?:is|are|was|ist|sind|est|sont|è|sono|es|son|zijn)\s+(?:(?:the|our|a|an|der|die|das|ein|eine|unser\w*|le|la|l'|les|un|une|"
    r"notre|il|lo|una|nostr[oa]|el|nuestr[oa]|de|het|een|in|also|still|now)\s+)*(?:[\w'’/&-]+\s+){0,4}?"
    r"(?:systems?|databases?|applications?|software|warehouses?|tools?|platforms?|exports?|dumps?|drives?|servers?|modules?|products?|"
    r"packages?|datenbank|anwendung|système|logiciel|base de données|sistema|programma|applicazione|systeem)\b|"
    r"\b(?:holds|contains?|stores?|sends?|delivers? one|consists? of|comprises?|runs? on|runs? in|was (?:introduced|bought|installed|built)|enthält|enthalten|"
    r"umfasst|contient|contiennent|stocke|contiene|contengono|contienen|bevat)\b",
    re.IGNORECASE,
)
"""What a system is and holds: not yet what counts, or which of two is right."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|does|do|did|can|may|must|shall|should|will|means?|counts?|goes?|go|take|takes?|use|uses|"
    r"stands?|comes?|gets?|give[sn]?|follows?|applies|apply|replaces?|wins?|beats?|divide|multiply|round|convert|add|ist|sind|wird|werden|"
    r"hat|haben|gilt|gelten|zählt|zählen|est|sont|compte|comptent|ont|doit|è|sono|vale|valgono|conta|contano|ha|hanno|es|son|"
    r"not|never|only|without|except|with|nicht|nur|ohne|jamais|sans|non|solo|senza|no|sin|niet|[a-z]{3,}ed)\b|=|[<>≥≤%]",
    re.IGNORECASE,
)
DEFINITION = re.compile(
    r"^(?:[-*•]\s*)?[\"“„«]?[^\W\d][^:.;\n]{2,60}?[\"”“»]?\s*(?::|=|–|—| - )\s+\S|^\|\s*[^\W\d][^|\n]{2,60}\|\s*\S"
)
_ANAPHORA = re.compile(
    r"^(?:it|its|they|their|them|this|that|these|those|such|both|the same|er|sie|es|diese[rs]?|il|elle|ils|elles|ce|cela|esso|essa|questi?|queste)\b",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|no|nr|vs|incl|excl|approx|resp|ca|z\.b|d\.h|bzw|usw|p\.ex|art|sect|st|dr|mr|inc|ltd)|\b[A-Za-z]|(?<![\w.,-])\d{1,2})\.$",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph, list markers staying with the first."""
    found: list[str] = []
    for part in re.split(r"(?<=[.!?])\s+(?=[^a-zàâäéèêëîïôöûüç\s])", " ".join(text.split())):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return [each for each in found if each.strip()]


def strength(sentence: str, *, named: bool, is_business: IsBusiness) -> int:
    """How many signs there are that a sentence changes figures. `named`: it names something of the data."""
    if len(_WORDS.findall(sentence)) < 3 or sentence.rstrip().endswith("?") or _OF_ITSELF.match(sentence):
        return 0
    if not named and (_TALK.search(sentence) or not _speaks_of_business(sentence, is_business)):
        return 0
    if _is_heading(sentence, named=named):
        return 0
    ruled = any(cue.search(sentence) for cue in (_COUNTING, _COMPUTING, _OBLIGES))
    if not ruled and (_DESCRIBES_SYSTEM.search(sentence) or _STORY.search(sentence)):
        return 0
    cues = ((_COUNTING, 2), (_COMPUTING, 1), (_MEANING, 1), (_TIMING, 1), (_PRECEDENCE, 1), (_CODING, 1), (_DUTY, 1))
    signs = sum(weight for cue, weight in cues if cue.search(sentence))
    return signs + bool(DEFINITION.match(sentence)) + named


def _speaks_of_business(sentence: str, is_business: IsBusiness) -> bool:
    return bool(_BUSINESS.search(sentence)) or any(is_business(word) for word in _WORDS.findall(sentence))


_WORDS = re.compile(r"[^\W\d_]+")
LONGEST_HEADING = 9
"""Words."""


def _is_heading(text: str, *, named: bool) -> bool:
    """Words that only say what is spoken of: few, without an end, without a verb or a number that rules."""
    text = re.sub(r"^(?:[\dIVX]+[.)]|[-*•#§]+|[\d.]+)\s*", "", text.strip())
    if len(_WORDS.findall(text)) > LONGEST_HEADING or text.endswith((".", "!", ";")):
        return False
    return text.endswith(":") or not (named or _VERB.search(text) or re.search(r"\d|:\s", text))


def find_rules(
    sections: Mapping[str, Section],
    mentions: Iterable[Mention],
    about_all: Sequence[str] = (),
    sources: Iterable[str] = (),
    is_business: IsBusiness = lambda word: False,
) -> list[Rule]:
    """The rules of one document's sections by their references. `about_all`: what the document names at all, for rules
    that name nothing themselves but are about something. A paragraph that begins with one of the `sources` and a colon
    describes it, and is no rule. `is_business`: whether a word of any language is one that data are called by."""
    described = re.compile(
        rf"^(?:[-*•]\s*)?(?:{'|'.join(map(re.escape, sources)) or '$^'})\s*(?:\([^)]*\))?\s*[:–]\s", re.I
    )
    by_place: dict[tuple[str, int], list[Mention]] = {}
    for mention in mentions:
        by_place.setdefault((mention.section, mention.paragraph), []).append(mention)
    judged = {
        (reference, number): [("", 0)]
        if described.match(paragraph)
        else _judged(paragraph, by_place.get((reference, number), ()), is_business)
        for reference, section in sections.items()
        for number, paragraph in enumerate(section.paragraphs)
    }
    _rows_of_tables(sections, judged)
    ruling = [any(each >= SURE for _, each in parts) for parts in judged.values() if len(parts[0][0]) > SHORT]
    # In a document most of whose paragraphs are rules, a weaker sign is enough.
    least = LIKELY if ruling and sum(ruling) >= RULING * len(ruling) else SURE
    for_all = any(_FOR_ALL.search(text) for section in list(sections.values())[:1] for text in section.paragraphs)
    found: list[Rule] = []
    for reference, section in sections.items():
        texts = [
            (number, text)
            for number in range(len(section.paragraphs))
            for text in _texts(judged[reference, number], least)
        ]
        found += _scoped(_rules_of_section(reference, section, texts, by_place, for_all), about_all)
    return found


def _rules_of_section(
    reference: str,
    section: Section,
    texts: Iterable[tuple[int, str]],
    by_place: Mapping[tuple[str, int], Sequence[Mention]],
    for_all: bool,
) -> list[Rule]:
    """The sentences of a section that are rules, each with what it is about by its words, else by the title's."""
    title = " / ".join(section.title_path)
    is_general = for_all or bool(_ALL_BELOW.search(title) or _EVERY_FIGURE.search(title))
    titled = _about(by_place.get((reference, -1), []))
    rules: list[Rule] = []
    for number, text in texts:
        here = by_place.get((reference, number), [])
        inside = [each for each in here if each.words.lower() in text.lower() or each.how in {"source", "reading"}]
        about = _about(inside) or titled
        general = is_general or _is_general(text, any("/" in each for each in about))
        rules.append(Rule(reference, number, text, "general" if general else "particular", about))
    return rules


def _scoped(rules: Sequence[Rule], about_all: Sequence[str]) -> Iterator[Rule]:
    """Where most rules of a section are general, so are the others that name nothing; the rest are about what their
    document names."""
    mostly = 2 * sum(rule.scope == "general" for rule in rules) >= max(len(rules), 3)
    for rule in rules:
        names_something = any("/" in reference for reference in rule.about)
        scope: Scope = "general" if mostly and not names_something else rule.scope
        about = rule.about if rule.about or scope == "general" else tuple(about_all)[:MOST_ABOUT]
        yield Rule(rule.section, rule.paragraph, rule.text, scope, about)


def _rows_of_tables(sections: Mapping[str, Section], judged: dict[tuple[str, int], list[tuple[str, int]]]) -> None:
    """Where at least half of the rows of a table are rules, the others below its head are as well."""
    for reference, section in sections.items():
        rows = [number for number, text in enumerate(section.paragraphs) if text.lstrip().startswith("|")][1:]
        ruled = [number for number in rows if any(each >= SURE for _, each in judged[reference, number])]
        if ruled and 2 * len(ruled) >= len(rows):
            for number in set(rows) - set(ruled):
                judged[reference, number] = [(text, SURE) for text, _ in judged[reference, number]]


def _about(mentions: Sequence[Mention]) -> tuple[str, ...]:
    objects = [each.target for each in mentions if each.how != "source"]
    return tuple(dict.fromkeys(objects or [each.target for each in mentions]))[:MOST_ABOUT]


def _judged(paragraph: str, mentions: Sequence[Mention], is_business: IsBusiness) -> list[tuple[str, int]]:
    names = [each.words.lower() for each in mentions if each.how != "source"]
    return [
        (part, strength(part, named=any(name in part.lower() for name in names), is_business=is_business))
        for part in sentences(paragraph)
    ] or [("", 0)]


def _texts(parts: Sequence[tuple[str, int]], least: int) -> Iterator[str]:
    """The rules of a paragraph: the whole of it when it is short and mostly rules, else runs of its sentences."""
    enough = LIKELY if any(signs >= SURE for _, signs in parts) else least
    judged = [signs >= enough for _, signs in parts]
    texts = [part for part, _ in parts]
    for number in range(1, len(texts)):
        # A heading of a few words ("Tests.") and what a pronoun leads on are one with their neighbour.
        leads = _ANAPHORA.match(texts[number]) or len(_WORDS.findall(texts[number - 1])) <= 4
        if judged[number] and leads:
            judged[number - 1] = True
        if judged[number - 1] and _ANAPHORA.match(texts[number]):
            judged[number] = True
    whole = " ".join(texts)
    if any(judged) and len(whole) <= LONGEST_RULE and 2 * sum(judged) >= len(judged):
        yield whole
        return
    run: list[str] = []
    for part, rule in zip([*texts, ""], [*judged, False], strict=True):
        if rule and len(" ".join([*run, part])) <= LONGEST_RULE:
            run.append(part)
            continue
        if run:
            yield " ".join(run)
        run = [part] if rule else []


def _is_general(text: str, named: bool) -> bool:
    """Whether a rule is for every figure: it says so, or it is about a matter of all figures and names nothing."""
    return bool(_EVERY_FIGURE.search(text)) or (not named and any(topic.search(text) for topic in _GENERAL_TOPICS))
