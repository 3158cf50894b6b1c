"""A semantic model as a page that people read: what there is, what it means, how it joins, what to mind.

In: a model. Out: Markdown. Written, not read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from coset.semantics.model import Dataset, Field, Relationship, SemanticModel

_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")
MOST_CODES = 30


def to_markdown(model: SemanticModel) -> str:
    return "\n".join(_lines(model)).rstrip() + "\n"


def _lines(model: SemanticModel) -> Iterator[str]:
    yield f"# {_plain(model.name)}"
    yield ""
    if model.description:
        yield from (_plain(model.description), "")
    if model.rules:
        yield from ("## Rules", "")
        for rule in model.rules:
            about = f"{', '.join(_plain(each) for each in rule.about)}: " if rule.about else ""
            yield f"- {about}{_plain(rule.text)}" + (f" *({_plain(rule.source)})*" if rule.source else "")
        yield ""
    if model.metrics:
        yield from ("## Figures", "")
        for metric in model.metrics:
            said = f": {_plain(metric.description)}" if metric.description else ""
            where = f" where {_code(metric.condition)}" if metric.condition else ""
            yield f"- **{_plain(metric.name)}**{said} {_code(metric.expression)}{where}"
        yield ""
    joins: dict[str, list[str]] = defaultdict(list)
    for join in model.relationships:
        joins[join.left].append(_join(join))
        if join.right != join.left:
            joins[join.right].append(_join(join))
    for dataset in model.datasets:
        yield from _dataset(dataset, joins[dataset.name])


def _dataset(dataset: Dataset, joins: list[str]) -> Iterator[str]:
    yield f"## {_plain(dataset.name)}"
    yield ""
    facts = [dataset.label, dataset.description, "" if dataset.rows is None else f"{dataset.rows:,} rows"]
    facts.append(f"also {', '.join(dataset.synonyms)}" if dataset.synonyms else "")
    facts.append(f"copies: {', '.join(dataset.copies)}" if dataset.copies else "")
    if said := ". ".join(_plain(each.rstrip(".")) for each in facts if each):
        yield from (f"{said}.", "")
    if dataset.fields:
        yield "| column | type | means | role | values |"
        yield "| --- | --- | --- | --- | --- |"
        yield from (_field(each, each.name in dataset.primary_key) for each in dataset.fields)
        yield ""
    if joins:
        yield from (*(f"- {each}" for each in joins), "")


def _field(field: Field, is_key: bool) -> str:
    means = ". ".join(each for each in (field.label, field.description) if each)
    codes = [f"{code.value} = {code.label}" for code in field.codes[:MOST_CODES]]
    if len(field.codes) > MOST_CODES:
        codes.append(f"and {len(field.codes) - MOST_CODES} more")
    values = [", ".join(codes), f"codes of {field.code_list}" if field.code_list else "", *field.problems]
    said = [_plain("; ".join(each for each in values if each))]
    said += [f"cleaned by {_code(field.cleaned_by)}"] if field.cleaned_by else []
    name = _plain(field.name) + (" (key)" if is_key else "")
    cells = (name, _plain(field.type), _plain(means), _plain(field.role), "; ".join(each for each in said if each))
    return f"| {' | '.join(cells)} |"


def _join(join: Relationship) -> str:
    def side(dataset: str, columns: tuple[str, ...]) -> str:
        return ", ".join(f"{dataset}.{each}" for each in columns)

    text = f"{_plain(side(join.left, join.left_columns))} = {_plain(side(join.right, join.right_columns))}"
    facts = [join.cardinality]
    if join.left_match is not None and join.right_match is not None:
        facts.append(f"{100 * join.left_match:.0f} % and {100 * join.right_match:.0f} % match")
    text += f" ({', '.join(each for each in facts if each)})" if any(facts) else ""
    if join.left_expression or join.right_expression:
        text += f": {_code(join.left_expression)} = {_code(join.right_expression)}"
    return text


def _plain(text: str) -> str:
    """A text of any origin that Markdown shows as it is, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _code(sql: str) -> str:
    text = " ".join(sql.split()).replace("|", "\\|")
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}" if text else ""
