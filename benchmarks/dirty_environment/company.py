"""A small clean company made under a seed: customers, products, orders and what belongs to them; 11 tables.

In: a seed. Out: a `CleanDatabase` of about 6,000 rows with single, textual, composite (with a date) and self-referring
keys, free text, wide tables and columns with real nulls, so that every step of the generator finds something to do.
"""

from __future__ import annotations

import datetime
import random

from .clean import CleanColumn, CleanDatabase, CleanForeignKey, CleanTable, ColumnType, Value

FIRST = (
    "Ada", "Ben", "Carla", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mona", "Nils",
    "Olga", "Pedro", "Quentin", "Rosa", "Sven", "Tara",
)  # fmt: skip
LAST = (
    "Abel", "Brandt", "Castillo", "Dubois", "Eriksen", "Fontaine", "Greco", "Haddad", "Ivanov", "Jansen", "Keller",
    "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Santos", "Tanaka", "Ueda", "Vogel", "Weber",
    "Yilmaz", "Zhang",
)  # fmt: skip
CITIES = [
    ("Berlin", "Germany"), ("Lyon", "France"), ("Porto", "Portugal"), ("Gdansk", "Poland"), ("Turin", "Italy"),
    ("Malmo", "Sweden"), ("Ghent", "Belgium"), ("Seville", "Spain"), ("Graz", "Austria"), ("Utrecht", "Netherlands"),
]  # fmt: skip
THINGS = (
    "Lamp", "Desk", "Chair", "Shelf", "Kettle", "Mixer", "Drill", "Saw", "Tent", "Rope", "Bottle", "Mirror", "Carpet",
    "Heater", "Fan", "Clock",
)  # fmt: skip
ADJECTIVES = ("Compact", "Classic", "Nordic", "Foldable", "Solar", "Silent", "Urban", "Rustic", "Modular", "Slim")
COMPLAINTS = [
    "It stopped working after two days of normal use and nobody could tell me why.",
    "The parcel arrived late and one corner of the box was badly damaged.",
    "I would like to know whether a spare part can be ordered on its own.",
    "The invoice shows another address than the one I gave when ordering.",
    "Please call me back in the afternoon because I am at work before that.",
]
SUBJECTS = ["Does not start", "Late delivery", "Spare part", "Wrong invoice", "Question about warranty", "Refund"]
START = datetime.date(2022, 1, 3)


def make_company(seed: int = 0, size: float = 1.0) -> CleanDatabase:
    """The same company for the same seed. `size` multiplies the rows of all tables but the eight warehouses."""
    rng = random.Random(f"company/{seed}")

    def scaled(rows: int) -> int:
        return max(15, round(rows * size))

    product_count, employee_count, customer_count, order_count = map(scaled, (120, 60, 300, 900))

    def day(most: int = 900) -> datetime.date:
        return START + datetime.timedelta(days=rng.randrange(most))

    def moment() -> datetime.datetime:
        return datetime.datetime.combine(day(), datetime.time(rng.randrange(7, 21), rng.randrange(60)))

    def person() -> str:
        return f"{rng.choice(FIRST)} {rng.choice(LAST)}"

    def maybe(value: Value, share: float = 0.12) -> Value:
        return None if rng.random() < share else value

    warehouses: list[tuple[Value, ...]] = []
    for city, country in CITIES[:8]:
        warehouses.append((city[:3].upper(), city, country, day(), round(rng.uniform(5, 90), 1), maybe(person(), 0.3)))
    warehouse_codes = [str(row[0]) for row in warehouses]

    products: list[tuple[Value, ...]] = []
    codes: list[str] = []
    while len(codes) < product_count:
        code = f"{rng.choice('ABCDEF')}-{rng.randrange(10, 99)}-{rng.randrange(1, 999)}"
        if code.replace("-", "") in {known.replace("-", "") for known in codes}:
            continue
        codes.append(code)
        thing = rng.choice(THINGS)
        products.append((
            code, f"{rng.choice(ADJECTIVES)} {thing} {rng.randrange(100, 999)}",
            rng.choice(["furniture", "kitchen", "tools", "outdoor"]), round(rng.uniform(4, 400), 2),
            round(rng.uniform(0.2, 45), 2), maybe(f"{rng.choice(LAST)} Works"),
            rng.choice(["black", "oak", "white", "steel"]),
            day(), f"A {thing.lower()} that is made to last, with all parts replaceable by hand.",
        ))  # fmt: skip

    employees: list[tuple[Value, ...]] = []
    for number in range(1, employee_count + 1):
        manager = None if number <= 4 else rng.randrange(1, min(number, 12))
        employees.append((
            number, person(), rng.choice(["clerk", "analyst", "driver", "manager", "engineer"]), manager,
            rng.choice(warehouse_codes), day(), rng.randrange(28, 95) * 1000,
            maybe(f"+49 30 {rng.randrange(10**6, 10**7)}"),
        ))  # fmt: skip

    customers: list[tuple[Value, ...]] = []
    for number in range(1, customer_count + 1):
        name = person()
        city, country = rng.choice(CITIES)
        address = f"{name.split()[0].lower()}.{name.split()[1].lower()}{number}@example.org"
        customers.append((
            1000 + number, name, address, maybe(f"+49 {rng.randrange(100, 999)} {rng.randrange(10**5, 10**6)}"),
            city, country,
            rng.choice(["retail", "wholesale", "public", "online"]), maybe(rng.randrange(1, 60) * 500), day(),
            rng.random() < 0.4,
        ))  # fmt: skip

    orders: list[tuple[Value, ...]] = []
    for number in range(1, order_count + 1):
        city, _ = rng.choice(CITIES)
        orders.append((
            number, 1000 + rng.randrange(1, customer_count + 1), maybe(rng.randrange(1, employee_count + 1)), day(),
            rng.choice(["open", "paid", "shipped", "returned"]), city, round(rng.uniform(10, 2500), 2),
            maybe(rng.choice(["leave at door", "ring twice", "call before"]), 0.5),
        ))  # fmt: skip

    lines: list[tuple[Value, ...]] = []
    for number in range(1, order_count + 1):
        for line in range(1, rng.randrange(2, 5)):
            lines.append((
                number, line, rng.choice(codes), rng.randrange(1, 12), round(rng.uniform(4, 400), 2),
                maybe(rng.choice([5, 10, 15, 20]), 0.6),
            ))  # fmt: skip

    tickets: list[tuple[Value, ...]] = [
        (
            f"T{number:05d}", 1000 + rng.randrange(1, customer_count + 1), maybe(rng.choice(codes)),
            maybe(rng.randrange(1, employee_count + 1)), moment(), rng.choice(["low", "normal", "high"]),
            rng.choice(SUBJECTS), rng.choice(COMPLAINTS),
            rng.choice(["mail", "phone", "chat"]),
        )
        for number in range(1, scaled(400) + 1)
    ]  # fmt: skip

    stock: list[tuple[Value, ...]] = []
    for code in warehouse_codes:
        for product in rng.sample(codes, product_count // 2):
            stock.append((code, product, rng.randrange(0, 400), maybe(f"S{rng.randrange(1, 40)}"), day()))

    shifts: list[tuple[Value, ...]] = []
    for code in warehouse_codes:
        for offset in sorted(rng.sample(range(200), min(150, scaled(30)))):
            shifts.append(
                (
                    code,
                    START + datetime.timedelta(days=offset),
                    rng.randrange(1, employee_count + 1),
                    rng.randrange(2, 30),
                )
            )

    deliveries: list[tuple[Value, ...]] = []
    for number in range(1, scaled(450) + 1):
        shift = rng.choice(shifts)
        deliveries.append((
            50_000 + number, shift[0], shift[1], rng.randrange(1, order_count + 1),
            rng.choice(["Hermod", "Swiftline", "Parcelo"]), round(rng.uniform(0.5, 80), 1),
            maybe(rng.randrange(10, 240)),
        ))  # fmt: skip

    payments: list[tuple[Value, ...]] = [
        (f"P-{number:06d}", order, round(rng.uniform(10, 2500), 2), rng.choice(["card", "transfer", "cash"]), moment())
        for number, order in enumerate(rng.sample(range(1, order_count + 1), order_count * 13 // 18), start=1)
    ]

    tables = (
        _table(
            "warehouses", "code", warehouses,
            "code:text city:text country:text opened_on:date capacity_tonnes:real contact_name:text",
        ),
        _table(
            "products", "product_code", products,
            "product_code:text title:text category:text unit_price:real weight_kg:real supplier_name:text "
            "finish:text listed_on:date description:text",
        ),
        _table(
            "employees", "employee_id", employees,
            "employee_id:integer full_name:text job_title:text manager_id:integer warehouse_code:text "
            "hired_on:date salary:integer phone:text",
        ),
        _table(
            "customers", "customer_id", customers,
            "customer_id:integer name:text email:text phone:text city:text country:text segment:text "
            "credit_limit:integer signed_up_on:date newsletter:boolean",
        ),
        _table(
            "orders", "order_id", orders,
            "order_id:integer customer_id:integer sales_rep_id:integer ordered_on:date status:text "
            "ship_city:text total_amount:real delivery_note:text",
        ),
        _table(
            "order_lines", "order_id line_number", lines,
            "order_id:integer line_number:integer product_code:text quantity:integer unit_price:real "
            "discount_percent:integer",
        ),
        _table(
            "tickets", "ticket_id", tickets,
            "ticket_id:text customer_id:integer product_code:text handled_by:integer opened_at:timestamp "
            "priority:text subject:text body:text channel:text",
        ),
        _table(
            "stock_levels", "warehouse_code product_code", stock,
            "warehouse_code:text product_code:text on_hand:integer shelf:text counted_on:date",
        ),
        _table(
            "shifts", "warehouse_code day", shifts,
            "warehouse_code:text day:date lead_id:integer headcount:integer",
        ),
        _table(
            "deliveries", "delivery_id", deliveries,
            "delivery_id:integer warehouse_code:text day:date order_id:integer carrier:text weight_kg:real "
            "duration_minutes:integer",
        ),
        _table(
            "payments", "payment_id", payments,
            "payment_id:text order_id:integer amount:real method:text paid_at:timestamp",
        ),
    )  # fmt: skip
    references = """
        employees(manager_id) employees(employee_id)
        employees(warehouse_code) warehouses(code)
        orders(customer_id) customers(customer_id)
        orders(sales_rep_id) employees(employee_id)
        order_lines(order_id) orders(order_id)
        order_lines(product_code) products(product_code)
        tickets(customer_id) customers(customer_id)
        tickets(product_code) products(product_code)
        tickets(handled_by) employees(employee_id)
        stock_levels(warehouse_code) warehouses(code)
        stock_levels(product_code) products(product_code)
        shifts(warehouse_code) warehouses(code)
        shifts(lead_id) employees(employee_id)
        deliveries(warehouse_code,day) shifts(warehouse_code,day)
        deliveries(order_id) orders(order_id)
        payments(order_id) orders(order_id)
    """
    return CleanDatabase("company", tables, tuple(_foreign_key(line) for line in references.strip().splitlines()))


def _table(name: str, primary_key: str, rows: list[tuple[Value, ...]], columns: str) -> CleanTable:
    declared: list[CleanColumn] = []
    for position, definition in enumerate(columns.split()):
        column, kind = definition.split(":")
        declared.append(CleanColumn(column, _type(kind), tuple(row[position] for row in rows)))
    return CleanTable(name, tuple(declared), tuple(primary_key.split()))


def _type(name: str) -> ColumnType:
    types: dict[str, ColumnType] = {
        "integer": "integer", "real": "real", "text": "text", "boolean": "boolean", "date": "date",
        "timestamp": "timestamp",
    }  # fmt: skip
    return types[name]


def _foreign_key(line: str) -> CleanForeignKey:
    child, parent = line.split()
    table, _, columns = child.rstrip(")").partition("(")
    parent_table, _, parent_columns = parent.rstrip(")").partition("(")
    return CleanForeignKey(table, tuple(columns.split(",")), parent_table, tuple(parent_columns.split(",")))
