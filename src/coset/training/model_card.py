"""The model card: what the weights were made from, how good they are, and what each part is worth.

In: figures of a training run. Out: Markdown.
"""

from __future__ import annotations

from typing import Any


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
