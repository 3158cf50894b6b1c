"""The pages, one module for each noun. In: requests. Out: HTML, or JSON for a canvas. All their addresses are here."""

from __future__ import annotations

from starlette.routing import Route

from coset.surfaces.web.pages import (
    answers,
    diagnostics,
    documents,
    identities,
    map,
    objects,
    overview,
    questions,
    relations,
    reports,
    review,
    runs,
    sql,
    tables,
)

ROUTES = (
    Route("/", overview.overview),
    Route("/freshness", overview.freshness),
    Route("/question", questions.question),
    Route("/question/view", questions.view),
    Route("/ask", answers.ask, methods=["POST"]),
    Route("/asked/{number:int}", answers.asked),
    Route("/asked/{number:int}/state", answers.state),
    Route("/asked/{number:int}/stop", answers.stop, methods=["POST"]),
    Route("/map", map.map_page),
    Route("/map/data", map.data),
    Route("/identities", identities.listed),
    Route("/identities/role", identities.role),
    Route("/identities/{coordinate:str}", identities.identity),
    Route("/object", objects.object_page),
    Route("/teach", objects.teach, methods=["POST"]),
    Route("/revoke", objects.revoke, methods=["POST"]),
    Route("/taught", objects.taught),
    Route("/tables", tables.listed),
    Route("/tables/rows", tables.first_rows),
    Route("/documents", documents.listed),
    Route("/documents/show", documents.document),
    Route("/review", review.review),
    Route("/review", review.decide, methods=["POST"]),
    Route("/review/withdraw", review.withdraw, methods=["POST"]),
    Route("/sql", sql.sql),
    Route("/sql", sql.run, methods=["POST"]),
    Route("/relations", relations.relations),
    Route("/diagnostics", diagnostics.diagnostics),
    Route("/runs", runs.listed),
    Route("/runs/{number:int}", runs.run),
    Route("/runs/{number:int}/replay", runs.replayed, methods=["POST"]),
    Route("/reports", reports.listed),
    Route("/reports/show", reports.report),
)
