"""Allowlists of the guard: reviewed functions and types, and the nodes of DuckDB's tree that only read.

The names are in `allowed_functions.toml`; a refused one has the reason to tell. The nodes are those of the JSON that
`json_serialize_sql` writes, with all fields they may have: what is not listed is refused. The guard walks the tree.
"""

from __future__ import annotations

import functools
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Names:
    """The reviewed names of `allowed_functions.toml`, in lower case."""

    callable: frozenset[str]
    table: frozenset[str]
    types: frozenset[str]
    refused: Mapping[str, str]
    """A refused name to the reason a person is told."""
    refused_prefixes: tuple[tuple[str, str], ...]

    def why_refused(self, name: str) -> str | None:
        if name in self.refused:
            return self.refused[name]
        return next((reason for prefix, reason in self.refused_prefixes if name.startswith(prefix)), None)


def _split(names: str | list[str]) -> list[str]:
    return [lower(name) for name in (names.split() if isinstance(names, str) else names)]


@functools.cache
def names() -> Names:
    """The lists, read once."""
    lists = tomllib.loads(resources.files("coset.session").joinpath("allowed_functions.toml").read_text("utf-8"))
    refused = [(name, group["reason"]) for group in lists["refused"].values() for name in _split(group["names"])]
    return Names(
        callable=frozenset(name for group in lists["callable"].values() for name in _split(group)),
        table=frozenset(name for group in lists["table"].values() for name in _split(group)),
        types=frozenset(name for group in lists["types"].values() for name in _split(group)),
        refused={name: reason for name, reason in refused if not name.endswith("*")},
        refused_prefixes=tuple((name[:-1], reason) for name, reason in refused if name.endswith("*")),
    )


_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def lower(name: str) -> str:
    """Lower case the way DuckDB compares names: ASCII letters only. With Python's own rule the Kelvin sign would
    become a `k`, and a common table expression could pass for a table of another name."""
    return name.lower() if name.isascii() else name.translate(_LOWER)


Shape = Mapping[str, str]
"""The fields a node may have: "" for a plain value (or a list of them), else the kind of node in the field,
with one `*` for a list and two for a list of lists."""


def _shape(plain: str, **children: str) -> Shape:
    return {**dict.fromkeys(plain.split(), ""), **children}


_EXPRESSION = "class type alias query_location query_location_length"
_TABLE = "type alias query_location query_location_length column_name_alias"

_FUNCTION = _shape(
    _EXPRESSION + " function_name catalog schema distinct is_operator export_state",
    arguments="argument*", filter="expression", order_bys="modifier", qualified_name="qualified_name",
)  # fmt: skip

SHAPES: Mapping[str, Mapping[str, Shape]] = {
    # Kinds whose nodes say in a field ("class", "type") which shape they have ...
    "query": {
        "SELECT_NODE": _shape(
            "type group_sets aggregate_handling",
            modifiers="modifier*", cte_map="cte_map", select_list="expression*", from_table="table",
            where_clause="expression", group_expressions="expression*", having="expression",
            qualify="expression", sample="sample",
        ),
        "SET_OPERATION_NODE": _shape(
            "type setop_type setop_all",
            modifiers="modifier*", cte_map="cte_map", left="query", right="query", children="query*",
        ),
        "RECURSIVE_CTE_NODE": _shape(
            "type cte_name union_all aliases",
            modifiers="modifier*", cte_map="cte_map", left="query", right="query",
            key_targets="expression*", payload_aggregates="expression*",
        ),
    },
    "table": {
        "EMPTY": _shape(_TABLE, sample="sample"),
        "BASE_TABLE": _shape(
            _TABLE + " catalog_name schema_name table_name at_clause",
            qualified_name="qualified_name", sample="sample",
        ),
        "SUBQUERY": _shape(_TABLE, subquery="statement", sample="sample"),
        "JOIN": _shape(
            _TABLE + " join_type ref_type using_columns delim_flipped is_implicit nearest_count nearest_order_type"
            " nearest_approx",
            left="table", right="table", condition="expression", ranking_expression="expression",
            duplicate_eliminated_columns="expression*", sample="sample",
        ),
        "TABLE_FUNCTION": _shape(_TABLE + " with_ordinality", function="table_function", sample="sample"),
        "EXPRESSION_LIST": _shape(_TABLE + " expected_names expected_types", values="expression**", sample="sample"),
        "PIVOT": _shape(
            _TABLE + " unpivot_names groups include_nulls",
            source="table", aggregates="expression*", pivots="pivot*", sample="sample",
        ),
        "SHOW_REF": _shape(
            _TABLE + " show_type catalog_name schema_name table_name",
            query="query", qualified_name="qualified_name", sample="sample",
        ),
    },
    "expression": {
        "BETWEEN": _shape(_EXPRESSION, input="expression", lower="expression", upper="expression"),
        "CASE": _shape(_EXPRESSION, case_checks="case_check*", else_expr="expression"),
        "CAST": _shape(_EXPRESSION + " try_cast", child="expression", type_expr="expression"),
        "COLLATE": _shape(_EXPRESSION + " collation", child="expression"),
        "COLUMN_REF": _shape(_EXPRESSION + " column_names"),
        "COMPARISON": _shape(_EXPRESSION, left="expression", right="expression"),
        "CONJUNCTION": _shape(_EXPRESSION, children="expression*"),
        "CONSTANT": _shape(_EXPRESSION, literal="literal"),
        "FUNCTION": _FUNCTION,
        "LAMBDA": _shape(_EXPRESSION + " syntax_type", lhs="expression", expr="expression"),
        "OPERATOR": _shape(_EXPRESSION, children="expression*"),
        "POSITIONAL_REFERENCE": _shape(_EXPRESSION + " index"),
        "STAR": _shape(
            _EXPRESSION + " relation_name exclude_list columns",
            expr="expression", replace_list="replacement*", rename_list="renaming*",
            qualified_exclude_list="column_name*",
        ),
        "SUBQUERY": _shape(
            _EXPRESSION + " subquery_type comparison_type", subquery="statement", child="expression",
        ),
        "TYPE": _shape(
            _EXPRESSION + " type_name catalog schema", children="expression*", qualified_name="qualified_name",
        ),
        "WINDOW": _shape(
            _EXPRESSION
            + " function_name catalog schema start end ignore_nulls has_ignore_nulls exclude_clause distinct",
            arguments="argument*", partitions="expression*", orders="order*", arg_orders="order*",
            start_expr="expression", end_expr="expression", offset_expr="expression", default_expr="expression",
            filter_expr="expression", qualified_name="qualified_name",
        ),
    },
    "table_function": {"FUNCTION": _FUNCTION},
    "modifier": {
        "ORDER_MODIFIER": _shape("type", orders="order*"),
        "LIMIT_MODIFIER": _shape("type limit_type", limit="expression", offset="expression"),
        "DISTINCT_MODIFIER": _shape("type", distinct_on_targets="expression*"),
    },
    # ... and parts that have one shape each.
    "statement": {"": _shape("named_param_map", node="query")},
    "cte_map": {"": _shape("", map="cte_entry*")},
    "cte_entry": {"": _shape("key", value="cte")},
    "cte": {"": _shape(
        "aliases materialized", key_targets="expression*", payload_aggregates="expression*", query_node="query",
    )},
    "argument": {"": _shape("name", expression="expression")},
    "case_check": {"": _shape("", when_expr="expression", then_expr="expression")},
    "order": {"": _shape("type null_order", expression="expression")},
    "pivot": {"": _shape("unpivot_names pivot_enum", pivot_expressions="expression*", entries="pivot_entry*")},
    "pivot_entry": {"": _shape("values alias", star_expr="expression")},
    "replacement": {"": _shape("key", value="expression")},
    "renaming": {"": _shape("value", key="column_name")},
    "column_name": {"": _shape("catalog schema table column qualified_name")},
    "qualified_name": {"": _shape("path")},
    "literal": {"": _shape("kind text")},
    "sample": {"": _shape("is_percentage method seed repeatable sample_rate", sample_size="value")},
    "value": {"": _shape("is_null value", type="value_type")},
    "value_type": {"": _shape("id type_info")},
}  # fmt: skip

EXPRESSION_TYPES: Mapping[str, frozenset[str]] = {
    "BETWEEN": frozenset({"COMPARE_BETWEEN"}),
    "CASE": frozenset({"CASE_EXPR"}),
    "CAST": frozenset({"OPERATOR_CAST"}),
    "COLLATE": frozenset({"COLLATE"}),
    "COLUMN_REF": frozenset({"COLUMN_REF"}),
    "COMPARISON": frozenset({
        "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
        "COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM",
    }),
    "CONJUNCTION": frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR"}),
    "CONSTANT": frozenset({"VALUE_CONSTANT"}),
    "FUNCTION": frozenset({"FUNCTION"}),
    "LAMBDA": frozenset({"LAMBDA"}),
    "OPERATOR": frozenset({
        "ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT", "ARRAY_CONSTRUCTOR", "COMPARE_IN", "COMPARE_NOT_IN",
        "GROUPING_FUNCTION", "OPERATOR_COALESCE", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_NOT",
        "OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK",
    }),
    "POSITIONAL_REFERENCE": frozenset({"POSITIONAL_REFERENCE"}),
    "STAR": frozenset({"STAR"}),
    "SUBQUERY": frozenset({"SUBQUERY"}),
    "TYPE": frozenset({"TYPE"}),
    "WINDOW": frozenset({
        "WINDOW_AGGREGATE", "WINDOW_CUME_DIST", "WINDOW_FILL", "WINDOW_FIRST_VALUE", "WINDOW_LAG",
        "WINDOW_LAST_VALUE", "WINDOW_LEAD", "WINDOW_NTH_VALUE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK", "WINDOW_RANK",
        "WINDOW_RANK_DENSE", "WINDOW_ROW_NUMBER",
    }),
}  # fmt: skip
