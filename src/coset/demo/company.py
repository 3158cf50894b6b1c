"""The demo company as it is: what happened, before any department writes it down in its own way.

In: a seed. Out: a `Company` of clean Arrow tables, the same for the same seed. A customer is one real company; it has
an account number, the same in both departments. Some customers signed up for Atlas a second time and got a second
number there. Nothing here knows how keys, dates and names are spelled in the departments' databases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coset.demo import vocabulary as words

ONLY_ATLAS, BOTH, ONLY_BEACON, TWICE = (850, 1_050), (450, 600), (650, 800), (80, 100)
"""Between how many and how many customers use one product or both, or have a second number: the seed decides."""
INVOICES, SESSIONS, ORDERS, TICKETS, ARTICLES = 32_000, 75_000, 28_000, 9_000, 120
SMALLER = 4
"""A small company has so many times fewer customers and rows, and the same tables and dirt."""
FIRST_DAY, DAYS = np.datetime64("2022-01-01", "D"), 1096
RANKED_YEAR, RANKED = 2024, 5
LEAST_LEAD = 0.02
"""In the ranked year each of the first customers leads the next by so much: a ranking must not hang on a cent."""
LARGEST_NUMBER = 10_000_000

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Company:
    """What is true. `account` columns hold account numbers; `customer` columns count real customers from 0."""

    seed: int
    customers: pa.Table
    """customer, name, country"""
    atlas_accounts: pa.Table
    """account, customer, signed_up, segment, is_second"""
    subscriptions: pa.Table
    """account, plan, started, ended"""
    invoices: pa.Table
    """account, issued, cents, state"""
    sessions: pa.Table
    """account, day, minutes, pages"""
    buyers: pa.Table
    """account, customer, registered"""
    orders: pa.Table
    """order, account, ordered, state, cents"""
    order_lines: pa.Table
    """order, article, quantity, unit_cents"""
    articles: pa.Table
    """article, title, unit_cents"""
    tickets: pa.Table
    """ticket, account, product, opened, error (empty where none is reported), minutes of the outage"""
    small: bool = False

    @property
    def rows(self) -> int:
        """What the departments write down: customers themselves stand only in their lists of accounts and buyers."""
        written = (value for name, value in vars(self).items() if name != "customers")
        return sum(value.num_rows for value in written if isinstance(value, pa.Table))


def chance(seed: int, stage: str) -> np.random.Generator:
    """Random numbers of one stage: what one stage draws does not move the others."""
    return np.random.default_rng([seed, *stage.encode()])


@dataclass(frozen=True)
class _Users:
    """How many customers use what. They are counted in this order: Atlas alone, both, Beacon alone."""

    only_atlas: int
    both: int
    only_beacon: int
    twice: int

    @property
    def atlas(self) -> int:
        return self.only_atlas + self.both

    @property
    def all(self) -> int:
        return self.atlas + self.only_beacon


def make_company(seed: int = 7, *, small: bool = False) -> Company:
    part = SMALLER if small else 1
    draw = chance(seed, "users")
    users = _Users(*(int(draw.integers(*between)) // part for between in (ONLY_ATLAS, BOTH, ONLY_BEACON, TWICE)))
    customers = _customers(chance(seed, "customers"), users.all)
    first, second = _accounts(chance(seed, "accounts"), users)
    atlas_accounts = _atlas_accounts(chance(seed, "atlas"), first[: users.atlas], second)
    accounts = _column(atlas_accounts, "account")
    buyers = _buyers(chance(seed, "buyers"), first, users)
    articles = _articles(chance(seed, "articles"))
    orders, lines = _orders(chance(seed, "orders"), _column(buyers, "account"), articles, ORDERS // part)
    return Company(
        seed=seed,
        customers=customers,
        atlas_accounts=atlas_accounts,
        subscriptions=_subscriptions(chance(seed, "subscriptions"), atlas_accounts),
        invoices=_invoices(chance(seed, "invoices"), accounts, INVOICES // part),
        sessions=_sessions(chance(seed, "sessions"), accounts, SESSIONS // part),
        buyers=buyers,
        orders=orders,
        order_lines=lines,
        articles=articles,
        tickets=_tickets(chance(seed, "tickets"), accounts, _column(buyers, "account"), TICKETS // part),
        small=small,
    )


def _column(table: pa.Table, name: str) -> Numbers:
    values: Numbers = table.column(name).to_numpy()
    return values


def _customers(draw: np.random.Generator, count: int) -> pa.Table:
    """Names that stay different however they are spelled: no two share their words, legal endings aside."""
    plain = [f"{first} {second}" for first in words.FIRST_WORDS for second in words.SECOND_WORDS]
    families = [f"{one} & {other}" for one, other in combinations(words.FAMILIES, 2)]
    stems = np.array(plain + families, dtype=object)[draw.choice(len(plain) + len(families), count, replace=False)]
    shares = np.array([country.share for country in words.COUNTRIES])
    countries = [words.COUNTRIES[place] for place in draw.choice(len(shares), count, p=shares / shares.sum())]
    names = [f"{stem} {country.ending}" for stem, country in zip(stems, countries, strict=True)]
    codes = [country.code for country in countries]
    return pa.table({"customer": np.arange(count), "name": names, "country": codes})


def _accounts(draw: np.random.Generator, users: _Users) -> tuple[Numbers, Numbers]:
    """The number of each customer, and the second numbers that some got."""
    numbers = draw.choice(LARGEST_NUMBER - 1, users.all + users.twice, replace=False) + 1
    return numbers[: users.all], numbers[users.all :]


def _days(draw: np.random.Generator, count: int) -> NDArray[np.datetime64]:
    days: NDArray[np.datetime64] = FIRST_DAY + draw.integers(0, DAYS, count).astype("timedelta64[D]")
    return days


def _atlas_accounts(draw: np.random.Generator, first: Numbers, second: Numbers) -> pa.Table:
    twice = np.sort(draw.choice(len(first), len(second), replace=False))
    customer = np.concatenate([np.arange(len(first)), twice])
    segments = np.array(words.SEGMENTS, dtype=object)[draw.integers(0, len(words.SEGMENTS), len(first))]
    table = pa.table(
        {
            "account": np.concatenate([first, second]),
            "customer": customer,
            "signed_up": _days(draw, len(customer)),
            "segment": segments[customer],
            "is_second": np.arange(len(customer)) >= len(first),
        }
    )
    return table.take(draw.permutation(table.num_rows))


def _buyers(draw: np.random.Generator, first: Numbers, users: _Users) -> pa.Table:
    customer = draw.permutation(np.arange(users.only_atlas, users.all))
    return pa.table({"account": first[customer], "customer": customer, "registered": _days(draw, len(customer))})


def _subscriptions(draw: np.random.Generator, accounts: pa.Table) -> pa.Table:
    """One for every account, a second one for those that changed their plan."""
    account, started = _column(accounts, "account"), accounts.column("signed_up").to_numpy()
    changed = draw.random(len(account)) < 0.3
    ended = started + draw.integers(30, 700, len(account)).astype("timedelta64[D]")
    plans = np.array([plan[0] for plan in words.PLANS], dtype=object)
    count = len(account) + int(changed.sum())
    closed = np.concatenate([changed, np.zeros(int(changed.sum()), dtype=bool)])
    return pa.table(
        {
            "account": np.concatenate([account, account[changed]]),
            "plan": plans[draw.choice(len(plans), count, p=[0.4, 0.3, 0.2, 0.1])],
            "started": np.concatenate([started, ended[changed]]),
            "ended": pa.array(np.concatenate([ended, ended[changed]]), mask=~closed),
        }
    )


def _busy(draw: np.random.Generator, accounts: Numbers, count: int, spread: float) -> Numbers:
    """`count` of the accounts, some far more often than others, each at least once."""
    weights = draw.lognormal(0.0, spread, len(accounts))
    more = draw.choice(accounts, count - len(accounts), p=weights / weights.sum())
    return draw.permutation(np.concatenate([accounts, more]))


def _some(draw: np.random.Generator, codes: Sequence[words.Code], count: int) -> list[str]:
    """`count` of the codes, as often as their shares say."""
    shares = np.array([code.share for code in codes])
    return [codes[place].code for place in draw.choice(len(codes), count, p=shares / shares.sum())]


def _invoices(draw: np.random.Generator, accounts: Numbers, count: int) -> pa.Table:
    issued = np.sort(_days(draw, count))
    cents = np.round(draw.lognormal(9.6, 0.9, count)).astype(np.int64) + 900
    return pa.table(
        {
            "account": _busy(draw, accounts, count, 0.8),
            "issued": issued,
            "cents": cents,
            "state": _some(draw, words.INVOICE_STATES, count),
        }
    )


def _sessions(draw: np.random.Generator, accounts: Numbers, count: int) -> pa.Table:
    return pa.table(
        {
            "account": _busy(draw, accounts, count, 1.0),
            "day": np.sort(_days(draw, count)),
            "minutes": draw.integers(1, 240, count),
            "pages": draw.integers(1, 60, count),
        }
    )


def _articles(draw: np.random.Generator) -> pa.Table:
    kinds = [f"{kind}, {size}" for kind in words.ARTICLE_KINDS for size in words.ARTICLE_SIZES]
    titles = [f"{kinds[place % len(kinds)]}, series {place // len(kinds) + 1}" for place in range(ARTICLES)]
    article = np.sort(draw.choice(np.arange(10_000, 99_999), ARTICLES, replace=False))
    cents = draw.integers(19, 900, ARTICLES) * 100 - 1
    return pa.table({"article": article, "title": titles, "unit_cents": cents})


def _orders(draw: np.random.Generator, accounts: Numbers, articles: pa.Table, count: int) -> tuple[pa.Table, pa.Table]:
    """Orders and their lines, drawn until the customers who spent most in the ranked year stand clearly apart."""
    while True:
        orders, lines = _some_orders(draw, accounts, articles, count)
        if stand_apart(orders):
            return orders, lines


def _some_orders(
    draw: np.random.Generator, accounts: Numbers, articles: pa.Table, count: int
) -> tuple[pa.Table, pa.Table]:
    order = np.sort(draw.choice(np.arange(100_000, 999_999), count, replace=False))
    of_line = np.repeat(np.arange(count), draw.choice([1, 2, 3, 4], count, p=[0.4, 0.25, 0.2, 0.15]))
    bought = draw.integers(0, articles.num_rows, len(of_line))
    quantity = draw.integers(1, 13, len(of_line))
    unit = _column(articles, "unit_cents")[bought]
    orders = pa.table(
        {
            "order": order,
            "account": _busy(draw, accounts, count, 1.0),
            "ordered": np.sort(_days(draw, count)),
            "state": _some(draw, words.ORDER_STATES, count),
            "cents": np.bincount(of_line, weights=quantity * unit, minlength=count).astype(np.int64),
        }
    )
    lines = pa.table(
        {
            "order": order[of_line],
            "article": _column(articles, "article")[bought],
            "quantity": quantity,
            "unit_cents": unit,
        }
    )
    return orders, lines


def spent_in_ranked_year(orders: pa.Table) -> list[tuple[int, int]]:
    """(account, cents) of delivered orders in the ranked year, the most first."""
    years = orders.column("ordered").to_numpy().astype("datetime64[Y]").astype(int) + 1970
    counted = (years == RANKED_YEAR) & (np.array(orders.column("state").to_pylist()) == "D")
    accounts, places = np.unique(_column(orders, "account")[counted], return_inverse=True)
    cents = np.bincount(places, weights=_column(orders, "cents")[counted]).astype(np.int64)
    ranked = np.argsort(-cents, kind="stable")
    return [(int(accounts[place]), int(cents[place])) for place in ranked]


def stand_apart(orders: pa.Table) -> bool:
    cents = np.array([amount for _, amount in spent_in_ranked_year(orders)[: RANKED + 1]])
    return bool(np.all(cents[:-1] >= cents[1:] * (1 + LEAST_LEAD)))


def _tickets(draw: np.random.Generator, atlas: Numbers, beacon: Numbers, count: int) -> pa.Table:
    """Most report an error; who writes is a customer of the product that the ticket is about."""
    about_atlas = draw.random(count) < 0.55
    account = np.where(about_atlas, draw.choice(atlas, count), draw.choice(beacon, count))
    reported = draw.random(count) < 0.7
    errors = np.where(reported, np.array(_some(draw, words.ERRORS, count), dtype=object), "")
    opened = np.sort(FIRST_DAY.astype("datetime64[s]") + draw.integers(0, DAYS * 86_400, count))
    return pa.table(
        {
            "ticket": np.arange(count) + 1,
            "account": account,
            "product": np.where(about_atlas, "Atlas", "Beacon"),
            "opened": opened,
            "error": pa.array(errors.tolist(), pa.string()),
            "minutes": draw.integers(5, 600, count),
        }
    )
