"""How well documents are read: by format, what holds, what they name, their rules, and whether documents that govern
a question are found from the tables it needs.

python benchmarks/documents.py FOLDER [QUESTIONS.json]     an environment that was comprehended, and questions with
                                                           `tables` and `documents`
python benchmarks/documents.py --cost                      what 50 documents of 20 pages cost, and one that changed
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from coset.environment.configuration import load_environment
from coset.evidence.documents.rules import DEFINITION
from coset.state import EvidenceState
from coset.state.names import names_of

SENTENCE = "the amount of an order counts on the day it was booked unless it was cancelled before the end of the month"
WORDS = SENTENCE.split()


def report(folder: Path, questions: Path | None) -> None:
    environment = load_environment(folder)
    with EvidenceState.read(environment.state_folder) as state:
        files = state.rows("SELECT * FROM document_files ORDER BY document")
        formats = Counter(row["format"] for row in files)
        read = Counter(row["format"] for row in files if row["problem"] is None)
        print("documents read:", ", ".join(f"{name} {read[name]} of {count}" for name, count in formats.items()))
        for row in files:
            if row["problem"] or row["status"] != "current":
                print(f"  {row['document']}: {row['problem'] or row['status']}, by {row['superseded_by']}")
        for table, by in (("sections", "status"), ("mentions", "how"), ("rules", "scope || ' ' || status")):
            counts = state.rows(f"SELECT {by} AS k, count(*) AS n FROM {table} GROUP BY ALL ORDER BY ALL")
            print(f"{table}:", ", ".join(f"{row['n']} {row['k']}" for row in counts))
        if questions is not None:
            governing(state, json.loads(questions.read_text()))


def governing(state: EvidenceState, questions: list[dict]) -> None:
    names = names_of(state)
    documents = [row["document"] for row in state.rows("SELECT document FROM document_files WHERE problem IS NULL")]
    right = wanted = whole = shown = 0
    for question in questions:
        tables = [reference for name in question["tables"] for reference in names.find(name)[:1]]
        found = {document.rsplit("/", 1)[-1] for document in governing_documents(state, tables)}
        missing = set(question["documents"]) - found
        right, wanted = right + len(question["documents"]) - len(missing), wanted + len(question["documents"])
        whole, shown = whole + (not missing), shown + len(found)
        if missing:
            print(f"  {question['id']}: not found {', '.join(sorted(missing))}")
    print(
        f"governing documents from gold tables: {right} of {wanted} ({right / wanted:.3f}); all of them for {whole} of "
        f"{len(questions)} questions; {shown / len(questions):.1f} of {len(documents)} documents named a question"
    )


LEAST_TERMS = 3
"""Definitions that make a document a glossary, if they are at least half of its rules."""


def governing_documents(state: EvidenceState, tables: Sequence[str]) -> set[str]:
    """The documents in force that have rules for every figure, define words, or name one of the tables, a column of
    one, or their source."""
    found: set[str] = set()
    rules: dict[str, list[bool]] = defaultdict(list)
    for row in state.rows("SELECT section_reference, text, scope FROM rules WHERE status = 'current'"):
        document = row["section_reference"].rsplit("#", 1)[0]
        rules[document].append(DEFINITION.match(row["text"]) is not None)
        found |= {document} if row["scope"] == "general" else set()
    found |= {document for document, defines in rules.items() if sum(defines) >= max(LEAST_TERMS, len(defines) / 2)}
    sources = {table.split("/", 1)[0].strip('"') for table in tables}
    for row in state.rows(
        "SELECT DISTINCT section_reference, target_reference, how FROM mentions WHERE confidence >= 0.5"
    ):
        target = row["target_reference"]
        named = any(target == table or target.startswith((f"{table}.", f"{table}#")) for table in tables)
        if target in sources if row["how"] == "source" else named:
            found.add(row["section_reference"].rsplit("#", 1)[0])
    return found & {
        row["document"] for row in state.rows("SELECT document FROM document_files WHERE status = 'current'")
    }


def cost() -> None:
    """Times only the stages of documents, over one small table."""
    from coset.evidence.work import here
    from coset.use_cases.comprehend import EVIDENCE, STAGES, Settings, comprehend

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "docs").mkdir()
        (folder / "orders.csv").write_text("id,status,amount\n1,P,3\n2,C,4\n")
        (folder / "coset.yaml").write_text("documents: docs\nsources: {shop: {location: orders.csv}}\n")
        for number in range(50):
            _write(folder / "docs" / f"document_{number}", number)
        environment = load_environment(folder)
        stages = [stage for stage in STAGES if stage in EVIDENCE or stage.what == "reading rules"]
        for what in ("50 documents of 20 pages", "nothing changed", "one document changed"):
            if what.startswith("one"):
                _write(folder / "docs" / "document_7", 1007)
            started, cpu = time.monotonic(), _cpu()
            summary = comprehend(environment, Settings(spread=here), stages=stages)
            print(
                f"{what}: {time.monotonic() - started:.1f} s, {_cpu() - cpu:.1f} s of CPU, "
                f"{summary.documents_read} read, {summary.rules:,} rules, "
                f"{summary.mentions:,} mentions"
            )


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _write(path: Path, seed: int) -> None:
    """A document of about 20 pages of 3,000 letters: Word, PDF, Markdown or text in turn."""
    paragraphs = [
        " ".join(WORDS[(seed + page * 7 + word) % len(WORDS)] for word in range(90)).capitalize() + f" ({seed}.{page})."
        for page in range(120)
    ]
    kind = seed % 4
    if kind == 0:
        from tests.evidence.test_document_reading import paragraph, word_file

        word_file(path.with_suffix(".docx"), "".join(paragraph(text) for text in paragraphs))
    elif kind == 1:
        from tests.evidence.test_document_reading import pdf_file

        lines = [text[start : start + 90] for text in paragraphs for start in range(0, len(text), 90)]
        pdf_file(
            path.with_suffix(".pdf"), [[(line, 10) for line in lines[at : at + 38]] for at in range(0, len(lines), 38)]
        )
    else:
        path.with_suffix(".md" if kind == 2 else ".txt").write_text("# Document\n\n" + "\n\n".join(paragraphs))


if __name__ == "__main__":
    if sys.argv[1:] == ["--cost"]:
        sys.path.insert(0, str(Path(__file__).parent.parent))
        cost()
    else:
        report(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
