"""The tables of the evidence state, as ordered small steps. A released step is never changed: a new one follows it.

In: an open connection to a state of any earlier version, or an empty file. Out: the same, at the newest version.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from coset.errors import UserError

JOIN_TABLES = """
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


LINK_TABLES = """
    CREATE TABLE linked_entities (
        entity VARCHAR PRIMARY KEY, tables VARCHAR[], records BIGINT, clusters BIGINT, linked BIGINT, near_misses BIGINT,
        reasons VARCHAR[], problem VARCHAR, made_at TIMESTAMP
    );
    CREATE TABLE linked_records (
        entity VARCHAR, cluster BIGINT, table_reference VARCHAR, key VARCHAR, evidence VARCHAR, flags VARCHAR
    );
    CREATE TABLE link_pairs (
        entity VARCHAR, left_table VARCHAR, left_key VARCHAR, right_table VARCHAR, right_key VARCHAR, kind VARCHAR,
        evidence VARCHAR, weight DOUBLE, followed BOOLEAN, reason VARCHAR
    );
    COMMENT ON TABLE linked_records IS 'Records of one cluster are one thing. A record that is in no cluster with another has its own.';
    COMMENT ON TABLE link_pairs IS 'Why records were linked, and which were left apart though something spoke for it.';
"""  # noqa: E501


def first_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Version 1. Every row of a table's evidence carries `table_reference`: what is known of a table goes together."""
    connection.execute(
        """
        CREATE TABLE sources (
            source VARCHAR PRIMARY KEY, kind VARCHAR, description VARCHAR, schema_only BOOLEAN, problem VARCHAR,
            listed_at TIMESTAMP
        );
        CREATE TABLE tables (
            reference VARCHAR PRIMARY KEY, id VARCHAR, source VARCHAR, schema_name VARCHAR, name VARCHAR, kind VARCHAR,
            rows BIGINT, sampled_rows BIGINT, bytes BIGINT, comment VARCHAR, primary_key VARCHAR[], foreign_keys JSON,
            family VARCHAR, shape VARCHAR, token VARCHAR, digest VARCHAR, seconds DOUBLE, problem VARCHAR,
            comprehended_at TIMESTAMP
        );
        CREATE TABLE families (
            reference VARCHAR PRIMARY KEY, id VARCHAR, source VARCHAR, pattern VARCHAR, members VARCHAR[],
            columns VARCHAR[], rows BIGINT
        );
        CREATE TABLE columns (
            reference VARCHAR PRIMARY KEY, id VARCHAR, table_reference VARCHAR, position INTEGER, name VARCHAR,
            type VARCHAR, native_type VARCHAR, comment VARCHAR, nullable BOOLEAN, personal VARCHAR,
            nulls DOUBLE, nulls_error DOUBLE, distinct_values BIGINT, distinct_exact BOOLEAN, is_unique BOOLEAN,
            minimum VARCHAR, maximum VARCHAR, mean DOUBLE, deviation DOUBLE, mean_length DOUBLE, maximum_length BIGINT,
            shapes JSON, examples VARCHAR[], profile JSON
        );
        CREATE TABLE paths (
            reference VARCHAR, id VARCHAR, table_reference VARCHAR, column_reference VARCHAR, path VARCHAR[],
            type VARCHAR, expression VARCHAR, coverage DOUBLE, coverage_error DOUBLE, description VARCHAR,
            keys_expression VARCHAR, examples VARCHAR[]
        );
        CREATE TABLE value_groups (
            reference VARCHAR PRIMARY KEY, id VARCHAR, table_reference VARCHAR, complete BOOLEAN,
            distinct_values BIGINT, role VARCHAR
        );
        CREATE TABLE group_values (
            table_reference VARCHAR, column_reference VARCHAR, position INTEGER, value VARCHAR, count BIGINT,
            part VARCHAR
        );
        CREATE TABLE facets (
            reference VARCHAR, id VARCHAR, table_reference VARCHAR, column_reference VARCHAR, name VARCHAR,
            kind VARCHAR, expression VARCHAR, type VARCHAR, coverage DOUBLE, coverage_error DOUBLE,
            distinct_values BIGINT,
            description VARCHAR, examples JSON
        );
        CREATE TABLE diagnostics (
            id VARCHAR, table_reference VARCHAR, column_reference VARCHAR, kind VARCHAR, share DOUBLE,
            share_error DOUBLE, detail VARCHAR, expression VARCHAR, type VARCHAR, examples VARCHAR[]
        );
        CREATE TABLE duplicates (
            table_reference VARCHAR PRIMARY KEY, id VARCHAR, columns VARCHAR[], key_expression VARCHAR, clusters BIGINT,
            rows BIGINT, share DOUBLE, share_error DOUBLE, detail VARCHAR, evidence JSON
        );
        CREATE TABLE documents (
            reference VARCHAR, id VARCHAR, table_reference VARCHAR, about VARCHAR, kind VARCHAR, title VARCHAR,
            text VARCHAR, provenance VARCHAR
        );
        CREATE TABLE relations (
            id VARCHAR PRIMARY KEY, left_table VARCHAR, right_table VARCHAR, left_columns VARCHAR[],
            right_columns VARCHAR[], kind VARCHAR, left_expression VARCHAR, right_expression VARCHAR, left_match DOUBLE,
            left_match_error DOUBLE, right_match DOUBLE, right_match_error DOUBLE, cardinality VARCHAR,
            provenance VARCHAR, confidence DOUBLE, unmatched_left VARCHAR[], unmatched_right VARCHAR[],
            reasons VARCHAR[]
        );
        CREATE TABLE notes (number BIGINT PRIMARY KEY, about VARCHAR, text VARCHAR, written_at TIMESTAMP);
        COMMENT ON TABLE notes IS 'What a person said. Kept apart from what was inferred, and wins over it.';
        COMMENT ON TABLE tables IS 'One row a table; token tells whether it changed since it was comprehended.';
        COMMENT ON TABLE relations IS 'Columns that join, with the expressions as tested and the shares they reach.';
        """
    )


def memory_of_relations(connection: duckdb.DuckDBPyConnection) -> None:
    """Version 2: what relation finding needs to know of each table. All tables are looked at again to learn it."""
    connection.execute(JOIN_TABLES)
    connection.execute("UPDATE tables SET shape = ''; DELETE FROM meta WHERE key = 'relations'")


def identities(connection: duckdb.DuckDBPyConnection) -> None:
    """What the identities stage keeps: realised profiles, prototype banks, signals, and what people taught."""
    connection.execute(
        """
        CREATE TABLE memberships (
            reference VARCHAR, coordinate VARCHAR, is_table BOOLEAN, digest VARCHAR, bank BIGINT, identity VARCHAR,
            membership DOUBLE, runner_up VARCHAR, runner_up_membership DOUBLE, radius DOUBLE,
            conservative_radius DOUBLE, loss_radius DOUBLE, pinned BOOLEAN, profile DOUBLE[], embedding DOUBLE[],
            precision DOUBLE[]
        );
        CREATE TABLE prototypes (
            bank BIGINT, coordinate VARCHAR, position INTEGER, identity VARCHAR, centre DOUBLE[], precision DOUBLE[],
            support DOUBLE, interpolation DOUBLE
        );
        CREATE TABLE signals (
            reference VARCHAR, coordinate VARCHAR, labeler VARCHAR, supports BOOLEAN, reason VARCHAR,
            identities VARCHAR[]
        );
        CREATE SEQUENCE taught_numbers;
        CREATE TABLE taught (
            number BIGINT PRIMARY KEY, reference VARCHAR, coordinate VARCHAR, identity VARCHAR, supports BOOLEAN,
            said_at TIMESTAMP
        );
        COMMENT ON TABLE taught IS 'What a person said an object is, or is not. Never lost on refresh.';
        COMMENT ON TABLE memberships IS 'One row an object and coordinate: its whole soft profile in inventory order.';
        COMMENT ON TABLE prototypes IS 'Each identity as this environment realises it; rows name the bank they used.';
        """
    )


def files_passed_over(connection: duckdb.DuckDBPyConnection) -> None:
    """What of a source could not be read though the rest could: `file: reason` for each."""
    connection.execute("ALTER TABLE sources ADD COLUMN skipped VARCHAR[]")


def value_index(connection: duckdb.DuckDBPyConnection) -> None:
    """What questions' literals are found by: the distinct values of text columns, and codes with their labels."""
    connection.execute(
        """
        CREATE TABLE indexed_tables (
            table_reference VARCHAR PRIMARY KEY, comprehended_at TIMESTAMP, settings VARCHAR, read BOOLEAN
        );
        CREATE TABLE indexed_columns (
            table_reference VARCHAR, reference VARCHAR, kind VARCHAR, status VARCHAR, held BIGINT,
            distinct_values BIGINT, reason VARCHAR
        );
        CREATE TABLE indexed_values (
            table_reference VARCHAR, reference VARCHAR, value VARCHAR, normalised VARCHAR
        );
        CREATE TABLE code_labels (
            table_reference VARCHAR, code_reference VARCHAR, code VARCHAR, label VARCHAR, normalised VARCHAR,
            origin VARCHAR
        );
        COMMENT ON TABLE indexed_columns IS 'How far the values of each text column are held, and why not further.';
        COMMENT ON TABLE indexed_values IS 'Nothing personal or schema-only; normalised is NULL where it is the value.';
        COMMENT ON TABLE code_labels IS 'Which code stands for which label, and where that is written.';
        """
    )


def routing_vectors(connection: duckdb.DuckDBPyConnection) -> None:
    """Vectors of tables and columns for routing: 384 whole numbers of one byte after their scale."""
    connection.execute("CREATE TABLE routing_vectors (reference VARCHAR, digest VARCHAR, vector BLOB)")


def copies_and_code_lists(connection: duckdb.DuckDBPyConnection) -> None:
    """Which table is a copy of which, and which rows of which table decode a column."""
    connection.execute(
        """
        CREATE TABLE copies (
            table_reference VARCHAR, original_reference VARCHAR, kind VARCHAR, confidence DOUBLE, drift VARCHAR,
            reasons VARCHAR[]
        );
        CREATE TABLE code_lists (
            column_reference VARCHAR, list_reference VARCHAR, code_column VARCHAR, label_column VARCHAR,
            condition VARCHAR, language VARCHAR, status VARCHAR, confidence DOUBLE, reasons VARCHAR[]
        );
        COMMENT ON TABLE copies IS 'Tables that are copies, each with its original; NULL for what is left over.';
        COMMENT ON TABLE code_lists IS 'Which rows of which table decode a column; condition is SQL over that table.';
        DELETE FROM meta WHERE key = 'relations';
        """
    )


def joins_of_originals(connection: duckdb.DuckDBPyConnection) -> None:
    """Joins are found anew: among originals alone, and with names read without the prefix of their table."""
    connection.execute("UPDATE join_tables SET is_related = FALSE; DELETE FROM meta WHERE key = 'relations'")


def documents_read(connection: duckdb.DuckDBPyConnection) -> None:
    """What people wrote: document files, their sections, what these name, and the rules they state."""
    connection.execute(
        """
        CREATE TABLE document_files (
            document VARCHAR PRIMARY KEY, source VARCHAR, path VARCHAR, format VARCHAR, title VARCHAR, token VARCHAR,
            digest VARCHAR, status VARCHAR, valid_from DATE, valid_to DATE, superseded_by VARCHAR, problem VARCHAR,
            read_at TIMESTAMP, found VARCHAR
        );
        CREATE TABLE sections (
            reference VARCHAR, document VARCHAR, source VARCHAR, title_path VARCHAR[], position INTEGER, page INTEGER,
            text VARCHAR, paragraphs VARCHAR[], status VARCHAR, valid_from DATE, valid_to DATE, superseded_by VARCHAR
        );
        CREATE TABLE mentions (
            section_reference VARCHAR, target_reference VARCHAR, words VARCHAR, how VARCHAR, confidence DOUBLE,
            paragraph INTEGER
        );
        CREATE TABLE rules (
            reference VARCHAR, section_reference VARCHAR, text VARCHAR, scope VARCHAR, about VARCHAR[], status VARCHAR
        );
        COMMENT ON TABLE document_files IS 'One row a document; problem says why one could not be read.';
        COMMENT ON TABLE sections IS 'Pieces of documents under one heading; source is NULL where all are meant.';
        COMMENT ON TABLE mentions IS 'What a section names: by name, pattern, reading, stored value, or as a source.';
        COMMENT ON TABLE rules IS 'Sentences that change figures; general ones hold for every question.';
        """
    )


def readings(connection: duckdb.DuckDBPyConnection) -> None:
    """What each reader says a table, column or nested path is, in plain words; the best of each object is a view."""
    connection.execute(
        """
        CREATE TABLE readings (
            reference VARCHAR, table_reference VARCHAR, name VARCHAR, meaning VARCHAR, synonyms VARCHAR[],
            reader VARCHAR, confidence DOUBLE, source VARCHAR
        );
        CREATE VIEW best_readings AS SELECT * FROM readings QUALIFY row_number() OVER (
            PARTITION BY reference ORDER BY reader = 'person' DESC, confidence DESC, list_position(
                ['person', 'agent', 'model', 'comment', 'document', 'sql', 'lexicon', 'words', 'abbreviations'], reader
            ), source
        ) = 1;
        COMMENT ON TABLE readings IS 'What each reader says an object is; best_readings has one row an object.';
        """
    )


def model_readings(connection: duckdb.DuckDBPyConnection) -> None:
    """Which tables a model has read, by a digest of names and types, and the copies and code columns that it saw."""
    connection.execute(
        """
        CREATE TABLE model_read (table_reference VARCHAR PRIMARY KEY, digest VARCHAR);
        CREATE TABLE model_hints (
            table_reference VARCHAR, reference VARCHAR, hint VARCHAR, target_reference VARCHAR, detail VARCHAR
        );
        COMMENT ON TABLE model_hints IS 'What a model takes for a copy (of target_reference) or a column of codes.';
        """
    )


def written_sql(connection: duckdb.DuckDBPyConnection) -> None:
    """SQL that people wrote, and what it does with which columns."""
    connection.execute(
        """
        CREATE TABLE written_sql (
            reference VARCHAR, source VARCHAR, origin VARCHAR, name VARCHAR, text VARCHAR, tables VARCHAR[],
            problem VARCHAR
        );
        CREATE TABLE sql_uses (
            statement VARCHAR, source VARCHAR, kind VARCHAR, columns VARCHAR[], others VARCHAR[], text VARCHAR,
            name VARCHAR
        );
        COMMENT ON TABLE written_sql IS 'Views, .sql files, dbt models, logged statements, and the tables they use.';
        COMMENT ON TABLE sql_uses IS 'join: columns equal others; filter: a condition; formula: what is computed.';
        """
    )


def places_and_digits_that_join(connection: duckdb.DuckDBPyConnection) -> None:
    """Places inside nested columns and digits alone may join: all tables are looked at again."""
    connection.execute("UPDATE tables SET shape = ''; DELETE FROM meta WHERE key = 'relations'")


def labels_of_code_lists(connection: duckdb.DuckDBPyConnection) -> None:
    """What the codes of decoded columns stand for, by the lists that are current."""
    connection.execute(
        "CREATE TABLE code_list_labels (column_reference VARCHAR, code VARCHAR, label VARCHAR, list_reference VARCHAR, "
        "language VARCHAR)"
    )


def profiles_of_all_kinds(connection: duckdb.DuckDBPyConnection) -> None:
    """What value groups, relations, sections and rules are about."""
    connection.execute(
        """
        CREATE TABLE profiles (
            kind VARCHAR, reference VARCHAR, coordinate VARCHAR, digest VARCHAR, identity VARCHAR, membership DOUBLE,
            runner_up VARCHAR, runner_up_membership DOUBLE, profile DOUBLE[], embedding DOUBLE[], reasons VARCHAR[]
        );
        COMMENT ON TABLE profiles IS 'Soft profiles of value groups, relations, sections and rules; see memberships.';
        """
    )


def record_links(connection: duckdb.DuckDBPyConnection) -> None:
    """Which records are one thing, and why."""
    connection.execute(LINK_TABLES)


def proposed_joins(connection: duckdb.DuckDBPyConnection) -> None:
    """What was proposed is kept apart from what is believed, which roles decide."""
    connection.execute(PROPOSED_TABLE)


def shares_of_code_lists(connection: duckdb.DuckDBPyConnection) -> None:
    """How much of a column a list decodes, with which it is shown among the joins."""
    connection.execute(
        "ALTER TABLE code_lists ADD COLUMN held DOUBLE; ALTER TABLE code_lists ADD COLUMN used DOUBLE; "
        "DELETE FROM meta WHERE key = 'code lists'"
    )


def keys_of_several_kinds(connection: duckdb.DuckDBPyConnection) -> None:
    """Codes of several kinds, places inside the elements of lists, and numbers that repeat with a check digit may join:
    all tables are looked at again."""
    connection.execute("UPDATE tables SET shape = ''; DELETE FROM meta WHERE key = 'relations'")


def names_read(connection: duckdb.DuckDBPyConnection) -> None:
    """What the names of a table were read as, kept with what that came from."""
    connection.execute(
        "CREATE TABLE names_read (table_reference VARCHAR, round INTEGER, fingerprint VARCHAR, asked BLOB, "
        "readings VARCHAR); CREATE TABLE words_around (source VARCHAR, round INTEGER, words VARCHAR);"
    )


STEPS: tuple[Callable[[duckdb.DuckDBPyConnection], None], ...] = (
    first_tables,
    memory_of_relations,
    identities,
    files_passed_over,
    value_index,
    routing_vectors,
    copies_and_code_lists,
    joins_of_originals,
    documents_read,
    readings,
    model_readings,
    written_sql,
    places_and_digits_that_join,
    labels_of_code_lists,
    profiles_of_all_kinds,
    record_links,
    proposed_joins,
    shares_of_code_lists,
    keys_of_several_kinds,
    names_read,
)


def migrate(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring a state to the newest version, one transaction a step."""
    connection.execute("CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
    version = version_of(connection)
    if version > len(STEPS):
        raise UserError(
            f"the evidence state has version {version}, made by a newer coset: this one knows {len(STEPS)}, upgrade it"
        )
    for number, step in enumerate(STEPS[version:], start=version + 1):
        connection.execute("BEGIN")
        try:
            step(connection)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", [str(number)])
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    rows = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchall()
    return int(rows[0][0]) if rows else 0
