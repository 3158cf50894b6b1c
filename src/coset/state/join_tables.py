"""The tables in which relation finding keeps what it knows of each table, so that a changed one is paired alone.

They are part of the evidence state (a step of its migrations, so this text is never changed once released: a new step
follows it), and stand in a database in memory when relations are found without a state.
"""

from __future__ import annotations

FIRST_TABLES = """
    CREATE TABLE join_tables (table_reference VARCHAR, is_related BOOLEAN);
    CREATE TABLE join_columns (
        table_reference VARCHAR, position INTEGER, name VARCHAR, type VARCHAR, is_names BOOLEAN, kind VARCHAR,
        rows BIGINT, known BIGINT, distinct_values BIGINT, keys BIGINT, minimum BIGINT, maximum BIGINT,
        dirt VARCHAR[], elements BOOLEAN, padded BOOLEAN, part BIGINT, values_digest UBIGINT
    );
    CREATE TABLE join_variants (
        table_reference VARCHAR, position INTEGER, place INTEGER, form VARCHAR, prefix VARCHAR, suffix VARCHAR,
        spelled VARCHAR[], separator VARCHAR, piece INTEGER, format VARCHAR, keys BIGINT, uniqueness DOUBLE,
        specificity DOUBLE, code_share DOUBLE, is_number BOOLEAN, minimum BIGINT, maximum BIGINT, numbers BIGINT[],
        key_set BIGINT
    );
    CREATE TABLE join_keys (
        key_set BIGINT, form VARCHAR, is_number BOOLEAN, is_held BOOLEAN, total BIGINT, hashes UBIGINT[],
        further UBIGINT[], halvings INTEGER
    );
    CREATE TABLE join_overlaps (left_set BIGINT, right_set BIGINT, looked_up BIGINT, found BIGINT);
    CREATE TABLE join_lefts (
        table_reference VARCHAR, position INTEGER, right_tables VARCHAR[], right_positions INTEGER[],
        places INTEGER[], right_places INTEGER[], looked_up BIGINT[], found BIGINT[],
        names_same DOUBLE[], names_after DOUBLE[], least DOUBLE, last_table VARCHAR, last_position INTEGER
    );
    CREATE TABLE join_candidates (
        table_reference VARCHAR, position INTEGER, place INTEGER, right_table VARCHAR, right_position INTEGER,
        right_place INTEGER, looked_up BIGINT, found BIGINT, name DOUBLE, bits DOUBLE, coverage DOUBLE,
        rivals INTEGER, likelihood DOUBLE
    );
    CREATE TABLE join_tests (key VARCHAR, table_references VARCHAR[], result JSON);
    COMMENT ON TABLE join_tables IS 'Tables whose columns may join; is_related: since it last changed, relations were found anew.';
    COMMENT ON TABLE join_columns IS 'What relation finding counted of each column.';
    COMMENT ON TABLE join_variants IS 'Ways to look at a column so that it meets others: whole, without a prefix, a piece.';
    COMMENT ON TABLE join_keys IS 'Hashes of the keys of variants; columns with the same keys share one set.';
    COMMENT ON TABLE join_overlaps IS 'How many keys of one set were looked up in another, and found.';
    COMMENT ON TABLE join_lefts IS 'The columns that a column was compared with, the best of those that share keys with it.';
    COMMENT ON TABLE join_candidates IS 'Pairs of columns that are likely joins, the likeliest of each column.';
    COMMENT ON TABLE join_tests IS 'What was measured for a join, kept while its tables do not change.';
"""  # noqa: E501

PROPOSED_TABLE = """
    CREATE TABLE proposed_joins (
        id VARCHAR, left_table VARCHAR, left_columns VARCHAR[], right_columns VARCHAR[], right_table VARCHAR,
        cardinality VARCHAR, confidence DOUBLE
    );
    COMMENT ON TABLE proposed_joins IS 'Joins that values and names propose, before roles and readings judged them.';
    INSERT INTO proposed_joins SELECT id, left_table, left_columns, right_columns, right_table, cardinality, confidence
        FROM relations;
"""
