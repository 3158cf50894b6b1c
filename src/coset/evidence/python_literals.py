"""Python's literals in text (`{'name': "O'Neil", 'n': None}`) as JSON text, in DuckDB SQL alone.

In: a quoted column. Out: an expression that gives JSON text, or text that is no JSON where the literal has no
counterpart: sets, triple quotes, complex numbers. The text is cut into strings and what lies between them, so a quote,
`None` or a bracket inside a string is never mistaken for the real thing. Tuples and calls such as `Decimal('1.5')`
become lists; NaN and infinities become null. The expression does not know whether a text is a Python literal at all.
"""

from __future__ import annotations

from coset.sql_text import literal

_PIECES = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^'"]+"""
# Stands for an escaped backslash while other escapes are rewritten; JSON and Python's repr both escape this character.
_MARK = "chr(1)"
_SPECIAL = r"[\"\\\x00-\x1f]"
_WORDS = (
    ("None", "null"), ("True", "true"), ("False", "false"),
    ("nan", "null"), ("NaN", "null"), ("-inf", "null"), ("inf", "null"), ("-Infinity", "null"), ("Infinity", "null"),
)  # fmt: skip
_SIGNS = (
    (r"([{,]\s*)(-?\d+(?:\.\d+)?)\s*:", r'\1"\2":'),
    (r"\b[ubrUBR]$", ""),
    (r"(?:[A-Za-z_][\w.]*)?\(", "["),
    (r"\)", "]"),
    (r",\s*([\]}])", r"\1"),
)


def as_json_text(column: str) -> str:
    pieces = f"regexp_extract_all({column}, {literal('(?s)' + _PIECES)})"
    # Most pieces need nothing but other quotes, or nothing at all; only the rest pay for being rewritten.
    rewritten = " ".join(
        (
            "WHEN x IN (', ', ': ') THEN x",
            f"WHEN left(x, 1) NOT IN ('''', '\"') THEN {_between()}",
            f"WHEN regexp_matches(x[2:-2], {literal(_SPECIAL)}) THEN {_string()}",
            "ELSE '\"' || x[2:-2] || '\"'",
        )
    )
    return f"array_to_string(list_transform({pieces}, lambda x: CASE {rewritten} END), '')"


def _string() -> str:
    """A Python string of either quote as a JSON string."""
    text = "x[2:-2]"
    text = f"replace({text}, '\\\\', {_MARK})"
    text = f"replace(replace({text}, '\\''', ''''), '\\\"', '\"')"
    text = f"replace({text}, '\"', '\\\"')"
    text = f"regexp_replace({text}, '\\\\x([0-9a-fA-F]{{2}})', '\\\\u00\\1', 'g')"
    text = f"regexp_replace({text}, '\\\\U[0-9a-fA-F]{{8}}', '\\\\ufffd', 'g')"
    text = f"replace(replace(replace({text}, chr(10), '\\n'), chr(9), '\\t'), chr(13), '\\r')"
    text = f"replace({text}, {_MARK}, '\\\\')"
    return f"'\"' || {text} || '\"'"


def _between() -> str:
    """What lies between strings: Python's words for JSON's, square brackets for round ones, keys in quotes."""
    text = "x"
    for word, replacement in _WORDS:
        text = f"replace({text}, '{word}', '{replacement}')"
    for pattern, replacement in _SIGNS:
        text = f"regexp_replace({text}, {literal(pattern)}, {literal(replacement)}, 'g')"
    return text
