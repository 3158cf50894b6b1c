"""The router ties its parts: real encoder, anchors, index and facts. The ranker here is untrained (every score is near
nothing), so what a view shows comes from the anchors alone; how well trained weights rank is measured elsewhere."""

from __future__ import annotations

import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from view_company import company, demanding, inventory

from coset.environment.configuration import load_environment
from coset.errors import UserError
from coset.identities.inventory import COORDINATES
from coset.identities.model import VOCABULARY_FILE, WORDS_FILE
from coset.identities.text_encoder import TextEncoder
from coset.routing.ranking.model import ENCODER_FILE, RoutingModel, shipped_folder
from coset.routing.ranking.ranker import INPUTS, PARTS, Network, Ranker, SelectionSettings
from coset.routing.router import Router
from coset.routing.views.text import view_text
from coset.state import EvidenceState

pytestmark = pytest.mark.skipif(
    not (shipped_folder() / ENCODER_FILE).exists(), reason="the routing encoder is not in this checkout"
)
QUESTION = "amount of each order by segment of the customers"


class EvenDemand:
    """Demands every identity alike, whatever is asked: a point of the simplex that prefers nothing."""

    def demand_of(self, vector):
        ids = {coordinate: inventory().ids(coordinate) for coordinate in COORDINATES}
        return demanding({(kind, each): 1 / len(several) for kind, several in ids.items() for each in several})


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Router:
    folder = tmp_path_factory.mktemp("routed") / "company"
    shutil.copytree(company().path.parent, folder)
    shared = Path(str(files("coset.identities").joinpath("weights")))
    encoder = TextEncoder(shipped_folder() / ENCODER_FILE, shared / VOCABULARY_FILE, shared / WORDS_FILE, 1)
    networks = {
        part: Network(
            np.zeros(len(INPUTS[part]), np.float32), np.ones(len(INPUTS[part]), np.float32),
            (np.zeros((len(INPUTS[part]), 1), np.float32),), (np.full(1, -6.0, np.float32),),
        )
        for part in PARTS
    }  # fmt: skip
    model = RoutingModel(encoder, EvenDemand(), Ranker(networks), SelectionSettings(), "untrained")  # type: ignore[arg-type]
    return Router(load_environment(str(folder)), model)


def test_what_the_question_names_is_in_the_view_and_joined(router: Router):
    view = router.view(QUESTION)
    assert {"shop/main/order.amount", "crm/customers.segment"} <= view.references
    assert any(relation.in_plan for relation in view.relations) and QUESTION not in view_text(view)


def test_an_explanation_explains_the_very_view(router: Router):
    explanation = router.explain(QUESTION, 500)
    assert explanation.view == router.view(QUESTION, 500)
    assert {anchor.reference for anchor in explanation.view.anchors} <= {each.reference for each in explanation.anchors}
    assert not {reference for reference, _, _ in explanation.fell_out} & explanation.view.references
    assert "COLUMNS by score" in explanation.text and explanation.values()["view"]["budget"] == 500


def test_a_question_about_nothing_in_the_data_matches_nothing(router: Router):
    assert not router.view("how tall is mount everest").matched


def test_an_empty_question_is_a_mistake(router: Router):
    with pytest.raises(UserError):
        router.view("   ")


def test_what_was_written_to_the_state_since_is_in_the_next_view(router: Router):
    before = router.view(QUESTION)
    with EvidenceState.open(router.environment.state_folder) as state:
        state.store_notes([("shop/main/order.amount", "amounts are net of tax")])
    after = router.view(QUESTION)
    assert "net of tax" in view_text(after) and "net of tax" not in view_text(before)
    assert after.environment != before.environment
