"""Texts into categories and fields out of texts: few calls, honest accuracy, remembered labels, columns to join on."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from coset.answering.text_operations.classify import WINDOW_WORDS, classify, fit_classifier, text_vectors, windows
from coset.answering.text_operations.expressions import Candidate, facet_candidates, pattern_candidate, patterns_from
from coset.answering.text_operations.extract import extract
from coset.answering.text_operations.labels import Budget, LabelCache
from coset.answering.text_operations.tools import classify_column, extract_columns
from coset.environment.configuration import load_environment
from coset.errors import CosetError, LimitReached, UserError
from coset.evidence.work import here
from coset.identities.model import load_model
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

TOPICS = {
    "billing": (["I was charged twice for", "My card was debited again for", "The receipt shows the wrong sum for",
                 "Please send the money back for", "There is a surplus fee on the statement of"],
                ["the yearly plan", "last month", "two licences", "the invoice in March", "our subscription"]),
    "delivery": (["The parcel never arrived with", "The courier left at the neighbour's", "Tracking has stood still for",
                  "The box was crushed and so was", "Where is the shipment of"],
                 ["three lamps", "the oak table", "our spare parts", "the blue chair", "ten boxes of tiles"]),
    "login": (["I cannot sign in to", "The password reset mail is missing for", "Two-factor codes are rejected by",
               "It says the username is unknown in", "I am locked out of"],
              ["the portal", "my account", "the admin page", "the mobile app", "the dashboard"]),
}  # fmt: skip


def corpus(count: int, seed: int = 3) -> dict[str, str]:
    """Texts with the topic each is of."""
    chance = random.Random(seed)
    made: dict[str, str] = {}
    while len(made) < count:
        topic = chance.choice(list(TOPICS))
        starts, things = TOPICS[topic]
        who = chance.choice(["Hello,", "Dear team,", "Hi!", "Good day.", ""])
        close = chance.choice(["Thanks", "Please help", "This is urgent", "Regards", "Awaiting your reply"])
        made[
            f"{who} {chance.choice(starts)} {chance.choice(things)}, case {chance.randrange(10_000)}. {close}.".strip()
        ] = topic
    return made


@lru_cache
def encoder():
    return load_model(threads=1).text_encoder


class Model:
    """A labeller that knows the truth, counts what it is asked, and is right as often as it is told to be."""

    def __init__(self, truth: dict[str, object], wrong: float = 0.0, is_async: bool = False) -> None:
        self.truth, self.wrong, self.is_async = truth, wrong, is_async
        self.batches: list[list[str]] = []
        self._chance = random.Random(5)

    def __call__(self, batch: Sequence[str]):
        self.batches.append(list(batch))
        labels = [
            self._chance.choice(list(TOPICS)) if self._chance.random() < self.wrong else self.truth[text]
            for text in batch
        ]
        if not self.is_async:
            return labels

        async def later():
            await asyncio.sleep(0)
            return labels

        return later()

    @property
    def read(self) -> int:
        return sum(map(len, self.batches))


def run(awaitable):
    return asyncio.run(awaitable)


# ---- classify


def test_many_texts_are_labelled_with_few_calls():
    truth = corpus(320)
    model = Model(truth)
    found = run(classify(list(truth), list(TOPICS), model, encoder().encode, budget=Budget(60, batch=20)))
    right = np.mean([label == truth[text] for text, label in zip(truth, found.labels, strict=True)])
    assert right >= 0.9
    assert model.read == found.asked <= 60 and found.calls == len(model.batches) <= 6
    assert found.by.count("model") == found.asked and found.by.count("classifier") == 320 - found.asked
    assert abs((found.expected_accuracy or 0) - right) < 0.1 and found.checked_on >= 15
    assert sum(found.counts.values()) == 320 and abs(sum(found.expected_counts.values()) - 320) < 1
    for topic in TOPICS:
        assert abs(found.expected_counts[topic] - list(truth.values()).count(topic)) < 25
    again = run(classify(list(truth), list(TOPICS), Model(truth), encoder().encode, budget=Budget(60, batch=20)))
    assert again.labels == found.labels, "the same every time"


def test_a_labeller_that_guesses_is_seen_in_the_expected_accuracy():
    truth = corpus(200)
    found = run(classify(list(truth), list(TOPICS), Model(truth, wrong=1.0), encoder().encode, budget=Budget(80)))
    assert (found.expected_accuracy or 0) < 0.8


@pytest.mark.parametrize("is_async", [False, True])
def test_few_texts_are_all_read_by_the_model_and_equal_ones_once(is_async: bool):
    truth = corpus(30)
    model = Model(truth, is_async=is_async)
    texts = [*truth, *truth, None, "  "]
    found = run(classify(texts, list(TOPICS), model, encoder().encode, budget=Budget(100, batch=7)))
    assert model.read == 30 and len(model.batches) == 5 and found.expected_accuracy == 1.0
    assert list(found.labels[:60]) == [*truth.values(), *truth.values()] and found.labels[60:] == (None, None)
    assert found.by[-2:] == ("", "")


def test_labels_are_remembered_by_content_model_and_question(tmp_path: Path):
    truth, cache = corpus(40), LabelCache(tmp_path)
    asked = []
    for model_name, instruction in (("a", ""), ("a", ""), ("b", ""), ("a", "by urgency")):
        model = Model(truth)
        found = run(
            classify(
                list(truth),
                list(TOPICS),
                model,
                encoder().encode,
                model=model_name,
                instruction=instruction,
                cache=cache,
            )
        )
        asked.append((model.read, found.remembered))
    assert asked == [(40, 0), (0, 40), (40, 0), (40, 0)]
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    held = cache.path.read_bytes()
    assert not any(text.encode() in held for text in truth), "of a text only its digest is kept"


def test_a_cache_that_cannot_be_read_costs_calls_only(tmp_path: Path):
    cache = LabelCache(tmp_path)
    cache.path.write_bytes(b"no database at all, and of some length " * 50)
    truth = corpus(20)
    found = run(classify(list(truth), list(TOPICS), Model(truth), encoder().encode, cache=cache))
    assert found.asked == 20 and list(found.labels) == list(truth.values())


def test_a_text_may_fit_no_category_and_invented_ones_are_refused():
    truth: dict[str, object] = {f"the weather is fine today, number {n}": None for n in range(10)}
    truth |= {f"something else, number {n}": "invented" for n in range(5)}
    model = Model(truth)
    found = run(classify(list(truth), list(TOPICS), model, encoder().encode))
    assert found.refused == 5 and set(found.labels) == {None} and model.read == 15
    assert found.by.count("model") == 10 and found.by.count("") == 5


def test_a_model_that_fails_half_way_leaves_what_it_had():
    truth = corpus(200)
    model = Model(truth)

    def failing(batch: Sequence[str]):
        if len(model.batches) >= 2:
            raise CosetError("the provider is down")
        return model(batch)

    found = run(classify(list(truth), list(TOPICS), failing, encoder().encode, budget=Budget(100, batch=20)))
    assert found.problem == "the provider is down" and found.by.count("model") == 40 and None not in found.labels

    def never(batch: Sequence[str]):
        raise CosetError("the provider is down")

    with pytest.raises(CosetError, match="could not be classified: the provider is down"):
        run(classify(list(truth), list(TOPICS), never, encoder().encode, budget=Budget(100)))
    short = run(classify(list(truth)[:5], list(TOPICS), lambda batch: ["billing"], encoder().encode))
    assert "1 labels for 5 texts" in short.problem and set(short.labels) == {None}


def test_wrong_calls_are_told():
    for categories in ([], ["one"], ["a", "a"], ["a", ""]):
        with pytest.raises(UserError, match="two different categories"):
            run(classify(["x"], categories, Model({}), encoder().encode))
    with pytest.raises(UserError, match="at least one text"):
        Budget(0)


def test_a_long_text_is_seen_to_its_end():
    words = [f"word{n}" for n in range(400)]
    pieces = windows(" ".join(words), 5)
    assert len(pieces) == 5 and pieces[0].startswith("word0 ") and pieces[-1].endswith("word399")
    assert all(len(piece.split()) == WINDOW_WORDS for piece in pieces)
    assert windows("a b c", 5) == ["a b c"]
    filler = "and so on it went for a while without much to say " * 12
    vectors = text_vectors(
        [filler + "the parcel never arrived", filler, filler + "the parcel never arrived"], encoder().encode
    )
    assert vectors.shape == (3, 384) and np.allclose(vectors[0], vectors[2]) and not np.allclose(vectors[0], vectors[1])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_what_a_row_left_out_is_given_is_what_a_fit_without_it_gives():
    chance = np.random.default_rng(1)
    labels = chance.integers(0, 2, 40)
    features = (chance.normal(size=(40, 6)) + 0.8 * labels[:, None]).astype(np.float32)
    fitted = fit_classifier(features, labels, 2)
    alone = [
        fit_classifier(np.delete(features, n, axis=0), np.delete(labels, n), 2).probabilities(features[n : n + 1])[0]
        for n in range(40)
    ]
    assert np.abs(fitted.left_out - np.array(alone)).mean() < 0.05
    assert (fitted.left_out.argmax(axis=1) == labels).mean() > 0.7
    noise = fit_classifier(chance.normal(size=(200, 50)).astype(np.float32), chance.integers(0, 2, 200), 2)
    assert noise.left_out.max(axis=1).mean() < 0.65, "noise is not believed"


# ---- extract

PRODUCTS = ["Lumen Lamp", "Oak Table", "Nord Chair", "Tile Set", "Cobalt Kettle", "Amber Desk"]


def orders(count: int, plain: float = 0.8, seed: int = 11) -> dict[str, dict[str, str | None]]:
    """Texts with an amount and a product; some say the amount in words, some have none."""
    chance = random.Random(seed)
    made: dict[str, dict[str, str | None]] = {}
    while len(made) < count:
        number, product = chance.randrange(10, 9_000), chance.choice(PRODUCTS)
        ticket = chance.randrange(100_000)
        kind = chance.random()
        if kind < plain:
            text, amount = f"Ticket {ticket}: customer paid {number}.50 EUR for the {product}, thanks.", f"{number}.50"
        elif kind < plain + (1 - plain) / 2:
            text, amount = f"Ticket {ticket}, bought a {product}; it cost a little over {number} all in.", f"{number}"
        else:
            text, amount = f"Ticket {ticket} speaks of the {product} only.", None
        made[text] = {"amount": amount, "product": product}
    return made


@pytest.fixture
def session(tmp_path: Path):
    truth = orders(600)
    with sqlite3.connect(tmp_path / "desk.db") as connection:
        connection.execute("CREATE TABLE tickets (id INTEGER PRIMARY KEY, body TEXT, topic TEXT)")
        connection.executemany(
            "INSERT INTO tickets VALUES (?, ?, ?)", [(n, text, None) for n, text in enumerate(truth)]
        )
        connection.execute("CREATE TABLE mails (id INTEGER PRIMARY KEY, body TEXT)")
        connection.executemany("INSERT INTO mails VALUES (?, ?)", list(enumerate(corpus(120))))
    (tmp_path / "coset.yaml").write_text("sources:\n  desk: {location: desk.db}\n")
    with QuerySession(load_environment(tmp_path)) as opened:
        yield opened


def test_a_field_is_read_by_an_expression_and_the_rest_by_the_model(session: QuerySession):
    truth = orders(600)
    model = Model(truth)
    found = run(extract(list(truth), ["amount", "product"], model, session, budget=Budget(200)))
    for field in ("amount", "product"):
        read = [
            (value, truth[text][field])
            for text, value, who in zip(truth, found.values[field], found.by[field], strict=True)
            if who
        ]
        right = np.mean([_same(value, wanted) for value, wanted in read])
        assert right >= 0.97, field
        assert abs((found.expected_accuracy[field] or 0) - right) < 0.06
    assert found.expressions["amount"].tested_on >= 10 and "paid" in found.expressions["amount"].sql
    assert found.by["amount"].count("expression") > 300 and model.read == found.asked <= 200
    assert found.unread("amount") <= 10


def _same(value: str | None, wanted: str | None) -> bool:
    return (value or "").strip(" .,") == (wanted or "")


def test_without_an_expression_that_holds_only_the_model_is_believed(session: QuerySession):
    truth: dict[str, object] = {
        f"note {n} about nothing that repeats {n * 7919 % 104729}": {"mood": "ab"[n * n % 7 % 2]} for n in range(300)
    }
    model = Model(truth)
    found = run(extract(list(truth), ["mood"], model, session, budget=Budget(90)))
    assert not found.expressions and found.by["mood"].count("model") == 90 and found.unread("mood") == 210
    assert found.expected_accuracy["mood"] == 1.0


def test_a_facet_that_is_known_is_preferred_to_asking(session: QuerySession, tmp_path: Path):
    comprehend(load_environment(tmp_path), Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.read(tmp_path / ".coset") as state:
        facets = facet_candidates(state, "desk/tickets.body")
    assert facets and all(each.origin == "facet" for each in facets)
    truth = orders(600, plain=1.0)
    own = Candidate("regexp_extract(\"body\", 'paid ([0-9.]+)', 1)", "facet")
    found = run(
        extract(
            list(truth), ["amount"], Model(truth), session, column="body", candidates=[own, *facets], budget=Budget(60)
        )
    )
    assert found.expressions["amount"].candidates[0].origin == "facet" and found.unread("amount") == 0
    assert found.asked <= 60 and all(
        _same(v, truth[t]["amount"]) for t, v in zip(truth, found.values["amount"], strict=True)
    )


def test_patterns_of_a_model_are_tested_and_can_do_no_harm(session: QuerySession):
    truth = orders(300, plain=1.0)
    told: list[tuple[str, int]] = []

    async def proposer(field: str, pairs: Sequence[tuple[str, str]]):
        told.append((field, len(pairs)))
        return [
            "paid ([0-9.]+) EUR", "(((", "'; DROP TABLE x; --", "x" * 10_000, 7, "",
            "') || (SELECT 1 FROM read_text('secret')) || ('",
        ]  # fmt: skip

    found = run(extract(list(truth), ["amount"], Model(truth), session, proposer=proposer, budget=Budget(60)))
    assert told == [("amount", 20)] and found.by["amount"].count("expression") >= 200
    assert all(_same(v, truth[t]["amount"]) for t, v in zip(truth, found.values["amount"], strict=True))

    def broken(field: str, pairs: Sequence[tuple[str, str]]):
        raise CosetError("down")

    found = run(extract(list(truth), ["amount"], Model(truth), session, proposer=broken, budget=Budget(60)))
    assert "amount" in found.expressions, "patterns from the sample remain"


def test_a_pattern_is_a_text_and_nothing_else():
    assert pattern_candidate("a'b", 'te"xt') == Candidate(
        "nullif(trim(regexp_extract(\"te\"\"xt\", 'a''b', 0)), '')", "pattern"
    )
    assert pattern_candidate("(x)", "t").sql.endswith(", 1)), '')")  # type: ignore[union-attr]
    assert pattern_candidate(None, "t") is None and pattern_candidate("a\x00", "t") is None


def test_patterns_are_made_of_what_stands_around_the_values():
    pairs = [(f"Order no. {n * 37} was shipped on 2024-01-{n:02}", f"2024-01-{n:02}") for n in range(1, 20)]
    first = patterns_from(pairs)[0]
    assert r"\d{4}-\d{2}-\d{2}" in first and "on" in first
    assert patterns_from(pairs[:2]) == [] and patterns_from([("a", "b")] * 9) == []


def test_extract_wants_fields_and_enough_labels(session: QuerySession):
    for fields in ([], ["a", "a"], [""], [str(n) for n in range(13)]):
        with pytest.raises(UserError, match="different fields"):
            run(extract(["x"], fields, Model({}), session))
    with pytest.raises(CosetError, match="only 0 of"):
        run(
            extract(
                [f"text {n}" for n in range(300)], ["a"], lambda batch: [""] * len(batch), session, budget=Budget(40)
            )
        )


# ---- columns


def test_labels_become_columns_that_sql_can_group_by(session: QuerySession):
    truth = corpus(120)
    made = run(
        classify_column(
            session, "SELECT id, body FROM desk.mails", "body", list(TOPICS), Model(truth), encoder().encode,
            name="topics", budget=Budget(200),
        )
    )  # fmt: skip
    assert made.name == 'result."topics"'
    rows = session.sql("SELECT category, count(*) FROM result.topics JOIN desk.mails USING (id) GROUP BY ALL").rows()
    assert dict(rows) == {topic: list(truth.values()).count(topic) for topic in TOPICS}
    assert session.sql("SELECT * FROM result.topics LIMIT 1").columns == (
        "id",
        "body",
        "category",
        "confidence",
        "labelled_by",
    )


def test_fields_become_columns_that_sql_can_add_up(session: QuerySession):
    truth = orders(600)
    made = run(
        extract_columns(
            session, "SELECT id, body FROM desk.tickets", "body", ["amount"], Model(truth), budget=Budget(250)
        )
    )
    [(total, unread)] = session.sql(
        f"SELECT sum(try_cast(amount AS DOUBLE)), count(*) FILTER (WHERE amount_read_by IS NULL) FROM {made.name}"
    ).rows()
    wanted = sum(float(fields["amount"]) for fields in truth.values() if fields["amount"])
    assert unread == 0 and abs(total - wanted) / wanted < 0.02


def test_what_gives_no_text_or_too_much_is_told(session: QuerySession, monkeypatch: pytest.MonkeyPatch):
    def asked(select: str, column: str):
        return run(classify_column(session, select, column, ["a", "b"], Model({}), encoder().encode))

    with pytest.raises(UserError, match="no column 'text': it gives id, body"):
        asked("SELECT id, body FROM desk.mails", "text")
    with pytest.raises(UserError, match="type BIGINT"):
        asked("SELECT id, body FROM desk.mails", "id")
    monkeypatch.setattr("coset.answering.text_operations.tools.MOST_ROWS", 50)
    with pytest.raises(LimitReached, match="more than 50 rows"):
        asked("SELECT id, body FROM desk.mails", "body")
