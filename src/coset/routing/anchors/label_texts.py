"""Sentences that say what a code stands for: `P = paid`, `Breast Invasive Carcinoma (BRCA)`, `1: yes; 2: no`.

In: a text. Out: pairs of a code and a label as they are written. Whether a pair is to be believed is for the caller,
who knows the data.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST_LABEL = 80
_VERBS = r"means|stands for|is short for|denotes|indicates|refers to"
_SAYS = re.compile(rf"=>?|->|→|:|\s[-–—]\s|\s(?:{_VERBS})\s")
"""What stands between a code and its label. Only there is the text before and after looked at: texts may be long."""
_CODE_BEFORE = re.compile(
    r"(?:^|[\n,;|(•*\[{]|[.:-] |\bor |\band )\s*[\"'`“]?([A-Za-z0-9][A-Za-z0-9_.+/-]{0,15})[\"'`”]?\s*$"
)
_LABEL_AFTER = re.compile(r"\s*[\"'`“]?([^\n,;|()\[\]{}\"”=]{2,80})")
_SAYS_MORE = re.compile(rf"\s(?:{_VERBS})\s|[:→]|->")
LOOK_BACK = 32
_CODE_IN_BRACKETS = re.compile(r"\((?P<code>[A-Z][A-Z0-9-]{1,11})\)")
MOST_BEFORE, MOST_WORDS = 120, 8
"""So many characters and words before a code in brackets may be its label."""
_LABEL_IN_BRACKETS = re.compile(
    r"(?<![\w-])(?P<code>[A-Z0-9][A-Z0-9-]{0,11})\s*\((?P<label>[^\W\d_][^()\n=:;]{2,80})\)"
)  # fmt: skip
_ENDS = re.compile(r"\s+(?:and|or|while|which|where|otherwise)$|\.\s.*$|[.\s'\"`”*]+$", re.DOTALL)
_SMALL = frozenset(("of", "and", "the", "for", "in", "on", "de", "la", "&", "to", "with"))


def label_pairs(text: str) -> list[tuple[str, str]]:
    """(code, label) of every sentence that says so, each once, in order."""
    found: dict[tuple[str, str], None] = {}
    for match in _SAYS.finditer(text):
        code = _CODE_BEFORE.search(text[max(0, match.start() - LOOK_BACK) : match.start()])
        after = _LABEL_AFTER.match(text, match.end()) if code else None
        said = re.split(r"[.!?]\s", after[1])[0] if after else ""
        if code and said and not _SAYS_MORE.search(said):
            _add(found, code[1], said)
    for match in _LABEL_IN_BRACKETS.finditer(text):
        _add(found, match["code"], match["label"])
    for match in _CODE_IN_BRACKETS.finditer(text):
        before = re.split(r"[\n.;:()]", text[max(0, match.start() - MOST_BEFORE) : match.start()])[-1]
        if label := _before(before.split()[-MOST_WORDS:], match["code"]):
            _add(found, match["code"], label)
    return list(found)


def listed_pairs(text: str, known: Collection[str]) -> list[tuple[str, str]]:
    """`P paid, S sent, C cancelled`: a list whose entries each begin with a code that is known."""
    found = []
    for piece in re.split(r"[,;\n|]", text):
        first, _, rest = piece.strip().partition(" ")
        if first in known and rest.strip():
            found.append((first, _trimmed(rest)))
    return [pair for pair in found if pair[1]] if len(found) >= 2 else []


def _before(words: list[str], code: str) -> str:
    """Of the words before a code in brackets, those that it stands for: as many as it has letters when their initials
    are the code; else the run of capitalised words; else from the nearest word with its first letter."""
    letters = code.replace("-", "")
    tail = words[-len(letters) :]
    if len(tail) == len(letters) and all(word[0].upper() == letter for word, letter in zip(tail, letters, strict=True)):
        return " ".join(tail)
    begin = len(words)
    while (
        begin and (words[begin - 1][0].isupper() or words[begin - 1] in _SMALL) and not words[begin - 1].endswith(",")
    ):
        begin -= 1
    while begin < len(words) and words[begin] in _SMALL:
        begin += 1
    if begin == len(words):
        begin = max((place for place, word in enumerate(words) if word[0].upper() == code[0]), default=len(words))
    return " ".join(words[begin:])


def _add(found: dict[tuple[str, str], None], code: str, label: str) -> None:
    label = _trimmed(label)
    if label and label.lower() != code.lower() and any(letter.isalpha() for letter in label):
        found.setdefault((code.strip("."), label))


def _trimmed(label: str) -> str:
    before = None
    label = label.strip()
    while before != label:
        before, label = label, _ENDS.sub("", label).strip(" \t'\"`“”*-–")
    return label[:LONGEST_LABEL] if len(label) >= 2 else ""
