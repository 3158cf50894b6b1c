"""The one figure of the README: from many databases to a checked answer. Words and boxes, no measurement."""

from __future__ import annotations

from drawing import Drawing

TOP, WIDE, HIGH = 70, 168, 172
STAGES = (
    (
        "Sources",
        "environment",
        ("PostgreSQL, MySQL,", "SQLite, DuckDB,", "MongoDB, dumps,", "CSV, JSON, Parquet,", "Excel"),
    ),
    (
        "Evidence",
        "coset comprehend",
        (
            "profiles, values, dirt",
            "joins between sources",
            "with the expressions",
            "that make them work",
            "facts inside texts",
        ),
    ),
    (
        "Identities",
        "coset identities",
        (
            "customer . identifier",
            "= buyer_id, customer_id,",
            "customer_ref",
            "soft, with reasons for",
            "and against, certified",
        ),
    ),
    (
        "View",
        "coset view",
        (
            "what one question needs",
            "tables, roles, values,",
            "joins, passages, dirt",
            "within a token budget;",
            "nothing dropped silently",
        ),
    ),
    (
        "Answer",
        "coset ask",
        (
            "arbiter: typed records",
            "agent: SQL and counting",
            "or no model: the offline",
            "reasoner",
            "checks before it counts",
        ),
    ),
)
BELOW = (
    (0, 2, "once, then only what changed"),
    (3, 4, "for each question"),
)


def flow() -> Drawing:
    drawing = Drawing(984, 408, "From many databases to a checked answer")
    drawing.text(20, 30, "Learned once per environment, used by every question", "bold")
    for place, (name, command, lines) in enumerate(STAGES):
        left = 20 + 194 * place
        drawing.box(left, TOP, WIDE, HIGH, "box", 8)
        drawing.text(left + 14, TOP + 28, name, "bold")
        drawing.text(left + 14, TOP + 48, command, "code soft")
        for number, line in enumerate(lines):
            drawing.text(left + 14, TOP + 76 + 19 * number, line, "small")
        if place:
            drawing.path([(left - 24, TOP + HIGH / 2), (left - 3, TOP + HIGH / 2)], "line thin", arrow=True)
    for first, last, words in BELOW:
        left, right = 20 + 194 * first, 20 + 194 * last + WIDE
        drawing.path([(left, 258), (left, 266), (right, 266), (right, 258)], "line")
        drawing.text((left + right) / 2, 284, words, "soft small", "middle")
    drawing.box(20, 306, 944, 82, "box", 8)
    drawing.text(34, 332, "Query session", "bold")
    drawing.text(34, 354, "coset sql", "code soft")
    drawing.text(180, 332, "one read-only SELECT over all sources; every node of the statement is checked;", "small")
    drawing.text(
        180, 352, "large tables are filtered and counted in their own database; the SQL runs in a child", "small"
    )
    drawing.text(180, 372, "process without network, files to write, or secrets", "small")
    return drawing
