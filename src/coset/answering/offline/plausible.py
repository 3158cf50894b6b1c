"""Implausible plans: what could be computed, but is not what anybody means, and is therefore declined.

In: the question, its chunks and slots, the plan. Out: why the plan is not believed, in one sentence, or nothing. The
grammar finds a place for every word; these rules look at what came of it: a measure that only plays a role, a price per
piece that is added up, a verb (`were sold`) that would choose rows and has chosen none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coset.answering.offline.catalogue import Known, is_number, name_words
from coset.answering.offline.lexicon import QUANTITY_WORDS, UNIT_WORDS
from coset.answering.offline.parse_conditions import Slots
from coset.answering.offline.plan import Condition, Linked, Output, Plan
from coset.answering.offline.resolve_names import is_date
from coset.answering.offline.tokenize import Chunk
from coset.readings.words import singular
from coset.routing.anchors.spelling import stem

MEASURED = re.compile(r"\b(?:most|fewest|least|total|sum of|average|mean)\s+(?:number of\s+|of\s+|the\s+)*(\w+)", re.I)
"""What is measured: `the most units`, `the average price`."""
ONE_NUMBER = re.compile(
    r"(what|how much)\b.{0,20}?\b(is|was|are|were)?\s*(the|our)?\s*"
    r"(total|sum|overall|combined|average|mean|highest|lowest|maximum|minimum|largest|smallest|number)\b(?!.*\b(each|per|every)\b)",
    re.IGNORECASE,
)
"""Questions with one number as their answer."""
WHICH_ARE_THERE = re.compile(
    r"(?:in )?(?:which|what)\b(?!.*\b(?:most|least|highest|lowest|more|fewer)\b).*\b(?:are there|do we have|exist)\W*$",
    re.IGNORECASE,
)
PER_PIECE = frozenset(
    "unit per rate percent pct percentage ratio average avg mean age year score rating rank latitude longitude".split()  # noqa: SIM905
    + "temperature".split()  # noqa: SIM905
)
"""Words of a column whose values say something of each row, and nothing when they are added up."""
GENERAL = frozenset(
    "amount value price cost fee charge rate quantity total number size count year time length money".split()  # noqa: SIM905
)
"""Words for a measure that many things have."""
TIMES = frozenset(("year", "month", "day", "week", "quarter", "hour"))
MOST_OF_A_LINK = 4
"""A table of more columns is no mere link: what it links may stand in several of its rows."""
DEALINGS = frozenset(
    """sold sell sells buy buys bought purchase purchases purchased ordered returned ship shipped deliver
    delivered book booked rent rented hire hired use used serve served handle handled""".split()  # noqa: SIM905
)
"""Verbs of dealings with a thing, which have rows of their own: `products that were sold` are not all products."""


@dataclass(frozen=True)
class Reading:
    """A question as it was understood."""

    question: str
    chunks: Sequence[Chunk]
    slots: Slots
    plan: Plan
    known: Known

    @property
    def measures(self) -> list[Output]:
        """Columns that are computed with, or ordered by."""
        computed = [output for output in self.plan.outputs if output.function not in (None, "count")]
        return [each for each in (*computed, self.plan.order) if each is not None and each.column is not None]

    @property
    def said(self) -> set[str]:
        return {stem(word) for word in re.findall(r"\w+", self.question.lower())}

    def words(self, output: Output) -> tuple[str, ...]:
        return name_words(self.known.columns[output.column or ""].name)


def implausible(reading: Reading) -> str:
    """Why a plan is not believed; empty when it is."""
    return next((why for rule in RULES if (why := rule(reading))), "")


def wants_one_number(question: str, plan: Plan) -> bool:
    """`What is the total refund?`, where nothing is asked per group."""
    return not plan.groups and ONE_NUMBER.match(question.strip()) is not None


def asks_which_there_are(question: str) -> bool:
    """`Which categories are there?` asks for each once."""
    return WHICH_ARE_THERE.match(question.strip()) is not None


def _measures_another(reading: Reading) -> str:
    """`The most units` is no cost, though `unit_cost` begins with the word: what a name only qualifies is not what it
    measures."""
    measured = {stem(word.lower()) for word in MEASURED.findall(reading.question)}
    columns = (*reading.plan.outputs, reading.plan.order)
    for output in (each for each in columns if each is not None and each.column is not None):
        column = reading.known.columns[output.column or ""]
        words = [stem(word) for word in reading.words(output)]
        heads = [word for word in words if word not in _UNITS] or [w for w in words if w not in _SIGNS] or words
        if is_number(column) and len(words) > 1 and measured & set(words[:-1]) and heads[-1] not in reading.said:
            return f"the question measures something else than {column.name}"
    return ""


def _only_a_role(reading: Reading) -> str:
    """`Revenue` is no refund, though both are amounts of money: a measure must be named by what it is called."""
    how: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    for chunk in reading.chunks:
        for named in chunk.named if chunk.kind == "column" else ():
            how.setdefault(named.reference, set()).add(named.how)
            texts[named.reference] = chunk.text
    for output in reading.measures:
        column = reading.known.columns[output.column or ""]
        role = column.roles.get("attribute")
        if how.get(column.reference) == {"role"} and not (
            role is not None and role.identity == "quantity" and QUANTITY_WORDS & set(reading.words(output))
        ):
            return f"no column is called '{texts[column.reference]}': {column.name} only plays such a role"
    return ""


def _adds_up_what_is_per_piece(reading: Reading) -> str:
    for output in reading.measures:
        words = set(reading.words(output))
        if output.function == "sum" and words & PER_PIECE and not (words & {"total", "amount"}):
            return f"{reading.known.columns[output.column or ''].name} says something of each row: it is not added up"
    return ""


def _ignores_a_dealing(reading: Reading) -> str:
    """`How many different products were sold` are not all products: the verb chooses rows, by a table that the plan
    does not read."""
    words = re.findall(r"\w+", reading.question.lower())
    verb = next((word for word in words if word in DEALINGS), None)
    plan = reading.plan
    reads = {plan.table, *(reading.known.columns[output.column].table for output in plan.outputs if output.column)}
    held = " ".join(chunk.text.lower() for chunk in reading.chunks if chunk.kind in ("value", "operator")).split()
    if verb is None or verb in held or len(reads) > 1 or plan.filters or plan.both or plan.without or plan.groups:
        return ""
    if any(output.function not in (None, "count") for output in plan.outputs):
        return ""
    own = {stem(word) for table in reads for word in name_words(reading.known.tables[table].name)}
    own |= {stem(word) for column in reading.known.columns_of(plan.table) for word in name_words(column.name)}
    return "" if stem(verb) in own else f"'{verb}' would choose some of them, and nothing was understood of it"


def _ignores_a_group(reading: Reading) -> str:
    """`The school with the smallest enrolment in each state` is not one school."""
    plan = reading.plan
    own = {n.reference for chunk in reading.slots.each if chunk.kind == "table" for n in chunk.named}
    every_row = own == {plan.table} and plan.limit is None
    if reading.slots.each and not plan.groups and not plan.share and not every_row:
        return f"'each {reading.slots.each[0].text}' plays no part in what was understood"
    return ""


def _cannot_hold_together(reading: Reading) -> str:
    """`From France to Spain`: one column cannot be both."""
    equal: dict[str, set[object]] = {}
    for each in reading.plan.filters:
        if isinstance(each, Condition) and each.comparison in ("=", "in") and not each.negated and each.values:
            values = tuple(str(value).lower() for value in each.values)
            equal.setdefault(each.column, set()).add(values)
    twice = next((column for column, values in equal.items() if len(values) > 1), None)
    return f"{reading.known.columns[twice].name} cannot have two values at once" if twice else ""


def _gives_what_was_said(reading: Reading) -> str:
    """`What procedures cost less than 5000` asks for procedures, not for what they cost."""
    plan = reading.plan
    if plan.groups or plan.order or len(plan.outputs) != 1 or plan.outputs[0].function or not reading.chunks:
        return ""
    column = plan.outputs[0].column
    nouns = [chunk for chunk in reading.chunks if chunk.kind in ("table", "column")]
    asks = re.match(r"\s*(what|which)\s", reading.question, re.IGNORECASE) is not None
    restricted = any(
        isinstance(each, Condition) and each.column == column and each.comparison not in ("=", "in", "like")
        for each in plan.filters
    )
    if asks and restricted and nouns and nouns[0].kind == "table":
        return f"it is not clear by what '{nouns[0].text}' are to be listed"
    return ""


def _takes_a_word_for_a_number(reading: Reading) -> str:
    """`In one classroom` is any of them, not that of number 1."""
    for chunk in reading.chunks:
        if chunk.kind == "number" and chunk.text.lower() in ("one", "once") and chunk.number == 1:
            conditions = [each for each in reading.plan.filters if isinstance(each, Condition)]
            if any(1.0 in each.values and each.comparison == "in" for each in conditions):
                return f"'{chunk.text}' may be a number or mean any"
    return ""


def _leaves_words_together(reading: Reading) -> str:
    """`Their primary affiliation departments`: a column that only qualifies the table after it is not asked for."""
    asked = {id(each.noun) for each in reading.slots.asked}
    for one, other in zip(reading.chunks, reading.chunks[1:], strict=False):
        if one.kind == "column" and other.kind == "table" and id(one) in asked and len(reading.slots.asked) > 1:
            return f"it is not clear what '{one.text} {other.text}' are"
    if re.search(r"\b(that|those) of\b", reading.question, re.IGNORECASE):
        return "'that of' is not understood"
    return ""


def _lists_a_number(reading: Reading) -> str:
    """`What was our salary?` names no row: that of whom?"""
    plan = reading.plan
    if plan.groups or plan.order or plan.filters or plan.distinct or len(plan.outputs) != 1 or plan.outputs[0].function:
        return ""
    column = reading.known.columns[plan.outputs[0].column or ""]
    if is_number(column) and not any(chunk.kind == "table" for chunk in reading.chunks):
        return f"{column.name} has a number for each row of {column.table}: which is meant is not said"
    return ""


def _is_said_too_generally(reading: Reading) -> str:
    """`The total amount`, where a refund has one: other things have amounts as well."""
    if any(chunk.kind in ("table", "value") for chunk in reading.chunks) or len(reading.known.tables) < 2:
        return ""
    for output in reading.measures:
        column = reading.known.columns[output.column or ""]
        said = [tuple(re.findall(r"\w+", chunk.text.lower())) for chunk in reading.chunks if chunk.kind == "column"]
        words = [word for word in reading.words(output) if stem(word) not in _UNITS or word in GENERAL]
        if len(words) > 1 and any(len(each) == 1 and singular(each[0]) in GENERAL for each in said):
            return f"'{' '.join(said[0])}' may be that of other things than {column.name}"
    return ""


def _groups_by_another_time(reading: Reading) -> str:
    """`Per year` is a year of what happened, not a `model_year`."""
    for chunk in reading.slots.each:
        if singular(chunk.text.lower()) in TIMES:
            for group in reading.plan.groups:
                column = reading.known.columns[group]
                if [singular(word) for word in name_words(column.name)] != [singular(chunk.text.lower())]:
                    return f"'{chunk.text}' is not {column.name}"
    return ""


def _counts_what_links(reading: Reading) -> str:
    """`How many clients per make`: one client's twenty shipments are not twenty clients."""
    plan = reading.plan
    counts = [each for each in (*plan.outputs, plan.order) if each and each.function == "count" and not each.column]
    nouns = [each.noun for each in (*reading.slots.asked, *([reading.slots.order] if reading.slots.order else []))]
    counted = [noun for noun in nouns if noun.kind == "table"]
    if not counts or not plan.groups or any(plan.table == n.reference for noun in counted for n in noun.named):
        return ""
    own = [column for column in reading.known.columns_of(plan.table) if column.kind == "column"]
    if counted and len(own) > MOST_OF_A_LINK:
        return f"rows of {plan.table} would be counted, and one '{counted[0].text}' may have several"
    return ""


def _splits_what_is_said(reading: Reading) -> str:
    """`How many products are active` asks for one number."""
    plan = reading.plan
    asks = re.match(r"\s*(how many|how much|number of)\b", reading.question, re.IGNORECASE) is not None
    if asks and plan.groups and not reading.slots.each and plan.order is None:
        return f"it is not clear which value of {reading.known.columns[plan.groups[0]].name} is meant"
    return ""


def _takes_what_is_said_from_elsewhere(reading: Reading) -> str:
    """`How many invoices are active` says something of invoices, not of what their subscriptions are."""
    said = {word.lower() for word in re.findall(r"\b(?:is|are|was|were|been)\s+(?:\w+ly\s+)?(\w+)", reading.question)}
    for each in (each for each in reading.plan.filters if isinstance(each, Condition)):
        own = reading.known.columns[each.column].table == reading.plan.table
        if not own and any(str(value).lower() in said for value in each.values):
            return f"'{each.values[0]}' is no value of {reading.plan.table}"
    return ""


def _gives_all_for_the_first(reading: Reading) -> str:
    """`Which reason causes the highest refunds?` asks for one reason, not for the highest refund of each."""
    plan = reading.plan
    asks = re.match(r"\s*(which|what|who)\b", reading.question, re.IGNORECASE)
    most = re.search(
        r"(?<!at )\b(highest|lowest|largest|smallest|biggest|most|least)\b", reading.question, re.IGNORECASE
    )
    if asks and most and plan.groups and plan.order is None and plan.repeated is None and not reading.slots.each:
        return "the question asks for the first of several, and what was understood gives all of them"
    return ""


def _adds_up_nothing(reading: Reading) -> str:
    """`Which industry has the most employees?` asks for those of all its companies, not for the largest company."""
    plan, slots = reading.plan, reading.slots
    order = plan.order
    if not slots.order_by_links or plan.groups or order is None or order.column is None or order.function:
        return ""
    shown = [reading.known.columns[each.column] for each in plan.outputs if each.column]
    if shown and not any(column.unique for column in shown) and not slots.context:
        return f"it is not clear whether {reading.known.columns[order.column].name} is to be added up"
    return ""


def _takes_a_state_from_partners(reading: Reading) -> str:
    """`Active accounts` are not accounts of which one of the subscriptions is active, unless the question says so."""
    plan = reading.plan
    ways = reading.known.ways(plan.table)
    named = {n.reference for chunk in reading.chunks if chunk.kind == "table" for n in chunk.named}
    small = {chunk.text.lower() for chunk in reading.chunks if chunk.kind == "value" and chunk.text.islower()}
    for each in (each for each in plan.filters if isinstance(each, Condition)):
        table = reading.known.columns[each.column].table
        far = table in ways and not ways[table].to_one
        if far and table not in named and any(str(value).lower() in small for value in each.values):
            return f"'{each.values[0]}' is said of {table}, which the question does not name"
    return ""


def _goes_far(reading: Reading) -> str:
    """`The name of type RV`, where names of many things are kept, and a way to that type is found from some of them."""
    plan = reading.plan
    ways = reading.known.ways(plan.table)
    named = {n.reference for chunk in reading.chunks if chunk.kind == "table" for n in chunk.named}
    for each in (each for each in plan.filters if isinstance(each, Condition)):
        table = reading.known.columns[each.column].table
        if plan.table not in named and table in ways and len(ways[table].steps) > 1:
            return f"nothing says that {plan.table} is meant"
    return ""


def _takes_rows_for_values(reading: Reading) -> str:
    """`Which towns have no customers`: not the towns of some row that has none."""
    plan = reading.plan
    named = {n.reference for chunk in reading.slots.context if chunk.kind == "table" for n in chunk.named}
    lacks = any(isinstance(each, Linked) and each.negated for each in plan.filters)
    column = plan.outputs[0].column if len(plan.outputs) == 1 and not plan.outputs[0].function else None
    if lacks and column and plan.table not in named and not reading.known.columns[column].unique:
        return f"it is not clear whether a row of {plan.table} or a value of its column has none"
    return ""


def _asks_for_what_is_not_named(reading: Reading) -> str:
    """`Where are our depots?` and `vehicles from 2015`: a place or a moment that no word names."""
    asks = re.match(r"\s*(where|when|why)\b", reading.question, re.IGNORECASE)
    shown = [reading.known.columns[each.column] for each in reading.plan.outputs if each.column]
    if asks and not (asks[1].lower() == "when" and len(shown) == 1 and is_date(shown[0])):
        return f"'{asks[1]}' names no column"
    if re.search(r"\bfrom\s+\d{4}\b(?!.*\b(to|until|till|on|onwards?)\b)", reading.question, re.IGNORECASE):
        return "'from' may mean of that year or since then"
    return ""


_SIGNS = frozenset(map(stem, UNIT_WORDS))
_UNITS = frozenset(
    stem(word)
    for word in (*UNIT_WORDS, "percentage", "pct", "minutes", "seconds", "hours", "days", "years", "amount", "value")
)
RULES: tuple[Callable[[Reading], str], ...] = (
    _measures_another,
    _only_a_role,
    _adds_up_what_is_per_piece,
    _ignores_a_dealing,
    _ignores_a_group,
    _cannot_hold_together,
    _gives_what_was_said,
    _takes_a_word_for_a_number,
    _leaves_words_together,
    _lists_a_number,
    _is_said_too_generally,
    _groups_by_another_time,
    _counts_what_links,
    _splits_what_is_said,
    _takes_what_is_said_from_elsewhere,
    _gives_all_for_the_first,
    _adds_up_nothing,
    _takes_a_state_from_partners,
    _goes_far,
    _takes_rows_for_values,
    _asks_for_what_is_not_named,
)
