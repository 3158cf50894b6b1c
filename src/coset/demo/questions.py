"""The five questions of the demo, what is true of them, and the trial that puts them to coset.

In: the company as it was generated. Out: a `Truth` for each question. Computed from what the generator knows, never
from the databases it wrote, so that an answer can be judged. `Truth.agrees` is the whole contract with whoever answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coset.api.environment import Environment
from coset.demo.company import RANKED, RANKED_YEAR, Company, spent_in_ranked_year
from coset.demo.spelling import atlas_names, buyer_id, customer_id
from coset.errors import CosetError
from coset.use_cases.cancellation import Report
from coset.use_cases.results import Answer

Shape = Literal["customers", "ranked customers", "number", "share"]


@dataclass(frozen=True)
class Question:
    key: str
    text: str
    shape: Shape


QUESTIONS = (
    Question("both", "Which customers use both products?", "customers"),
    Question("share", "What share of the paid Atlas invoice amount comes from customers in Norway?", "share"),
    Question("text", "How many tickets report error E42?", "number"),
    Question(
        "top",
        f"Which {RANKED} customers have the highest total of delivered Beacon orders in {RANKED_YEAR}?",
        "ranked customers",
    ),
    Question("not", "How many different Atlas customers have never ordered from Beacon?", "number"),
)


@dataclass(frozen=True)
class Customer:
    """A real customer with everything it is called anywhere: its names and account numbers as they are written."""

    name: str
    called: frozenset[str]


@dataclass(frozen=True)
class Truth:
    """The true answer of one question: a number, or customers (in order where the question ranks them)."""

    question: Question
    number: float | None = None
    customers: tuple[Customer, ...] = ()

    @property
    def in_words(self) -> str:
        if self.number is not None:
            return f"{self.number:.2%}" if self.question.shape == "share" else f"{self.number:,.0f}"
        names = ", ".join(customer.name for customer in self.customers[:RANKED])
        more = len(self.customers) - RANKED
        return f"{len(self.customers)} customers: {names} and {more} more" if more > 0 else names

    def agrees(self, rows: Sequence[Sequence[object]]) -> bool:
        """Whether an answer's rows say the same: one number, or one row for each customer, by any of its names or
        account numbers and with whatever else beside it. A share may be a fraction or in percent."""
        if self.number is not None:
            return len(rows) == 1 and any(self._is_number(cell, self.number) for cell in rows[0])
        by_name = {name: place for place, customer in enumerate(self.customers) for name in customer.called}
        named = [{by_name[key] for cell in row if (key := _key(cell, alone=len(row) == 1)) in by_name} for row in rows]
        if any(len(customers) != 1 for customers in named):
            return False
        places = [customers.pop() for customers in named]
        expected = list(range(len(self.customers)))
        return (places if self.question.shape == "ranked customers" else sorted(places)) == expected

    def _is_number(self, cell: object, number: float) -> bool:
        try:
            value = float(str(cell).strip().removesuffix("%"))
        except ValueError:
            return False
        if self.question.shape == "number":
            return value == number
        return abs(value - number) < 5e-5 or abs(value / 100 - number) < 5e-5


def _key(cell: object, *, alone: bool) -> str:
    """Text as it is compared. A bare number is an account number only where it stands alone: beside a name it may be an
    amount."""
    if isinstance(cell, int) and not alone:
        return ""
    text = str(cell).casefold().strip(" #.")
    return text.lstrip("0") if text.isdigit() else text


def truth(company: Company) -> tuple[Truth, ...]:
    """The true answers, in the order of the questions."""
    both, share, text, top, never = QUESTIONS
    customers = _customers(company)
    in_atlas = set(company.atlas_accounts.column("customer").to_pylist())
    in_beacon = set(company.buyers.column("customer").to_pylist())
    customer_of = dict(
        zip(company.buyers.column("account").to_pylist(), company.buyers.column("customer").to_pylist(), strict=True)
    )
    ranked = [customer_of[account] for account, _ in spent_in_ranked_year(company.orders)[:RANKED]]
    errors = company.tickets.column("error").to_pylist()
    return (
        Truth(both, customers=tuple(customers[customer] for customer in sorted(in_atlas & in_beacon))),
        Truth(share, number=_share_of_paid(company, "NO")),
        Truth(text, number=errors.count("E42")),
        Truth(top, customers=tuple(customers[customer] for customer in ranked)),
        Truth(never, number=len(in_atlas - in_beacon)),
    )


def _share_of_paid(company: Company, country: str) -> float:
    accounts = company.atlas_accounts.column("account").to_numpy()
    countries = np.array(company.customers.column("country").to_pylist())
    there = accounts[countries[company.atlas_accounts.column("customer").to_numpy()] == country]
    paid = np.array(company.invoices.column("state").to_pylist()) == "paid"
    cents = company.invoices.column("cents").to_numpy()
    from_there = np.isin(company.invoices.column("account").to_numpy(), there)
    return int(cents[paid & from_there].sum()) / int(cents[paid].sum())


def _customers(company: Company) -> list[Customer]:
    names = company.customers.column("name").to_pylist()
    called = [{_key(name, alone=True)} for name in names]
    accounts = company.atlas_accounts
    for account, customer, name in zip(
        accounts.column("account").to_pylist(), accounts.column("customer").to_pylist(), atlas_names(company),
        strict=True,
    ):  # fmt: skip
        called[customer] |= {_key(each, alone=True) for each in (name, customer_id(account), str(account))}
    for account, customer in zip(
        company.buyers.column("account").to_pylist(), company.buyers.column("customer").to_pylist(), strict=True
    ):
        called[customer] |= {_key(each, alone=True) for each in (buyer_id(account), customer_id(account), str(account))}
    return [Customer(name, frozenset(keys)) for name, keys in zip(names, called, strict=True)]


@dataclass(frozen=True)
class AskedQuestion:
    """One question: what is true, and what was found."""

    known: Truth
    found: Answer

    @property
    def right(self) -> bool:
        return not self.found.stopped and self.known.agrees(self.found.rows)


def comprehend_demo(environment: Environment, report: Report | None = None) -> None:
    """Read everything and realise the roles. A source that cannot be read ends it: the demo made them all."""
    for name, problem in environment.comprehend(report=report).all_problems:
        raise CosetError(f"the demo's '{name}' could not be read: {problem}")


def ask_questions(environment: Environment, truths: tuple[Truth, ...]) -> Iterator[AskedQuestion]:
    """Each question in turn, as soon as it is answered."""
    for known in truths:
        yield AskedQuestion(known, environment.ask_offline(known.question.text))
