"""What both departments share: the help desk's tickets, the office's code tables, and the policy they count by.

In: the company and the folder to write into. Out: a MongoDB dump or JSON lines, CSV files, a Markdown page.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from coset.demo import vocabulary as words
from coset.demo.company import Company, chance
from coset.demo.spelling import ticket_references


@dataclass(frozen=True)
class ObjectId:
    """MongoDB's own key: 12 bytes."""

    content: bytes

    def __str__(self) -> str:
        return self.content.hex()


_FIRST_MOMENT = datetime(1970, 1, 1)
_GREETINGS = ("Hello,", "Hi team,", "Good morning,", "Dear support,", "")
_REPORTS = (
    "since yesterday {symptom} and we see error {code}. It lasted {minutes} minutes.",
    "{symptom}. The screen says {code}; after {minutes} minutes it was gone again.",
    "we got error code {code} on unit {serial}: {symptom}. Down for {minutes} minutes in all.",
    "again {code}! For {minutes} minutes {symptom}, and nobody could work.",
    "our shift lead noted: {symptom} ({code}), outage of {minutes} minutes, unit {serial}.",
)
_REQUESTS = (
    "could you send us the invoice of last month once more?",
    "we would like to add three colleagues to our account.",
    "unit {serial} arrived with a scratched case, may we exchange it?",
    "how do we change the address that parcels go to?",
    "is there a way to pause the service over the holidays?",
)
_THANKS = ("Thank you.", "Please advise.", "Best regards", "Please call back.")


def ticket_documents(company: Company) -> Iterator[dict[str, Any]]:
    draw = chance(company.seed, "ticket texts")
    tickets = company.tickets.to_pylist()
    references = ticket_references(draw, [ticket["account"] for ticket in tickets])
    symptoms = {error.code: error.meaning for error in words.ERRORS}
    for ticket, reference in zip(tickets, references, strict=True):
        code = ticket["error"]
        picks = draw.integers(0, 1_000, 6)
        serial = f"SN-{draw.integers(10_000, 99_999)}E{draw.integers(10, 99)}"
        facts = {"code": code, "symptom": symptoms.get(code, ""), "minutes": ticket["minutes"], "serial": serial}
        said = _pick(_REPORTS if code else _REQUESTS, picks[0]).format(**facts)
        opened: datetime = ticket["opened"]
        yield {
            "_id": _object_id(opened, ticket["ticket"]),
            "ticket_no": ticket["ticket"],
            "customer_ref": reference,
            "product": ticket["product"],
            "opened_at": opened,
            "channel": _pick(words.CHANNELS, picks[1]),
            "body": _text(_pick(_GREETINGS, picks[2]), said, _pick(_THANKS, picks[3])),
            "handled": {
                "by": _pick(words.AGENTS, picks[4]),
                "closed_at": opened + timedelta(hours=int(picks[5]) % 90 + 1),
            },
        }


def _pick(choices: tuple[str, ...], number: np.int64) -> str:
    return choices[int(number) % len(choices)]


def _text(greeting: str, said: str, thanks: str) -> str:
    start = said if greeting else said[0].upper() + said[1:]
    return f"{greeting} {start} {thanks}".strip()


def _object_id(opened: datetime, ticket: int) -> ObjectId:
    """As MongoDB makes them: the second, then a counter."""
    seconds = (opened - _FIRST_MOMENT) // timedelta(seconds=1)
    return ObjectId(seconds.to_bytes(4) + bytes(5) + ticket.to_bytes(3))


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
