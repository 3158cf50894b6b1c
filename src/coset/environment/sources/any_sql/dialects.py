"""What is known of each SQL engine: its dialect, how it compares text, how it is kept from writing.

In: the name that SQLAlchemy or ADBC gives an engine. Out: an `Engine`, which says what the engine evaluates exactly as
DuckDB does. What is not known of an engine is never asked of it: an engine that nobody described here still answers
columns, NULL tests and comparisons of numbers. Nothing here connects to anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coset.environment.scan import EVERY_OPERATION, Operation

ALWAYS: frozenset[Operation] = frozenset({"columns", "null", "compare:number", "aggregate:count"})
"""What every SQL engine does alike."""
TEXT: frozenset[Operation] = frozenset({"compare:text", "group:text"})
TIME: frozenset[Operation] = frozenset({"compare:time", "group:time"})
BOOLEAN: frozenset[Operation] = frozenset({"compare:boolean", "group:boolean"})
# An average is asked for as a sum and a count, and divided here: engines round it in their own ways.
ALL: frozenset[Operation] = EVERY_OPERATION - {"aggregate:avg"}


@dataclass(frozen=True)
class Engine:
    """One SQL engine. `text` writes a text column so that it compares by bytes; None where none is known."""

    name: str
    dialect: str = ""
    """sqlglot's name of the dialect; empty where it has none."""
    pushes: frozenset[Operation] = ALWAYS
    text: str | None = None
    """`{}` stands for the column."""
    wide_sum: bool = False
    """Whether whole numbers are added up as they are and may overflow, so that they are cast before."""
    session: tuple[str, ...] = ()
    """Statements for a new connection that must succeed. `{ms}` and `{seconds}` stand for `query_seconds`."""
    wishes: tuple[str, ...] = ()
    """Statements for a new connection that may fail."""
    begin: tuple[str, ...] = ()
    """Statements at the start of each transaction."""
    token: str | None = None
    """A SELECT of one row that differs whenever a table changed; `{schema}` and `{table}` are text literals."""
    exact_among: bool = True
    """Whether `IN` takes numbers as exactly as `=` does; where not, it is written as comparisons."""
    own_schemas: frozenset[str] = field(default_factory=frozenset)
    """Schemas that are the engine's and not the user's, lower case."""

    @property
    def reads_only(self) -> str:
        """How the engine is kept from writing, in words."""
        return "; ".join((*self.session, *self.begin)) or "only SELECT is sent"


_POSTGRES_SESSION = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "SET statement_timeout = {ms}",
    "SET TIME ZONE 'UTC'",
)
_MYSQL_SESSION = ("SET SESSION TRANSACTION READ ONLY", "SET time_zone = '+00:00'")
_MYSQL = Engine(
    "mysql", "cosetmysql", ALL - BOOLEAN, "CAST(CONVERT({} USING utf8mb4) AS BINARY)", session=_MYSQL_SESSION,
    wishes=("SET SESSION max_statement_time = {seconds}", "SET SESSION max_execution_time = {ms}"),
    own_schemas=frozenset({"information_schema", "mysql", "performance_schema", "sys"}),
)  # fmt: skip
_COMMON = frozenset({"information_schema"})

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "postgresql", "postgres", ALL, '{} COLLATE "C"', session=_POSTGRES_SESSION,
            own_schemas=_COMMON | {"pg_catalog", "pg_toast"},
        ),
        _MYSQL,
        Engine("mariadb", "cosetmysql", _MYSQL.pushes, _MYSQL.text, session=_MYSQL_SESSION, wishes=_MYSQL.wishes,
               own_schemas=_MYSQL.own_schemas),
        Engine("sqlite", "sqlite", ALL - TIME - BOOLEAN, "{} COLLATE BINARY", session=("PRAGMA query_only = ON",)),
        Engine("duckdb", "duckdb", ALL, "{}", session=("SET TimeZone = 'UTC'",),
               own_schemas=_COMMON | {"pg_catalog"}),
        Engine(
            "snowflake", "snowflake", ALL, "{}",
            wishes=("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {seconds}", "ALTER SESSION SET TIMEZONE = 'UTC'"),
            token="SELECT created, last_altered, row_count, bytes FROM information_schema.tables"  # noqa: S106
            " WHERE table_schema = {schema} AND table_name = {table}",
            own_schemas=_COMMON,
        ),
        Engine("bigquery", "bigquery", ALL, "{}", wide_sum=True, own_schemas=_COMMON),
        Engine(
            "clickhouse", "clickhouse", ALL - TIME, "{}", wide_sum=True, exact_among=False,
            wishes=("SET readonly = 2",),  # refused to a user who is read-only already
            token="SELECT sum(rows), sum(bytes_on_disk), max(modification_time), groupArray(name)"  # noqa: S106
            " FROM (SELECT * FROM system.parts WHERE active AND database = {schema} AND table = {table} ORDER BY name)",
            own_schemas=_COMMON | {"system"},
        ),
        Engine("trino", "trino", ALL, "{}", wide_sum=True,
               wishes=("SET SESSION query_max_run_time = '{seconds}s'",), own_schemas=_COMMON),
        Engine("presto", "presto", ALL, "{}", wide_sum=True, own_schemas=_COMMON),
        Engine("awsathena", "athena", ALL - TIME, "{}", wide_sum=True, own_schemas=_COMMON),
        Engine("databricks", "databricks", ALL, "{}", wide_sum=True, own_schemas=_COMMON),
        Engine("hive", "hive", ALL - TIME - {"limit", "order"}, "{}", wide_sum=True, own_schemas=_COMMON),
        Engine("redshift", "redshift", ALL - TEXT, session=_POSTGRES_SESSION[:2], wide_sum=True,
               own_schemas=_COMMON | {"pg_catalog", "pg_internal"}),
        Engine("cockroachdb", "postgres", ALL, '{} COLLATE "C"',
               session=("SET default_transaction_read_only = on", "SET statement_timeout = {ms}"),
               own_schemas=_COMMON | {"pg_catalog", "crdb_internal", "pg_extension"}),
        Engine("mssql", "tsql", ALL - TEXT, wide_sum=True, wishes=("SET LOCK_TIMEOUT {ms}",),
               own_schemas=_COMMON | {"sys", "guest", "db_owner", "db_accessadmin", "db_securityadmin", "db_ddladmin",
                                      "db_backupoperator", "db_datareader", "db_datawriter", "db_denydatareader",
                                      "db_denydatawriter"}),
        Engine(
            "oracle", "oracle", ALL - BOOLEAN, "{}",
            session=("ALTER SESSION SET NLS_COMP = 'BINARY' NLS_SORT = 'BINARY' NLS_DATE_FORMAT = 'YYYY-MM-DD' "
                     "NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF'",),
            begin=("SET TRANSACTION READ ONLY",),
            own_schemas=frozenset({"sys", "system", "xdb", "outln", "ctxsys", "mdsys", "wmsys", "dbsnmp", "audsys"}),
        ),
        Engine("ibm_db_sa", "", ALWAYS, own_schemas=frozenset({"sysibm", "syscat", "sysstat", "systools", "sysproc"})),
        Engine("exa", "exasol", ALL - TEXT, own_schemas=frozenset({"sys", "exa_statistics"})),
        Engine("teradatasql", "teradata", ALL - TEXT - TIME),
        Engine("risingwave", "risingwave", ALL - TEXT, own_schemas=_COMMON | {"pg_catalog", "rw_catalog"}),
    )
}  # fmt: skip
_OTHER_NAMES = {
    "clickhousedb": "clickhouse", "postgres": "postgresql", "athena": "awsathena", "db2": "ibm_db_sa",
    "microsoft sql server": "mssql", "adbc": "duckdb",
}  # fmt: skip


def engine_named(name: str) -> Engine:
    """What is known of an engine; the least, where nothing is."""
    name = name.lower()
    name = _OTHER_NAMES.get(name, name)
    return ENGINES.get(name) or Engine(name, own_schemas=_COMMON)
