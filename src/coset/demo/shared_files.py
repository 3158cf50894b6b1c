"""What both departments share: the help desk's tickets, the office's code tables, and the policy they count by.

In: the company and the folder to write into. Out: a MongoDB dump or JSON lines, CSV files, a Markdown page.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from coset.demo import vocabulary as words
from coset.demo.company import Company
from coset.demo.tickets import ObjectId, ticket_documents

POLICY = """\
# How we count

Norrvik Instruments sells two products. **Atlas** is a mapping service that customers subscribe to; its department keeps
`customers`, `subscriptions`, `invoices` and `sessions`. **Beacon** is a line of sensors that customers order; its
department keeps `buyers`, `orders`, `order_lines` and `articles`.

- A customer has one account number, whatever the product. Atlas writes it `C-0047113`, Beacon `b47113`, the help desk
  `CUST-0047113`. A customer who signed up for Atlas twice has a second number there, spelled otherwise, and is still
  one customer.
- A customer uses Atlas when it has an account there, and Beacon when it has ordered at least once.
- Atlas revenue is the amount of paid invoices; open and void ones do not count.
- Beacon sales are delivered orders (status D). Cancelled and returned orders do not count. Totals are in cents.
- `order_count` in Beacon's buyers is no longer kept up to date: count the orders.
- Error codes stand in the text of a ticket. E42 and E421 are two different errors.
"""


def write_dump(company: Company, folder: Path) -> None:
    """A folder as `mongodump` writes it, with one collection. Needs the [mongodb] extra, as reading it does."""
    import bson

    folder.mkdir()
    with (folder / "tickets.bson").open("wb") as file:
        for document in ticket_documents(company):
            file.write(bson.encode(_as_bson(document)))
    described = {
        "options": {},
        "indexes": [{"v": 2, "key": {"_id": 1}, "name": "_id_"}],
        "collectionName": "tickets",
        "type": "collection",
    }
    (folder / "tickets.metadata.json").write_text(json.dumps(described), encoding="utf-8")


def _as_bson(value: Any) -> Any:
    """A value in the types of a MongoDB server: whole numbers have 64 bits."""
    import bson
    from bson.int64 import Int64

    if isinstance(value, dict):
        return {name: _as_bson(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_bson(item) for item in value]
    if isinstance(value, ObjectId):
        return bson.ObjectId(value.content)
    return Int64(value) if isinstance(value, int) and not isinstance(value, bool) else value


def write_json_lines(company: Company, folder: Path) -> None:
    """The same collection as an export, for where no dump can be read."""
    folder.mkdir()
    with (folder / "tickets.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for document in ticket_documents(company):
            file.write(json.dumps(document, default=_plain, ensure_ascii=False) + "\n")


def _plain(value: Any) -> str:
    if isinstance(value, ObjectId):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a ticket holds no {type(value).__name__}")


def write_office(folder: Path) -> None:
    folder.mkdir()
    _write_csv(folder / "countries.csv", ("country_code", "country", "region"), (row[:3] for row in words.COUNTRIES))
    _write_csv(folder / "plans.csv", ("plan_code", "plan", "euros_a_month"), words.PLANS)
    _write_csv(folder / "order_status.csv", ("status_code", "meaning"), (row[:2] for row in words.ORDER_STATES))


def _write_csv(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
