"""Documents: every format is read, what holds is told from what does not, and what cannot be read stops nothing."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from coset.environment.configuration import load_environment
from coset.evidence.documents import files
from coset.evidence.documents.files import read_documents, read_here
from coset.evidence.documents.sections import Section, cut
from coset.evidence.documents.stated import described_sources
from coset.evidence.documents.validity import Dated, judge
from coset.evidence.work import here
from coset.readings.comprehension import texts_of
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, STAGES, Settings, comprehend

WORD = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'
STYLES = (
    '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:styleId="berschrift1">'
    '<w:name w:val="heading 1"/></w:style></w:styles>'
)


def word_file(path: Path, body: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", WORD.format(body))
        archive.writestr("word/styles.xml", STYLES)
    return path


def paragraph(text: str, style: str | None = None) -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pdf_file(path: Path, pages: list[list[tuple[str, int]]]) -> Path:
    """A PDF of lines with their sizes of letters."""
    objects: list[bytes] = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for lines in pages:
        height, drawn = 800, []
        for text, size in lines:
            height -= 2 * size
            drawn.append(f"BT /F1 {size} Tf 50 {height} Td ({text}) Tj ET")
        stream = "\n".join(drawn).encode()
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        content = len(objects)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % content
        )
        kids.append(len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    text, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(text))
        text += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(text)
    text += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    text += b"".join(b"%010d 00000 n \n" % place for place in places)
    text += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    path.write_bytes(text)
    return path


def test_every_format_is_cut_into_the_same_sections(tmp_path: Path):
    pytest.importorskip("pypdf")
    texts = {
        "a.md": "# Handbook\n\n## Counting\n\nTests **never** count.\n\n- Returns count once.\n",
        "a.txt": "HANDBOOK\n\n1.1 Counting\n\nTests never\ncount.\n\n- Returns count once.\n",
        "a.html": "<title></title><h1>Handbook</h1><h2>Counting</h2><p>Tests <b>never</b> count.<script>x()</script>"
        "<ul><li>Returns count once.</ul>",
        "a.eml": "Subject: Handbook\nFrom: a@b.c\nContent-Type: text/html\n\n<h2>Counting</h2><p>Tests never count.<p>Returns "
        "count once.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    word_file(
        tmp_path / "a.docx",
        paragraph("Handbook", "berschrift1") + paragraph("Counting", "Heading2") + paragraph("Tests never count.")
        + paragraph("Returns count once."),
    )  # fmt: skip
    pdf_file(
        tmp_path / "a.pdf",
        [[("Handbook", 20), ("Counting", 15), ("Tests never count.", 10), ("- Returns count once.", 10)]],
    )
    with zipfile.ZipFile(tmp_path / "a.pptx", "w") as archive:
        shape = "<p:sp><p:nvSpPr><p:nvPr>{}</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
        slide = (
            '<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
            'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">{}</p:sld>'
        )
        title = '<p:ph type="title"/>'
        archive.writestr("ppt/slides/slide1.xml", slide.format(shape.format(title, "Handbook")))
        body = shape.format("", "Tests never count.") + shape.format("", "Returns count once.")
        archive.writestr("ppt/slides/slide2.xml", slide.format(shape.format(title, "Counting") + body))
    for path, outcome in read_documents(sorted(tmp_path.iterdir())):
        assert not isinstance(outcome, str), (path, outcome)
        last = cut(outcome, path.name)[-1]
        assert [title.removeprefix("1.1 ").lower() for title in last.title_path] == ["handbook", "counting"], path
        assert [text.removeprefix("- ") for text in last.paragraphs] == ["Tests never count.", "Returns count once."], (
            path
        )


def test_a_pdf_that_is_damaged_but_legible_is_read_without_a_word_of_warning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    pytest.importorskip("pypdf")
    path = pdf_file(tmp_path / "a.pdf", [[("Handbook", 20), ("Tests never count.", 10)]])
    text = path.read_bytes()
    path.write_bytes(text[: text.rindex(b"startxref")] + b"startxref\n3\n%%EOF")
    (tmp_path / "b.pdf").write_bytes(text[:60])
    outcomes = dict(read_documents([path, tmp_path / "b.pdf"]))
    assert "Tests never count." in cut(outcomes[path], "a.pdf")[-1].text
    assert "damaged" in str(outcomes[tmp_path / "b.pdf"])
    assert capfd.readouterr() == ("", "")


def test_hostile_and_damaged_documents_are_named_and_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pypdf")
    bomb = word_file(tmp_path / "bomb.docx", paragraph("x" * 3_000_000))
    monkeypatch.setattr("coset.evidence.documents.office_formats.MOST_UNPACKED_BYTES", 1_000_000)
    assert "unpacks to more than" in read_here(bomb)
    with zipfile.ZipFile(tmp_path / "entities.docx", "w") as archive:
        archive.writestr("word/document.xml", '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + WORD.format(paragraph("&a;&a;")))
    assert "document type" in read_here(tmp_path / "entities.docx")
    (tmp_path / "locked.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert "encrypted" in read_here(tmp_path / "locked.docx")
    pdf_file(tmp_path / "scanned.pdf", [[], []])
    assert "scanned" in read_here(tmp_path / "scanned.pdf")
    (tmp_path / "damaged.pdf").write_bytes(b"%PDF-1.4\nnothing")
    assert "damaged" in read_here(tmp_path / "damaged.pdf")
    import pypdf

    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "secret.pdf")
    assert "encrypted" in read_here(tmp_path / "secret.pdf")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "fine.txt").write_text("All is well.")
    monkeypatch.setattr(files, "MOST_BYTES", 1_000)
    outcomes = dict(read_documents([tmp_path / "bomb.docx", tmp_path / "empty.txt", tmp_path / "fine.txt"]))
    assert "larger than" in str(outcomes[tmp_path / "bomb.docx"])
    assert outcomes[tmp_path / "empty.txt"] == "is empty"
    assert not isinstance(outcomes[tmp_path / "fine.txt"], str)
    os.mkfifo(tmp_path / "pipe.txt")
    assert "not a regular file" in str(dict(read_documents([tmp_path / "pipe.txt"]))[tmp_path / "pipe.txt"])


def test_a_document_that_takes_too_long_ends_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.md").write_text("# Slow\n\nText.")
    (tmp_path / "b.md").write_text("# Fine\n\nText.")
    monkeypatch.setattr(files, "SMALL", 0)
    reading = read_documents([tmp_path / "a.md", tmp_path / "b.md"], seconds=0.0)
    monkeypatch.setattr(files, "START_SECONDS", 0.0)
    assert "within 0 seconds" in str(next(reading)[1])
    monkeypatch.setattr(files, "START_SECONDS", 60.0)
    assert not isinstance(next(reading)[1], str)


def dated(name: str, title: str, text: str = "") -> Dated:
    return Dated(f"docs/{name}", name, title, (Section((title,), 0, (text,)),))


def test_what_holds_is_told_from_what_was_replaced():
    judged = judge(
        [
            dated("manual_v5.docx", "Manual - version 5 (March 2020)"),
            dated("manual_v6.docx", "Manual - version 6 (January 2024)", "Gültig ab 1. Februar 2024."),
            dated("guide_2.txt", "GUIDE 2 FOR ASSESSORS"),
            dated("guide_3.md", "Guide 3 for assessors (replaces guide 2)"),
            dated("circular_2018-03.txt", "Circular 2018-03"),
            dated("circular_2021-01.txt", "Circular 2021-01", "About something else."),
            dated("circular_2023-07.txt", "Circular 2023-07", "The naming laid down in circular 2018-03 is given up."),
            dated("note.md", "Note", "Cette note est remplacée par la note 12. En vigueur depuis le 3 mai 2020."),
            dated("regeln_entwurf.md", "Regeln", "Alle Zahlen in Euro."),
            dated("terms_old.txt", "Terms of payment"),
            dated("travel_2022.md", "Travel policy 2022"),
            dated("travel_2024.md", "Travel policy 2024"),
            dated("minutes_2024-01.md", "Minutes of January 2024"),
            dated("minutes_2024-02.md", "Minutes of February 2024"),
            dated("regole_2021.txt", "REGOLE, EDIZIONE 2021"),
            dated(
                "regole_2025.docx", "Regole (in vigore dal 1 gennaio 2025)", "Queste regole sostituiscono quelle prima."
            ),
            dated("outages_v2.md", "Statistics of outages, edition 2 (2017 to 2022)"),
            dated("outages_v3.pdf", "Outages v3", "Edition 3"),
            dated("complaints.md", "Complaints", "* Accepted: full credit.\n* Withdrawn and open ones do not count."),
            dated("codes_a.txt", "Codes A", "WITHDRAWN on 1 May 2020."),
            dated("codes_b.txt", "Codes B (obsolete)"),
        ]
    )
    superseded = {
        reference.split("/")[1]: each.superseded_by for reference, each in judged.items() if each.status == "superseded"
    }
    assert superseded == {
        "manual_v5.docx": "docs/manual_v6.docx",
        "guide_2.txt": "docs/guide_3.md",
        "circular_2018-03.txt": "docs/circular_2023-07.txt",
        "note.md": None,
        "terms_old.txt": None,
        "travel_2022.md": "docs/travel_2024.md",
        "regole_2021.txt": "docs/regole_2025.docx",
        "outages_v2.md": "docs/outages_v3.pdf",
        "codes_a.txt": None,
        "codes_b.txt": None,
    }
    assert judged["docs/regeln_entwurf.md"].status == "draft"
    assert str(judged["docs/manual_v6.docx"].valid_from) == "2024-02-01"
    assert str(judged["docs/note.md"].valid_from) == "2020-05-03"


@pytest.mark.parametrize(
    ("older", "said"),
    [
        ("Circular 2018-03", "Circular 2018-03 ceases to apply."),
        ("Cirkulär 2018-03", "Namnet ändras. Cirkulär 2018-03 upphör att gälla."),
        ("Okólnik 2018-03", "Okólnik 2018-03 traci moc z dniem 1 maja 2023."),
        ("Circular 2018-03", "A Circular 2018-03 fica sem efeito."),
        ("Rundschreiben 2018-03", "Das Rundschreiben 2018-03 tritt außer Kraft."),
        ("Circulaire 2018-03", "La circulaire 2018-03 cesse de s'appliquer."),
    ],
)
def test_in_every_language_of_the_dictionary_a_document_may_end_another(older: str, said: str):
    judged = judge([dated("a_2018-03.txt", older), dated("a_2023-07.txt", older.replace("2018-03", "2023-07"), said)])
    assert [each.status for each in judged.values()] == ["superseded", "current"]


def test_documents_are_found_read_once_and_read_again_when_they_change(tmp_path: Path):
    data, docs = tmp_path / "data", tmp_path / "data" / "docs"
    docs.mkdir(parents=True)
    (data / "orders.csv").write_text("id,status\n1,a\n2,b\n")
    (docs / "rules.md").write_text("# Rules\n\nCancelled orders never count.")
    word_file(docs / "broken.docx", "<unclosed>")
    (tmp_path / "house.txt").write_text("House rules\n\nAmounts are given in euro.")
    (tmp_path / "coset.yaml").write_text(
        "description: A shop.\ndocuments: [house.txt, missing/*.md]\nsources:\n  shop: {location: data}\n"
    )
    environment = load_environment(tmp_path)

    def run():
        return comprehend(environment, Settings(spread=here), stages=EVIDENCE)

    summary = run()
    assert (summary.documents, summary.documents_read) == (3, 3)
    assert summary.relations == 0
    problems = dict(summary.problems)
    assert "damaged" in problems["shop/docs/broken.docx"]
    assert problems[str(tmp_path / "missing/*.md")] == "there is no such document"
    with EvidenceState.read(environment.state_folder) as state:
        rows = state.rows("SELECT reference, source, text FROM sections ORDER BY reference")
        assert [(row["reference"], row["source"]) for row in rows] == [
            ("house.txt#1", None),
            ("shop/docs/rules.md#1", "shop"),
        ]
        assert state.rows("SELECT text FROM documents WHERE kind = 'description'") == [{"text": "A shop."}]
    assert run().documents_read == 0
    (docs / "rules.md").write_text("# Rules\n\nCancelled orders count twice.")
    (tmp_path / "house.txt").unlink()
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  shop: {location: data, hints: [be careful], documents: ['!data/docs/b*']}\n"
    )
    environment = load_environment(tmp_path)
    summary = run()
    assert (summary.documents, summary.documents_read) == (1, 1)
    with EvidenceState.read(environment.state_folder) as state:
        assert [row["text"] for row in state.rows("SELECT text FROM sections")] == ["Cancelled orders count twice."]
        assert [
            row["text"] for row in state.rows("SELECT text FROM documents WHERE kind IN ('hint', 'description')")
        ] == ["be careful"]


def test_a_document_with_a_paragraph_for_each_source_describes_those_of_which_the_configuration_says_nothing(
    tmp_path: Path,
):
    for name in ("crm", "erp"):
        (tmp_path / f"{name}.csv").write_text("id,status\n1,a\n")
    (tmp_path / "what.txt").write_text(
        "What there is\n\nCRM (crm.csv): the buyers are in crm.\n\n**erp**: orders.\n\nNote: nothing else.\n"
    )
    (tmp_path / "coset.yaml").write_text(
        "documents: [what.txt]\nsources:\n  crm: {location: crm.csv}\n  erp: {location: erp.csv, description: Ours.}\n"
    )
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.read(environment.state_folder) as state:
        assert described_sources(state) == {"crm": ("what.txt#1", "the buyers are in crm.")}
        places = [text.place for text in texts_of(state, environment) if text.source == "crm"]
        assert "description of crm in what.txt#1" in places


def test_long_foreign_and_contradictory_documents_are_read_and_kept_apart(tmp_path: Path):
    """500 pages, Polish, two documents that say opposite things, and one about tables that are not there."""
    (tmp_path / "orders.csv").write_text("id,status\n1,P\n2,C\n")
    pages = "\n\n".join(f"## Page {number}\n\n" + "Amounts are given in euro. " * 90 for number in range(500))
    (tmp_path / "long.md").write_text(f"# Manual\n\n{pages}\n")
    (tmp_path / "polski.txt").write_text("Zasady\n\nZamówienia testowe nie są liczone w żadnym raporcie.\n")
    (tmp_path / "one.md").write_text("# One\n\nReturned orders count in every figure.\n")
    (tmp_path / "two.md").write_text("# Two\n\nReturned orders never count in any figure.\n")
    (tmp_path / "lost.md").write_text("# Lost\n\nThe table XYZ_HDR is frozen, take XYZ_LIN instead.\n")
    (tmp_path / "coset.yaml").write_text("documents: ['*.md', '*.txt']\nsources: {shop: {location: orders.csv}}\n")
    environment = load_environment(tmp_path)
    stages = [stage for stage in STAGES if stage in EVIDENCE or stage.what == "reading rules"]
    summary = comprehend(environment, Settings(spread=here), stages=stages)
    assert summary.problems == () and summary.documents == summary.documents_read == 5
    with EvidenceState.read(environment.state_folder) as state:
        kept = {row["document"] for row in state.rows("SELECT DISTINCT document FROM sections")}
        assert {"long.md", "polski.txt", "one.md", "two.md", "lost.md"} <= {name.rsplit("/", 1)[-1] for name in kept}
        texts = {row["text"] for row in state.rows("SELECT text FROM rules WHERE status = 'current'")}
        assert {"Returned orders count in every figure.", "Returned orders never count in any figure."} <= texts
        assert state.rows("SELECT 1 FROM mentions WHERE section_reference LIKE '%lost.md%'") == []
