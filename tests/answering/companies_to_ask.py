"""Three small companies and what newcomers ask of them: each question with the statement that answers it, or with none
where the data cannot answer or only a person could say what is meant.

The words are those of people, not those of the tables: that is what the offline reasoner has to decline or to
understand. Whoever adds a question writes the statement before trying it.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

Rows = Sequence[tuple[object, ...]]


def retailer(path: Path) -> None:
    """Shops, products, customers, orders with lines, refunds, staff."""
    dice = random.Random(4)
    cities = ("Leeds", "York", "Hull", "Bath")
    stores = [
        (n, f"{cities[n % 4]} {('High Street', 'Station', 'Market')[n % 3]}", cities[n % 4], f"20{10 + n}-03-01")
        for n in range(1, 9)
    ]
    categories = [(1, "Garden"), (2, "Kitchen"), (3, "Toys"), (4, "Lighting")]
    names = ("Rake", "Kettle", "Puzzle", "Lamp", "Spade", "Toaster", "Kite", "Lantern", "Hose", "Pan", "Robot", "Torch")
    products = [(n, f"{names[n % 12]} {'ABCDE'[n // 12]}", n % 4 + 1, round(3 + dice.random() * 40, 2),
                 round(8 + dice.random() * 90, 2), n % 11 != 0) for n in range(1, 49)]  # fmt: skip
    first, last = ("Ann", "Bob", "Cay", "Dan", "Eve", "Fay"), ("Hill", "Moss", "Reed", "Snow", "West")
    customers = [(n, first[n % 6], last[n % 5], cities[dice.randrange(4)], f"user{n}@mail.test",
                  f"202{dice.randrange(1, 4)}-{dice.randrange(1, 13):02}-11") for n in range(1, 121)]  # fmt: skip
    orders = [(n, dice.randrange(1, 111), dice.randrange(1, 9), f"202{3 + n % 2}-{dice.randrange(1, 13):02}-"
               f"{dice.randrange(1, 28):02}", dice.choice(("paid", "paid", "paid", "cancelled", "open"))) for n in range(1, 601)]  # fmt: skip
    lines = [(number, order, dice.randrange(1, 47), dice.randrange(1, 9), round(5 + dice.random() * 80, 2),
              dice.choice((0, 0, 0, 5, 10))) for number, order in enumerate(sorted(dice.choices(range(1, 601), k=1500)), 1)]  # fmt: skip
    refunds = [(n, dice.randrange(1, 601), round(2 + dice.random() * 60, 2), dice.choice(("damaged", "late", "wrong item")),
                f"2024-{dice.randrange(1, 13):02}-14") for n in range(1, 81)]  # fmt: skip
    staff = [(n, f"{first[n % 6]} {last[n % 5]} {n}", n % 8 + 1, dice.choice(("cashier", "manager", "porter")),
              1500 + 37 * n, f"20{12 + n % 9}-05-01") for n in range(1, 41)]  # fmt: skip
    fill(path, """
        CREATE TABLE stores (store_id INTEGER PRIMARY KEY, store_name TEXT, city TEXT, opened_on TEXT);
        CREATE TABLE categories (category_id INTEGER PRIMARY KEY, category_name TEXT);
        CREATE TABLE products (product_id INTEGER PRIMARY KEY, product_name TEXT,
            category_id INTEGER REFERENCES categories, unit_cost REAL, list_price REAL, is_active INTEGER);
        CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, city TEXT, email TEXT,
            signup_date TEXT);
        CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers,
            store_id INTEGER REFERENCES stores, order_date TEXT, status TEXT);
        CREATE TABLE order_lines (line_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders,
            product_id INTEGER REFERENCES products, units INTEGER, unit_price REAL, discount_percent INTEGER);
        CREATE TABLE refunds (refund_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, refund_amount REAL,
            reason TEXT, refunded_on TEXT);
        CREATE TABLE staff (staff_id INTEGER PRIMARY KEY, full_name TEXT, store_id INTEGER REFERENCES stores,
            job_title TEXT, monthly_salary INTEGER, hired_on TEXT);
        """, stores, categories, products, customers, orders, lines, refunds, staff)  # fmt: skip


def service(path: Path) -> None:
    """Accounts, plans, subscriptions, invoices and payments, tickets, agents."""
    dice = random.Random(9)
    industries, countries = ("retail", "health", "energy", "media"), ("France", "Spain", "Italy", "Poland")
    accounts = [(n, f"Firm {n:03}", dice.choice(industries), dice.choice(countries), dice.randrange(5, 900),
                 f"202{n % 4}-0{n % 9 + 1}-03") for n in range(1, 91)]  # fmt: skip
    plans = [(1, "Basic", 19.0, 5), (2, "Team", 59.0, 25), (3, "Business", 149.0, 100), (4, "Enterprise", 499.0, None)]
    subscriptions = [(n, n % 88 + 1, dice.randrange(1, 5), f"202{dice.randrange(1, 4)}-{dice.randrange(1, 13):02}-01",
                      f"2024-{dice.randrange(1, 13):02}-28" if n % 5 == 0 else None,
                      "cancelled" if n % 5 == 0 else "active", dice.randrange(1, 60)) for n in range(1, 131)]  # fmt: skip
    invoices = [(n, dice.randrange(1, 131), f"2024-{dice.randrange(1, 13):02}-05", round(20 + dice.random() * 900, 2),
                 round(dice.random() * 90, 2), dice.choice(("paid", "paid", "overdue"))) for n in range(1, 501)]  # fmt: skip
    payments = [(n, dice.randrange(1, 501), f"2024-{dice.randrange(1, 13):02}-20", round(20 + dice.random() * 700, 2),
                 dice.choice(("card", "transfer"))) for n in range(1, 381)]  # fmt: skip
    agents = [(n, f"Agent {n}", dice.choice(("north", "south")), 3 + n % 5) for n in range(1, 13)]
    tickets = [(n, dice.randrange(1, 80), dice.randrange(1, 12), dice.choice(("low", "normal", "urgent")),
                dice.choice(("open", "closed", "closed", "waiting")), f"2024-{dice.randrange(1, 13):02}-09 10:00:00",
                dice.randrange(1, 300), dice.choice((None, 1, 2, 3, 4, 5))) for n in range(1, 421)]  # fmt: skip
    fill(path, """
        CREATE TABLE accounts (account_id INTEGER PRIMARY KEY, company_name TEXT, industry TEXT, country TEXT,
            employees INTEGER, created_at TEXT);
        CREATE TABLE plans (plan_id INTEGER PRIMARY KEY, plan_name TEXT, monthly_fee REAL, max_seats INTEGER);
        CREATE TABLE subscriptions (subscription_id INTEGER PRIMARY KEY, account_id INTEGER REFERENCES accounts,
            plan_id INTEGER REFERENCES plans, start_date TEXT, end_date TEXT, status TEXT, seats INTEGER);
        CREATE TABLE invoices (invoice_id INTEGER PRIMARY KEY, subscription_id INTEGER REFERENCES subscriptions,
            invoice_date TEXT, amount_due REAL, tax REAL, status TEXT);
        CREATE TABLE payments (payment_id INTEGER PRIMARY KEY, invoice_id INTEGER REFERENCES invoices, paid_on TEXT,
            amount_paid REAL, method TEXT);
        CREATE TABLE agents (agent_id INTEGER PRIMARY KEY, agent_name TEXT, team TEXT, experience_years INTEGER);
        CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, account_id INTEGER REFERENCES accounts,
            agent_id INTEGER REFERENCES agents, priority TEXT, status TEXT, opened_at TEXT, resolution_minutes INTEGER,
            satisfaction INTEGER);
        """, accounts, plans, subscriptions, invoices, payments, agents, tickets)  # fmt: skip


def haulier(path: Path) -> None:
    """Depots, vehicles, drivers, routes, shipments, fuel, incidents."""
    dice = random.Random(16)
    towns = ("Graz", "Linz", "Wels", "Steyr")
    depots = [(n, f"Depot {towns[n - 1]}", towns[n - 1], 40 + 10 * n) for n in range(1, 5)]
    makes = ("Volvo", "Scania", "Iveco")
    vehicles = [(n, f"G-{100 + n} T", makes[n % 3], 2012 + n % 11, round(7.5 + n % 4 * 6, 1), n % 4 + 1,
                 dice.randrange(20_000, 900_000)) for n in range(1, 31)]  # fmt: skip
    drivers = [(n, f"Driver {n:02}", n % 4 + 1, f"19{60 + n}-04-12", 2100 + 45 * n, "CE" if n % 3 else "C")
               for n in range(1, 37)]  # fmt: skip
    clients = [(n, f"Client {n:02}", dice.choice(("food", "steel", "paper")), dice.choice(towns)) for n in range(1, 26)]
    shipments = [(n, dice.randrange(1, 24), dice.randrange(1, 29), dice.randrange(1, 35), dice.choice(towns),
                  dice.choice(towns), f"2025-{dice.randrange(1, 7):02}-{dice.randrange(1, 28):02}",
                  round(100 + dice.random() * 9000, 1), round(30 + dice.random() * 800, 1),
                  round(150 + dice.random() * 2400, 2), dice.choice(("delivered", "delivered", "in transit", "lost")))
                 for n in range(1, 701)]  # fmt: skip
    fuel = [(n, dice.randrange(1, 31), f"2025-{dice.randrange(1, 7):02}-17", round(80 + dice.random() * 400, 1),
             round(1.2 + dice.random() * 0.5, 3)) for n in range(1, 301)]  # fmt: skip
    incidents = [(n, dice.randrange(1, 29), dice.randrange(1, 35), dice.choice(("breakdown", "accident", "theft")),
                  f"2025-0{dice.randrange(1, 7)}-03", dice.randrange(100, 9000)) for n in range(1, 46)]  # fmt: skip
    fill(path, """
        CREATE TABLE depots (depot_id INTEGER PRIMARY KEY, depot_name TEXT, town TEXT, capacity INTEGER);
        CREATE TABLE vehicles (vehicle_id INTEGER PRIMARY KEY, plate TEXT, make TEXT, model_year INTEGER,
            payload_tonnes REAL, depot_id INTEGER REFERENCES depots, mileage_km INTEGER);
        CREATE TABLE drivers (driver_id INTEGER PRIMARY KEY, driver_name TEXT, depot_id INTEGER REFERENCES depots,
            birth_date TEXT, salary INTEGER, licence_class TEXT);
        CREATE TABLE clients (client_id INTEGER PRIMARY KEY, client_name TEXT, sector TEXT, town TEXT);
        CREATE TABLE shipments (shipment_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES clients,
            vehicle_id INTEGER REFERENCES vehicles, driver_id INTEGER REFERENCES drivers, origin TEXT, destination TEXT,
            shipped_on TEXT, weight_kg REAL, distance_km REAL, price_eur REAL, status TEXT);
        CREATE TABLE fuel_purchases (purchase_id INTEGER PRIMARY KEY, vehicle_id INTEGER REFERENCES vehicles,
            bought_on TEXT, litres REAL, price_per_litre REAL);
        CREATE TABLE incidents (incident_id INTEGER PRIMARY KEY, vehicle_id INTEGER REFERENCES vehicles,
            driver_id INTEGER REFERENCES drivers, kind TEXT, happened_on TEXT, damage_eur INTEGER);
        """, depots, vehicles, drivers, clients, shipments, fuel, incidents)  # fmt: skip


def fill(path: Path, schema: str, *tables: Rows) -> None:
    with sqlite3.connect(path) as database:
        database.executescript(schema)
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name, rows in zip(names, tables, strict=True):
            database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    database.close()


COMPANIES: dict[str, Callable[[Path], None]] = {"retailer": retailer, "service": service, "haulier": haulier}

_SOLD = "FROM order_lines JOIN products USING (product_id) GROUP BY product_id"
QUESTIONS: dict[str, list[tuple[str, str | None]]] = {
    "retailer": [
        ("How many stores do we have?", "SELECT count(*) FROM stores"),
        ("Which 5 products sold the most units?", f"SELECT product_name {_SOLD} ORDER BY sum(units) DESC LIMIT 5"),
        ("Which product sold the most units?", f"SELECT product_name {_SOLD} ORDER BY sum(units) DESC LIMIT 1"),
        ("What is the total refund?", "SELECT sum(refund_amount) FROM refunds"),
        ("What is the total refund amount?", "SELECT sum(refund_amount) FROM refunds"),
        ("How much did we refund in total?", "SELECT sum(refund_amount) FROM refunds"),
        ("How much money did we refund in 2024?", "SELECT sum(refund_amount) FROM refunds"),
        ("What is the average refund?", "SELECT avg(refund_amount) FROM refunds"),
        ("What is the biggest refund?", "SELECT max(refund_amount) FROM refunds"),
        ("How many refunds were there for damaged items?", "SELECT count(*) FROM refunds WHERE reason = 'damaged'"),
        ("How many units did we sell?", "SELECT sum(units) FROM order_lines"),
        ("How many units were sold in total?", "SELECT sum(units) FROM order_lines"),
        ("What is the total number of units sold?", "SELECT sum(units) FROM order_lines"),
        ("What was our total revenue?", None),
        ("What were our sales in 2024?", None),
        ("Which store has the highest revenue?", None),
        ("How many orders were placed in 2024?", "SELECT count(*) FROM orders WHERE order_date LIKE '2024%'"),
        ("How many orders were cancelled?", "SELECT count(*) FROM orders WHERE status = 'cancelled'"),
        ("How many open orders are there?", "SELECT count(*) FROM orders WHERE status = 'open'"),
        ("How many customers live in York?", "SELECT count(*) FROM customers WHERE city = 'York'"),
        (
            "How many customers have never ordered anything?",
            "SELECT count(*) FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders)",
        ),
        (
            "How many customers placed more than 8 orders?",
            "SELECT count(*) FROM (SELECT 1 FROM orders GROUP BY customer_id HAVING count(*) > 8)",
        ),
        (
            "Which city has the most customers?",
            "SELECT city FROM customers GROUP BY city ORDER BY count(*) DESC LIMIT 1",
        ),
        ("How many customers are there per city?", "SELECT city, count(*) FROM customers GROUP BY city"),
        (
            "What is the average salary of managers?",
            "SELECT avg(monthly_salary) FROM staff WHERE job_title = 'manager'",
        ),
        ("Who earns the most?", "SELECT full_name FROM staff ORDER BY monthly_salary DESC LIMIT 1"),
        ("Which employee has the highest salary?", "SELECT full_name FROM staff ORDER BY monthly_salary DESC LIMIT 1"),
        (
            "How many staff work in the Leeds stores?",
            "SELECT count(*) FROM staff JOIN stores USING (store_id) WHERE city = 'Leeds'",
        ),
        ("How many people work for us?", "SELECT count(*) FROM staff"),
        ("What is the most expensive product?", "SELECT product_name FROM products ORDER BY list_price DESC LIMIT 1"),
        ("What is the cheapest product?", "SELECT product_name FROM products ORDER BY list_price LIMIT 1"),
        ("What is the average price of a product?", "SELECT avg(list_price) FROM products"),
        ("What is the average list price?", "SELECT avg(list_price) FROM products"),
        (
            "What is the average list price of toys?",
            "SELECT avg(list_price) FROM products JOIN categories USING (category_id) WHERE category_name = 'Toys'",
        ),
        (
            "How many products are in each category?",
            "SELECT category_name, count(*) FROM products JOIN categories USING (category_id) GROUP BY category_id",
        ),
        ("Which category has the most products?", None),
        (
            "Which products were never sold?",
            "SELECT product_name FROM products WHERE product_id NOT IN (SELECT product_id FROM order_lines)",
        ),
        (
            "How many products have never been ordered?",
            "SELECT count(*) FROM products WHERE product_id NOT IN (SELECT product_id FROM order_lines)",
        ),
        ("List the names of all categories.", "SELECT category_name FROM categories"),
        ("How many active products do we have?", "SELECT count(*) FROM products WHERE is_active = 1"),
        ("What is the average discount?", "SELECT avg(discount_percent) FROM order_lines"),
        ("What is the highest unit cost?", "SELECT max(unit_cost) FROM products"),
        ("What is the average unit price?", "SELECT avg(unit_price) FROM order_lines"),
        ("What is the average order value?", None),
        ("What is the total cost of all products?", None),
        ("What is our profit?", None),
        ("What is the profit margin per category?", None),
        ("Who are our best customers?", None),
        ("Who is our best customer?", None),
        ("What is the total amount of discounts?", None),
        (
            "How many employees does each store have?",
            "SELECT store_name, count(*) FROM staff JOIN stores USING (store_id) GROUP BY store_id",
        ),
        ("Which store employs the most people?", None),
        ("When was the Hull Station store opened?", None),
        (
            "Which reason for refunds is the most common?",
            "SELECT reason FROM refunds GROUP BY reason ORDER BY count(*) DESC LIMIT 1",
        ),
        ("What is the total salary we pay?", "SELECT sum(monthly_salary) FROM staff"),
        ("What is the average salary per job title?", "SELECT job_title, avg(monthly_salary) FROM staff GROUP BY 1"),
        ("Top 3 customers by number of orders", None),
        ("Which customer placed the most orders?", None),
        ("How many orders did we get per month?", None),
        ("What is the return rate?", None),
        ("How much did customers from York spend?", None),
        ("How many different products were sold?", "SELECT count(DISTINCT product_id) FROM order_lines"),
        ("How many stores are in Bath?", "SELECT count(*) FROM stores WHERE city = 'Bath'"),
        ("Number of customers who signed up in 2022", "SELECT count(*) FROM customers WHERE signup_date LIKE '2022%'"),
        (
            "How many units of Kettle A were sold?",
            "SELECT sum(units) FROM order_lines JOIN products USING (product_id) WHERE product_name = 'Kettle A'",
        ),
        (
            "What is the total quantity sold per category?",
            "SELECT category_name, sum(units) FROM order_lines JOIN products USING (product_id) "
            "JOIN categories USING (category_id) GROUP BY category_id",
        ),
        ("What is the average number of units per order?", None),
        (
            "Which store had the most refunds?",
            "SELECT store_name FROM refunds JOIN orders USING (order_id) JOIN stores USING (store_id) GROUP BY store_id ORDER BY count(*) DESC LIMIT 1",
        ),
        (
            "How many refunds did each store have?",
            "SELECT store_name, count(*) FROM refunds JOIN orders USING (order_id) JOIN stores USING (store_id) GROUP BY store_id",
        ),
        ("What share of orders was cancelled?", None),
    ],
    "service": [
        ("How many accounts do we have?", "SELECT count(*) FROM accounts"),
        ("How many customers are in France?", "SELECT count(*) FROM accounts WHERE country = 'France'"),
        ("How many active subscriptions are there?", "SELECT count(*) FROM subscriptions WHERE status = 'active'"),
        ("How many subscriptions were cancelled?", "SELECT count(*) FROM subscriptions WHERE status = 'cancelled'"),
        ("What is the total amount due?", "SELECT sum(amount_due) FROM invoices"),
        (
            "What is the total amount of overdue invoices?",
            "SELECT sum(amount_due) FROM invoices WHERE status = 'overdue'",
        ),
        ("How much is overdue?", "SELECT sum(amount_due) FROM invoices WHERE status = 'overdue'"),
        ("How many invoices are overdue?", "SELECT count(*) FROM invoices WHERE status = 'overdue'"),
        ("How much was paid by card?", "SELECT sum(amount_paid) FROM payments WHERE method = 'card'"),
        ("What is the total paid by transfer?", "SELECT sum(amount_paid) FROM payments WHERE method = 'transfer'"),
        ("How much tax did we charge in total?", "SELECT sum(tax) FROM invoices"),
        ("What is the total tax?", "SELECT sum(tax) FROM invoices"),
        ("What is the average invoice?", None),
        ("What is the average amount due per invoice?", "SELECT avg(amount_due) FROM invoices"),
        ("What is our monthly recurring revenue?", None),
        ("What is the churn rate?", None),
        ("How many seats are sold?", "SELECT sum(seats) FROM subscriptions"),
        ("How many seats do we have in total?", "SELECT sum(seats) FROM subscriptions"),
        ("What is the total number of seats?", "SELECT sum(seats) FROM subscriptions"),
        ("Which plan is the most expensive?", "SELECT plan_name FROM plans ORDER BY monthly_fee DESC LIMIT 1"),
        (
            "Which plan has the most subscriptions?",
            "SELECT plan_name FROM subscriptions JOIN plans USING (plan_id) GROUP BY plan_id ORDER BY count(*) DESC LIMIT 1",
        ),
        (
            "How many subscriptions does each plan have?",
            "SELECT plan_name, count(*) FROM subscriptions JOIN plans USING (plan_id) GROUP BY plan_id",
        ),
        ("What does the Team plan cost?", None),
        ("What is the monthly fee of the Business plan?", "SELECT monthly_fee FROM plans WHERE plan_name = 'Business'"),
        ("How many tickets are open?", "SELECT count(*) FROM tickets WHERE status = 'open'"),
        (
            "How many urgent tickets are waiting?",
            "SELECT count(*) FROM tickets WHERE status = 'waiting' AND priority = 'urgent'",
        ),
        ("What is the average resolution time?", "SELECT avg(resolution_minutes) FROM tickets"),
        (
            "What is the average resolution time of urgent tickets?",
            "SELECT avg(resolution_minutes) FROM tickets WHERE priority = 'urgent'",
        ),
        ("What is the average satisfaction?", "SELECT avg(satisfaction) FROM tickets"),
        ("Which agent has the highest satisfaction?", None),
        ("Which agent handled the most tickets?", None),
        ("How many tickets did each agent handle?", None),
        (
            "How many accounts have no tickets?",
            "SELECT count(*) FROM accounts WHERE account_id NOT IN (SELECT account_id FROM tickets)",
        ),
        (
            "Which accounts have no subscription?",
            "SELECT company_name FROM accounts WHERE account_id NOT IN (SELECT account_id FROM subscriptions)",
        ),
        ("How many employees does Firm 007 have?", "SELECT employees FROM accounts WHERE company_name = 'Firm 007'"),
        ("Which company has the most employees?", "SELECT company_name FROM accounts ORDER BY employees DESC LIMIT 1"),
        ("How many employees do our customers have?", None),
        (
            "What is the total number of employees of accounts in Spain?",
            "SELECT sum(employees) FROM accounts WHERE country = 'Spain'",
        ),
        ("How many accounts are there per industry?", "SELECT industry, count(*) FROM accounts GROUP BY industry"),
        (
            "Which industry has the most accounts?",
            "SELECT industry FROM accounts GROUP BY industry ORDER BY count(*) DESC LIMIT 1",
        ),
        (
            "How many companies in the energy industry are there?",
            "SELECT count(*) FROM accounts WHERE industry = 'energy'",
        ),
        (
            "How many invoices were issued in March 2024?",
            "SELECT count(*) FROM invoices WHERE invoice_date LIKE '2024-03%'",
        ),
        (
            "How much did we invoice in March 2024?",
            "SELECT sum(amount_due) FROM invoices WHERE invoice_date LIKE '2024-03%'",
        ),
        ("How many payments were made by card?", "SELECT count(*) FROM payments WHERE method = 'card'"),
        ("What is the largest payment?", "SELECT max(amount_paid) FROM payments"),
        ("Which account paid the most?", None),
        (
            "What is the most common priority?",
            "SELECT priority FROM tickets GROUP BY priority ORDER BY count(*) DESC LIMIT 1",
        ),
        ("How long does it take to resolve a ticket?", None),
        ("How many agents are in the north team?", "SELECT count(*) FROM agents WHERE team = 'north'"),
        (
            "What is the average experience of agents in the south team?",
            "SELECT avg(experience_years) FROM agents WHERE team = 'south'",
        ),
        ("Who is the most experienced agent?", None),
        ("What is the total monthly fee?", "SELECT sum(monthly_fee) FROM plans"),
        ("How many unpaid invoices are there?", None),
        ("How many subscriptions started in 2022?", "SELECT count(*) FROM subscriptions WHERE start_date LIKE '2022%'"),
        ("How many subscriptions ended in 2024?", "SELECT count(*) FROM subscriptions WHERE end_date LIKE '2024%'"),
        ("Top 5 countries by number of accounts", None),
        ("How many tickets have been rated 5?", "SELECT count(*) FROM tickets WHERE satisfaction = 5"),
        ("How many invoices have been paid?", "SELECT count(*) FROM invoices WHERE status = 'paid'"),
    ],
    "haulier": [
        ("How many vehicles do we have?", "SELECT count(*) FROM vehicles"),
        ("How many trucks do we have?", None),
        ("How many Volvo vehicles are there?", "SELECT count(*) FROM vehicles WHERE make = 'Volvo'"),
        ("Which depot has the most vehicles?", None),
        (
            "How many vehicles does each depot have?",
            "SELECT depot_name, count(*) FROM vehicles JOIN depots USING (depot_id) GROUP BY depot_id",
        ),
        ("What is the total weight shipped?", "SELECT sum(weight_kg) FROM shipments"),
        ("What is the total weight of all shipments?", "SELECT sum(weight_kg) FROM shipments"),
        ("What is the total distance?", "SELECT sum(distance_km) FROM shipments"),
        ("How many kilometres did we drive?", None),
        ("How many litres of fuel did we buy?", "SELECT sum(litres) FROM fuel_purchases"),
        ("How much fuel did we buy?", "SELECT sum(litres) FROM fuel_purchases"),
        ("How much did we spend on fuel?", None),
        ("What is the average price per litre?", "SELECT avg(price_per_litre) FROM fuel_purchases"),
        ("What is the total price per litre?", None),
        ("What is the average price of a shipment?", "SELECT avg(price_eur) FROM shipments"),
        (
            "What is the total price of shipments from Graz to Linz?",
            "SELECT sum(price_eur) FROM shipments WHERE origin = 'Graz' AND destination = 'Linz'",
        ),
        (
            "How many shipments go from Graz to Linz?",
            "SELECT count(*) FROM shipments WHERE origin = 'Graz' AND destination = 'Linz'",
        ),
        ("How many shipments went to Wels?", "SELECT count(*) FROM shipments WHERE destination = 'Wels'"),
        ("How many shipments were lost?", "SELECT count(*) FROM shipments WHERE status = 'lost'"),
        ("How many shipments in Graz?", None),
        (
            "How many shipments were delivered in May 2025?",
            "SELECT count(*) FROM shipments WHERE status = 'delivered' AND shipped_on LIKE '2025-05%'",
        ),
        ("What was our revenue in May 2025?", None),
        ("Which driver has the highest salary?", "SELECT driver_name FROM drivers ORDER BY salary DESC LIMIT 1"),
        ("Which driver earns the least?", "SELECT driver_name FROM drivers ORDER BY salary LIMIT 1"),
        ("Who is the oldest driver?", "SELECT driver_name FROM drivers ORDER BY birth_date LIMIT 1"),
        ("What is the average salary of drivers?", "SELECT avg(salary) FROM drivers"),
        (
            "What is the average salary per depot?",
            "SELECT depot_name, avg(salary) FROM drivers JOIN depots USING (depot_id) GROUP BY depot_id",
        ),
        ("How many drivers have a CE licence?", "SELECT count(*) FROM drivers WHERE licence_class = 'CE'"),
        (
            "Which drivers had no incidents?",
            "SELECT driver_name FROM drivers WHERE driver_id NOT IN (SELECT driver_id FROM incidents)",
        ),
        (
            "How many drivers had an accident?",
            "SELECT count(DISTINCT driver_id) FROM incidents WHERE kind = 'accident'",
        ),
        ("How many accidents were there?", "SELECT count(*) FROM incidents WHERE kind = 'accident'"),
        ("What is the total damage?", "SELECT sum(damage_eur) FROM incidents"),
        (
            "What is the total damage caused by accidents?",
            "SELECT sum(damage_eur) FROM incidents WHERE kind = 'accident'",
        ),
        ("What is the average damage of a theft?", "SELECT avg(damage_eur) FROM incidents WHERE kind = 'theft'"),
        ("Which driver caused the most damage?", None),
        ("Which vehicle has the highest mileage?", "SELECT plate FROM vehicles ORDER BY mileage_km DESC LIMIT 1"),
        ("What is the total mileage of all vehicles?", "SELECT sum(mileage_km) FROM vehicles"),
        (
            "What is the average mileage of Scania vehicles?",
            "SELECT avg(mileage_km) FROM vehicles WHERE make = 'Scania'",
        ),
        ("What is the oldest vehicle?", None),
        ("How many vehicles were built before 2015?", None),
        ("How many vehicles have a model year before 2015?", "SELECT count(*) FROM vehicles WHERE model_year < 2015"),
        ("Which client shipped the most weight?", None),
        ("Which 3 clients have the most shipments?", None),
        ("How many clients are in the steel sector?", "SELECT count(*) FROM clients WHERE sector = 'steel'"),
        (
            "How many clients have never shipped anything?",
            "SELECT count(*) FROM clients WHERE client_id NOT IN (SELECT client_id FROM shipments)",
        ),
        ("What is the heaviest shipment?", None),
        ("What is the weight of the heaviest shipment?", "SELECT max(weight_kg) FROM shipments"),
        ("What is the longest distance of a shipment?", "SELECT max(distance_km) FROM shipments"),
        ("What is the total capacity of the depots?", "SELECT sum(capacity) FROM depots"),
        ("Which depot has the largest capacity?", "SELECT depot_name FROM depots ORDER BY capacity DESC LIMIT 1"),
        ("How many tonnes can our vehicles carry?", None),
        ("What is the average payload?", "SELECT avg(payload_tonnes) FROM vehicles"),
        ("How many incidents per kind?", "SELECT kind, count(*) FROM incidents GROUP BY kind"),
        (
            "What kind of incident is the most common?",
            "SELECT kind FROM incidents GROUP BY kind ORDER BY count(*) DESC LIMIT 1",
        ),
        ("How many shipments weigh more than 5000 kg?", "SELECT count(*) FROM shipments WHERE weight_kg > 5000"),
        ("How many shipments cost more than 2000 euros?", "SELECT count(*) FROM shipments WHERE price_eur > 2000"),
        ("Average distance per shipment", "SELECT avg(distance_km) FROM shipments"),
        (
            "How many shipments per driver?",
            "SELECT driver_name, count(*) FROM shipments JOIN drivers USING (driver_id) GROUP BY driver_id",
        ),
        ("What is the price of fuel?", None),
        (
            "How many drivers are there in Linz?",
            "SELECT count(*) FROM drivers JOIN depots USING (depot_id) WHERE town = 'Linz'",
        ),
    ],
}
