"""Makes the figures of the documentation from a real environment: the demo company, comprehended.

    python docs/figures.py [--environment FOLDER] [--only drawings|screenshots]

In: a comprehended environment; without one the demo company of seed 7 is made and comprehended in a temporary folder.
Out: `docs/pictures/*.svg`, drawn from what its evidence state and router say, and `docs/pictures/{map,view}.png`, taken
by Chromium from the page of `coset map` and from the text of `coset view`. Nothing in them is written by hand, except
the words around the numbers.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from drawing import Drawing
from flow_figure import flow
from screenshots import take_screenshots

from coset.environment.configuration import Environment, load_environment
from coset.identities.inventory import load_inventory
from coset.identities.model import load_model
from coset.identities.store import IdentityStore
from coset.routing.router import Router
from coset.state import EvidenceState

PICTURES = Path(__file__).parent / "pictures"
SHOWN = ("customer", "order", "invoice", "country")
"""Entities whose prototypes are drawn, in the order of the colours."""
PROFILES = ("beacon/orders.buyer_id", "support/tickets.customer_ref", "atlas/main/customers.segment")
QUESTIONS = ("Which customers use both products?", "What share of the paid invoice amount comes from Norway?")
BUDGETS = (300, 500, 750, 1000, 1500, 2000, 3000, 4000)
COLOURS = "abcd"


def realisation(environment: Environment) -> Drawing:
    """Objects and prototypes of a few entities: where the prior stood, and where this environment moved it."""
    model = load_model(environment.identities_file)
    with EvidenceState.read(environment.state_folder) as state:
        rows = state.rows(
            "SELECT reference, identity, embedding, membership FROM memberships WHERE coordinate = 'entity' "
            "ORDER BY reference"
        )
        identities, bank = max(IdentityStore(state).banks("entity").items())[1]
    prior = model.coordinates["entity"].prior.centres
    numbers = [identities.index(name) for name in SHOWN]
    places = np.array([row["embedding"] for row in rows])
    stacked = np.vstack([bank.centres[numbers], prior[numbers]])
    middle = stacked.mean(axis=0)
    plane = np.linalg.svd(stacked - middle, full_matrices=False)[2][:2].T
    flat, realised, before = ((each - middle) @ plane for each in (places, bank.centres[numbers], prior[numbers]))
    drawing = Drawing(760, 420, "Prototypes of four entities before and after the demo company was seen")
    everything = np.vstack([flat, realised, before])
    low, high = everything.min(axis=0), everything.max(axis=0)

    def at(point: np.ndarray) -> tuple[float, float]:
        x, y = (point - low) / (high - low)
        return 40 + 680 * float(x), 380 - 330 * float(y)

    for row, point in zip(rows, flat, strict=True):
        style = COLOURS[SHOWN.index(row["identity"])] if row["identity"] in SHOWN else "e faint"
        drawing.dot(*at(point), 4, style)
    for place, name in enumerate(SHOWN):
        start, end = at(before[place]), at(realised[place])
        drawing.path([start, end], f"line s{COLOURS[place]} thin", arrow=True)
        drawing.diamond(*start, 7, f"hollow s{COLOURS[place]} thin")
        drawing.diamond(*end, 8, COLOURS[place])
        drawing.text(end[0] + 12, end[1] - 10, name, "bold")
    drawing.text(
        40, 408,
        f"dots: {len(rows)} tables and columns · hollow: the prior · "
        "filled: the prototype as this environment realises it",
        "soft small",
    )  # fmt: skip
    return drawing


def profiles(environment: Environment) -> Drawing:
    """Three columns: reasons for and against, and the soft profile that came of them."""
    drawing = Drawing(760, 30 + 150 * len(PROFILES), "Reasons and memberships of three columns")
    inventory = load_inventory(environment.identities_file)
    ids = inventory.ids("attribute")
    with EvidenceState.read(environment.state_folder) as state:
        for place, reference in enumerate(PROFILES):
            top = 30 + 150 * place
            [row] = state.rows(
                "SELECT profile FROM memberships WHERE coordinate = 'attribute' AND reference = $1", [reference]
            )
            signals = state.rows(
                "SELECT supports, reason FROM signals WHERE coordinate = 'attribute' AND reference = $1 "
                "ORDER BY supports DESC, labeler", [reference],
            )  # fmt: skip
            drawing.text(20, top, reference, "code bold")
            for line, signal in enumerate(signals[:5]):
                drawing.text(28, top + 24 + 20 * line, "+" if signal["supports"] else "-", "bold")
                drawing.text(42, top + 24 + 20 * line, _cut(signal["reason"], 52), "small")
            best = sorted(range(len(ids)), key=lambda number: -row["profile"][number])[:4]
            for line, number in enumerate(best):
                y = top + 12 + 24 * line
                drawing.text(505, y + 12, ids[number], "small", "end")
                drawing.box(515, y, 170 * row["profile"][number], 15, "a" if line == 0 else "e")
                drawing.text(521 + 170 * row["profile"][number], y + 12, f"{row['profile'][number]:.2f}", "soft small")
    return drawing


def demands(router: Router) -> Drawing:
    """Two questions and the identities they ask for, before any data is looked at."""
    drawing = Drawing(760, 40 + 175 * len(QUESTIONS), "Demand of two questions")
    for place, question in enumerate(QUESTIONS):
        top = 30 + 175 * place
        explained = router.explain(question)
        drawing.text(20, top, question, "bold")
        for side, coordinate in enumerate(("entity", "attribute")):
            left = 20 + 370 * side
            drawing.text(left + 120, top + 24, coordinate, "soft small")
            strongest = [row for row in explained.demand if row[0] == coordinate][:5]
            for line, (_, identity, gamma) in enumerate(strongest):
                y = top + 32 + 22 * line
                drawing.text(left + 112, y + 12, identity, "small", "end")
                drawing.box(left + 120, y, 190 * gamma, 14, "ab"[side])
                drawing.text(left + 126 + 190 * gamma, y + 12, f"{gamma:.2f}", "soft small")
    return drawing


def budgets(router: Router) -> Drawing:
    """What a view holds as its budget grows: columns as bars, tables and joins in words."""
    drawing = Drawing(760, 60 + 30 * len(BUDGETS), "What a view holds under a budget of tokens")
    found = {budget: router.view(QUESTIONS[0], budget) for budget in BUDGETS}
    columns = {budget: sum(len(table.columns) for table in view.tables) for budget, view in found.items()}
    drawing.text(20, 26, QUESTIONS[0], "bold")
    for line, (budget, view) in enumerate(found.items()):
        if view.cost > budget:
            raise SystemExit(f"a view of {view.cost} tokens under a budget of {budget}")
        y = 44 + 30 * line
        length = 380 * columns[budget] / max(columns.values())
        drawing.text(110, y + 14, f"{budget:,} tokens", "small", "end")
        drawing.box(120, y, length, 18, "a")
        holds = (
            f"{columns[budget]} columns, {_several(len(view.tables), 'table')}, {_several(len(view.relations), 'join')}"
        )
        drawing.text(128 + length, y + 14, f"{holds} ({view.cost:,} used)", "small")
    return drawing


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def make(environment: Environment, only: str | None) -> None:
    PICTURES.mkdir(exist_ok=True)
    router = Router.open(environment)
    if only != "screenshots":
        drawn = {
            "realisation": realisation(environment), "profiles": profiles(environment),
            "demand": demands(router), "budget": budgets(router), "flow": flow(),
        }  # fmt: skip
        for name, drawing in drawn.items():
            (PICTURES / f"{name}.svg").write_text(drawing.text_of_file(), encoding="utf-8")
    if only != "drawings":
        take_screenshots(environment, router, PICTURES)


def main() -> None:
    parser = argparse.ArgumentParser(description="The figures of the documentation, from a real environment.")
    parser.add_argument("--environment", type=Path, help="a comprehended folder [default: the demo company, made anew]")
    parser.add_argument("--only", choices=["drawings", "screenshots"])
    options = parser.parse_args()
    if options.environment:
        make(load_environment(options.environment), options.only)
        return
    from coset.demo import make_company, prepare_folder
    from coset.demo.questions import comprehend_demo

    with tempfile.TemporaryDirectory() as folder:
        prepare_folder(Path(folder) / "company", make_company())
        environment = load_environment(Path(folder) / "company")
        comprehend_demo(environment)
        make(environment, options.only)


if __name__ == "__main__":
    main()
