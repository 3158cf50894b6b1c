"""Documents and corrections that are damaged, locked, endless, foreign, about nothing, or against each other."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from pypdf import PdfWriter

import coset
from coset.state import EvidenceState
from coset.state.documents import document_files, rules, sections
from coset.surfaces.command_line import coset as command_line

GOOD = "notes:\n  - {reference: shop/orders.amount, text: in francs}\n"


def pdf(path: Path, password: str | None = None) -> None:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    if password:
        writer.encrypt(password)
    writer.write(path)


def word(path: Path, pages: int) -> None:
    """So many pages, each a chapter of its own."""
    names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    page = "".join(f"<w:p><w:r><w:t>Shipping of region {{0}} takes {days} days.</w:t></w:r></w:p>" for days in range(2))
    head = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Region {0}</w:t></w:r></w:p>'
    body = "".join((head + page).format(number) for number in range(pages))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {names}><w:body>{body}</w:body></w:document>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad_documents")
    documents = made / "docs"
    documents.mkdir()
    pdf(documents / "locked.pdf", "secret")
    pdf(documents / "scanned.pdf")
    (documents / "torn.pdf").write_bytes((documents / "scanned.pdf").read_bytes()[:300])
    (documents / "torn.docx").write_bytes(b"PK\3\4 no archive")
    word(documents / "long.docx", 500)
    (documents / "zasady.md").write_text("# Zasady\n\nKwoty w orders.amount są netto.\n", encoding="utf-8")
    (documents / "old_bytes.txt").write_bytes("Umsätze\n\nUmsätze unter 10 € zählen nie.\n".encode("cp1252"))
    (documents / "one.md").write_text("# One\n\nTest customers are left out of every figure.\n")
    (documents / "other.md").write_text("# Other\n\nTest customers are included in every figure.\n")
    (documents / "elsewhere.md").write_text("# Elsewhere\n\nIn FI_GLACCT the field CO_CODE is the company code.\n")
    (made / "orders.csv").write_text("id,status,amount\n1,P,3\n2,C,4\n3,P,9\n")
    (made / "coset.yaml").write_text("documents: docs\nsources: {shop: {location: orders.csv}}\n")
    (made / "coset.corrections.yaml").write_text(GOOD + "  - {reference: shop/orders.gone, text: about nothing}\n")
    return made


def told(folder: Path) -> str:
    done = CliRunner().invoke(command_line, ["comprehend", "--jobs", "1", "-e", str(folder)])
    assert (done.exit_code == 1 and done.exception is None) or isinstance(done.exception, SystemExit)
    return done.output


def test_each_is_named_once_and_the_rest_is_read(folder: Path, capfd: pytest.CaptureFixture[str]):
    lines = told(folder).splitlines()
    for words in (
        "docs/locked.pdf could not be read: is encrypted", "docs/scanned.pdf could not be read: holds no text",
        "docs/torn.pdf could not be read: is damaged", "docs/torn.docx could not be read: is damaged",
        "there is no 'shop.orders.gone'", "note: docs/one.md says", "note: docs/elsewhere.md names",
    ):  # fmt: skip
        assert sum(words in line for line in lines) == 1, words
    assert "against docs/other.md: 'Test customers are included in every figure.'" in "\n".join(lines)
    assert capfd.readouterr().err == ""  # What a library says of a damaged file is no message of ours.
    with EvidenceState.read(folder / ".coset") as state:
        read = {file.document for file in document_files(state) if file.problem is None}
        assert {f"docs/{name}" for name in ("long.docx", "zasady.md", "old_bytes.txt", "one.md", "other.md")} <= read
        assert len([each for each in sections(state) if each.document == "docs/long.docx"]) == 500
        assert {"docs/one.md", "docs/other.md"} <= {rule.section_reference.rsplit("#", 1)[0] for rule in rules(state)}
        assert any("10 € zählen nie" in each.text for each in sections(state))
    with coset.open(folder) as environment:
        view = str(environment.view("What amount was ordered?"))
        assert "left out of every figure" in view and "included in every figure" in view and "są netto" in view


def test_a_slip_in_the_corrections_file_is_told_once_and_takes_nothing_back(folder: Path):
    told(folder)
    (folder / "coset.corrections.yaml").write_text(GOOD + "rules: [\n  - text: never\n")
    lines = told(folder).splitlines()
    assert (
        [line for line in lines if "coset.corrections.yaml" in line]
        == [line for line in lines if "until that is mended, what it last said holds" in line]
        != []
    )
    with coset.open(folder) as environment:
        assert "in francs" in str(environment.view("What amount was ordered?"))
    (folder / "coset.corrections.yaml").write_text(GOOD.replace("francs", "crowns"))
    told(folder)
    with coset.open(folder) as environment:
        assert "in crowns" in str(environment.view("What amount was ordered?"))
