"""Text that is dirty in itself: padding and stray characters, mixed case, broken encoding.

In: a column as observed. Out: diagnostics with the expression that cleans it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import duckdb

from coset.evidence.quality.observed import BLANKS, LONGEST, Observed, as_text, reads_as_null, tried
from coset.sql_text import literal
from coset.state.objects import Diagnostic

_INVISIBLE = re.compile("[\u00a0\u202f\u2007\u200b-\u200f\u2060\ufeff\u00ad\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_INVISIBLE_SQL = (
    r"[\x{00a0}\x{202f}\x{2007}\x{200b}-\x{200f}\x{2060}\x{feff}\x{00ad}\x{0001}-\x{0008}\x{000b}\x{000c}"
    r"\x{000e}-\x{001f}\x{007f}]"
)
_SPACE_LIKE = "\u00a0\u202f\u2007"
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”|`[^`]*`")
_LEADING = re.compile(r"^[#'`*~^@_,;:|.]+(?=\w)")
_TRAILING = re.compile(r"(?<=\w)[#'`*~^,;:|_]+$")
MOST_SHARE = 0.95
"""A sign on more of the values than this belongs to how they are written."""


def padding(observed: Observed) -> Diagnostic | None:
    found = [
        (text, count) for text, bare, count in observed.bare_texts if bare and len(text) <= LONGEST and text != bare
    ]
    rows = sum(count for _, count in found)
    only_blanks = sum(count for text, bare, count in observed.bare_texts if text and not bare)
    exact = observed.padded - only_blanks if observed.complete or not only_blanks else 0
    if not found and exact <= 0:
        return None
    share = observed.exact(exact) if not observed.complete and exact > 0 else observed.share(rows)
    leading = sum(count for text, count in found if text != text.lstrip(BLANKS))
    where = "before" if leading == rows and rows else ("before and after" if leading else "after")
    return Diagnostic(
        kind="padding",
        share=share,
        detail=f"Blanks stand {where} the value, so equal values compare as different.",
        expression=observed.bare_text(),
        type="VARCHAR",
        examples=tuple(text for text, _ in found[:5]),
    )


def stray_characters(connection: duckdb.DuckDBPyConnection, observed: Observed) -> list[Diagnostic]:
    texts = [(text.strip(" "), count) for text, bare, count in observed.bare_texts if bare]
    total = sum(count for _, count in texts)
    found = []
    invisible = [
        (text, count)
        for text, count in texts
        if not text.isprintable() and _INVISIBLE.search(text) and not is_damaged(text)
    ]
    if invisible:
        kinds = Counter(f"U+{ord(sign):04X}" for text, _ in invisible for sign in set(_INVISIBLE.findall(text)))
        column = as_text(observed.name, observed.type)
        spaced = f"translate({column}, {literal(_SPACE_LIKE)}, '   ')"
        expression = f"trim(regexp_replace({spaced}, {literal(_INVISIBLE_SQL)}, '', 'g'))"
        after = tried(connection, observed.name, [text for text, _ in invisible[:50]], expression)
        if not any(text and _INVISIBLE.search(text) for text in after):
            found.append(
                Diagnostic(
                    kind="stray_characters",
                    share=observed.share(sum(count for _, count in invisible)),
                    detail=f"Invisible characters inside the values: {', '.join(sorted(kinds))}.",
                    expression=expression,
                    type="VARCHAR",
                    examples=tuple(text[:80] for text, _ in invisible[:5]),
                )
            )
    # In prose a sign at either end is punctuation.
    short = [(text, count) for text, count in texts if len(text) <= 60]
    if (
        sum(count for _, count in short) >= 0.9 * total
        and sum(text.count(" ") * count for text, count in short) <= 3 * total
    ):
        for pattern, sql, words in ((_LEADING, "^[{}]+", "before"), (_TRAILING, "[{}]+$", "after")):
            diagnostic = _at_end(observed, short, total, pattern, sql, words)
            if diagnostic:
                found.append(diagnostic)
        diagnostic = _in_quotes(observed, short, total)
        if diagnostic:
            found.append(diagnostic)
    return found


def _at_end(
    observed: Observed, texts: list[tuple[str, int]], total: int, pattern: re.Pattern[str], sql: str, words: str
) -> Diagnostic | None:
    marked: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for text, count in texts:
        match = pattern.search(text)
        if match and not _QUOTED.fullmatch(text):
            for sign in set(match[0]):
                marked[sign].append((text, pattern.sub("", text), count))
    if not marked:
        return None
    plain = {text for text, _ in texts}
    lengths = Counter(_shape(text) for text in plain)
    kept = []
    for sign, cases in marked.items():
        rows = sum(count for _, _, count in cases)
        if rows > MOST_SHARE * total:
            continue
        # It is stray when the value without it is a value of the column, or written like most of the others.
        alike = sum(
            count for _, bare, count in cases if bare in plain or lengths[_shape(bare)] >= max(3, 0.05 * len(plain))
        )
        known = sum(count for _, bare, count in cases if bare in plain)
        identifier_like = any(any(letter.isdigit() for letter in bare) for _, bare, _ in cases)
        if rows >= 2 and alike >= 0.8 * rows and (known or identifier_like):
            kept.append((sign, cases, rows))
    if not kept:
        return None
    signs = "".join(sign for sign, _, _ in kept)
    rows = sum({text: count for _, cases, _ in kept for text, _, count in cases}.values())
    wanted = sql.format("".join(f"\\{sign}" if sign in "^]-\\" else sign for sign in signs))
    return Diagnostic(
        kind="stray_characters",
        share=observed.share(rows),
        detail=f"Some values have a stray {' or '.join(signs)} {words} them that the others lack.",
        expression=f"regexp_replace({observed.bare_text()}, {literal(wanted)}, '')",
        type="VARCHAR",
        examples=tuple(text for _, cases, _ in kept for text, _, _ in cases[:3]),
    )


def _in_quotes(observed: Observed, texts: list[tuple[str, int]], total: int) -> Diagnostic | None:
    quoted = [
        (text, count) for text, count in texts if len(text) > 2 and text[0] in "\"'“`" and _QUOTED.fullmatch(text)
    ]
    rows = sum(count for _, count in quoted)
    if not rows or (rows < 3 and not {text[1:-1] for text, _ in quoted} & {text for text, _ in texts}):
        return None
    return Diagnostic(
        kind="stray_characters",
        share=observed.share(rows),
        detail=f"{'All' if rows == total else 'Some'} values stand in quotation marks.",
        expression=f"trim({observed.bare_text()}, {literal(chr(34) + chr(39) + '“”`')})",
        type="VARCHAR",
        examples=tuple(text for text, _ in quoted[:5]),
    )


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", text))


PROSE = 60
"""Texts longer than this on average are prose, which is not compared as a whole."""


def mixed_case(observed: Observed) -> Diagnostic | None:
    texts: Counter[str] = Counter()
    for _, bare, count in observed.bare_texts:
        if bare and len(bare) <= LONGEST and reads_as_null(bare) is None:
            texts[bare] += count
    if len({text.lower() for text in texts}) == len(texts):
        return None
    written = Counter(text.lower() for text in texts)
    mixed: dict[str, Counter[str]] = {}
    for text, count in texts.items():
        if written[text.lower()] > 1:
            mixed.setdefault(text.lower(), Counter())[text] += count
    # Case carries information in mixed codes (aB3x), and prose repeats by chance.
    mixed = {key: group for key, group in mixed.items() if not _is_code(key, group)}
    if not mixed or sum(map(len, written)) > PROSE * len(written):
        return None
    minor = sum(sum(group.values()) - max(group.values()) for group in mixed.values())
    commonest = sorted(mixed.values(), key=lambda group: -sum(group.values()))
    shown = "; ".join(" = ".join(f"'{text[:40]}'" for text, _ in group.most_common(3)) for group in commonest[:3])
    return Diagnostic(
        kind="mixed_case",
        share=observed.share(minor),
        detail=f"{len(mixed)} {'values differ' if len(mixed) > 1 else 'value differs'} only in letter case: {shown}.",
        expression=f"lower({observed.bare_text()})",
        type="VARCHAR",
        examples=tuple(text for group in commonest[:3] for text, _ in group.most_common(2)),
    )


def _is_code(key: str, group: Counter[str]) -> bool:
    digits = any(letter.isdigit() for letter in key)
    if not digits or " " in key:
        return False
    return any(not (text.isupper() or text.islower() or text.istitle()) for text in group)


_DAMAGE = re.compile("[ÃÂâÐÑÅÄÎÏ×Ø][\u0080-\u00bf\u0152-\u0178\u02c6-\u02dc\u2013-\u2122]+|\ufffd|â€")


def is_damaged(text: str) -> bool:
    return not text.isascii() and any(_mended(piece) is not None for piece in _DAMAGE.findall(text))


def encoding(connection: duckdb.DuckDBPyConnection, observed: Observed) -> Diagnostic | None:
    pieces: Counter[str] = Counter()
    rows = lost = 0
    examples = []
    for text, count in observed.texts():
        if text.isascii():
            continue
        found = [piece for piece in _DAMAGE.findall(text) if piece == "\ufffd" or _mended(piece) is not None]
        if not found:
            continue
        rows += count
        lost += count if "\ufffd" in found else 0
        pieces.update(piece for piece in found if piece != "\ufffd")
        examples.append(text[:80])
    if not rows:
        return None
    expression = None
    if pieces:
        # Longer pieces first, so that a piece is not mended inside another.
        expression = as_text(observed.name, observed.type)
        for piece in sorted((each for each, _ in pieces.most_common(40)), key=lambda each: (-len(each), each)):
            expression = f"replace({expression}, {literal(piece)}, {literal(_mended(piece) or piece)})"
        tried(connection, observed.name, examples[:5], expression)
    detail = "Text was decoded with the wrong encoding"
    if pieces:
        detail += " (" + ", ".join(f"'{piece}' is '{_mended(piece)}'" for piece, _ in pieces.most_common(4)) + ")"
    if lost:
        detail += f"; in {lost / max(1, observed.looked_at):.1%} characters are lost for good (U+FFFD)"
    return Diagnostic(
        kind="encoding",
        share=observed.share(rows),
        detail=detail + ".",
        expression=expression,
        type="VARCHAR" if expression else None,
        examples=tuple(examples[:5]),
    )


def _mended(piece: str) -> str | None:
    for name in ("cp1252", "latin-1"):
        try:
            mended = piece.encode(name).decode("utf-8")
        except UnicodeError:
            continue
        if len(mended) < len(piece):
            return mended
    return None
