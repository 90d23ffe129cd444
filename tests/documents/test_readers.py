"""Each reader on real files of its format."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import pytest

from agentkit.documents import SUPPORTED, DocumentText, Section
from tests.documents import makers
from tests.documents.makers import NEEDLE

Read = Callable[[bytes, str], DocumentText]


def check_spans(document: DocumentText) -> None:
    end = 0
    for section in document.sections:
        assert document.text[section.start : section.end] == section.text
        assert section.text.strip()
        assert section.start >= end
        assert not document.text[end : section.start].strip()
        end = section.end
    assert end == len(document.text)


def holding(document: DocumentText, text: str) -> Section:
    return next(section for section in document.sections if text in section.text)


@pytest.mark.parametrize("name", makers.FILES)
def test_every_format_gives_the_needle_and_true_spans(read: Read, name: str) -> None:
    document = read(makers.FILES[name](), name)
    check_spans(document)
    assert NEEDLE in document.text
    assert document.title
    assert "/" in document.media_type


def test_the_formats_of_the_first_version_are_supported() -> None:
    wanted = (
        ".txt .json .csv .tsv .md .html .htm .rtf .rst .jsonl .log .xml .yaml .yml .pdf .docx .pptx"
        " .xlsx .odt .epub .ipynb .py"
    )
    assert set(wanted.split()) <= SUPPORTED


def test_pdf_has_pages_and_headings_from_its_outline(read: Read) -> None:
    document = read(
        makers.pdf(["First page.", f"A hyphen-\nated word. {NEEDLE}"], title="Lights"), "a.pdf"
    )
    assert (document.pages, document.title) == (2, "Lights")
    assert [(s.page, s.heading) for s in document.sections] == [(1, "Chapter 1"), (2, "Chapter 2")]
    assert "hyphenated word" in document.text


def test_docx_keeps_headings_lists_tables_and_headers(read: Read) -> None:
    document = read(makers.docx(), "a.docx")
    assert document.title == "Lights"
    section = holding(document, NEEDLE)
    assert section.heading == "Coast > Rügen"
    assert "- First item\n- Second item" in section.text
    assert "Name | Height\nArkona | 19 m" in section.text
    assert holding(document, "Nothing here").heading == "Inland"
    assert holding(document, "Running head").place == "header"


def test_docx_reads_what_libraries_skip_and_not_what_was_deleted(read: Read) -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        f"<w:sdt><w:sdtContent><w:p>{run.format('control')}</w:p></w:sdtContent></w:sdt>"
        f"<w:p>{run.format('kept ')}<w:ins>{run.format('inserted')}</w:ins>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
    )
    assert read(makers.docx_with(body), "a.docx").text == "control\n\nkept inserted"


def test_a_text_box_in_a_cell_of_a_table_is_read_once(read: Read) -> None:
    def write(text: str) -> str:
        return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"

    inner = f"<w:tbl><w:tr><w:tc>{write('in a table')}</w:tc></w:tr></w:tbl>"
    box = f"<w:txbxContent>{write('in the box')}{inner}</w:txbxContent>"
    drawn = f"<w:r><w:Choice>{box}</w:Choice><w:Fallback>{box}</w:Fallback></w:r>"
    cell = f"<w:p><w:r><w:t>Cell</w:t></w:r>{drawn}</w:p>{write('and more')}{inner}"
    row = f"<w:tr><w:tc>{cell}</w:tc><w:tc>{write('b')}</w:tc></w:tr>"
    text = read(makers.docx_with(f"<w:tbl>{row}</w:tbl>"), "a.docx").text
    assert text == "Cell in the box in a table and more in a table | b"


def test_a_text_box_in_a_cell_of_an_odt_is_read_once(read: Read) -> None:
    with zipfile.ZipFile(io.BytesIO(makers.odt())) as whole:
        kind, content = (whole.read(name).decode() for name in ("mimetype", "content.xml"))
    box = "<text:frame><text:text-box><text:p> in the box</text:p></text:text-box></text:frame>"
    content = content.replace("19 m</text:p>", f"19 m{box}</text:p><text:p>high</text:p>")
    document = read(makers.archive({"mimetype": kind, "content.xml": content}), "a.odt")
    assert "Arkona | 19 m in the box high" in document.text


def test_pptx_counts_slides_and_keeps_tables_and_notes(read: Read) -> None:
    document = read(makers.pptx(), "a.pptx")
    assert document.pages == 2
    section = holding(document, NEEDLE)
    assert (section.page, section.heading) == (2, "Arkona")
    assert "Name | Height\nArkona | 19 m" in section.text
    assert "Notes: Mention Schinkel." in section.text


def test_xlsx_names_sheet_range_and_header(read: Read) -> None:
    document = read(makers.xlsx(), "a.xlsx")
    assert [(s.place, s.heading) for s in document.sections] == [
        ("Lights!A1:C3", "Lights: Name | Height | Built"),
        ("Lights!A5:B5", "Lights: Name | Height | Built"),
        ("Notes!A1:A1", "Notes"),
    ]
    assert document.sections[0].text.split("\n")[1] == "Arkona | 19.5 | 1827"


@pytest.mark.parametrize(
    ("count", "spaces"), [("3", 3), ("9" * 5_000, 100), ("many", 1), ("-1", 1)]
)
def test_odd_numbers_of_spaces_spoil_no_odt(read: Read, count: str, spaces: int) -> None:
    with zipfile.ZipFile(io.BytesIO(makers.odt())) as whole:
        kind, content = (whole.read(name).decode() for name in ("mimetype", "content.xml"))
    content = content.replace('text:c="2"', f'text:c="{count}"')
    document = read(makers.archive({"mimetype": kind, "content.xml": content}), "a.odt")
    assert f"Two{' ' * spaces}spaces." in document.text


@pytest.mark.parametrize("level", ["²", "9" * 5_000, "many"], ids=["square", "long", "word"])
def test_odd_levels_of_headings_spoil_no_odt(read: Read, level: str) -> None:
    with zipfile.ZipFile(io.BytesIO(makers.odt())) as whole:
        kind, content = (whole.read(name).decode() for name in ("mimetype", "content.xml"))
    content = content.replace('outline-level="2"', f'outline-level="{level}"')
    document = read(makers.archive({"mimetype": kind, "content.xml": content}), "a.odt")
    assert holding(document, NEEDLE).heading == "Rügen"


def test_odt_keeps_headings_lists_tables_and_spaces(read: Read) -> None:
    document = read(makers.odt(), "a.odt")
    section = holding(document, NEEDLE)
    assert section.heading == "Coast > Rügen"
    assert "- First item" in section.text
    assert "Arkona | 19 m" in section.text
    assert "Two  spaces." in document.text


def test_epub_follows_the_spine(read: Read) -> None:
    document = read(makers.epub(), "a.epub")
    assert document.title == "Lights"
    assert [(s.place, s.heading) for s in document.sections] == [
        ("OEBPS/ch1.xhtml", "Coast"),
        ("OEBPS/ch 2.xhtml", "Rügen"),
    ]


def test_html_keeps_structure_and_drops_what_is_not_text(read: Read) -> None:
    document = read(makers.html(), "a.html")
    assert document.title == "Lights – a page"
    assert not any(word in document.text for word in ("script text", "Home link", "p{"))
    assert "An introduction\nwith a break." in document.text
    section = holding(document, NEEDLE)
    assert section.heading == "Coast > Rügen"
    for part in (
        "- First item\n- Second item",
        "  kept   space",
        "Name | Height\nArkona | 19 m\n\nAfter.",
    ):
        assert part in section.text


def test_html_believes_its_declared_encoding(read: Read) -> None:
    page = (
        '<html><head><meta charset="iso-8859-2"></head><body><p>Zażółć gęślą jaźń</p></body></html>'
    )
    assert read(page.encode("iso-8859-2"), "a.html").text == "Zażółć gęślą jaźń"


def test_markup_keeps_its_text_and_lines(read: Read) -> None:
    document = read(makers.MARKDOWN.encode(), "a.md")
    section = holding(document, NEEDLE)
    assert (section.heading, section.place) == ("Coast > Rügen", "lines 12-14")
    assert holding(document, "no heading").heading == "Coast"
    assert holding(document, "Nothing here").heading == "Inland"


@pytest.mark.parametrize("name", ["a.rst", "a.tex", "a.org"])
def test_other_markup_has_headings(read: Read, name: str) -> None:
    assert holding(read(makers.FILES[name](), name), NEEDLE).heading == "Coast > Rügen"


def test_csv_finds_its_delimiter_and_keeps_a_record_on_one_line(read: Read) -> None:
    document = read(makers.CSV.encode(), "a.csv")
    assert document.text == f"Name | Height\nArkona | 19\n{NEEDLE} | a b"
    assert (document.sections[0].heading, document.sections[0].place) == (
        "Name | Height",
        "rows 1-3",
    )


def test_a_csv_may_begin_with_blank_lines(read: Read) -> None:
    document = read(b"\n\nName,Height\nArkona,19\n\nDornbusch,28\n", "a.csv")
    assert [(s.heading, s.place) for s in document.sections] == [
        ("Name | Height", "rows 3-4"),
        ("Name | Height", "row 6"),
    ]


def test_json_gives_paths(read: Read) -> None:
    document = read(makers.FILES["a.json"](), "a.json")
    assert [(s.text, s.place) for s in document.sections] == [
        ("n: 2", "$"),
        (f"name: Arkona; fact: {NEEDLE}\nname: Dornbusch", "$.lights[0-1]"),
    ]


def test_jsonl_gives_lines(read: Read) -> None:
    assert read(makers.FILES["a.jsonl"](), "a.jsonl").sections[0].place == "lines 1-3"


def test_xml_keeps_mixed_content_together(read: Read) -> None:
    document = read(makers.FILES["a.xml"](), "a.xml")
    assert [(s.text, s.place) for s in document.sections] == [
        (f"light id: 1\nfact: {NEEDLE}", "light 1"),
        ("light: An old one", "light 2"),
    ]


def test_notebook_keeps_outputs(read: Read) -> None:
    document = read(makers.notebook(), "a.ipynb")
    assert holding(document, NEEDLE).place == "cell 2"
    assert holding(document, NEEDLE).heading == "Lights"
    assert "ZeroDivisionError: by zero" in document.text


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_fenced_code_in_a_notebook_has_no_headings(read: Read, fence: str) -> None:
    source = f"# Setup\n{fence}sh\n# comment\nmake\n{fence}\n## Next\nText"
    cells = [{"cell_type": "markdown", "source": source}]
    document = read(json.dumps({"cells": cells}).encode(), "a.ipynb")
    assert [section.heading for section in document.sections] == ["Setup", "Setup > Next"]
    assert "# comment\nmake" in document.sections[0].text


def test_rtf_is_decoded(read: Read) -> None:
    assert read(makers.RTF.encode(), "a.rtf").text.startswith("Café.")


@pytest.mark.parametrize(
    ("made", "called"),
    [("a.pdf", "a.txt"), ("a.docx", "b.pdf"), ("a.xlsx", "b"), ("a.rtf", "b.doc")],
)
def test_the_bytes_are_believed_before_the_name(read: Read, made: str, called: str) -> None:
    data = makers.FILES[made]()
    assert read(data, called).media_type == read(data, made).media_type
