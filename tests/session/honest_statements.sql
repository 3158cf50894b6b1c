-- Statements an analyst writes every day. Each one must pass the guard AND run on the small shop database that
-- test_guard.py builds (orders, customers, prices, trades, edges, monthly, logs, and archive.orders).
-- One statement per block; a block begins with a line `-- name:`.

-- name: a constant
SELECT 1 AS one, 'text' AS word, NULL AS nothing, TRUE AS yes, 1.5 AS fraction, 1e3 AS scientific, 1_000 AS grouped

-- name: all rows of a table
SELECT * FROM orders

-- name: from first
FROM orders

-- name: from first with select, where and order
FROM orders SELECT id, amount WHERE amount > 20 ORDER BY amount DESC LIMIT 3

-- name: values as a statement
VALUES (1, 'a'), (2, 'b')

-- name: values as a table
SELECT v.n, v.letter FROM (VALUES (1, 'a'), (2, 'b')) AS v(n, letter)

-- name: table statement
TABLE customers

-- name: describe a table
DESCRIBE orders

-- name: describe a qualified table
DESCRIBE shop.archive.orders

-- name: describe a query
DESCRIBE SELECT id, amount * 2 AS twice FROM orders

-- name: summarize a table
SUMMARIZE customers

-- name: summarize a query
SUMMARIZE SELECT amount FROM orders WHERE status = 'paid'

-- name: summarize inside a query
SELECT column_name, "null_percentage" FROM (SUMMARIZE customers)

-- name: qualified by database and schema
SELECT o.id, a.id FROM shop.main.orders o JOIN shop.archive.orders a ON o.id = a.id

-- name: qualified by schema
SELECT count(*) FROM archive.orders

-- name: names in another case and quoted
SELECT O."ID" FROM "ORDERS" AS O

-- name: a trailing semicolon and comments
SELECT 1 /* inside */ AS x -- and after
;

-- name: aggregates by group
SELECT status, count(*) AS n, sum(amount), avg(amount), min(amount), max(amount) FROM orders GROUP BY status HAVING count(*) > 0

-- name: group by all and order by all
SELECT status, customer_id, sum(amount) FROM orders GROUP BY ALL ORDER BY ALL

-- name: order by all descending
SELECT status, amount FROM orders ORDER BY ALL DESC NULLS LAST

-- name: positions in group by and order by
SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1

-- name: count distinct and filter
SELECT count(DISTINCT customer_id), count(*) FILTER (WHERE status = 'paid'), sum(amount) FILTER (amount > 10) FROM orders

-- name: ordered aggregates
SELECT string_agg(status, ', ' ORDER BY id DESC), list(id ORDER BY amount), first(status ORDER BY ordered_at), array_agg(DISTINCT status) FROM orders

-- name: within group
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), percentile_disc(0.9) WITHIN GROUP (ORDER BY amount), mode() WITHIN GROUP (ORDER BY status) FROM orders

-- name: quantiles, median and mode
SELECT quantile_cont(amount, 0.25), quantile_disc(amount, [0.25, 0.75]), median(amount), mode(status), mad(amount), approx_quantile(amount, 0.5) FROM orders

-- name: arg_max and arg_min
SELECT customer_id, arg_max(status, ordered_at), arg_min(id, amount), max_by(id, amount, 2), any_value(status) FROM orders GROUP BY customer_id

-- name: statistics
SELECT stddev(amount), stddev_pop(amount), var_samp(amount), corr(amount, id), covar_pop(amount, id), regr_slope(amount, id), regr_r2(amount, id), skewness(amount), kurtosis(amount), entropy(status) FROM orders

-- name: histograms and approximate counts
SELECT histogram(status), histogram(amount, [10, 50, 100]), approx_count_distinct(customer_id), approx_top_k(status, 2) FROM orders

-- name: bit and bool aggregates
SELECT bit_and(id), bit_or(id), bit_xor(id), bool_and(amount > 0), bool_or(amount > 100), product(id), geomean(id), fsum(amount), count_if(status = 'paid') FROM orders

-- name: grouping sets
SELECT status, customer_id, sum(amount), grouping(status, customer_id), grouping_id(status) FROM orders GROUP BY GROUPING SETS ((status, customer_id), (status), ())

-- name: cube
SELECT status, customer_id, count(*) FROM orders GROUP BY CUBE (status, customer_id)

-- name: rollup
SELECT year(ordered_at) AS y, month(ordered_at) AS m, sum(amount) FROM orders GROUP BY ROLLUP (y, m) ORDER BY ALL

-- name: ranking windows
SELECT id, row_number() OVER (ORDER BY amount DESC), rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(4) OVER w FROM orders WINDOW w AS (PARTITION BY status ORDER BY amount)

-- name: lag and lead
SELECT id, lag(amount) OVER (PARTITION BY customer_id ORDER BY ordered_at), lead(amount, 1, 0) OVER (ORDER BY id), first_value(amount) OVER (ORDER BY id), last_value(amount IGNORE NULLS) OVER (ORDER BY id), nth_value(amount, 2) OVER (ORDER BY id) FROM orders

-- name: window frame in rows
SELECT id, avg(amount) OVER (ORDER BY ordered_at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), sum(amount) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING), sum(amount) OVER (ORDER BY id ROWS 1 PRECEDING) FROM orders

-- name: window frame in ranges
SELECT id, sum(amount) OVER (ORDER BY ordered_at RANGE BETWEEN INTERVAL 7 DAYS PRECEDING AND INTERVAL 1 DAY FOLLOWING), count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM orders

-- name: window frame in groups
SELECT id, sum(amount) OVER (ORDER BY status GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders

-- name: window frame with exclusions
SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW), max(amount) OVER (ORDER BY status RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES), min(amount) OVER (ORDER BY status ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) FROM orders

-- name: window frame computed
SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN (1 + 1) PRECEDING AND 1 FOLLOWING) FROM orders

-- name: window with filter, distinct and inner order
SELECT id, count(DISTINCT status) OVER (), sum(amount) FILTER (WHERE status = 'paid') OVER (ORDER BY id), list(id ORDER BY amount) OVER (PARTITION BY status) FROM orders

-- name: qualify
SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) = 1

-- name: share of the total
SELECT status, sum(amount) AS total, round(100.0 * total / sum(total) OVER (), 2) AS share FROM orders GROUP BY status

-- name: aliases used again
SELECT amount * 1.2 AS gross, gross - amount AS tax FROM orders WHERE gross > 12 ORDER BY tax

-- name: prefix alias
SELECT total: sum(amount), n: count(*) FROM o: orders

-- name: common table expressions
WITH paid AS (SELECT * FROM orders WHERE status = 'paid'), by_customer AS (SELECT customer_id, sum(amount) AS total FROM paid GROUP BY 1) SELECT c.name, b.total FROM by_customer b JOIN customers c ON c.id = b.customer_id

-- name: materialized and not materialized
WITH a AS MATERIALIZED (SELECT 1 AS x), b(y) AS NOT MATERIALIZED (SELECT x + 1 FROM a) SELECT * FROM a, b

-- name: a common table expression named like a table
WITH orders AS (SELECT * FROM orders WHERE amount > 50) SELECT count(*) FROM orders

-- name: common table expression inside a subquery
SELECT * FROM (WITH x AS (SELECT 1 AS n) SELECT n FROM x) WHERE n IN (WITH y AS (FROM (VALUES (1))) SELECT * FROM y)

-- name: recursive series
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t

-- name: recursive walk of a graph
WITH RECURSIVE reach(node, path) AS (SELECT 1, [1] UNION ALL SELECT e.target, list_append(r.path, e.target) FROM reach r JOIN edges e ON e.source = r.node WHERE NOT list_contains(r.path, e.target)) SELECT DISTINCT node FROM reach ORDER BY node

-- name: recursive union distinct
WITH RECURSIVE up AS (SELECT target FROM edges WHERE source = 1 UNION SELECT e.target FROM edges e, up WHERE e.source = up.target) FROM up

-- name: recursive using key
WITH RECURSIVE best(node, hops) USING KEY (node) AS (SELECT 1, 0 UNION SELECT e.target, b.hops + 1 FROM best b JOIN edges e ON e.source = b.node LEFT JOIN recurring.best r ON r.node = e.target WHERE r.node IS NULL) SELECT * FROM best ORDER BY node

-- name: joins of every common kind
SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer_id = c.id RIGHT JOIN (SELECT 1 AS one) ON TRUE FULL JOIN (SELECT 2 AS two) ON two = one CROSS JOIN (SELECT 3 AS three)

-- name: join using and natural join
SELECT symbol, price FROM prices JOIN trades USING (symbol) UNION ALL BY NAME SELECT symbol, quantity FROM prices NATURAL JOIN trades

-- name: semi and anti joins
SELECT * FROM customers c SEMI JOIN orders o ON o.customer_id = c.id UNION SELECT * FROM customers c ANTI JOIN orders o ON o.customer_id = c.id

-- name: asof join
SELECT t.symbol, t.quantity, p.price FROM trades t ASOF JOIN prices p ON t.symbol = p.symbol AND t.moment >= p.moment

-- name: asof left join using
SELECT * FROM trades ASOF LEFT JOIN prices USING (symbol, moment)

-- name: lateral join
SELECT c.name, latest.id FROM customers c, LATERAL (SELECT id FROM orders o WHERE o.customer_id = c.id ORDER BY ordered_at DESC LIMIT 1) AS latest

-- name: positional join
SELECT * FROM (SELECT id FROM orders) POSITIONAL JOIN (SELECT name FROM customers)

-- name: correlated subqueries
SELECT name, (SELECT max(amount) FROM orders o WHERE o.customer_id = c.id) AS largest FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) AND NOT EXISTS (FROM orders o WHERE o.customer_id = c.id AND o.amount > 1000)

-- name: any, all and in
SELECT * FROM orders WHERE amount > ANY (SELECT amount FROM archive.orders) AND amount <= ALL (SELECT 1000) AND customer_id IN (SELECT id FROM customers) AND status NOT IN ('lost', 'stolen') AND id = ANY ([1, 2, 3])

-- name: array of a subquery
SELECT ARRAY(SELECT id FROM orders ORDER BY id) AS ids, [1, 2] AS list, array_value(1, 2, 3) AS fixed

-- name: set operations
SELECT id FROM orders UNION SELECT id FROM archive.orders EXCEPT SELECT 1 INTERSECT ALL SELECT 2 ORDER BY 1 LIMIT 5 OFFSET 0

-- name: set operations by name
SELECT id, status FROM orders UNION ALL BY NAME SELECT status, amount, id FROM archive.orders

-- name: distinct on
SELECT DISTINCT ON (customer_id) customer_id, ordered_at, amount FROM orders ORDER BY customer_id, ordered_at DESC

-- name: limit percent and computed limit
SELECT * FROM (SELECT * FROM orders LIMIT 50%) LIMIT (SELECT count(*) FROM customers) OFFSET 1

-- name: limit by percent sign on a number
SELECT id FROM orders ORDER BY id LIMIT 10 PERCENT

-- name: sampling
SELECT * FROM orders USING SAMPLE 3 ROWS

-- name: sampling with method and seed
SELECT * FROM orders TABLESAMPLE reservoir(50%) REPEATABLE (42)

-- name: bernoulli sampling of a join
SELECT count(*) FROM orders TABLESAMPLE 50 PERCENT (bernoulli), customers USING SAMPLE 90% (system, 7)

-- name: exclude, replace and rename
SELECT * EXCLUDE (tags, note) REPLACE (upper(status) AS status) RENAME (amount AS price) FROM orders

-- name: star of one table
SELECT o.*, c.* EXCLUDE id FROM orders o JOIN customers c ON c.id = o.customer_id

-- name: columns by pattern
SELECT COLUMNS('.*id'), max(COLUMNS('amount|id')) OVER () FROM orders

-- name: columns by lambda
SELECT min(COLUMNS(lambda c: c LIKE 'a%')) FROM orders

-- name: columns in a list and unpacked
SELECT COLUMNS(['id', 'amount']), coalesce(*COLUMNS(['status', 'status'])) FROM orders WHERE COLUMNS(['id', 'amount']) > 0

-- name: star like and similar
SELECT * LIKE 'a%' FROM orders

-- name: columns renamed by group
SELECT COLUMNS('(\w+)_id') AS '\1_number' FROM orders

-- name: pivot statement with values
PIVOT orders ON status IN ('paid', 'open') USING sum(amount) AS total, count(*) AS n GROUP BY customer_id ORDER BY customer_id LIMIT 5

-- name: pivot in standard form
SELECT * FROM orders PIVOT (sum(amount) FOR status IN ('paid', 'open' AS opened) GROUP BY customer_id)

-- name: pivot of a query with two keys
FROM (SELECT status, customer_id, amount FROM orders) PIVOT (sum(amount) FOR status IN ('paid') customer_id IN (1, 2))

-- name: unpivot statement
UNPIVOT monthly ON january, february, march INTO NAME month VALUE sales

-- name: unpivot by columns pattern
UNPIVOT monthly ON COLUMNS(* EXCLUDE (product)) INTO NAME month VALUE sales

-- name: unpivot in standard form
SELECT * FROM monthly UNPIVOT INCLUDE NULLS (sales FOR month IN (january AS 'jan', february AS 'feb'))

-- name: unpivot several columns at once
FROM monthly UNPIVOT ((first_month, second_month) FOR half IN ((january, february) AS 'start', (february, march) AS 'end'))

-- name: case, if, coalesce
SELECT CASE WHEN amount > 100 THEN 'large' WHEN amount > 10 THEN 'medium' ELSE 'small' END, CASE status WHEN 'paid' THEN 1 ELSE 0 END, if(amount > 10, 'a', 'b'), coalesce(status, 'none'), ifnull(status, ''), nullif(status, 'open'), greatest(1, 2), least(1, 2) FROM orders

-- name: null and boolean tests
SELECT status IS NULL, status IS NOT NULL, status IS DISTINCT FROM 'paid', status IS NOT DISTINCT FROM 'paid', active IS TRUE, active IS NOT FALSE, active IS UNKNOWN, NOT active, amount ISNULL FROM orders JOIN customers ON customers.id = customer_id

-- name: arithmetic
SELECT 7 + 1, 7 - 1, 7 * 2, 7 / 2, 7 // 2, 7 % 2, 2 ** 3, 2 ^ 3, -amount, +amount, abs(-3), @(-3), 5!, sign(-1), sqrt(2), cbrt(8), exp(1), ln(2), log(10), log2(8), power(2, 3), round(1.55, 1), ceil(1.2), floor(1.8), trunc(1.7), mod(7, 3), gcd(4, 6), pi() FROM orders LIMIT 1

-- name: trigonometry and special values
SELECT sin(1), cos(1), tan(1), atan2(1, 2), radians(180), degrees(3.14), isnan('nan'::DOUBLE), isinf('inf'::DOUBLE), isfinite(1.0), even(3), factorial(4), gamma(3), round_even(2.5, 0), fdiv(7, 2), fmod(7, 2)

-- name: bit operations
SELECT 5 & 3, 5 | 3, xor(5, 3), ~5, 1 << 3, 16 >> 2, bit_count(7), '0101'::BIT, bitstring('01', 5), get_bit('01'::BIT, 1), bin(5), hex(255), to_base(10, 3)

-- name: text functions
SELECT upper(name), lower(name), length(name), trim('  x '), ltrim(name, 'A'), rtrim(name), lpad(name, 10, '*'), rpad(name, 10, '.'), left(name, 2), right(name, 2), substring(name, 1, 3), substr(name, 2), name[1:3], replace(name, 'a', 'b'), reverse(name), repeat('ab', 3), concat(name, '-', city), concat_ws('/', name, city), name || ' of ' || city, initial: name[1], position('a' IN name), strpos(name, 'a'), instr(name, 'a'), contains(name, 'a'), starts_with(name, 'A'), ends_with(name, 'a'), name ^@ 'A', translate(name, 'ab', 'xy'), ascii(name), chr(65), unicode(name), strip_accents(name), split_part(name, ' ', 1), overlay(name PLACING 'x' FROM 1 FOR 2) FROM customers

-- name: text patterns
SELECT name LIKE 'A%', name NOT LIKE 'B%', name ILIKE '%a', name LIKE '10\%' ESCAPE '\', name SIMILAR TO 'A.*', name ~ '^A.*', name !~ 'z', name GLOB 'A*', name NOT ILIKE 'x' FROM customers

-- name: regular expressions
SELECT regexp_matches(name, '^A'), regexp_replace(name, '(\w)', '\1_', 'g'), regexp_extract(name, '(\w+) (\w+)', 2), regexp_extract(name, '(\w+) (\w+)', ['first', 'last']), regexp_extract_all(name, '[aeiou]'), regexp_full_match(name, '.*'), regexp_split_to_array(name, '\s'), regexp_split_to_table(name, '\s'), regexp_escape('a.b') FROM customers

-- name: text distance
SELECT levenshtein(name, city), damerau_levenshtein(name, city), jaro_similarity(name, city), jaro_winkler_similarity(name, city), jaccard(name, city), hamming('abc', 'abd'), editdist3('a', 'b') FROM customers

-- name: format and printf
SELECT format('{} is {:.2f}', status, amount::DOUBLE), printf('%s-%05d', status, id), format_bytes(1234567), bar(amount::DOUBLE, 0, 100, 10), format('{:,}', 1234567) FROM orders

-- name: split and join
SELECT str_split(name, ' '), string_split(name, ' ')[1], str_split_regex(name, '\s+'), string_to_array(name, ' '), array_to_string(['a', 'b'], '-'), list_aggregate(['a', 'b'], 'string_agg', ';'), list_string_agg(['a', 'b']) FROM customers

-- name: hashes and encodings
SELECT hash(id), md5(status), sha1(status), sha256(status), md5_number(status), to_base64(status::BLOB), from_base64('YQ=='), encode('ä'), decode('\xC3\xA4'::BLOB), url_encode('a b'), url_decode('a%20b'), unhex('41'), 'a'::BLOB FROM orders

-- name: casts
SELECT CAST(amount AS INTEGER), amount::VARCHAR, TRY_CAST('x' AS INTEGER), '2024-01-01'::DATE, DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00', amount::DECIMAL(12, 4), '1,2'::VARCHAR(10), [1, 2]::VARCHAR[], {'a': 1}::STRUCT(a BIGINT), [1, 2, 3]::INTEGER[3], MAP {'a': 1}::MAP(VARCHAR, DOUBLE), '{"a": 1}'::JSON, 'a'::ENUM ('a', 'b'), 1::UNION(n INTEGER, s VARCHAR), 1::HUGEINT, 1::UTINYINT, '1'::TEXT, 1::float8, 1::int4, 'true'::BOOL, 1::UHUGEINT, 1::BIGNUM FROM orders LIMIT 1

-- name: try expression
SELECT TRY(ln(0)), TRY(1 / 0)

-- name: types
SELECT typeof(amount), pg_typeof(id) FROM orders

-- name: collations
SELECT name FROM customers WHERE name = 'ana' COLLATE NOCASE ORDER BY name COLLATE NOCASE.NOACCENT, city COLLATE DE

-- name: date parts
SELECT year(ordered_at), month(ordered_at), day(ordered_at), quarter(ordered_at), week(ordered_at), dayofweek(ordered_at), isodow(ordered_at), dayofyear(ordered_at), hour(ordered_at), minute(ordered_at), second(ordered_at), dayname(ordered_at), monthname(ordered_at), extract('epoch' FROM ordered_at), EXTRACT(year FROM ordered_at), date_part('month', ordered_at), date_part(['year', 'month'], ordered_at), last_day(ordered_at), yearweek(ordered_at), epoch(ordered_at), epoch_ms(ordered_at), century(ordered_at), julian(ordered_at) FROM orders

-- name: date arithmetic
SELECT ordered_at + INTERVAL 1 DAY, ordered_at - INTERVAL '2 months 3 days', shipped + 7, shipped - ordered_at::DATE, age(ordered_at), age(TIMESTAMP '2025-01-01', ordered_at), date_diff('day', ordered_at, TIMESTAMP '2025-01-01'), datediff('month', DATE '2024-01-01', shipped), date_sub('hour', ordered_at, TIMESTAMP '2025-01-01'), date_add(shipped, INTERVAL 3 DAY), INTERVAL (id) HOURS, to_days(id), to_months(2), shipped BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' FROM orders

-- name: date truncation and buckets
SELECT date_trunc('month', ordered_at) AS month, time_bucket(INTERVAL '1 week', ordered_at) AS week, datetrunc('quarter', ordered_at), sum(amount) FROM orders GROUP BY ALL ORDER BY month

-- name: parsing and writing dates
SELECT strptime('03/02/2024', '%d/%m/%Y'), try_strptime('x', '%Y'), try_strptime('2024', ['%d.%m.%Y', '%Y']), strftime(ordered_at, '%Y-%m'), strftime('%d', ordered_at), make_date(2024, 1, 31), make_timestamp(2024, 1, 1, 10, 0, 0.0), make_time(10, 0, 0), to_timestamp(1700000000), epoch_us(ordered_at) FROM orders

-- name: today and now
SELECT current_date, current_timestamp, now(), today(), current_date - INTERVAL 30 DAY, localtimestamp, current_time

-- name: time zones
SELECT ordered_at AT TIME ZONE 'Europe/Berlin', timezone('UTC', ordered_at), TIMESTAMPTZ '2024-01-01 00:00:00+00' AT TIME ZONE 'America/New_York' FROM orders

-- name: list functions
SELECT tags, len(tags), tags[1], tags[-1], tags[1:2], tags[1:2:1], list_sort(tags), list_reverse_sort(tags), list_distinct(tags), list_unique(tags), list_contains(tags, 'new'), list_has_any(tags, ['new']), tags && ['new'], tags @> ['new'], list_position(tags, 'new'), list_concat(tags, ['x']), tags || ['x'], list_append(tags, 'y'), list_prepend('z', tags), list_slice(tags, 1, 1), list_zip(tags, tags), flatten([tags, tags]), list_resize(tags, 3), array_length(tags), list_reverse(tags), list_where([1, 2], [true, false]), list_select([1, 2], [2]), list_intersect(tags, ['new']) FROM orders

-- name: list aggregates
SELECT list_sum([1, 2]), list_avg([1, 2]), list_min([1, 2]), list_max([1, 2]), list_median([1, 2]), list_mode([1, 1, 2]), list_count([1, NULL]), list_first([1]), list_any_value([1]), list_histogram(['a']), list_aggregate([1, 2, 3], 'quantile_cont', 0.5), list_product([2, 3]), list_stddev_pop([1, 2])

-- name: lambdas
SELECT list_transform(tags, lambda t: upper(t)), list_filter([1, 2, 3], lambda n: n > 1), list_reduce([1, 2, 3], lambda a, b: a + b), list_transform([1, 2], lambda n, i: n * i), list_filter(tags, lambda t: t LIKE 'n%' AND length(t) > 1), apply([1], lambda n: n + 1) FROM orders

-- name: list comprehension
SELECT [upper(t) FOR t IN tags IF length(t) > 2], [n * 2 FOR n IN range(5)], [x + y FOR x, y IN [10, 20]] FROM orders

-- name: struct functions
SELECT address.street, address['zip'], struct_extract(address, 'zip'), {'a': 1, 'b': {'c': 2}}.b.c, struct_pack(x := 1, y := 'b'), row(1, 'a'), (1, 'a'), address.*, struct_insert(address, city := city), struct_concat({'a': 1}, {'b': 2}), struct_keys({'a': 1}) FROM customers

-- name: a table as a struct
SELECT o, o.amount, to_json(o) FROM orders o LIMIT 1

-- name: map functions
SELECT attributes['color'], map_keys(attributes), map_values(attributes), map_entries(attributes), map_extract(attributes, 'color'), element_at(attributes, 'color'), cardinality(attributes), map_contains(attributes, 'color'), map_from_entries([('k', 1)]), MAP {'a': 1, 'b': 2}, map(['x'], [1]), map_concat(MAP {'a': 1}, MAP {'b': 2}) FROM orders

-- name: union values
SELECT union_value(n := 1), union_tag(union_value(n := 1)), union_extract(union_value(n := 1), 'n')

-- name: json functions
SELECT note->'$.size', note->>'size', json_extract(note, '$.size'), json_extract_string(note, '$.size'), note->>'$.list[0]', json_type(note), json_valid('{'), json_keys(note), json_array_length('[1,2]'), json_structure(note), json_contains(note, '"L"'), from_json(note, '{"size": "VARCHAR"}'), json_transform(note, '{"size": "VARCHAR"}'), to_json({'a': 1}), json_object('a', 1), json_array(1, 2), json_merge_patch('{"a":1}', '{"b":2}'), json_exists(note, '$.size'), json_value(note, '$.size'), json_pretty(note) FROM orders

-- name: json by dots
SELECT note.size, note.list[1], (note->>'size')::VARCHAR FROM orders

-- name: json aggregates
SELECT json_group_array(status), json_group_object(id::VARCHAR, amount), json_group_structure(note) FROM orders

-- name: json each
SELECT o.id, j.key, j.value, j.type FROM orders o, json_each(o.note) AS j

-- name: json tree with a path
SELECT fullkey, atom FROM json_tree('{"a": [1, {"b": 2}]}', '$.a')

-- name: generate series as a table
SELECT day::DATE AS day FROM generate_series(DATE '2024-01-01', DATE '2024-01-05', INTERVAL 1 DAY) AS t(day)

-- name: range as a table with named columns
SELECT r.i, count(o.id) FROM range(0, 5) AS r(i) LEFT JOIN orders o ON o.id = r.i GROUP BY ALL

-- name: rows with ordinality
SELECT * FROM unnest(['a', 'b']) WITH ORDINALITY AS u(letter, position)

-- name: range as a list
SELECT range(3), generate_series(1, 5, 2), unnest(range(DATE '2024-01-01', DATE '2024-03-01', INTERVAL 1 MONTH))

-- name: unnest a column
SELECT o.id, tag FROM orders o, unnest(o.tags) AS t(tag)

-- name: unnest in the select list
SELECT id, unnest(tags) AS tag FROM orders

-- name: unnest structs
SELECT unnest(address), id FROM customers

-- name: unnest recursively
SELECT unnest([{'a': 1, 'b': [1, 2]}, {'a': 2, 'b': [3]}], recursive := true)

-- name: unnest with depth
SELECT unnest([[1, 2], [3]], max_depth := 2)

-- name: cross join unnest
SELECT id, t.tag FROM orders CROSS JOIN unnest(tags) AS t(tag)

-- name: repeat rows
SELECT * FROM repeat('x', 2), repeat_row(1, 'a', num_rows = 2)

-- name: method chaining
SELECT name.upper().replace('A', 'b'), 'text'.length(), c.city.lower(), [1, 2, 3].list_sum() FROM customers c

-- name: method chaining on a table alias with three parts
SELECT customers.name.upper() FROM customers

-- name: operators as words
SELECT add(1, 2), subtract(3, 1), multiply(2, 3), divide(7, 2)

-- name: random and identifiers
SELECT random() < 1, uuid() IS NOT NULL, gen_random_uuid() IS NOT NULL

-- name: row identifier
SELECT rowid, id FROM orders ORDER BY rowid

-- name: positional reference
SELECT #1 FROM orders ORDER BY #1

-- name: tuple comparison
SELECT * FROM orders WHERE (customer_id, status) IN ((1, 'paid'), (2, 'open')) OR (id, customer_id) = (1, 1) OR (id, customer_id) IN (SELECT id, customer_id FROM archive.orders)

-- name: string literals of every kind
SELECT 'it''s', E'line\nbreak', $$dollar 'quoted'$$, $tag$with $ inside$tag$, '\x41', 'read_csv(''/etc/passwd'')', '; DROP TABLE orders; --'

-- name: column named like a dangerous thing
SELECT 1 AS read_csv, 2 AS "getenv", 3 AS "copy" ORDER BY read_csv

-- name: alias named like a dangerous thing
SELECT read_csv.id FROM orders AS read_csv

-- name: common table expression named like a function
WITH read_text AS (SELECT 1 AS content) SELECT content FROM read_text

-- name: nested and-or
SELECT * FROM orders WHERE (status = 'paid' AND (amount > 10 OR customer_id = 2)) OR NOT (id BETWEEN 2 AND 3 OR amount NOT BETWEEN 1 AND 5)

-- name: table alias with column names
SELECT a, b FROM customers AS c(a, b)

-- name: query in parentheses with order
(SELECT id FROM orders ORDER BY id LIMIT 1) UNION ALL (SELECT id FROM archive.orders ORDER BY id DESC LIMIT 1)

-- name: cohort analysis
WITH first_order AS (SELECT customer_id, min(date_trunc('month', ordered_at)) AS cohort FROM orders GROUP BY customer_id), activity AS (SELECT o.customer_id, f.cohort, date_diff('month', f.cohort, o.ordered_at) AS month_number FROM orders o JOIN first_order f USING (customer_id)) SELECT cohort, month_number, count(DISTINCT customer_id) AS customers FROM activity GROUP BY ALL ORDER BY ALL

-- name: sessions from logs
SELECT *, sum(CASE WHEN gap > INTERVAL 30 MINUTE OR gap IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY visitor ORDER BY moment) AS session FROM (SELECT visitor, moment, moment - lag(moment) OVER (PARTITION BY visitor ORDER BY moment) AS gap FROM logs)

-- name: fill gaps in time
SELECT d.day, coalesce(sum(o.amount), 0) AS revenue FROM generate_series(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY) d(day) LEFT JOIN orders o ON o.ordered_at::DATE = d.day GROUP BY 1 ORDER BY 1

-- name: linear interpolation
SELECT symbol, moment, fill(price) OVER (PARTITION BY symbol ORDER BY moment) FROM prices

-- name: top per group with arg_max list
SELECT customer_id, unnest(max_by(id, amount, 2)) AS top FROM orders GROUP BY 1

-- name: distance of vectors
SELECT list_cosine_similarity([1.0, 2.0], [2.0, 3.0]), list_distance([1.0], [2.0]), array_cosine_distance([1, 2]::FLOAT[2], [2, 3]::FLOAT[2]), list_dot_product([1.0], [2.0])

-- name: file path texts
SELECT parse_filename('/a/b.csv'), parse_path('/a/b.csv'), parse_dirname('/a/b.csv')

-- name: describe in a subquery
SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM orders) WHERE column_type = 'VARCHAR'

-- name: group by an expression with having and qualify
SELECT upper(status) AS s, count(*) AS n FROM orders GROUP BY upper(status) HAVING n >= 1 QUALIFY rank() OVER (ORDER BY n DESC) <= 3

-- name: method call on a column
SELECT name.upper() FROM customers

-- name: method call on a column of an alias
SELECT c.name.lower() FROM customers c

-- name: method calls in a chain
SELECT name.lower().replace('a', 'b').length() FROM customers

-- name: literal with a line break
SELECT count(*) FROM orders WHERE status <> E'x\nc2=5\ny'

-- name: literal that looks like SQL
SELECT count(*) FROM orders WHERE status = 'paid''; DROP TABLE orders --'

-- name: literal that looks like a path
SELECT count(*) FROM customers WHERE city = '/etc/passwd'

-- name: alias that is a word of SQL
SELECT id AS "select", amount AS "from" FROM orders

-- name: alias called user
SELECT "user" FROM (SELECT name AS "user" FROM customers)

-- name: column called current_user in a CTE
WITH x("current_user") AS (SELECT 1) SELECT "current_user" FROM x

-- name: share of total
SELECT status, amount / sum(amount) OVER () AS share FROM orders

-- name: running total
SELECT id, sum(amount) OVER (ORDER BY ordered_at ROWS UNBOUNDED PRECEDING) FROM orders

-- name: moving average by range
SELECT id, avg(amount) OVER (ORDER BY ordered_at RANGE BETWEEN INTERVAL 30 DAY PRECEDING AND CURRENT ROW) FROM orders

-- name: year over year
SELECT year(ordered_at) AS y, sum(amount) - lag(sum(amount)) OVER (ORDER BY year(ordered_at)) FROM orders GROUP BY 1

-- name: median and quantiles
SELECT median(amount), quantile_cont(amount, [0.25, 0.75]), mode(status) FROM orders

-- name: weighted average
SELECT sum(amount * id) / nullif(sum(id), 0) FROM orders

-- name: anti join
SELECT c.* FROM customers c ANTI JOIN orders o ON o.customer_id = c.id

-- name: semi join
SELECT c.name FROM customers c SEMI JOIN orders o ON o.customer_id = c.id

-- name: not exists
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)

-- name: full join with coalesce
SELECT coalesce(c.id, o.customer_id), count(o.id) FROM customers c FULL JOIN orders o ON o.customer_id = c.id GROUP BY 1

-- name: self join of pairs
SELECT a.id, b.id FROM customers a JOIN customers b ON a.id < b.id AND a.city <> b.city

-- name: asof join of prices
SELECT t.symbol, t.quantity * p.price FROM trades t ASOF JOIN prices p ON t.symbol = p.symbol AND t.moment >= p.moment

-- name: unnest tags
SELECT id, unnest(tags) AS tag FROM orders

-- name: count of tags
SELECT tag, count(*) FROM (SELECT unnest(tags) AS tag FROM orders) GROUP BY tag ORDER BY 2 DESC

-- name: json fields
SELECT note->>'size' AS size, json_array_length(note->'list') FROM orders

-- name: struct fields
SELECT address.zip, address.street FROM customers

-- name: map lookups
SELECT attributes['color'] FROM orders

-- name: strings to numbers
SELECT try_cast(replace(regexp_replace('1.234,50', '\.', '', 'g'), ',', '.') AS DECIMAL(10, 2))

-- name: german dates
SELECT try_strptime('31.12.2024', '%d.%m.%Y')::DATE

-- name: fiscal year
SELECT CASE WHEN month(ordered_at) >= 7 THEN year(ordered_at) + 1 ELSE year(ordered_at) END AS fiscal, sum(amount) FROM orders GROUP BY 1

-- name: weekday names
SELECT dayname(ordered_at), count(*) FROM orders GROUP BY ALL

-- name: business days
SELECT count(*) FROM generate_series(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY) d(day) WHERE isodow(day) < 6

-- name: deduplicated by latest
SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY ordered_at DESC) = 1

-- name: union by name
SELECT id, status FROM orders UNION ALL BY NAME SELECT id FROM archive.orders

-- name: except all
SELECT id FROM orders EXCEPT ALL SELECT id FROM archive.orders

-- name: rollup with grouping
SELECT status, customer_id, sum(amount), grouping(status) FROM orders GROUP BY ROLLUP (status, customer_id)

-- name: unpivot months
UNPIVOT monthly ON january, february, march INTO NAME month VALUE pieces

-- name: pivot with values
PIVOT orders ON status IN ('paid', 'open') USING sum(amount) GROUP BY customer_id

-- name: recursive path
WITH RECURSIVE walk(node, path) AS (SELECT 1, [1] UNION ALL SELECT e.target, list_append(path, e.target) FROM walk JOIN edges e ON e.source = node WHERE NOT list_contains(path, e.target)) SELECT * FROM walk

-- name: histogram of amounts
SELECT width, count(*) FROM (SELECT floor(amount / 50) * 50 AS width FROM orders) GROUP BY 1 ORDER BY 1

-- name: correlation
SELECT corr(amount, id), regr_slope(amount, id) FROM orders

-- name: string aggregation
SELECT customer_id, string_agg(status, ', ' ORDER BY ordered_at) FROM orders GROUP BY 1

-- name: similar names
SELECT a.name, b.name, jaro_winkler_similarity(a.name, b.name) FROM customers a, customers b WHERE a.id < b.id

-- name: filtered aggregates side by side
SELECT count(*) FILTER (WHERE status = 'paid') AS paid, count(*) FILTER (WHERE status IS NULL) AS unknown FROM orders

-- name: exclude and replace
SELECT * EXCLUDE (note, attributes) REPLACE (round(amount) AS amount) FROM orders

-- name: comments in a statement
SELECT /* the paid ones; -- not the open */ count(*) FROM orders -- all of them

-- name: percent of customers with two orders
SELECT avg((n >= 2)::INT) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY 1)

-- name: the time without parentheses
SELECT current_date, current_timestamp IS NOT NULL, current_date - INTERVAL 1 DAY
