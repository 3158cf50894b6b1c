"""Reports of one or more runs: pictures as SVG, one self-contained HTML page, Markdown, figures as JSON."""

from __future__ import annotations

from coset.benchmark.report.write import write_reports

__all__ = ["write_reports"]
