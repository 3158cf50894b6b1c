"""The model card: what the weights were made from, how good they are, and what each part is worth.

In: figures of a training run. Out: Markdown.
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


def model_card(figures: dict[str, Any], command: str) -> str:
    return "\n".join([*_about(figures, command), *_figures(figures), *_ablations(figures), *_limits()]) + "\n"


def _about(figures: dict[str, Any], command: str) -> list[str]:
    data = figures["data"]
    parts = ", ".join(f"{name} {count:,} objects" for name, count in data["parts"].items())
    return [
        f"# Weights {figures['name']}",
        "",
        f"Made by `{command}` (seed {figures['seed']}).",
        "",
        "## What it is",
        "",
        "Two text encoders (of columns: the first three layers of all-MiniLM-L6-v2, Apache-2.0; of tables: the first five;",
        "fine-tuned, int8 ONNX) and, for each of the two coordinates (entity, attribute), an encoder to embedding and",
        "precision and a prior of Gaussian prototypes.",
        "",
        "## Data",
        "",
        f"{data['columns']:,} annotated columns and {data['tables']:,} annotated tables of {data['databases']} public",
        "databases (`src/coset/training/annotation`, with its guideline): language models read each column in its table",
        f"under one guideline. A second, independent annotation of {data['second']:,} columns agrees on the attribute for",
        f"{data['agreement']['attribute']:.3f} and on the entity for {data['agreement']['entity']:.3f} of them; one of "
        f"{data['second_tables']:,} tables on",
        f"the entity for {data['agreement']['tables']:.3f}. That is the ceiling, and an optimistic one, since both "
        "annotators are of one kind.",
        "",
        f"Beside them {data['written']['databases']:,} invented databases ({data['written']['tables']:,} tables; of some",
        f"{data['written']['columns']:,} columns too) and {data['recalled']['databases']:,} that recall public systems "
        f"({data['recalled']['tables']:,} tables,",
        f"{data['recalled']['columns']:,} columns), which language models wrote with their roles, and a thesaurus of names; "
        "all trained on only.",
        "",
        f"Split by database (versions of one database stay together): {parts}. Text encoders, encoders and label models",
        "saw train; temperatures were fitted on dev; the figures that count are those of validation.",
        "",
    ]


def _figures(figures: dict[str, Any]) -> list[str]:
    lines = [
        "## Figures",
        "",
        "| coordinate | part | objects | top-1 | top-3 | calibration error |",
        "|---|---|---|---|---|---|",
    ]
    for coordinate in ("entity", "attribute"):
        for part in ("dev", "validation"):
            found = figures[coordinate][part]
            lines.append(
                f"| {coordinate} | {part} | {found['objects']:,} | {found['top_1']:.3f} | {found['top_3']:.3f} "
                f"| {found['calibration_error']:.3f} |"
            )
    if figures.get("renamed"):
        shares = ", ".join(f"{name} {share:.3f}" for name, share in figures["renamed"].items())
        lines += [
            "",
            "Share of columns that keep their top-1 identity when a validation database is renamed:",
            f"{shares}.",
        ]
    return [*lines, ""]


def _ablations(figures: dict[str, Any]) -> list[str]:
    if not figures.get("ablations"):
        return []
    lines = [
        "## Ablations",
        "",
        "Validation, top-1 / top-3.",
        "",
        "| | entity | attribute | pair |",
        "|---|---|---|---|",
    ]
    for row in figures["ablations"]:
        cells = [
            f"{row[key]['top_1']:.3f} / {row[key]['top_3']:.3f}" if row.get(key) else ""
            for key in ("entity", "attribute", "joint")
        ]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _limits() -> list[str]:
    return [
        "## Limits",
        "",
        "English names; roles of the shipped inventory. A certificate says that an assignment is stable, not that it is",
        "right.",
    ]
