"""The model card of routing, written from the figures that training measured.

In: the figures of `routing_recipe`. Out: Markdown. Says nothing that was not measured.
"""

from __future__ import annotations

from typing import Any


def routing_card(figures: dict[str, Any], command: str) -> str:
    data = figures["data"]
    pool, parts = data["pool"], data["databases"]
    lines = [
        "# Routing: model card",
        "",
        f"Made by `{command}`. A routing encoder (three layers that say what a MiniLM of six, Apache-2.0, says that",
        "learned from questions and their gold columns; int8 ONNX), a query model (paper, Section 3.4), and a ranker",
        "of five small networks.",
        "",
        f"Databases: {parts['encoder']} for the encoder, {parts['ranker']} others for the ranker, "
        f"{parts['validation']} for validation,",
        f"which nothing learned from. {data['validation_questions']:,} validation questions.",
        "",
        f"## All gold tables among the first, one pool of {pool['databases']} databases ({pool['tables']:,} tables, "
        f"{pool['columns']:,} columns)",
        "",
        "| corpus | questions | 5 | 10 | 15 |",
        "|---|---|---|---|---|",
    ]
    for way, note in (("pooled", ""), ("pooled_hinted", ", those with a hint, read with it")):
        for name, row in figures[way].items():
            recalls = " | ".join(f"{row[count]:.3f}" for count in ("5", "10", "15"))
            lines.append(f"| {name}{note} | {row['questions']:,} | {recalls} |")
    lines += [
        "",
        "## All gold tables and columns kept, each database by itself",
        "",
        "| corpus | kept all | columns kept | of |",
        "|---|---|---|---|",
    ]
    for way, note in (("single", ""), ("single_hinted", ", those with a hint, read with it")):
        for name, row in figures[way].items():
            lines.append(f"| {name}{note} | {row['kept_all']:.3f} | {row['columns']:.1f} | {row['of']:.1f} |")
    if figures.get("ablations"):
        lines += [
            "",
            "## Ablations",
            "",
            "Each learns its own ranker without the part. Candidates are those of the whole, so what is missing is",
            "missed in ranking alone.",
            "",
            "| | first 5 | first 15 | kept all | columns kept |",
            "|---|---|---|---|---|",
        ]
        for name, row in figures["ablations"].items():
            pooled, single = row["pooled"], row["single"]
            figures_of = (pooled["5"], pooled["15"], single["kept_all"])
            lines.append(
                f"| {name} | " + " | ".join(f"{value:.3f}" for value in figures_of) + f" | {single['columns']:.1f} |"
            )
    return "\n".join([*lines, "", "Limits: English questions; values are known to it by samples alone.", ""])
