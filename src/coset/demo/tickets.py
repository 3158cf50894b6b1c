"""What customers write to support: free text in which the error code and how long it lasted stand somewhere.

In: the company's tickets. Out: documents as the help desk's MongoDB holds them. The facts are in the body alone,
phrased in several ways; a serial number that looks a little like an error code stands in some bodies too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
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
