#!/bin/sh
# A few rows to begin with, and a role for coset that may only read.
set -eu
psql --username postgres --dbname crm --set ON_ERROR_STOP=1 --set "password=$CRM_PASSWORD" <<'SQL'
CREATE TABLE customers (customer_id int PRIMARY KEY, name text NOT NULL, city text);
CREATE TABLE orders (order_no int PRIMARY KEY, customer_id int REFERENCES customers, amount numeric(10,2));
INSERT INTO customers VALUES (1, 'Boreal Steel', 'Basel'), (2, 'Laurel Forestry', 'Bern'), (3, 'Kestrel Motors', NULL);
INSERT INTO orders SELECT n, n % 3 + 1, n * 1.5 FROM generate_series(1, 100) n;
CREATE ROLE coset_reader LOGIN PASSWORD :'password';
GRANT CONNECT ON DATABASE crm TO coset_reader;
GRANT USAGE ON SCHEMA public TO coset_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO coset_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO coset_reader;
SQL
