-- Statements that must not run. Each block says why (`why`), with which words the guard must refuse it (`says`), and
-- what DuckDB alone does, without the guard, with a database attached read-only, external access off and settings
-- locked (`engine`): `stops` means an error before any harm, `answers` means that only the guard stands in the way.
-- A block begins with a line `-- name:`.

-- name: delete in a common table expression
-- why: deletes rows while looking like a SELECT
-- says: DELETE is refused
-- engine: stops
WITH gone AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM gone

-- name: insert in a common table expression
-- why: adds rows while looking like a SELECT
-- says: INSERT is refused
-- engine: stops
WITH added AS (INSERT INTO edges VALUES (9, 9) RETURNING *) SELECT * FROM added

-- name: insert default values in a common table expression
-- why: adds a row
-- says: INSERT is refused
-- engine: stops
WITH added AS (INSERT INTO edges DEFAULT VALUES RETURNING *) SELECT 1

-- name: update in a common table expression
-- why: changes rows while looking like a SELECT
-- says: UPDATE is refused
-- engine: stops
WITH changed AS (UPDATE orders SET amount = 0 RETURNING id) SELECT * FROM changed

-- name: copy in a common table expression
-- why: writes a file while looking like a SELECT
-- says: COPY is refused
-- engine: stops
WITH written AS (COPY orders TO 'stolen.csv') SELECT * FROM written

-- name: copy of a query in a common table expression
-- why: writes a file
-- says: COPY is refused
-- engine: stops
WITH written AS (COPY (SELECT * FROM orders) TO 'stolen.parquet' (FORMAT parquet)) SELECT 1

-- name: delete in a nested common table expression
-- why: hides the write two levels down
-- says: DELETE is refused
-- engine: stops
SELECT * FROM (WITH a AS (SELECT 1), gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone)

-- name: delete in a common table expression that nothing reads
-- why: writes run even when nothing reads them
-- says: DELETE is refused
-- engine: stops
WITH gone AS (DELETE FROM orders RETURNING id) SELECT 1

-- name: update inside an existence test
-- why: hides the write in a condition
-- says: UPDATE is refused
-- engine: stops
SELECT 1 WHERE EXISTS (WITH changed AS (UPDATE orders SET amount = 0 RETURNING id) FROM changed)

-- name: delete under a describe
-- why: hides the write under DESCRIBE
-- says: DELETE is refused
-- engine: stops
DESCRIBE (WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone)

-- name: delete in one arm of a union
-- why: hides the write in a set operation
-- says: DELETE is refused
-- engine: stops
SELECT 1 UNION ALL (WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone)

-- name: drop a table
-- why: destroys data
-- says: only a SELECT may run
-- engine: stops
DROP TABLE orders

-- name: create a table
-- why: writes
-- says: only a SELECT may run
-- engine: stops
CREATE TABLE stolen AS SELECT * FROM orders

-- name: insert
-- why: writes
-- says: only a SELECT may run
-- engine: stops
INSERT INTO edges VALUES (1, 1)

-- name: update
-- why: writes
-- says: only a SELECT may run
-- engine: stops
UPDATE orders SET amount = 0

-- name: delete
-- why: writes
-- says: only a SELECT may run
-- engine: stops
DELETE FROM orders

-- name: truncate
-- why: writes
-- says: only a SELECT may run
-- engine: stops
TRUNCATE orders

-- name: alter
-- why: changes a table
-- says: only a SELECT may run
-- engine: stops
ALTER TABLE orders ADD COLUMN x INTEGER

-- name: merge
-- why: writes
-- says: only a SELECT may run
-- engine: stops
MERGE INTO edges USING orders ON source = id WHEN MATCHED THEN DELETE

-- name: copy to a file
-- why: writes a file
-- says: only a SELECT may run
-- engine: stops
COPY orders TO 'stolen.csv'

-- name: copy a query to a file
-- why: writes a file
-- says: only a SELECT may run
-- engine: stops
COPY (SELECT * FROM orders) TO 'stolen.csv'

-- name: copy from a file
-- why: reads a file
-- says: only a SELECT may run
-- engine: stops
COPY edges FROM 'canary.csv'

-- name: export a database
-- why: writes files
-- says: only a SELECT may run
-- engine: stops
EXPORT DATABASE 'stolen'

-- name: import a database
-- why: runs a file of SQL
-- says: only a SELECT may run
-- engine: stops
IMPORT DATABASE 'stolen'

-- name: attach a file
-- why: opens another database
-- says: only a SELECT may run
-- engine: stops
ATTACH 'other.duckdb' AS other

-- name: detach
-- why: takes the data away
-- says: only a SELECT may run
-- engine: stops
DETACH shop

-- name: install an extension
-- why: loads foreign code
-- says: only a SELECT may run
-- engine: stops
INSTALL httpfs

-- name: load an extension
-- why: loads foreign code
-- says: only a SELECT may run
-- engine: stops
LOAD 'evil.duckdb_extension'

-- name: set an option
-- why: opens the locks
-- says: only a SELECT may run
-- engine: stops
SET enable_external_access = true

-- name: reset an option
-- why: opens the locks
-- says: only a SELECT may run
-- engine: stops
RESET enable_external_access

-- name: a pragma
-- why: changes settings
-- says: only a SELECT may run
-- engine: stops
PRAGMA enable_profiling

-- name: checkpoint
-- why: writes the database file
-- says: only a SELECT may run
-- engine: answers
CHECKPOINT shop

-- name: create a secret
-- why: holds credentials
-- says: only a SELECT may run
-- engine: stops
CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')

-- name: call a function
-- why: runs a table function
-- says: only a SELECT may run
-- engine: answers
CALL pragma_version()

-- name: explain
-- why: shows plans, and with ANALYZE runs the statement
-- says: only a SELECT may run
-- engine: answers
EXPLAIN SELECT 1

-- name: explain analyze a delete
-- why: runs the delete
-- says: only a SELECT may run
-- engine: stops
EXPLAIN ANALYZE DELETE FROM orders

-- name: begin
-- why: changes the transaction
-- says: only a SELECT may run
-- engine: answers
BEGIN TRANSACTION

-- name: prepare
-- why: keeps a statement for later
-- says: only a SELECT may run
-- engine: answers
PREPARE p AS SELECT 1

-- name: execute
-- why: runs a prepared statement
-- says: only a SELECT may run
-- engine: stops
EXECUTE p

-- name: use another database
-- why: changes what names mean
-- says: only a SELECT may run
-- engine: answers
USE memory

-- name: set a variable
-- why: keeps state
-- says: only a SELECT may run
-- engine: answers
SET VARIABLE x = 1

-- name: create a macro
-- why: plants code
-- says: only a SELECT may run
-- engine: stops
CREATE MACRO f() AS TABLE SELECT * FROM read_text('canary.txt')

-- name: create a temporary view
-- why: plants a name
-- says: only a SELECT may run
-- engine: stops
CREATE TEMP VIEW v AS SELECT * FROM read_text('canary.txt')

-- name: create a type
-- why: plants a type
-- says: only a SELECT may run
-- engine: stops
CREATE TYPE mood AS ENUM ('a')

-- name: vacuum
-- why: touches the file
-- says: only a SELECT may run
-- engine: answers
VACUUM

-- name: pivot that also writes
-- why: a PIVOT without values is two statements
-- says: only a SELECT may run
-- engine: stops
CREATE TABLE x AS PIVOT orders ON status USING sum(amount)

-- name: comment on a table
-- why: changes the catalog
-- says: only a SELECT may run
-- engine: stops
COMMENT ON TABLE orders IS 'x'

-- name: two statements
-- why: the second runs too
-- says: there are 2 statements
-- engine: stops
SELECT 1; SELECT * FROM read_text('canary.txt')

-- name: a select and a drop
-- why: the second destroys data
-- says: only a SELECT may run
-- engine: stops
SELECT 1; DROP TABLE orders

-- name: a drop after a comment that looks closed
-- why: comments cannot hide a second statement
-- says: only a SELECT may run
-- engine: stops
SELECT 1 /* ; */ ; /* */ DROP TABLE orders --

-- name: select into
-- why: PostgreSQL's way to make a table
-- says: does not parse
-- engine: stops
SELECT * INTO stolen FROM orders

-- name: a file by its name
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM 'canary.csv'

-- name: a file by a quoted name
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM "canary.csv"

-- name: an absolute path
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM '/etc/passwd'

-- name: a path upwards
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM '../canary.json'

-- name: a glob of files
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM '*.parquet'

-- name: an object store
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM 's3://bucket/file.parquet'

-- name: a web address
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM 'https://example.com/data.csv'

-- name: a file in a join
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM orders JOIN 'canary.csv' ON true

-- name: a file in a condition
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM orders WHERE id IN (SELECT id FROM 'canary.csv')

-- name: describe a file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
DESCRIBE 'canary.csv'

-- name: summarize a file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SUMMARIZE 'canary.csv'

-- name: describe a query over a file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
DESCRIBE SELECT * FROM 'canary.csv'

-- name: table statement with a file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
TABLE 'canary.csv'

-- name: a file in the recursive part
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t, 'canary.csv' WHERE n < 3) SELECT * FROM t

-- name: a file to pivot
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
PIVOT 'canary.csv' ON id IN (1) USING count(*)

-- name: a file to unpivot
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
UNPIVOT 'canary.csv' ON id

-- name: a file in a lateral join
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM orders o, LATERAL (SELECT * FROM 'canary.csv' c WHERE c.id = o.id)

-- name: a database file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM 'other.duckdb'

-- name: a file with a schema before it
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM main."canary.csv"

-- name: a file made of a schema and a table
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM canary.csv

-- name: a file after a common table expression of the same name elsewhere
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
SELECT * FROM (WITH "canary.csv" AS (SELECT 1) SELECT * FROM "canary.csv"), "canary.csv"

-- name: a file in a common table expression named like the file
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
WITH "canary.csv" AS (SELECT * FROM "canary.csv") SELECT * FROM "canary.csv"

-- name: a file before the common table expression that would hide it
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
WITH a AS (SELECT * FROM "canary.csv"), "canary.csv" AS (SELECT 1) SELECT * FROM a

-- name: a file in the first part of a recursion of that name
-- why: reads a file of the machine
-- says: looks like a file
-- engine: stops
WITH RECURSIVE "canary.csv" AS (SELECT content FROM "canary.csv" UNION ALL SELECT 'x' FROM "canary.csv" WHERE false) SELECT * FROM "canary.csv"

-- name: read_csv
-- why: opens files of the machine
-- says: function 'read_csv' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_csv('canary.csv')

-- name: read_csv_auto
-- why: opens files of the machine
-- says: function 'read_csv_auto' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_csv_auto('canary.csv')

-- name: read_text
-- why: opens files of the machine
-- says: function 'read_text' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_text('/etc/passwd')

-- name: read_blob
-- why: opens files of the machine
-- says: function 'read_blob' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_blob('canary.txt')

-- name: read_json
-- why: opens files of the machine
-- says: function 'read_json' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_json('canary.json')

-- name: read_json_objects
-- why: opens files of the machine
-- says: function 'read_json_objects' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_json_objects('canary.json')

-- name: read_ndjson
-- why: opens files of the machine
-- says: function 'read_ndjson' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_ndjson('canary.json')

-- name: read_parquet
-- why: opens files of the machine
-- says: function 'read_parquet' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_parquet('canary.parquet')

-- name: parquet_scan
-- why: opens files of the machine
-- says: function 'parquet_scan' is refused: it reads or writes files
-- engine: stops
SELECT * FROM parquet_scan('canary.parquet')

-- name: parquet_metadata
-- why: opens files of the machine
-- says: function 'parquet_metadata' is refused: it reads or writes files
-- engine: stops
SELECT * FROM parquet_metadata('canary.parquet')

-- name: parquet_schema
-- why: opens files of the machine
-- says: function 'parquet_schema' is refused: it reads or writes files
-- engine: stops
SELECT * FROM parquet_schema('canary.parquet')

-- name: read_duckdb
-- why: opens files of the machine
-- says: function 'read_duckdb' is refused: it reads or writes files
-- engine: stops
SELECT * FROM read_duckdb('other.duckdb')

-- name: sniff_csv
-- why: opens files of the machine
-- says: function 'sniff_csv' is refused: it reads or writes files
-- engine: stops
SELECT * FROM sniff_csv('canary.csv')

-- name: glob
-- why: opens files of the machine
-- says: function 'glob' is refused: it reads or writes files
-- engine: stops
SELECT * FROM glob('/*')

-- name: read_csv in capitals and quotes
-- why: case and quotes hide nothing
-- says: function 'read_csv' is refused
-- engine: stops
SELECT * FROM "READ_CSV"('canary.csv')

-- name: read_csv with its schema
-- why: a schema before the name hides nothing
-- says: function 'read_csv' is refused
-- engine: stops
SELECT * FROM main.read_csv('canary.csv')

-- name: glob with catalog and schema
-- why: a catalog before the name hides nothing
-- says: function 'glob' is refused
-- engine: stops
SELECT * FROM system.main.glob('*')

-- name: read_text as a method
-- why: chaining hides nothing
-- says: 'read_text' is refused
-- engine: stops
SELECT 'canary.txt'.read_text()

-- name: read_text as a scalar
-- why: a call in the select list
-- says: 'read_text' is refused
-- engine: stops
SELECT read_text('canary.txt')

-- name: read_csv in a scalar subquery
-- why: hidden in a subquery
-- says: 'read_csv' is refused
-- engine: stops
SELECT (SELECT count(*) FROM read_csv('canary.csv'))

-- name: read_text in an existence test
-- why: hidden in EXISTS
-- says: 'read_text' is refused
-- engine: stops
SELECT 1 WHERE EXISTS (FROM read_text('canary.txt'))

-- name: read_text in an order by
-- why: hidden in ORDER BY
-- says: 'read_text' is refused
-- engine: stops
SELECT id FROM orders ORDER BY (SELECT content FROM read_text('canary.txt'))

-- name: read_text in a limit
-- why: hidden in LIMIT
-- says: 'read_text' is refused
-- engine: stops
SELECT id FROM orders LIMIT (SELECT size FROM read_text('canary.txt'))

-- name: read_text in an offset
-- why: hidden in OFFSET
-- says: 'read_text' is refused
-- engine: stops
SELECT id FROM orders LIMIT 1 OFFSET (SELECT size FROM read_text('canary.txt'))

-- name: read_text in a window frame
-- why: hidden in a frame
-- says: 'read_text' is refused
-- engine: stops
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN (SELECT size FROM read_text('canary.txt')) PRECEDING AND CURRENT ROW) FROM orders

-- name: read_text in a window order
-- why: hidden in a window
-- says: 'read_text' is refused
-- engine: stops
SELECT rank() OVER (PARTITION BY (SELECT 1) ORDER BY (SELECT size FROM read_text('canary.txt'))) FROM orders

-- name: read_text in a named window
-- why: hidden in WINDOW
-- says: 'read_text' is refused
-- engine: stops
SELECT rank() OVER w FROM orders WINDOW w AS (PARTITION BY (SELECT size FROM read_text('canary.txt')))

-- name: read_text in a filter
-- why: hidden in FILTER
-- says: 'read_text' is refused
-- engine: stops
SELECT count(*) FILTER (WHERE (SELECT size FROM read_text('canary.txt')) > 0) FROM orders

-- name: read_text in distinct on
-- why: hidden in DISTINCT ON
-- says: 'read_text' is refused
-- engine: stops
SELECT DISTINCT ON ((SELECT size FROM read_text('canary.txt'))) id FROM orders

-- name: read_text in values
-- why: hidden in VALUES
-- says: 'read_text' is refused
-- engine: stops
VALUES (1), ((SELECT size FROM read_text('canary.txt')))

-- name: read_text in a case
-- why: hidden in CASE
-- says: 'read_text' is refused
-- engine: stops
SELECT CASE WHEN id = 1 THEN (SELECT content FROM read_text('canary.txt')) END FROM orders

-- name: read_text in an ordered aggregate
-- why: hidden in an aggregate's ORDER BY
-- says: 'read_text' is refused
-- engine: stops
SELECT list(id ORDER BY (SELECT size FROM read_text('canary.txt'))) FROM orders

-- name: read_text in a join condition
-- why: hidden in ON
-- says: 'read_text' is refused
-- engine: stops
SELECT 1 FROM orders JOIN customers ON (SELECT size FROM read_text('canary.txt')) > 0

-- name: read_text in a lambda
-- why: hidden in a lambda
-- says: 'read_text' is refused
-- engine: stops
SELECT list_transform([1], lambda x: x + (SELECT size FROM read_text('canary.txt')))

-- name: read_text in a qualify
-- why: hidden in QUALIFY
-- says: 'read_text' is refused
-- engine: stops
SELECT id FROM orders QUALIFY row_number() OVER () > (SELECT size FROM read_text('canary.txt'))

-- name: read_text in a having
-- why: hidden in HAVING
-- says: 'read_text' is refused
-- engine: stops
SELECT count(*) FROM orders HAVING count(*) > (SELECT size FROM read_text('canary.txt'))

-- name: read_text in a grouping set
-- why: hidden in GROUP BY
-- says: 'read_text' is refused
-- engine: stops
SELECT count(*) FROM orders GROUP BY CUBE ((SELECT size FROM read_text('canary.txt')), id)

-- name: read_text in a replaced column
-- why: hidden in REPLACE
-- says: 'read_text' is refused
-- engine: stops
SELECT * REPLACE ((SELECT content FROM read_text('canary.txt')) AS status) FROM orders

-- name: read_text in columns
-- why: hidden in COLUMNS
-- says: 'read_text' is refused
-- engine: stops
SELECT COLUMNS(lambda c: c = read_text('canary.txt')) FROM orders

-- name: read_text as an argument of an allowed function
-- why: hidden in a table function's argument
-- says: 'read_text' is refused
-- engine: stops
SELECT * FROM unnest((SELECT [content] FROM read_text('canary.txt')))

-- name: read_text in a named argument
-- why: hidden in a named argument
-- says: 'read_text' is refused
-- engine: stops
SELECT * FROM repeat_row(1, num_rows = (SELECT size FROM read_text('canary.txt')))

-- name: read_text in a pivot's aggregate
-- why: hidden in PIVOT
-- says: 'read_text' is refused
-- engine: stops
PIVOT orders ON status IN ('paid') USING sum((SELECT size FROM read_text('canary.txt')))

-- name: read_text in a pivot's values
-- why: hidden in the IN list of PIVOT
-- says: 'read_text' is refused
-- engine: stops
PIVOT orders ON status IN (read_text('canary.txt')) USING count(*)

-- name: read_csv in the source of a pivot
-- why: hidden in PIVOT
-- says: 'read_csv' is refused
-- engine: stops
SELECT * FROM (SELECT * FROM read_csv('canary.csv')) PIVOT (count(*) FOR id IN (1))

-- name: read_text in any
-- why: hidden in ANY
-- says: 'read_text' is refused
-- engine: stops
SELECT 1 WHERE 'x' = ANY (SELECT content FROM read_text('canary.txt'))

-- name: read_text in a using key
-- why: hidden in a recursion's key
-- says: 'read_text' is refused
-- engine: stops
WITH RECURSIVE t(n) USING KEY (n) AS (SELECT 1 UNION SELECT n FROM t, read_text('canary.txt')) FROM t

-- name: read_text in a positional join
-- why: hidden in a POSITIONAL JOIN
-- says: 'read_text' is refused
-- engine: stops
SELECT * FROM orders POSITIONAL JOIN read_text('canary.txt')

-- name: a comment inside the call
-- why: comments hide nothing
-- says: 'read_csv' is refused
-- engine: stops
SELECT * FROM read_csv/* harmless */(--x
'canary.csv')

-- name: a common table expression named like the function
-- why: a name in WITH does not stand for a call
-- says: 'read_text' is refused
-- engine: stops
WITH read_text AS (SELECT 1) SELECT * FROM read_text('canary.txt')

-- name: query in FROM
-- why: takes a statement or table as text, past every check
-- says: 'query' is refused: it takes a table or a statement as text
-- engine: stops
SELECT * FROM query('SELECT * FROM read_text(''canary.txt'')')

-- name: query_table in FROM
-- why: takes a statement or table as text, past every check
-- says: 'query_table' is refused: it takes a table or a statement as text
-- engine: stops
SELECT * FROM query_table('canary.csv')

-- name: json_execute_serialized_sql in FROM
-- why: takes a statement or table as text, past every check
-- says: 'json_execute_serialized_sql' is refused: it takes a table or a statement as text
-- engine: stops
SELECT * FROM json_execute_serialized_sql('{}')

-- name: histogram in FROM
-- why: takes a statement or table as text, past every check
-- says: 'histogram' is refused: it takes a table or a statement as text
-- engine: answers
SELECT * FROM histogram('orders', 'id')

-- name: histogram_values in FROM
-- why: takes a statement or table as text, past every check
-- says: 'histogram_values' is refused: it takes a table or a statement as text
-- engine: answers
SELECT * FROM histogram_values('orders', 'id')

-- name: json_serialize_sql
-- why: turns statements into trees and back
-- says: it takes a table or a statement as text
-- engine: answers
SELECT json_serialize_sql('SELECT 1')

-- name: json_deserialize_sql
-- why: turns trees into statements
-- says: it takes a table or a statement as text
-- engine: stops
SELECT json_deserialize_sql('{}'::JSON)

-- name: duckdb_settings
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM duckdb_settings()

-- name: duckdb_secrets
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: stops
SELECT * FROM duckdb_secrets()

-- name: duckdb_databases
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT path FROM duckdb_databases()

-- name: duckdb_memory
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM duckdb_memory()

-- name: duckdb_logs
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM duckdb_logs()

-- name: duckdb_variables
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM duckdb_variables()

-- name: pragma_database_size
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM pragma_database_size()

-- name: pragma_storage_info
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM pragma_storage_info('orders')

-- name: pragma_platform
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM pragma_platform()

-- name: duckdb_tables as a view
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM duckdb_tables

-- name: sqlite_master
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM sqlite_master

-- name: pg_class
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM pg_class

-- name: information_schema
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM information_schema.tables

-- name: information_schema of a database
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: stops
SELECT * FROM shop.information_schema.columns

-- name: pg_catalog
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM pg_catalog.pg_settings

-- name: the system catalog
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM system.information_schema.tables

-- name: the temporary catalog
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: stops
SELECT * FROM temp.information_schema.tables

-- name: the temporary catalog by schema
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: stops
SELECT * FROM temp.duckdb_tables

-- name: information_schema in capitals
-- why: shows settings, paths or names of the session
-- says: inside of the session
-- engine: answers
SELECT * FROM "INFORMATION_SCHEMA"."TABLES"

-- name: show tables
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW TABLES

-- name: show all tables
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW ALL TABLES

-- name: show databases
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW DATABASES

-- name: show a setting or a table
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW orders

-- name: show tables in a subquery
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SELECT * FROM (SHOW TABLES)

-- name: describe everything
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
DESCRIBE

-- name: show tables from a schema
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW TABLES FROM shop

-- name: show variables
-- why: shows names of the session
-- says: SHOW is refused
-- engine: answers
SHOW VARIABLES

-- name: current_setting
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT current_setting('temp_directory')

-- name: getvariable
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT getvariable('x')

-- name: getenv
-- why: shows the session or its machine
-- says: which are no data
-- engine: stops
SELECT getenv('HOME')

-- name: current_database
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT current_database()

-- name: version
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT version()

-- name: current_query
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT current_query()

-- name: inet_server_addr
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT inet_server_addr()

-- name: txid_current
-- why: shows the session or its machine
-- says: which are no data
-- engine: answers
SELECT txid_current()

-- name: nextval
-- why: changes state
-- says: it changes state
-- engine: stops
SELECT nextval('numbers')

-- name: setseed
-- why: changes state
-- says: it changes state
-- engine: answers
SELECT setseed(0.5)

-- name: write_log
-- why: changes state
-- says: it changes state
-- engine: answers
SELECT write_log('x')

-- name: enable_logging
-- why: changes state
-- says: it changes state
-- engine: stops
SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = 'stolen')

-- name: checkpoint as a function
-- why: changes state
-- says: it changes state
-- engine: answers
SELECT * FROM checkpoint('shop')

-- name: force_checkpoint as a function
-- why: changes state
-- says: it changes state
-- engine: stops
SELECT * FROM force_checkpoint('shop')

-- name: enable_profiling
-- why: changes state
-- says: it changes state
-- engine: stops
SELECT * FROM enable_profiling()

-- name: pg_sleep
-- why: keeps the session busy
-- says: it only waits
-- engine: answers
SELECT pg_sleep(0.01)

-- name: sleep_ms
-- why: keeps the session busy
-- says: it only waits
-- engine: answers
SELECT sleep_ms(1)

-- name: error
-- why: speaks in our voice
-- says: raises an error with a text of its own
-- engine: stops
SELECT error('coset: your password is needed')

-- name: which_secret
-- why: asks for credentials
-- says: talks to another machine
-- engine: stops
SELECT * FROM which_secret('s3://x', 's3')

-- name: postgres_scan
-- why: opens a connection
-- says: talks to another machine
-- engine: stops
SELECT * FROM postgres_scan('host=example.com', 'public', 'users')

-- name: mysql_query
-- why: opens a connection
-- says: talks to another machine
-- engine: stops
SELECT * FROM mysql_query('db', 'DROP TABLE x')

-- name: sqlite_scan
-- why: opens a file
-- says: reads or writes files
-- engine: stops
SELECT * FROM sqlite_scan('other.sqlite', 'users')

-- name: iceberg_scan
-- why: opens files
-- says: reads or writes files
-- engine: stops
SELECT * FROM iceberg_scan('folder')

-- name: pandas_scan
-- why: reads memory by address
-- says: objects of the program
-- engine: stops
SELECT * FROM pandas_scan(1)

-- name: arrow_scan
-- why: reads memory by address
-- says: objects of the program
-- engine: stops
SELECT * FROM arrow_scan(1::UBIGINT, 2::UBIGINT, 3::UBIGINT)

-- name: python variable by name
-- why: replacement scans read the program's variables
-- says: there is no table 'python_variable'
-- engine: stops
SELECT * FROM python_variable

-- name: an internal function
-- why: machinery without checks of its own
-- says: DuckDB's own machinery
-- engine: stops
SELECT __internal_decompress_string(1)

-- name: make_type
-- why: builds types from text
-- says: DuckDB's own machinery
-- engine: stops
SELECT make_type('orders')

-- name: an unknown function
-- why: nobody has reviewed it
-- says: is not among the functions
-- engine: stops
SELECT extension_function_of_tomorrow(1)

-- name: an unknown table function
-- why: nobody has reviewed it
-- says: is not among the functions that may be called in FROM
-- engine: stops
SELECT * FROM table_function_of_tomorrow(1)

-- name: an allowed scalar as a table function
-- why: lists are kept apart
-- says: is not among the functions that may be called in FROM
-- engine: stops
SELECT * FROM upper('x')

-- name: an allowed table function of a schema
-- why: a macro of some database could have that name
-- says: with a schema before it
-- engine: stops
SELECT * FROM shop.main.range(3)

-- name: an operator by name
-- why: operators have names as well
-- says: call the operator between its two sides
-- engine: answers
SELECT "="(1, 1)

-- name: a parameter
-- why: nothing fills it in
-- says: a parameter ($1, ?) is refused
-- engine: stops
SELECT * FROM orders WHERE id = $1

-- name: a question mark
-- why: nothing fills it in
-- says: a parameter ($1, ?) is refused
-- engine: stops
SELECT * FROM orders LIMIT ?

-- name: a named parameter
-- why: nothing fills it in
-- says: a parameter ($1, ?) is refused
-- engine: stops
SELECT $name

-- name: default
-- why: belongs to INSERT
-- says: DEFAULT is refused
-- engine: stops
VALUES (DEFAULT)

-- name: a version of a table
-- why: reads another state than the one checked
-- says: AT (VERSION or TIMESTAMP)
-- engine: stops
SELECT * FROM orders AT (VERSION => 1)

-- name: a time of a table with a hidden read
-- why: hidden in AT
-- says: AT (VERSION or TIMESTAMP)
-- engine: stops
SELECT * FROM orders AT (TIMESTAMP => (SELECT content FROM read_text('canary.txt')))

-- name: regclass
-- why: looks up the catalog
-- says: the type 'regclass' is refused
-- engine: stops
SELECT 'orders'::regclass

-- name: a type of a database
-- why: a type is a name in some catalog
-- says: the type 'mood' is refused
-- engine: stops
SELECT 'a'::mood

-- name: a type with a schema
-- why: a type is a name in some catalog
-- says: the type 'integer' is refused
-- engine: stops
SELECT 1::other.main.integer

-- name: a dangerous call inside a type
-- why: hidden in a type's argument
-- says: does not parse
-- engine: stops
SELECT 1::DECIMAL(getenv('x'), 2)

-- name: a pivot over a type
-- why: a type is a name in some catalog
-- says: PIVOT over the type 'mood'
-- engine: stops
PIVOT orders ON status IN mood USING count(*)

-- name: a collation that is a path
-- why: a collation is looked up by name
-- says: the collation '/etc/passwd' is refused
-- engine: stops
SELECT status COLLATE "/etc/passwd" FROM orders

-- name: an aggregate's state
-- why: shows machinery
-- says: EXPORT_STATE is refused
-- engine: answers
SELECT sum(id) EXPORT_STATE FROM orders

-- name: a table with too many parts
-- why: names cannot be compared
-- says: is named by 4 parts
-- engine: stops
SELECT * FROM a.b.c.orders

-- name: an unknown table
-- why: only tables of the environment are read
-- says: there is no table 'secrets'
-- engine: stops
SELECT * FROM secrets

-- name: an unknown table in a subquery
-- why: only tables of the environment are read
-- says: there is no table 'secrets'
-- engine: stops
SELECT (SELECT max(x) FROM secrets)

-- name: a common table expression out of its scope
-- why: a name in WITH counts only where it is visible
-- says: there is no table 'inner_one'
-- engine: stops
SELECT * FROM (WITH inner_one AS (SELECT 1) SELECT * FROM inner_one), inner_one

-- name: a common table expression used before it stands
-- why: WITH is read from left to right
-- says: there is no table 'later'
-- engine: stops
WITH a AS (SELECT * FROM later), later AS (SELECT 1) SELECT * FROM a

-- name: a common table expression that reads itself
-- why: without recursion the name means a table
-- says: there is no table 'secrets'
-- engine: stops
WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets

-- name: a qualified name of a common table expression
-- why: with a schema the name means a table
-- says: there is no table 'other.x'
-- engine: stops
WITH x AS (SELECT 1) SELECT * FROM other.x

-- name: recurring outside a recursion
-- why: only the recursive part knows that name
-- says: there is no table 'recurring.x'
-- engine: stops
WITH x AS (SELECT 1) SELECT * FROM recurring.x

-- name: a kelvin sign in a common table expression
-- why: it is a k to some, and another letter to DuckDB
-- says: there is no table 'bank'
-- engine: stops
WITH "banK" AS (SELECT 1) SELECT * FROM bank

-- name: an empty statement
-- why: nothing to run
-- says: the statement is empty
-- engine: answers
-- nothing

-- name: a semicolon alone
-- why: nothing to run
-- says: the statement is empty
-- engine: answers
;

-- name: no SQL
-- why: not a statement
-- says: does not parse
-- engine: stops
please show me all orders

-- name: a dangerous function as a window
-- why: a call with OVER is another kind of node
-- says: 'getenv' is refused
-- engine: stops
SELECT getenv('HOME') OVER (ORDER BY id) FROM orders

-- name: a dangerous function as a method with OVER
-- why: a call with OVER is another kind of node
-- says: 'current_setting' is refused
-- engine: stops
SELECT main.current_setting('temp_directory') OVER () FROM orders

-- name: current_setting in SELECT
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT current_setting('temp_directory') FROM orders

-- name: main.abs in SELECT
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT main.abs(1) FROM orders

-- name: system.main.abs in SELECT
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT system.main.abs(1) FROM orders

-- name: nextval in SELECT
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT nextval('numbers') FROM orders

-- name: pg_get_viewdef in SELECT
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT pg_get_viewdef(1) FROM orders

-- name: getenv in WHERE
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT id FROM orders WHERE getenv('HOME') IS NOT NULL

-- name: shop.main.abs in WHERE
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders WHERE shop.main.abs(1) IS NOT NULL

-- name: file_of_shop.main.lower in WHERE
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders WHERE file_of_shop.main.lower('SELECT 1') IS NOT NULL

-- name: current_query in WHERE
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT id FROM orders WHERE current_query() IS NOT NULL

-- name: getvariable in WHERE
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT id FROM orders WHERE getvariable('x') IS NOT NULL

-- name: current_setting in HAVING
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT status FROM orders GROUP BY status HAVING current_setting('temp_directory') IS NOT NULL

-- name: main.abs in HAVING
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT status FROM orders GROUP BY status HAVING main.abs(1) IS NOT NULL

-- name: system.main.abs in HAVING
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT status FROM orders GROUP BY status HAVING system.main.abs(1) IS NOT NULL

-- name: nextval in HAVING
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT status FROM orders GROUP BY status HAVING nextval('numbers') IS NOT NULL

-- name: pg_get_viewdef in HAVING
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT status FROM orders GROUP BY status HAVING pg_get_viewdef(1) IS NOT NULL

-- name: getenv in ORDER BY
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT id FROM orders ORDER BY getenv('HOME')

-- name: shop.main.abs in ORDER BY
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders ORDER BY shop.main.abs(1)

-- name: file_of_shop.main.lower in ORDER BY
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders ORDER BY file_of_shop.main.lower('SELECT 1')

-- name: current_query in ORDER BY
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT id FROM orders ORDER BY current_query()

-- name: getvariable in ORDER BY
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT id FROM orders ORDER BY getvariable('x')

-- name: current_setting in GROUP BY
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT count(*) FROM orders GROUP BY current_setting('temp_directory')

-- name: main.abs in GROUP BY
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT count(*) FROM orders GROUP BY main.abs(1)

-- name: system.main.abs in GROUP BY
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT count(*) FROM orders GROUP BY system.main.abs(1)

-- name: nextval in GROUP BY
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT count(*) FROM orders GROUP BY nextval('numbers')

-- name: pg_get_viewdef in GROUP BY
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT count(*) FROM orders GROUP BY pg_get_viewdef(1)

-- name: getenv in CASE
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT CASE WHEN id > 1 THEN NULL ELSE getenv('HOME') END FROM orders

-- name: shop.main.abs in CASE
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT CASE WHEN id > 1 THEN NULL ELSE shop.main.abs(1) END FROM orders

-- name: file_of_shop.main.lower in CASE
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT CASE WHEN id > 1 THEN NULL ELSE file_of_shop.main.lower('SELECT 1') END FROM orders

-- name: current_query in CASE
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT CASE WHEN id > 1 THEN NULL ELSE current_query() END FROM orders

-- name: getvariable in CASE
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT CASE WHEN id > 1 THEN NULL ELSE getvariable('x') END FROM orders

-- name: current_setting in a lambda
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT list_transform([1, 2], lambda x: current_setting('temp_directory')) FROM orders

-- name: main.abs in a lambda
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT list_transform([1, 2], lambda x: main.abs(1)) FROM orders

-- name: system.main.abs in a lambda
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT list_transform([1, 2], lambda x: system.main.abs(1)) FROM orders

-- name: nextval in a lambda
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT list_transform([1, 2], lambda x: nextval('numbers')) FROM orders

-- name: pg_get_viewdef in a lambda
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: stops
SELECT list_transform([1, 2], lambda x: pg_get_viewdef(1)) FROM orders

-- name: getenv in a list comprehension
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT [getenv('HOME') for x in [1, 2]]

-- name: shop.main.abs in a list comprehension
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT [shop.main.abs(1) for x in [1, 2]]

-- name: file_of_shop.main.lower in a list comprehension
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT [file_of_shop.main.lower('SELECT 1') for x in [1, 2]]

-- name: current_query in a list comprehension
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT [current_query() for x in [1, 2]]

-- name: getvariable in a list comprehension
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT [getvariable('x') for x in [1, 2]]

-- name: current_setting in a struct
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT {'a': current_setting('temp_directory')}

-- name: main.abs in a struct
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT {'a': main.abs(1)}

-- name: system.main.abs in a struct
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT {'a': system.main.abs(1)}

-- name: nextval in a struct
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT {'a': nextval('numbers')}

-- name: pg_get_viewdef in a struct
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT {'a': pg_get_viewdef(1)}

-- name: getenv in a scalar subquery
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT (SELECT getenv('HOME'))

-- name: shop.main.abs in a scalar subquery
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT (SELECT shop.main.abs(1))

-- name: file_of_shop.main.lower in a scalar subquery
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT (SELECT file_of_shop.main.lower('SELECT 1'))

-- name: current_query in a scalar subquery
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT (SELECT current_query())

-- name: getvariable in a scalar subquery
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT (SELECT getvariable('x'))

-- name: current_setting in EXISTS
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT id FROM orders WHERE EXISTS (SELECT 1 WHERE current_setting('temp_directory') IS NULL)

-- name: main.abs in EXISTS
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT id FROM orders WHERE EXISTS (SELECT 1 WHERE main.abs(1) IS NULL)

-- name: system.main.abs in EXISTS
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT id FROM orders WHERE EXISTS (SELECT 1 WHERE system.main.abs(1) IS NULL)

-- name: nextval in EXISTS
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT id FROM orders WHERE EXISTS (SELECT 1 WHERE nextval('numbers') IS NULL)

-- name: pg_get_viewdef in EXISTS
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT id FROM orders WHERE EXISTS (SELECT 1 WHERE pg_get_viewdef(1) IS NULL)

-- name: getenv in a common table expression
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
WITH x AS (SELECT getenv('HOME') AS v) SELECT v FROM x

-- name: shop.main.abs in a common table expression
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
WITH x AS (SELECT shop.main.abs(1) AS v) SELECT v FROM x

-- name: file_of_shop.main.lower in a common table expression
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
WITH x AS (SELECT file_of_shop.main.lower('SELECT 1') AS v) SELECT v FROM x

-- name: current_query in a common table expression
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
WITH x AS (SELECT current_query() AS v) SELECT v FROM x

-- name: getvariable in a common table expression
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
WITH x AS (SELECT getvariable('x') AS v) SELECT v FROM x

-- name: current_setting in FILTER
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT count(*) FILTER (WHERE current_setting('temp_directory') IS NULL) FROM orders

-- name: main.abs in FILTER
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT count(*) FILTER (WHERE main.abs(1) IS NULL) FROM orders

-- name: system.main.abs in FILTER
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT count(*) FILTER (WHERE system.main.abs(1) IS NULL) FROM orders

-- name: nextval in FILTER
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT count(*) FILTER (WHERE nextval('numbers') IS NULL) FROM orders

-- name: pg_get_viewdef in FILTER
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT count(*) FILTER (WHERE pg_get_viewdef(1) IS NULL) FROM orders

-- name: getenv in QUALIFY
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY getenv('HOME')) > 0

-- name: shop.main.abs in QUALIFY
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY shop.main.abs(1)) > 0

-- name: file_of_shop.main.lower in QUALIFY
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY file_of_shop.main.lower('SELECT 1')) > 0

-- name: current_query in QUALIFY
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: stops
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY current_query()) > 0

-- name: getvariable in QUALIFY
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT id FROM orders QUALIFY row_number() OVER (ORDER BY getvariable('x')) > 0

-- name: current_setting in a window frame
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT sum(id) OVER (PARTITION BY current_setting('temp_directory')) FROM orders

-- name: main.abs in a window frame
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT sum(id) OVER (PARTITION BY main.abs(1)) FROM orders

-- name: system.main.abs in a window frame
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT sum(id) OVER (PARTITION BY system.main.abs(1)) FROM orders

-- name: nextval in a window frame
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT sum(id) OVER (PARTITION BY nextval('numbers')) FROM orders

-- name: pg_get_viewdef in a window frame
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT sum(id) OVER (PARTITION BY pg_get_viewdef(1)) FROM orders

-- name: getenv in JOIN ON
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT o.id FROM orders o JOIN customers c ON getenv('HOME') IS NULL

-- name: shop.main.abs in JOIN ON
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT o.id FROM orders o JOIN customers c ON shop.main.abs(1) IS NULL

-- name: file_of_shop.main.lower in JOIN ON
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT o.id FROM orders o JOIN customers c ON file_of_shop.main.lower('SELECT 1') IS NULL

-- name: current_query in JOIN ON
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT o.id FROM orders o JOIN customers c ON current_query() IS NULL

-- name: getvariable in JOIN ON
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT o.id FROM orders o JOIN customers c ON getvariable('x') IS NULL

-- name: current_setting in VALUES
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
FROM (VALUES (current_setting('temp_directory'))) t(a)

-- name: main.abs in VALUES
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
FROM (VALUES (main.abs(1))) t(a)

-- name: system.main.abs in VALUES
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
FROM (VALUES (system.main.abs(1))) t(a)

-- name: nextval in VALUES
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
FROM (VALUES (nextval('numbers'))) t(a)

-- name: pg_get_viewdef in VALUES
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
FROM (VALUES (pg_get_viewdef(1))) t(a)

-- name: getenv in LIMIT
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT id FROM orders LIMIT (SELECT length(getenv('HOME')::VARCHAR))

-- name: shop.main.abs in LIMIT
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders LIMIT (SELECT length(shop.main.abs(1)::VARCHAR))

-- name: file_of_shop.main.lower in LIMIT
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders LIMIT (SELECT length(file_of_shop.main.lower('SELECT 1')::VARCHAR))

-- name: current_query in LIMIT
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT id FROM orders LIMIT (SELECT length(current_query()::VARCHAR))

-- name: getvariable in LIMIT
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT id FROM orders LIMIT (SELECT length(getvariable('x')::VARCHAR))

-- name: current_setting in an argument
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT upper(current_setting('temp_directory')::VARCHAR)

-- name: main.abs in an argument
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT upper(main.abs(1)::VARCHAR)

-- name: system.main.abs in an argument
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT upper(system.main.abs(1)::VARCHAR)

-- name: nextval in an argument
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT upper(nextval('numbers')::VARCHAR)

-- name: pg_get_viewdef in an argument
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT upper(pg_get_viewdef(1)::VARCHAR)

-- name: getenv in UNION
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT 'a' UNION ALL SELECT getenv('HOME')::VARCHAR

-- name: shop.main.abs in UNION
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT 'a' UNION ALL SELECT shop.main.abs(1)::VARCHAR

-- name: file_of_shop.main.lower in UNION
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT 'a' UNION ALL SELECT file_of_shop.main.lower('SELECT 1')::VARCHAR

-- name: current_query in UNION
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT 'a' UNION ALL SELECT current_query()::VARCHAR

-- name: getvariable in UNION
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT 'a' UNION ALL SELECT getvariable('x')::VARCHAR

-- name: current_setting in a lateral join
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT * FROM orders o, LATERAL (SELECT current_setting('temp_directory') AS v) l

-- name: main.abs in a lateral join
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT * FROM orders o, LATERAL (SELECT main.abs(1) AS v) l

-- name: system.main.abs in a lateral join
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT * FROM orders o, LATERAL (SELECT system.main.abs(1) AS v) l

-- name: nextval in a lateral join
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT * FROM orders o, LATERAL (SELECT nextval('numbers') AS v) l

-- name: pg_get_viewdef in a lateral join
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT * FROM orders o, LATERAL (SELECT pg_get_viewdef(1) AS v) l

-- name: getenv in a table function
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT * FROM range(length(getenv('HOME')::VARCHAR))

-- name: shop.main.abs in a table function
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT * FROM range(length(shop.main.abs(1)::VARCHAR))

-- name: file_of_shop.main.lower in a table function
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT * FROM range(length(file_of_shop.main.lower('SELECT 1')::VARCHAR))

-- name: current_query in a table function
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT * FROM range(length(current_query()::VARCHAR))

-- name: getvariable in a table function
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT * FROM range(length(getvariable('x')::VARCHAR))

-- name: current_setting in COLUMNS
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: stops
SELECT COLUMNS(c -> current_setting('temp_directory') IS NULL) FROM orders

-- name: main.abs in COLUMNS
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: stops
SELECT COLUMNS(c -> main.abs(1) IS NULL) FROM orders

-- name: system.main.abs in COLUMNS
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: stops
SELECT COLUMNS(c -> system.main.abs(1) IS NULL) FROM orders

-- name: nextval in COLUMNS
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT COLUMNS(c -> nextval('numbers') IS NULL) FROM orders

-- name: pg_get_viewdef in COLUMNS
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: stops
SELECT COLUMNS(c -> pg_get_viewdef(1) IS NULL) FROM orders

-- name: getenv in BETWEEN
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT id FROM orders WHERE id BETWEEN 0 AND length(getenv('HOME')::VARCHAR)

-- name: shop.main.abs in BETWEEN
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders WHERE id BETWEEN 0 AND length(shop.main.abs(1)::VARCHAR)

-- name: file_of_shop.main.lower in BETWEEN
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT id FROM orders WHERE id BETWEEN 0 AND length(file_of_shop.main.lower('SELECT 1')::VARCHAR)

-- name: current_query in BETWEEN
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT id FROM orders WHERE id BETWEEN 0 AND length(current_query()::VARCHAR)

-- name: getvariable in BETWEEN
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT id FROM orders WHERE id BETWEEN 0 AND length(getvariable('x')::VARCHAR)

-- name: current_setting in RECURSIVE
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3 AND current_setting('temp_directory') IS NULL) SELECT * FROM r

-- name: main.abs in RECURSIVE
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3 AND main.abs(1) IS NULL) SELECT * FROM r

-- name: system.main.abs in RECURSIVE
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3 AND system.main.abs(1) IS NULL) SELECT * FROM r

-- name: nextval in RECURSIVE
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3 AND nextval('numbers') IS NULL) SELECT * FROM r

-- name: pg_get_viewdef in RECURSIVE
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3 AND pg_get_viewdef(1) IS NULL) SELECT * FROM r

-- name: getenv in a grouping set
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (getenv('HOME')))

-- name: shop.main.abs in a grouping set
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (shop.main.abs(1)))

-- name: file_of_shop.main.lower in a grouping set
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (file_of_shop.main.lower('SELECT 1')))

-- name: current_query in a grouping set
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (current_query()))

-- name: getvariable in a grouping set
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT count(*) FROM orders GROUP BY GROUPING SETS ((status), (getvariable('x')))

-- name: current_setting in IN
-- why: shows a setting
-- says: the function 'current_setting' is refused
-- engine: answers
SELECT id FROM orders WHERE id IN (SELECT length(current_setting('temp_directory')::VARCHAR))

-- name: main.abs in IN
-- why: a function of a schema, which an attached file may bring
-- says: with a schema before it
-- engine: answers
SELECT id FROM orders WHERE id IN (SELECT length(main.abs(1)::VARCHAR))

-- name: system.main.abs in IN
-- why: a function named with its catalog
-- says: with a schema before it
-- engine: answers
SELECT id FROM orders WHERE id IN (SELECT length(system.main.abs(1)::VARCHAR))

-- name: nextval in IN
-- why: changes a sequence
-- says: the function 'nextval' is refused
-- engine: stops
SELECT id FROM orders WHERE id IN (SELECT length(nextval('numbers')::VARCHAR))

-- name: pg_get_viewdef in IN
-- why: shows the catalog
-- says: the function 'pg_get_viewdef' is refused
-- engine: answers
SELECT id FROM orders WHERE id IN (SELECT length(pg_get_viewdef(1)::VARCHAR))

-- name: getenv in DISTINCT ON
-- why: reads the environment
-- says: the function 'getenv' is refused
-- engine: stops
SELECT DISTINCT ON (getenv('HOME')) id FROM orders

-- name: shop.main.abs in DISTINCT ON
-- why: a macro of an attached file
-- says: with a schema before it
-- engine: stops
SELECT DISTINCT ON (shop.main.abs(1)) id FROM orders

-- name: file_of_shop.main.lower in DISTINCT ON
-- why: a macro of an attached file poses as a harmless function
-- says: with a schema before it
-- engine: stops
SELECT DISTINCT ON (file_of_shop.main.lower('SELECT 1')) id FROM orders

-- name: current_query in DISTINCT ON
-- why: shows the session
-- says: the function 'current_query' is refused
-- engine: answers
SELECT DISTINCT ON (current_query()) id FROM orders

-- name: getvariable in DISTINCT ON
-- why: reads a variable
-- says: the function 'getvariable' is refused
-- engine: answers
SELECT DISTINCT ON (getvariable('x')) id FROM orders
