r"""How a key may be written, and the DuckDB expression that reads it back.

A form is a pile of layers. Writing goes from the first to the last, reading from the last to the first, so that
`#CUST_007  ` (zero padding, prefix, case, stray character, blanks) reads back as `7`. A layer may touch a share of the
rows only. Two columns of one domain join when both are read back: the expressions of both sides give the same text.

`Domain` says which layers a set of keys allows: none is offered that would not read back exactly. Whether it really
does is measured later on the written files.
"""

from __future__ import annotations

import datetime
import random
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from .sql import literal

LayerKind = Literal[
    "case", "separators", "numeric", "zero_padding", "date", "piece", "prefix", "suffix", "stray_characters", "padding"
]  # fmt: skip
SEPARATORS = "-/_. "
DATE_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%Y%m%d", "%b %d, %Y", "%Y/%m/%d")
TELLING = (
    "piece", "date", "prefix_swap", "prefix", "suffix", "separators", "zero_padding", "numeric", "case",
    "stray_characters", "padding",
)  # fmt: skip
_PADDINGS = (("trailing", " "), ("trailing", "  "), ("leading", " "), ("both", " "))


@dataclass(frozen=True)
class Layer:
    """`how` is the kind's own setting: a prefix, a width, a date format, `upper`, `removed`, ..."""

    kind: LayerKind
    how: str
    share: float = 1.0

    def write(self, text: str, rng: random.Random) -> str:
        if self.share < 1 and rng.random() >= self.share:
            return text
        match self.kind:
            case "case":
                return {"upper": text.upper(), "lower": text.lower(), "kept": text}[self.how]
            case "separators":
                if self.how == "removed":
                    return text.translate(str.maketrans("", "", SEPARATORS))
                return re.sub(r"(?<=.)(?=(?:...)+$)", "-", text) if self.how == "inserted" else text
            case "numeric":
                return f"{text}.0" if self.how == "decimal" else text
            case "zero_padding":
                return text.zfill(int(self.how))
            case "date":
                return write_day(datetime.date.fromisoformat(text), self.how)
            case "piece":
                # The year goes with the key, so that one key is one code wherever it stands.
                year = 2018 + zlib.crc32(text.encode()) % 7
                return f"{self.how}/{year}/{text.zfill(6) if text.isdigit() else text}"
            case "prefix":
                return self.how + text
            case "suffix":
                return text + self.how
            case "stray_characters":
                return self.how + text
            case "padding":
                side, blanks = self.how.split(":")
                return (blanks if side != "trailing" else "") + text + (blanks if side != "leading" else "")

    def read(self, sql: str) -> str:
        match self.kind:
            case "case":
                return f"lower({sql})"
            case "separators":
                return f"translate({sql}, {literal(SEPARATORS)}, '')"
            case "numeric":
                return f"regexp_replace({sql}, '\\.0$', '')" if self.how == "decimal" else sql
            case "zero_padding":
                return f"ltrim({sql}, '0')"
            case "date":
                return f"strftime(try_strptime({sql}, {literal(self.how)}), '%Y-%m-%d')"
            case "piece":
                return f"regexp_replace({sql}, {literal(f'^{self.how}/[0-9]{{4}}/0*')}, '')"
            case "prefix":
                return f"regexp_replace({sql}, {literal('^' + re.escape(self.how))}, '')"
            case "suffix":
                return f"regexp_replace({sql}, {literal(re.escape(self.how) + '$')}, '')"
            case "stray_characters":
                return f"ltrim({sql}, {literal(self.how)})"
            case "padding":
                return f"trim({sql})"


def write_key(text: str, layers: Iterable[Layer], rng: random.Random) -> str:
    for layer in layers:
        text = layer.write(text, rng)
    return text


def read_key(sql: str, layers: tuple[Layer, ...]) -> str:
    """The expression that gives the canonical text of a key column or literal."""
    for layer in reversed(layers):
        sql = layer.read(sql)
    return sql


def write_day(day: datetime.date, form: str) -> str:
    """strftime without the machine's language."""
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][day.month - 1]
    return day.strftime(form.replace("%b", month).replace("%Y", f"{day.year:04d}"))


@dataclass(frozen=True)
class Domain:
    """All texts that a set of joinable columns holds, and what may be done with them."""

    texts: frozenset[str]

    @cached_property
    def has_letters(self) -> bool:
        return any(re.search("[A-Za-z]", text) for text in self.texts)

    @cached_property
    def is_integer(self) -> bool:
        """Whole numbers above zero, so that zeros in front mean nothing."""
        return bool(self.texts) and all(re.fullmatch("[1-9][0-9]{0,13}", text) for text in self.texts)

    @cached_property
    def is_day(self) -> bool:
        return bool(self.texts) and all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) for text in self.texts)

    @cached_property
    def is_tidy(self) -> bool:
        """Plain characters without blanks at the ends or signs that a layer uses."""
        return bool(self.texts) and all(
            re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9 _./-]*[A-Za-z0-9])?", text) for text in self.texts
        )

    @cached_property
    def ignores_case(self) -> bool:
        """Whether keys stay apart when case is ignored (and lower-casing means the same to Python and to SQL)."""
        ascii_only = all(text.isascii() for text in self.texts)
        return ascii_only and self.has_letters and len({text.lower() for text in self.texts}) == len(self.texts)

    @cached_property
    def ignores_separators(self) -> bool:
        """Whether keys stay apart, and none vanishes, when separators are taken out. Dates have their own layer."""
        if self.is_day or not self.is_tidy:
            return False
        stripped = {text.translate(str.maketrans("", "", SEPARATORS)) for text in self.texts}
        return len(stripped) == len(self.texts) and all(any(c.isdigit() for c in text) for text in stripped)


@dataclass(frozen=True)
class Reading:
    """What the columns of one domain have in common: whether case and separators count."""

    case: bool = False
    separators: bool = False

    def canonical(self, text: str) -> str:
        if self.case:
            text = text.lower()
        if self.separators:
            text = text.translate(str.maketrans("", "", SEPARATORS))
        return text


def choose_reading(domain: Domain, rng: random.Random, share: float) -> Reading:
    return Reading(
        case=domain.ignores_case and not domain.is_day and rng.random() < share,
        separators=domain.ignores_separators and rng.random() < share,
    )


def choose_layers(
    domain: Domain,
    reading: Reading,
    rng: random.Random,
    *,
    label: str,
    structure_share: float,
    speck_share: float,
    speck_rows: float,
    keeps_blanks: bool,
) -> tuple[Layer, ...]:
    """Layers for one column. `keeps_blanks` is False for an engine whose readers take blanks around numbers away."""
    layers: list[Layer] = []
    if reading.case:
        how = rng.choice(["kept", "upper", "lower"])
        changes = any(Layer("case", how).write(text, rng) != text for text in domain.texts)
        layers.append(Layer("case", how if changes else "kept"))
    if reading.separators:
        has = any(set(text) & set(SEPARATORS) for text in domain.texts)
        layers.append(Layer("separators", rng.choice(["kept", "removed"] if has else ["kept", "inserted"])))
    plain = not any(layer.how != "kept" for layer in layers)
    numbers = domain.is_integer and not any(layer.how == "inserted" for layer in layers)
    textual = not domain.is_integer and not domain.is_day
    if rng.random() < structure_share:
        code = re.sub("[^a-z]", "", label.lower()) or "key"
        offered: list[list[Layer]] = []
        if domain.is_day:
            offered += [[Layer("date", form)] for form in DATE_FORMATS]
        if numbers and plain:
            width = max(len(text) for text in domain.texts) + rng.randrange(2, 4)
            offered += [
                [Layer("numeric", "text")], [Layer("numeric", "decimal")], [Layer("zero_padding", str(width))],
                [Layer("zero_padding", str(width)), Layer("prefix", f"{code[:4].upper()}-")],
                [Layer("piece", code.upper()[:3])],
            ]  # fmt: skip
        if domain.is_tidy and not domain.is_day:
            # A zero in front of a textual key belongs to it, but a piece is read without its zeros.
            if textual and plain and not any(text.startswith("0") for text in domain.texts):
                offered.append([Layer("piece", code.upper()[:3])])
            offered += [
                [Layer("prefix", f"{code}_")],
                [Layer("prefix", f"{code}id_")],
                [Layer("suffix", f"_{code[:2]}")],
            ]
            offered += [[Layer("prefix", f"{code[:4]}_")]]
        if offered:
            layers += rng.choice(offered)
            textual = textual or layers[-1].kind in {"prefix", "suffix", "piece"}
    if domain.is_tidy and rng.random() < speck_share:
        if rng.random() < 0.6:
            layers.append(Layer("stray_characters", rng.choice("#*"), round(speck_rows * rng.uniform(0.5, 1.5), 3)))
            textual = True
        if (keeps_blanks or textual) and rng.random() < 0.6:
            side, blanks = rng.choice(_PADDINGS)
            layers.append(Layer("padding", f"{side}:{blanks}", round(speck_rows * rng.uniform(0.5, 1.5), 3)))
    return tuple(layers)


def join_kinds(left: tuple[Layer, ...], right: tuple[Layer, ...]) -> list[str]:
    """What differs between the two ways of writing, the most telling first; `identity` where nothing does."""
    # A number as text is the same text: whether that matters is for the types of the columns to say.
    left, right = (tuple(layer for layer in side if layer != Layer("numeric", "text")) for side in (left, right))
    kinds: set[str] = set()
    for one, other in ((left, right), (right, left)):
        kinds |= {layer.kind for layer in one if layer not in other or layer.share < 1}
    prefixes = [[layer.how for layer in side if layer.kind == "prefix"] for side in (left, right)]
    if all(prefixes) and prefixes[0] != prefixes[1]:
        kinds = (kinds - {"prefix"}) | {"prefix_swap"}
    return [kind for kind in TELLING if kind in kinds] or ["identity"]
