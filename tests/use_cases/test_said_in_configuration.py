"""Every key of coset.yaml and the files it names take effect at the next comprehension, though no table changed."""

from __future__ import annotations

from pathlib import Path

import coset
from api.shop import write_shop

QUESTION = "What amount did customers order?"
SAID = """\
description: The whole group reports in crowns.
documents: [house.md]
sources:
  crm:
    location: crm.db
    description: Accounts of the northern branch.
    description_file: more.txt
    hints: [city means the billing city]
    documents: [crm_guide.txt]
  shop:
    location: orders.csv
    queries: [report.sql]
"""


def view(folder: Path) -> str:
    with coset.open(folder) as environment:
        assert environment.comprehend(jobs=1).looked_at == 0
        return str(environment.view(QUESTION, budget=6000))


def test_what_is_said_of_the_data_takes_effect_though_no_table_changed(tmp_path: Path):
    folder = write_shop(tmp_path)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
    before = view(folder)
    (folder / "house.md").write_text("# House rules\n\nTest customers are left out of every figure.\n")
    (folder / "more.txt").write_text("Loaded every night.")
    (folder / "crm_guide.txt").write_text("Guide\n\nIn the table customers the city is never empty.\n")
    (folder / "report.sql").write_text("SELECT sum(amount) AS turnover FROM orders WHERE status = 'paid'")
    (folder / "coset.yaml").write_text(SAID)
    (folder / "coset.corrections.yaml").write_text(
        "notes:\n  - {reference: shop/orders.amount, text: Amounts are net of tax.}\n"
        "rules:\n  - text: Orders of January never count.\n"
    )
    after = view(folder)
    for text in (
        "crowns", "Test customers are left out of every figure", "northern branch", "Loaded every night", "billing city",
        "never empty", "net of tax", "Orders of January never count",
    ):  # fmt: skip
        assert text in after and text not in before, text
    (folder / "house.md").write_text("# House rules\n\nStaff orders are left out of every figure.\n")
    (folder / "coset.yaml").write_text(
        SAID.replace("crowns", "pounds").replace("    hints: [city means the billing city]\n", "")
    )
    changed = view(folder)
    assert "pounds" in changed and "Staff orders are left out" in changed
    for text in ("crowns", "Test customers are left out", "billing city"):
        assert text not in changed, text
    (folder / "coset.yaml").write_text(
        "sources:\n  crm: {location: crm.db, exclude: [cust*]}\n  shop: {location: orders.csv}\n"
    )
    without = view(folder)
    assert "crm.customers" not in without and "pounds" not in without and "Staff orders" not in without
