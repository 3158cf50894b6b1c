"""The guard of the query session: looks at every node of a statement before it may run.

In: the tree that DuckDB's own parser makes of a statement (`json_serialize_sql`), and a way to ask whether the
environment has a table. Out: the tables that the statement reads, or an error in one plain sentence.

Everything works by lists of what is known to be harmless: kinds of nodes and their fields (`statement_shapes.py`),
functions and types (`allowed_functions.toml`), tables (the environment's). What is on no list is refused, so a new
version of DuckDB can add syntax without opening a door. The engine's own locks (no external access, files attached
read-only) are the second wall.

Nothing here knows where tables come from, runs a statement, or starts the process in which untrusted text is parsed.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from coset.errors import NotAllowed, UserError
from coset.session.allowed import EXPRESSION_TYPES, SHAPES, Shape, lower, names

MAXIMUM_LENGTH = 100_000
MAXIMUM_DEPTH = 1_000
"""How deep nodes may lie inside each other; DuckDB's own limit for expressions is of the same size."""

_PARSE_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "lock_configuration": True,
    "threads": 1,
}


@dataclass(frozen=True)
class TableName:
    """A table as a statement names it; a part that the statement leaves out is empty."""

    catalog: str
    schema: str
    name: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.name) if part)


@dataclass(frozen=True)
class Checked:
    """A statement that may run: the tables it reads, each once, in the order of the tree.

    `words` are names without parentheses (`current_user`) that DuckDB takes for a call where no column is called so:
    the statement may run only when each is a column of one of its tables."""

    tables: tuple[TableName, ...]
    words: tuple[str, ...] = ()

    def check_words(self, columns: Collection[str]) -> None:
        """Refuse the words that are none of these columns (lower case), as the functions that they are."""
        for word in self.words:
            if word not in columns:
                _refuse_function(word, names().callable, "")


# --------------------------------------------------------------------------------------------------------------------
# What a refusal says
# --------------------------------------------------------------------------------------------------------------------

_WRITES = {
    "DELETE_QUERY_NODE": "DELETE",
    "INSERT_QUERY_NODE": "INSERT",
    "UPDATE_QUERY_NODE": "UPDATE",
    "MERGE_QUERY_NODE": "MERGE",
    "COPY_QUERY_NODE": "COPY",
}
_TOO_DEEP = "the statement is nested too deeply; split it into common table expressions (WITH)"
_TOO_DEEP_FOR_DUCKDB = "Max expression depth"
_SEE_SOURCES = "`coset sources` lists the tables and their columns"
_INTERNAL_SCHEMAS = {"information_schema", "pg_catalog"}
_INTERNAL_CATALOGS = {"system", "temp"}
_INTERNAL_VIEW = re.compile(r"(duckdb|pragma|pg|sqlite)_", re.IGNORECASE)
_FILE_LIKE = re.compile(
    r"[/\\*?]|\.(csv|tsv|txt|json|jsonl|ndjson|geojson|parquet|arrow|feather|ipc|orc|avro|xlsx?|duckdb|db|sqlite3?"
    r"|gz|bz2|xz|zst|zip|sql|log|ya?ml|env|ini|conf|py)$",
    re.IGNORECASE,
)
_HOLD_FUNCTIONS = {"main", "memory", "planned", "pushed", *_INTERNAL_SCHEMAS, *_INTERNAL_CATALOGS}
_CALLS_WITHOUT_PARENTHESES = {
    "current_catalog", "current_database", "current_role", "current_schema", "current_user", "session_user", "user",
}  # fmt: skip
"""Those that speak of the session; `current_date` and the like only tell the time."""
ATTACHED = "file_of_"
"""The name under which a DuckDB file is attached begins so."""
_COLLATION = re.compile(r"[A-Za-z_]+(\.[A-Za-z_]+)*")


def _refuse_node(kind: str, name: object) -> NoReturn:
    if name in _WRITES:
        raise NotAllowed(f"{_WRITES[str(name)]} is refused: coset only reads; write a SELECT without it")
    if name == "PARAMETER":
        raise NotAllowed("a parameter ($1, ?) is refused: there is nothing to fill it with; write the value itself")
    if name == "DEFAULT":
        raise NotAllowed("DEFAULT is refused: it belongs to INSERT, and coset only reads; write the value itself")
    raise NotAllowed(f"the statement uses '{name}' ({kind}), which is not on the list of what a query may hold")


def _refuse_function(name: str, allowed: frozenset[str], where: str) -> NoReturn:
    reason = names().why_refused(lower(name))
    if reason is not None:
        raise NotAllowed(f"the function '{name}' is refused: {reason}")
    close = difflib.get_close_matches(lower(name), allowed, n=1)
    hint = f"did you mean '{close[0]}'?" if close else "use one of DuckDB's own functions that only compute"
    raise NotAllowed(f"'{name}' is not among the functions that may be called{where}; {hint}")


# --------------------------------------------------------------------------------------------------------------------
# The walk
# --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scope:
    """Names of common table expressions that are visible: of this WITH those before `visible`, and all of `outer`.

    Like DuckDB: one sees those before it, not itself and not those after it; a recursive one sees itself in the part
    after UNION only, there also as `recurring.name`.
    """

    ctes: Mapping[str, int]
    visible: int
    outer: _Scope | None
    recursive: bool = False


def _sees(scope: _Scope | None, name: str, recurring: bool = False) -> bool:
    while scope is not None:
        if scope.ctes.get(name, scope.visible) < scope.visible and (scope.recursive or not recurring):
            return True
        scope = scope.outer
    return False


_Step = tuple[str, Mapping[str, Any], "_Scope | None", int]


def check(tree: Mapping[str, Any], known: Callable[[TableName], bool]) -> Checked:
    """The tables that the statement reads. Raises `NotAllowed` or `UserError` when it may not run.

    `known` says whether the environment has a table; it may raise a `UserError` of its own that says more.
    """
    if tree.get("error") is not False:
        raise _why_not_parsed(tree)
    statements = tree.get("statements") or []
    if not statements:
        raise UserError("the statement is empty; write one SELECT")
    if len(statements) > 1:
        raise NotAllowed(f"there are {len(statements)} statements; send one SELECT at a time")
    try:
        tables, words = _walk(statements[0])
    except (KeyError, IndexError, TypeError, AttributeError):
        raise NotAllowed("the statement's tree is not of the form that DuckDB 2.0 gives; it was not run") from None
    for table in tables:
        _check_known(table, known)
    return Checked(tuple(tables), tuple(words))


def _walk(statement: Mapping[str, Any]) -> tuple[list[TableName], list[str]]:
    """Look at every node; the tables found, and the words that may be calls. A loop, not a recursion: depth is an error
    message, never a crash."""
    tables: dict[TableName, None] = {}
    words: set[str] = set()
    aliases: set[str] = set()
    steps: list[_Step] = [("statement", statement, None, 0)]
    while steps:
        kind, node, scope, depth = steps.pop()
        if depth > MAXIMUM_DEPTH:
            raise UserError(_TOO_DEEP)
        shape = _shape_of(kind, node)
        children: list[_Step] = []
        if kind == "expression":
            _check_expression(node)
            words |= _word_of(node)
        elif kind == "table":
            table = _check_table(node, scope)
            if table is not None:
                tables[table] = None
        elif kind == "table_function":
            _check_table_function(node)
        elif kind == "query":
            scope = _enter_query(node, scope, depth, children)
        elif kind == "pivot" and node.get("pivot_enum"):
            raise NotAllowed(f"PIVOT over the type '{node['pivot_enum']}' is refused; write the values: IN ('a', 'b')")
        aliases |= {
            lower(name)
            for name in (node.get("alias"), *(node.get("column_name_alias") or ()), *(node.get("aliases") or ()))
            if name
        }
        for field, value in node.items():
            child = shape[field]
            if child == "":
                _require_plain(kind, field, value)
            elif value is not None and child != "cte_map":  # `_enter_query` has taken care of that one.
                within = _inside_recursion(node, scope) if kind == "query" and field == "right" else scope
                _append(children, child, value, within, depth + 1)
        children.reverse()
        steps += children
    return list(tables), sorted(words - aliases)


def _word_of(node: Mapping[str, Any]) -> set[str]:
    """A name that DuckDB takes for a call without parentheses, where that is no function that may be called."""
    path: Sequence[str] = node["column_names"] if node["class"] == "COLUMN_REF" else ()
    word = lower(path[0]) if len(path) == 1 else ""
    return {word} if word in _CALLS_WITHOUT_PARENTHESES else set()


def _shape_of(kind: str, node: Mapping[str, Any]) -> Shape:
    """The shape that a node has by what it says of itself, if that is on the list and the node has no other field."""
    shapes = SHAPES[kind]
    says = "" if "" in shapes else str(node.get("class" if kind in ("expression", "table_function") else "type"))
    shape = shapes.get(says)
    if shape is None:
        _refuse_node(kind, says)
    if not node.keys() <= shape.keys():
        _refuse_node(f"a new part of {says or kind}", ", ".join(sorted(node.keys() - shape.keys())))
    return shape


def _append(children: list[_Step], child: str, value: Any, scope: _Scope | None, depth: int) -> None:
    if not child.endswith("*"):
        children.append((child, value, scope, depth))
    elif child.endswith("**"):
        children.extend((child[:-2], node, scope, depth) for row in value for node in row)
    else:
        children.extend((child[:-1], node, scope, depth) for node in value)


def _require_plain(kind: str, field: str, value: Any) -> None:
    """A plain field holds texts, numbers, and lists of them; a node could not hide in it unseen."""
    if isinstance(value, dict):
        _refuse_node(kind, field)
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict) or (isinstance(item, list) and any(isinstance(i, dict | list) for i in item)):
                if field == "named_param_map":
                    _refuse_node("expression", "PARAMETER")
                _refuse_node(kind, field)


def _enter_query(node: Mapping[str, Any], scope: _Scope | None, depth: int, children: list[_Step]) -> _Scope | None:
    """What a query itself sees; its common table expressions go to `children`, each with what it sees."""
    cte_map = node.get("cte_map") or {}
    _shape_of("cte_map", cte_map)
    entries = cte_map.get("map") or []
    if not entries:
        return scope
    ctes = {lower(entry["key"]): number for number, entry in enumerate(entries)}
    for number, entry in enumerate(entries):
        children.append(("cte_entry", entry, _Scope(ctes, number, scope), depth + 1))
    return _Scope(ctes, len(entries), scope)


def _inside_recursion(node: Mapping[str, Any], scope: _Scope | None) -> _Scope | None:
    if node["type"] != "RECURSIVE_CTE_NODE":
        return scope
    return _Scope({lower(node["cte_name"]): 0}, 1, scope, recursive=True)


# ---- what single nodes may say


def _check_expression(node: Mapping[str, Any]) -> None:
    kind = node["class"]
    if node.get("type") not in EXPRESSION_TYPES[kind]:
        _refuse_node(kind, node.get("type"))
    if kind in ("FUNCTION", "WINDOW"):
        # What stands before the name may be the column of `name.upper()`, but nothing that holds functions.
        name = _last_name(node, "function_name")
        if lower(name) not in names().callable:
            _refuse_function(name, names().callable, "")
        _check_before_function(node, name)
        if node.get("export_state"):
            raise NotAllowed("EXPORT_STATE is refused: it shows DuckDB's own machinery; leave it out")
    elif kind == "TYPE":
        name = _last_name(node, "type_name")
        if lower(name) not in names().types or node.get("schema") or node.get("catalog"):
            raise NotAllowed(f"the type '{name}' is refused: it is none of DuckDB's own types; cast to VARCHAR instead")
    elif kind == "COLLATE" and not _COLLATION.fullmatch(node["collation"]):
        raise NotAllowed(f"the collation '{node['collation']}' is refused: a collation is a plain name, like NOCASE")


def _check_before_function(node: Mapping[str, Any], name: str) -> None:
    """A file that is attached has functions of its own, which its author called what they liked (`abs`)."""
    path = (node.get("qualified_name") or {}).get("path") or [name]
    before = {lower(part) for part in (*path[:-1], node.get("schema") or "", node.get("catalog") or "")}
    if len(path) > 3 or before & _HOLD_FUNCTIONS or any(part.startswith(ATTACHED) for part in before):
        shown = ".".join(map(str, path))
        raise NotAllowed(f"the function '{shown}' is refused with a schema before it; call it by its name alone")


def _last_name(node: Mapping[str, Any], field: str) -> str:
    """The name of a function or type. DuckDB writes it twice; were they to differ, neither could be trusted."""
    name = node[field]
    path = (node.get("qualified_name") or {}).get("path") or [name]
    if path[-1] != name or not isinstance(name, str):
        _refuse_node(field, name)
    return str(name)


def _check_table_function(node: Mapping[str, Any]) -> None:
    if node.get("type") != "FUNCTION":
        _refuse_node("table function", node.get("type"))
    name = _last_name(node, "function_name")
    if lower(name) not in names().table:
        _refuse_function(name, names().table, " in FROM")
    if node.get("schema") or node.get("catalog"):
        raise NotAllowed(f"the function '{name}' is refused with a schema before it; call it by its name alone")


def _check_table(node: Mapping[str, Any], scope: _Scope | None) -> TableName | None:
    """The table that a BASE_TABLE node reads, None for common table expressions and other nodes."""
    kind = node["type"]
    if kind == "SHOW_REF":
        if node.get("show_type") not in ("DESCRIBE", "SUMMARY") or not node.get("query"):
            raise NotAllowed(f"SHOW is refused; {_SEE_SOURCES}, and DESCRIBE shows one table")
    elif kind == "EXPRESSION_LIST" and node.get("expected_types"):
        _refuse_node(kind, "expected_types")
    if kind != "BASE_TABLE":
        return None
    table = TableName(node.get("catalog_name") or "", node.get("schema_name") or "", node["table_name"])
    if node.get("at_clause") is not None:
        raise NotAllowed(f"AT (VERSION or TIMESTAMP) after '{table}' is refused; a table is read as it is now")
    path = (node.get("qualified_name") or {}).get("path") or []
    if path != [part for part in (table.catalog, table.schema, table.name) if part]:
        raise NotAllowed(f"'{table}' is named by {len(path)} parts; a table has at most source.schema.table")
    if not table.schema and not table.catalog and _sees(scope, lower(table.name)):
        return None
    recurring = lower(table.schema) == "recurring" and not table.catalog
    if recurring and _sees(scope, lower(table.name), recurring=True):
        return None
    return table


def _inside_of_session(table: TableName) -> NotAllowed:
    return NotAllowed(f"'{table}' is refused: it shows the inside of the session instead of data; {_SEE_SOURCES}")


def _check_known(table: TableName, known: Callable[[TableName], bool]) -> None:
    catalog, schema = lower(table.catalog), lower(table.schema)
    internal = catalog in _INTERNAL_CATALOGS or schema in _INTERNAL_SCHEMAS
    if internal or (not catalog and schema in _INTERNAL_CATALOGS):
        raise _inside_of_session(table)
    if _FILE_LIKE.search(str(table)):
        # Some sources do have tables with such names; asked first, so that a refusal speaks of files.
        try:
            is_known = known(table)
        except UserError:
            is_known = False
        if not is_known:
            raise NotAllowed(
                f"'{table}' looks like a file, and a statement reads only the tables of the environment; "
                f"add the file as a source and use its table ({_SEE_SOURCES})"
            )
    elif not known(table):
        if not schema and _INTERNAL_VIEW.match(table.name):
            raise NotAllowed(
                f"'{table}' is refused: it shows the inside of the session instead of data; {_SEE_SOURCES}"
            )
        raise UserError(f"there is no table '{table}' in the environment; {_SEE_SOURCES}")


# --------------------------------------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------------------------------------


def check_text(text: str) -> None:
    """Raises `UserError` for a text that is not even worth parsing."""
    if not text.strip():
        raise UserError("the statement is empty; write one SELECT")
    if len(text) > MAXIMUM_LENGTH:
        raise UserError(f"the statement has {len(text):,} characters; at most {MAXIMUM_LENGTH:,} are read")
    if re.search("[\0\ud800-\udfff]", text):
        raise UserError("the statement holds a character that is no text (NUL or half a character); leave it out")


def decode(serialized: str) -> dict[str, Any]:
    """The tree from what `json_serialize_sql` answered."""
    try:
        tree: dict[str, Any] = json.loads(serialized)
    except RecursionError:
        raise UserError(_TOO_DEEP) from None
    return tree


def parse(text: str) -> dict[str, Any]:
    """The tree of a statement, parsed in this process: for text of our own and for tests.

    A text that is no SQL raises `UserError`; a statement that is no SELECT gives a tree that `check` refuses.
    """
    check_text(text)
    import duckdb

    with _parser().cursor() as cursor:
        try:
            row = cursor.execute("SELECT json_serialize_sql(?)", [text]).fetchone()
        except duckdb.Error as error:
            raise UserError(f"the statement does not parse: {str(error).splitlines()[0]}") from None
    tree = decode(row[0] if row else "{}")
    if tree.get("error") is not False and not is_no_select(tree):
        raise syntax_mistake(text, tree)
    return tree


@functools.cache
def _parser() -> Any:
    import duckdb

    return duckdb.connect(":memory:", config=_PARSE_SETTINGS)


def is_no_select(tree: Mapping[str, Any]) -> bool:
    """Whether the text parsed, but as something that has no tree: another kind of statement, or a PIVOT whose values
    DuckDB would look up first (see `pivot.py`)."""
    return bool(tree.get("error")) and str(tree.get("error_message", "")).startswith("Only SELECT statements")


def syntax_mistake(text: str, tree: Mapping[str, Any]) -> UserError:
    """What DuckDB's parser said of `text`, with the place in short."""
    message = _parser_message(tree)
    if message.startswith(_TOO_DEEP_FOR_DUCKDB):
        return UserError(_TOO_DEEP)
    position = str(tree.get("position", ""))
    if not position.isdigit():
        return UserError(f"the statement does not parse: {message}")
    # DuckDB counts bytes, people count characters.
    before = text.encode("utf-8", "replace")[: int(position)].decode("utf-8", "replace")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    here = text[len(before) :].splitlines()
    excerpt = f", at «{here[0].strip()[:40]}»" if here and here[0].strip() else ""
    return UserError(f"the statement does not parse: {message} (line {line}, column {column}{excerpt})")


def _why_not_parsed(tree: Mapping[str, Any]) -> UserError:
    if is_no_select(tree):
        return NotAllowed("only a SELECT may run: coset reads and never writes; send one query")
    if _parser_message(tree).startswith(_TOO_DEEP_FOR_DUCKDB):
        return UserError(_TOO_DEEP)
    place = f" (at byte {tree['position']})" if tree.get("position") else ""
    return UserError(f"the statement does not parse: {_parser_message(tree)}{place}")


def _parser_message(tree: Mapping[str, Any]) -> str:
    message = str(tree.get("error_message") or "DuckDB's parser gave no reason").strip()
    return message.splitlines()[0].rstrip(".!")
