"""The tables of record links, as a step of the migrations makes them: never changed once released."""

from __future__ import annotations

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
