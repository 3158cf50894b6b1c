"""The order of tables: what speaks for each is weighed, joins bring partners in, and plain search is never lost."""

from __future__ import annotations

import numpy as np

from coset.routing.search.blending import (
    LEAST_TRUST,
    MOST_TRUST,
    Context,
    Pairs,
    Written,
    blended,
    trusted,
    written_scores,
)

SIZE = 60


def context(**changes: object) -> Context:
    nothing = np.zeros(SIZE, dtype=np.float32)
    parts = {
        "originals": np.ones(SIZE, dtype=bool),
        "main": nothing,
        "copied": nothing,
        "out_of_use": np.zeros(SIZE, dtype=bool),
        "refers": Pairs.of([]),
        "decodes": Pairs.of([]),
    }
    return Context(**{**parts, **changes})  # type: ignore[arg-type]


def written(**changes: np.ndarray) -> Written:
    names = ("words", "lent", "like", "said", "terms", "systems", "holding", "demanded")
    return Written(**{name: changes.get(name, np.zeros(SIZE, dtype=np.float32)) for name in names})


def falling() -> np.ndarray:
    return np.arange(SIZE, 0, -1, dtype=np.float32)


def place(order: np.ndarray, table: int) -> int:
    return int(np.flatnonzero(order == table)[0])


def test_without_trust_in_names_the_order_is_that_of_what_is_written():
    scores = written_scores(written(words=falling(), lent=falling()), context())
    order = blended(list(range(SIZE))[::-1], scores, 0.0)
    assert order.tolist() == list(range(SIZE))


def test_with_full_trust_the_order_is_the_learned_one():
    learned = list(range(SIZE))[::-1]
    assert blended(learned, falling(), 1.0).tolist() == learned


def test_copies_come_after_all_originals():
    originals = np.ones(SIZE, dtype=bool)
    originals[0] = False
    scores = written_scores(written(words=falling()), context(originals=originals))
    assert np.argmin(scores) == 0


def test_a_table_out_of_use_loses_against_one_that_is_alike():
    ended = np.zeros(SIZE, dtype=bool)
    ended[3] = True
    alike = np.zeros(SIZE, dtype=np.float32)
    alike[[3, 40]] = 5.0
    scores = written_scores(written(words=alike, lent=alike), context(out_of_use=ended))
    assert scores[40] > scores[3]


def test_what_likely_tables_refer_to_or_are_decoded_by_gains():
    strong = np.zeros(SIZE, dtype=np.float32)
    strong[5] = 1.0
    found = written(words=strong, lent=strong, like=strong, said=strong, terms=strong, holding=strong)
    plain = written_scores(found, context())
    joined = written_scores(found, context(refers=Pairs.of([(5, 50, 1.0)]), decodes=Pairs.of([(5, 51, 1.0)])))
    assert joined[50] > plain[50]
    assert joined[51] > plain[51]
    assert joined[52] == plain[52]


def test_after_the_first_places_join_partners_of_the_leading_tables_come_first():
    order = blended([], falling(), 0.1, context(refers=Pairs.of([(0, 45, 1.0)])))
    assert order[:16].tolist() == list(range(16))
    assert place(order, 45) < 22
    assert place(blended([], falling(), 0.1, context()), 45) == 45


def test_terms_that_lead_to_a_table_and_people_who_name_it_lift_it():
    terms = np.zeros(SIZE, dtype=np.float32)
    terms[30] = 0.8
    main = np.zeros(SIZE, dtype=np.float32)
    main[31] = 1.0
    scores = written_scores(written(terms=terms), context(main=main))
    assert set(np.argsort(-scores)[:2].tolist()) == {30, 31}


def test_of_tables_that_are_alike_one_about_what_is_asked_for_comes_first():
    alike, demanded = np.zeros((2, SIZE), dtype=np.float32)
    alike[[3, 40]] = 5.0
    demanded[40] = 0.8
    scores = written_scores(written(words=alike, demanded=demanded), context())
    assert scores[40] > scores[3] > scores[5]


def test_where_nobody_wrote_of_tables_the_learned_order_leads_whatever_the_names_are():
    assert trusted(LEAST_TRUST, 0) == MOST_TRUST and trusted(LEAST_TRUST, 50) == LEAST_TRUST
    assert LEAST_TRUST < trusted(LEAST_TRUST, 4) < MOST_TRUST == trusted(MOST_TRUST, 50)
