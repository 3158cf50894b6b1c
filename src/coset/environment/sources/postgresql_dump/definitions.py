"""What the statements of a PostgreSQL dump define: tables with columns and keys, domains, comments.

In: the text of one statement. Out: small dataclasses with native names, folded as PostgreSQL folds them.
Nothing is executed. Nothing here knows the file, the rows, or DuckDB's types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from coset.sql_text import identifier

Name = tuple[str | None, str]
"""A schema, where one is written, and a name."""


@dataclass(frozen=True)
class PgType:
    """A type as the dump writes it. `name` is in lower case, words separated by one blank, unless it was quoted."""

    name: str
    text: str
    schema: str | None = None
    modifiers: tuple[int, ...] = ()
    array: bool = False


TEXT = PgType("text", "text")


@dataclass(frozen=True)
class Default:
    """`literal`: the value is known (None is NULL); `computed`: only a server can tell."""

    kind: Literal["literal", "computed"]
    value: str | None = None


NO_DEFAULT = Default("literal")
COMPUTED = Default("computed")


@dataclass
class ColumnDefinition:
    name: str
    type: PgType
    nullable: bool = True
    default: Default = NO_DEFAULT
    generated: bool = False
    """GENERATED ALWAYS AS (expression): a dump never holds its values."""


@dataclass(frozen=True)
class Reference:
    columns: tuple[str, ...]
    table: Name
    references_columns: tuple[str, ...]
    """Empty: the primary key of the other table."""


@dataclass
class TableDefinition:
    name: Name
    columns: list[ColumnDefinition] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    references: list[Reference] = field(default_factory=list)
    inherits: list[Name] = field(default_factory=list)
    like: list[Name] = field(default_factory=list)
    partition_of: Name | None = None
    of_type: Name | None = None
    foreign: bool = False


class Token(NamedTuple):
    kind: Literal["word", "quoted", "string", "number", "symbol"]
    value: str
    """A word in lower case; a quoted name or string without its quotes and escapes."""


class Malformed(Exception):
    """A statement that does not read as it should; the text says at what."""


def _token_pattern(inside_string: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        (?P<blank>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
        |(?P<escape>[eE]'(?:[^'\\]|\\.|'')*')
        |(?P<string>(?:[bBxXnN]|[uU]&)?'(?:{inside_string}|'')*')
        |(?P<dollar>(?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?P=tag))
        |(?P<quoted>(?:[uU]&)?"(?:[^"]|"")*")
        |(?P<word>[^\W\d][\w$]*)
        |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)
        |(?P<symbol>::|.)
        """,
        re.X | re.S,
    )


_STANDARD_TOKEN = _token_pattern(r"[^']")
_ESCAPING_TOKEN = _token_pattern(r"[^'\\]|\\.")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|''", re.S)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unescape_string(body: str) -> str:
    """The text of an E'' string, given what stands between its quotes."""
    if "\\" not in body:
        return body.replace("''", "'")
    if not re.search(r"\\[0-7x]", body):
        return _ESCAPE.sub(_unescaped, body)
    # Octal and hexadecimal escapes are bytes, and only several together may make a character.
    as_bytes = _ESCAPE.sub(_unescaped_byte, body)
    return as_bytes.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _unescaped(match: re.Match[str]) -> str:
    if match[3] or match[4]:
        return chr(int(match[3] or match[4], 16))
    if match[5]:
        return _ESCAPED.get(match[5], match[5])
    return "'"


def _unescaped_byte(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        byte = (int(match[1], 8) if match[1] else int(match[2], 16)) & 0xFF
        return bytes([byte]).decode("utf-8", "surrogateescape")
    return _unescaped(match)


def tokenize(statement: str, backslash_escapes: bool = False) -> list[Token]:
    """`backslash_escapes`: standard_conforming_strings is off, so a plain string is read as an E'' string."""
    tokens: list[Token] = []
    for match in (_ESCAPING_TOKEN if backslash_escapes else _STANDARD_TOKEN).finditer(statement):
        kind, text = match.lastgroup, match[0]
        if kind == "word":
            tokens.append(Token("word", text.lower()))
        elif kind == "symbol":
            tokens.append(Token("symbol", text))
        elif kind == "quoted":
            tokens.append(Token("quoted", text[text.index('"') + 1 : -1].replace('""', '"')))
        elif kind == "escape":
            tokens.append(Token("string", unescape_string(text[2:-1])))
        elif kind == "string":
            tokens.append(Token("string", _string(text, backslash_escapes)))
        elif kind == "tag":  # lastgroup names the last group that took part: the tag inside the dollar string
            tag = match["tag"]
            tokens.append(Token("string", text[len(tag) : -len(tag)]))
        elif kind == "number":
            tokens.append(Token("number", text))
    return tokens


def _string(text: str, backslash_escapes: bool) -> str:
    prefix, _, rest = text.partition("'")
    body = rest[:-1].replace("''", "'")
    if prefix in {"x", "X"}:
        return "".join(f"{int(digit, 16):04b}" for digit in body)
    if prefix in {"U&", "u&"}:
        return re.sub(r"\\(?:\\|\+([0-9a-fA-F]{6})|([0-9a-fA-F]{4}))", _unicode_escape, body)
    return unescape_string(rest[:-1]) if backslash_escapes else body


def _unicode_escape(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16)) if match[1] or match[2] else "\\"


class Tokens:
    """A statement read from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self.position = 0

    @property
    def left(self) -> bool:
        return self.position < len(self._tokens)

    def peek(self, ahead: int = 0) -> Token:
        position = self.position + ahead
        return self._tokens[position] if position < len(self._tokens) else Token("symbol", "")

    def next(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether these words or symbols come next."""
        ahead = self._tokens[self.position : self.position + len(words)]
        if len(ahead) < len(words):
            return False
        for token, word in zip(ahead, words, strict=True):
            if token.value != word or token.kind not in {"word", "symbol"}:
                return False
        return True

    def accept(self, *words: str) -> bool:
        if self.at(*words):
            self.position += len(words)
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise Malformed(f"'{word}' is missing before '{self.peek().value}'")

    def identifier(self) -> str:
        token = self.next()
        if token.kind not in {"word", "quoted"}:
            raise Malformed(f"a name is missing before '{token.value}'")
        return token.value

    def name(self) -> Name:
        parts = [self.identifier()]
        while self.accept("."):
            parts.append(self.identifier())
        return (parts[-2] if len(parts) > 1 else None, parts[-1])

    def dotted(self) -> list[str]:
        parts = [self.identifier()]
        while self.accept("."):
            parts.append(self.identifier())
        return parts

    def identifiers(self) -> tuple[str, ...]:
        """(a, b, c)"""
        self.expect("(")
        found: list[str] = []
        while not self.accept(")"):
            found.append(self.identifier())
            if not self.accept(","):
                self.expect(")")
                break
        return tuple(found)

    def skip_parentheses(self) -> None:
        """Past the parenthesis that closes the one that comes next."""
        depth = 0
        while self.left:
            token = self.next()
            if token.kind == "symbol":
                depth += (token.value in "([") - (token.value in ")]")
                if depth == 0:
                    return
        raise Malformed("a parenthesis is not closed")

    def skip_item(self) -> None:
        """Up to the comma or closing parenthesis that ends this item of a list."""
        while self.left and not (self.peek().kind == "symbol" and self.peek().value in {",", ")"}):
            if self.at("(") or self.at("["):
                self.skip_parentheses()
            else:
                self.next()


_SEVERAL_WORDS = {"character", "char", "national", "nchar", "double", "bit", "timestamp", "time", "interval"}
_FURTHER_WORDS = {
    "character", "char", "varying", "precision", "with", "without", "time", "zone", "local",
    "year", "month", "day", "hour", "minute", "second", "to",
}  # fmt: skip
_COLUMN_CLAUSES = {
    "constraint", "not", "null", "default", "generated", "primary", "unique", "references", "check", "collate",
    "storage", "compression", "options", "deferrable", "initially", "exclude", "using",
}  # fmt: skip


def parse_type(tokens: Tokens) -> PgType:
    first = tokens.peek()
    schema, name = tokens.name()
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name)
    words, shown, modifiers = [name], [name if plain else identifier(name)], list[int]()
    several = first.kind == "word" and schema is None and name in _SEVERAL_WORDS
    while True:
        if tokens.at("("):
            start = tokens.position
            tokens.skip_parentheses()
            inside = "".join(tokens.peek(index).value for index in range(start + 1 - tokens.position, -1))
            if re.fullmatch(r"-?\d+(,-?\d+)*", inside):
                modifiers = [int(number) for number in inside.split(",")]
            shown[-1] += f"({inside})"
        elif several and tokens.peek().kind == "word" and tokens.peek().value in _FURTHER_WORDS:
            words.append(tokens.next().value)
            shown.append(words[-1])
        else:
            break
    array = False
    while tokens.at("[") or tokens.at("array"):
        array = True
        if tokens.at("["):
            tokens.skip_parentheses()
        else:
            tokens.next()
    schema = None if schema == "pg_catalog" else schema
    text = (f"{schema}." if schema else "") + " ".join(shown) + ("[]" if array else "")
    return PgType(" ".join(words), text, schema, tuple(modifiers), array)


def parse_create_table(tokens: Tokens) -> TableDefinition | None:
    """`tokens` stand behind the words CREATE ... TABLE. None for CREATE TABLE ... AS, which has no columns to read."""
    tokens.accept("if", "not", "exists")
    table = TableDefinition(tokens.name())
    if tokens.accept("partition", "of"):
        table.partition_of = tokens.name()
        if tokens.at("("):
            tokens.skip_parentheses()
        return table
    if tokens.accept("of"):
        table.of_type = tokens.name()
        if tokens.at("("):
            tokens.skip_parentheses()
        return table
    if not tokens.at("("):
        return None
    tokens.next()
    while not tokens.accept(")"):
        if not tokens.left:
            raise Malformed("the list of columns is not closed")
        _parse_table_item(tokens, table)
        tokens.skip_item()
        tokens.accept(",")
    if tokens.accept("inherits"):
        tokens.expect("(")
        while not tokens.accept(")"):
            table.inherits.append(tokens.name())
            tokens.accept(",")
    while tokens.left:
        if tokens.at("(") or tokens.at("["):
            tokens.skip_parentheses()
        elif tokens.next() == Token("word", "as"):
            return None
    return table


def _parse_table_item(tokens: Tokens, table: TableDefinition) -> None:
    if tokens.accept("like"):
        table.like.append(tokens.name())
        return
    if tokens.accept("constraint"):
        tokens.identifier()
        parse_table_constraint(tokens, table)
        return
    follower = tokens.peek(1)
    starts_constraint = (
        tokens.at("primary", "key")
        or tokens.at("foreign", "key")
        or tokens.at("unique")
        or tokens.at("check")
        or (tokens.at("exclude") and follower.value in {"using", "("})
    )
    if starts_constraint:
        parse_table_constraint(tokens, table)
        return
    table.columns.append(parse_column(tokens, table))


def parse_table_constraint(tokens: Tokens, table: TableDefinition) -> None:
    """A primary or foreign key, or NOT NULL; others say nothing that is kept."""
    if tokens.accept("primary", "key"):
        if tokens.at("("):
            table.primary_key = tokens.identifiers()
    elif tokens.accept("foreign", "key"):
        columns = tokens.identifiers()
        tokens.expect("references")
        other = tokens.name()
        table.references.append(Reference(columns, other, tokens.identifiers() if tokens.at("(") else ()))
    elif tokens.accept("not", "null"):
        name = tokens.identifier()
        for column in table.columns:
            if column.name == name:
                column.nullable = False


def parse_column(tokens: Tokens, table: TableDefinition) -> ColumnDefinition:
    """One column, up to the comma behind it; keys written with the column go to `table`."""
    column = ColumnDefinition(tokens.identifier(), parse_type(tokens))
    if column.type.name in {"serial", "bigserial", "smallserial", "serial2", "serial4", "serial8"}:
        column.default, column.nullable = COMPUTED, False
    while tokens.left and not tokens.at(",") and not tokens.at(")"):
        if tokens.accept("constraint"):
            tokens.identifier()
        elif tokens.accept("not", "null"):
            column.nullable = False
        elif tokens.accept("primary", "key"):
            table.primary_key = (column.name,)
            column.nullable = False
        elif tokens.accept("references"):
            other = tokens.name()
            columns = tokens.identifiers() if tokens.at("(") else ()
            table.references.append(Reference((column.name,), other, columns))
        elif tokens.accept("default"):
            column.default = parse_default(tokens)
        elif tokens.accept("generated"):
            while tokens.left and not tokens.accept("as"):
                tokens.next()
            if tokens.at("identity"):
                column.default, column.nullable = COMPUTED, False
            else:
                column.generated = True
        elif tokens.at("(") or tokens.at("["):
            tokens.skip_parentheses()
        else:
            tokens.next()
    return column


def parse_default(tokens: Tokens) -> Default:
    """The value of a DEFAULT clause where it is a plain literal, perhaps with a cast."""
    start = tokens.position
    if tokens.at("("):
        tokens.skip_parentheses()
    else:
        tokens.next()
    while tokens.left and not tokens.at(",") and not tokens.at(")"):
        if tokens.peek().kind == "word" and tokens.peek().value in _COLUMN_CLAUSES:
            break
        if tokens.at("(") or tokens.at("["):
            tokens.skip_parentheses()
        else:
            tokens.next()
    end, tokens.position = tokens.position, start
    value = parse_literal(tokens)
    known = value is not None and tokens.position == end
    tokens.position = end
    return Default("literal", value.value) if known and value else COMPUTED


@dataclass(frozen=True)
class KnownValue:
    """A value that needs no server; None is NULL."""

    value: str | None


def parse_literal(tokens: Tokens) -> KnownValue | None:
    """A string, number, truth value or NULL with any casts; None where only a server can evaluate what stands here."""
    sign = ""
    wrapped = 0
    while tokens.accept("("):
        wrapped += 1
    while tokens.at("-") or tokens.at("+"):
        sign = "-" if (tokens.next().value == "-") != bool(sign) else ""
    token = tokens.next()
    if token.kind == "word" and tokens.peek().kind == "string" and not sign:
        token = tokens.next()  # DATE '2020-01-01'
    value: KnownValue
    if token.kind == "number":
        value = KnownValue(sign + token.value)
    elif sign:
        return None
    elif token.kind == "string":
        value = KnownValue(token.value)
    elif token == Token("word", "null"):
        value = KnownValue(None)
    elif token in {Token("word", "true"), Token("word", "false")}:
        value = KnownValue(token.value)
    elif token == Token("word", "cast") and tokens.accept("("):
        inner = parse_literal(tokens)
        if inner is None or not tokens.accept("as"):
            return None
        parse_type(tokens)
        tokens.expect(")")
        value = inner
    elif token == Token("word", "array") and tokens.at("["):
        array = _parse_array(tokens)
        if array is None:
            return None
        value = KnownValue(array)
    else:
        return None
    while True:
        if tokens.accept("::"):
            parse_type(tokens)
        elif wrapped and tokens.accept(")"):
            wrapped -= 1
        else:
            break
    return None if wrapped else value


def _parse_array(tokens: Tokens) -> str | None:
    """ARRAY['a', NULL] as the text of an array value."""
    tokens.expect("[")
    parts: list[str] = []
    while not tokens.accept("]"):
        if tokens.at("[") or tokens.at("array"):
            tokens.accept("array")
            inner = _parse_array(tokens)
            if inner is None:
                return None
            parts.append(inner)
        else:
            literal = parse_literal(tokens)
            if literal is None:
                return None
            text = literal.value
            parts.append("NULL" if text is None else '"' + re.sub(r'(["\\])', r"\\\1", text) + '"')
        if not tokens.accept(",") and not tokens.at("]"):
            return None
    return "{" + ",".join(parts) + "}"
