"""Real files of every format, made on the fly, for the tests of the readers."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable

from docx import Document
from fpdf import FPDF
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

NEEDLE = "The lighthouse at Cape Arkona was built in 1827."
"""A sentence that every file below contains."""


def pdf(pages: list[str], title: str = "", password: str = "") -> bytes:
    """A PDF with an outline entry "Chapter n" for each page."""
    book = FPDF()
    if title:
        book.set_title(title)
    if password:
        book.set_encryption(owner_password=password + "o", user_password=password)
    book.set_font("helvetica", size=12)
    for number, text in enumerate(pages, 1):
        book.add_page()
        book.start_section(f"Chapter {number}")
        book.multi_cell(0, 6, text)
    return bytes(book.output())


def picture_pdf() -> bytes:
    """A PDF with a drawing and no text."""
    book = FPDF()
    book.add_page()
    book.rect(20, 20, 50, 50)
    return bytes(book.output())


def docx() -> bytes:
    """Title, headings, list, table, header; the needle below "Coast > Rügen"."""
    document = Document()
    document.core_properties.title = "Lights"
    document.add_heading("Coast", 1)
    document.add_paragraph("An introduction.")
    document.add_heading("Rügen", 2)
    document.add_paragraph(NEEDLE)
    document.add_paragraph("First item", style="List Bullet")
    document.add_paragraph("Second item", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, values in zip(table.rows, (("Name", "Height"), ("Arkona", "19 m")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_heading("Inland", 1)
    document.add_paragraph("Nothing here.")
    document.sections[0].header.paragraphs[0].text = "Running head"
    return _saved(document.save)


def pptx() -> bytes:
    """Two slides; the needle, a table and notes on the second."""
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = "Lights of the coast"
    second = deck.slides.add_slide(deck.slide_layouts[1])
    second.shapes.title.text = "Arkona"
    second.placeholders[1].text = NEEDLE
    table = second.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    for row, values in enumerate((("Name", "Height"), ("Arkona", "19 m"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    second.notes_slide.notes_text_frame.text = "Mention Schinkel."
    return _saved(deck.save)


def xlsx() -> bytes:
    """Two sheets: "Lights" with two tables apart by a blank row, "Notes" with the needle."""
    book = Workbook()
    sheet = book.create_sheet("Lights", 0)
    for row in (
        ["Name", "Height", "Built"],
        ["Arkona", 19.5, 1827],
        ["Dornbusch", 28, 1888],
        [],
        ["Total", 47.5],
    ):
        sheet.append(row)
    book["Sheet"].title = "Notes"
    book["Notes"].append([NEEDLE])
    return _saved(book.save)


def odt() -> bytes:
    """An OpenDocument text as LibreOffice writes it, reduced."""
    content = f"""<?xml version="1.0" encoding="UTF-8"?>
    <office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
      xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
      xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">
    <office:body><office:text><text:h text:outline-level="1">Coast</text:h>
    <text:p>Two<text:s text:c="2"/>spaces.</text:p>
    <text:h text:outline-level="2">R\u00fcgen</text:h><text:p>{NEEDLE}</text:p>
    <text:list><text:list-item><text:p>First item</text:p></text:list-item></text:list>
    <table:table><table:table-row><table:table-cell><text:p>Arkona</text:p></table:table-cell>
    <table:table-cell><text:p>19 m</text:p></table:table-cell></table:table-row></table:table>
    </office:text></office:body></office:document-content>"""
    return archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def epub() -> bytes:
    """A book of two chapters."""
    page = (
        "<html"
        ' xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'
    )
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": (
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
            ),
            "OEBPS/book.opf": (
                '<package xmlns="http://www.idpf.org/2007/opf"'
                ' xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Lights</dc:title></metadata><manifest><item'
                ' id="b" href="ch%202.xhtml"/><item id="a"'
                ' href="ch1.xhtml"/></manifest><spine><itemref idref="a"/><itemref'
                ' idref="b"/></spine></package>'
            ),
            "OEBPS/ch1.xhtml": page.format("<h1>Coast</h1><p>Begin.</p>"),
            "OEBPS/ch 2.xhtml": page.format(f"<h1>R\u00fcgen</h1><p>{NEEDLE}</p>"),
        }
    )


def html() -> bytes:
    """A page with everything that is to be dropped, too."""
    return f"""<!doctype html><html><head><meta charset="utf-8"><title>Lights \u2013 a page</title>
    <style>p{{}}</style>
    <script>var hidden = "script text";</script></head><body><nav><a href="/">Home link</a></nav>
    <h1>Coast</h1><p>An <b>intro</b>duction<br>with a break.</p><h2>R\u00fcgen</h2><p>{NEEDLE}</p>
    <ul><li>First item</li><li><p>Second item</p></li></ul><pre>  kept   space
    here</pre><table><tr><th>Name</th><th>Height</th></tr>
    <tr><td><p>Arkona</p></td><td>19 m</td></tr></table>
    <p>After.</p></body></html>""".encode()


def notebook() -> bytes:
    """Markdown, code with a stream and an error."""
    cells = [
        {"cell_type": "markdown", "source": ["# Lights\n", "An introduction."]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [{"output_type": "stream", "text": [NEEDLE + "\n"]}],
        },
        {
            "cell_type": "code",
            "source": "1/0",
            "outputs": [
                {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "by zero"}
            ],
        },
    ]
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


MARKDOWN = f"""---
title: front
---
# Coast

An introduction.

```
# no heading
```

## R\u00fcgen

{NEEDLE}

Inland
======

Nothing here.
"""
RST = f"Coast\n=====\n\nAn introduction.\n\nR\u00fcgen\n-----\n\n{NEEDLE}\n"
RTF = r"{\rtf1\ansi\ansicpg1252 Caf\'e9. " + NEEDLE + r"\par Second.}"
CSV = f'Name;Height\nArkona;19\n"{NEEDLE}";"a\nb"\n'

LIGHTS = {"lights": [{"name": "Arkona", "fact": NEEDLE}, {"name": "Dornbusch"}], "n": 2}

FILES: dict[str, Callable[[], bytes]] = {
    "a.pdf": lambda: pdf(["First page.", NEEDLE]),
    "a.docx": docx,
    "a.pptx": pptx,
    "a.xlsx": xlsx,
    "a.odt": odt,
    "a.epub": epub,
    "a.html": html,
    "a.htm": html,
    "a.ipynb": notebook,
    "a.md": MARKDOWN.encode,
    "a.rst": RST.encode,
    "a.rtf": RTF.encode,
    "a.csv": CSV.encode,
    "a.tsv": lambda: f"Name\tHeight\nArkona\t{NEEDLE}\n".encode(),
    "a.txt": lambda: f"Before.\n{NEEDLE}\n".encode(),
    "a.log": lambda: f"12:00 INFO {NEEDLE}\n12:01 WARN late\n".encode(),
    "a.json": lambda: json.dumps(LIGHTS).encode(),
    "a.jsonl": lambda: "\n".join(json.dumps({"n": n, "fact": NEEDLE}) for n in range(3)).encode(),
    "a.xml": lambda: (
        f'<lights><light id="1"><fact>{NEEDLE}</fact></light><light>An <b>old</b>'
        " one</light></lights>".encode()
    ),
    "a.yaml": lambda: f"light:\n  fact: {NEEDLE}\n".encode(),
    "a.py": lambda: f'def light():\n    """{NEEDLE}"""\n\n\ndef other():\n    return 1\n'.encode(),
    "a.tex": lambda: f"\\section{{Coast}}\nText.\n\\subsection{{R\u00fcgen}}\n{NEEDLE}\n".encode(),
    "a.org": lambda: f"* Coast\nText\n** R\u00fcgen\n{NEEDLE}\n".encode(),
    "Makefile": lambda: f"# {NEEDLE}\nall:\n".encode(),
    "notes.unknown": lambda: NEEDLE.encode(),
}


def archive(members: dict[str, str | bytes], level: int = 6) -> bytes:
    """A zip package; the first member is stored, as ODF and EPUB want their mimetype."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as package:
        for number, (name, content) in enumerate(members.items()):
            package.writestr(name, content, zipfile.ZIP_DEFLATED if number else zipfile.ZIP_STORED)
    return out.getvalue()


def docx_with(body: str, prolog: str = "") -> bytes:
    """A Word document with that XML as its body."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": (
                '<Relationships xmlns="r">'
                f'<Relationship Id="1" Type="{kind}" Target="/word/document.xml"/></Relationships>'
            ),
            "word/document.xml": (
                f'{prolog}<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>'
            ),
        }
    )


def huge_zip(name: str, size: int) -> bytes:
    """A package whose member `name` unpacks to `size` zero bytes."""
    return archive({"mimetype": "x", "word/document.xml": "<x/>", name: bytes(size)}, level=9)


def deflated_pdf_bomb(size: int) -> bytes:
    """A PDF whose page's content stream inflates to `size` bytes of drawing commands."""
    stream = zlib.compress(b"0 0 m 1 1 l S\n" * (size // 14), 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(stream), stream),
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj%b endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return (
        out
        + b"xref\n0 5\n0000000000 65535 f \n%btrailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, len(out))
    )


def ole(stream: bytes) -> bytes:
    """Bytes that begin like an OLE compound file."""
    return (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + struct.pack("<16x2H", 0x3E, 3) + bytes(512) + stream
    )


def _saved(save: Callable[[io.BytesIO], None]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def xlsx_with(rows: str) -> bytes:
    """A workbook with that XML as the rows of its one sheet."""
    with zipfile.ZipFile(io.BytesIO(xlsx())) as book:
        members: dict[str, str | bytes] = {name: book.read(name) for name in book.namelist()}
        text = book.read("xl/worksheets/sheet1.xml").decode()
    before, _, rest = text.partition("<sheetData>")
    members["xl/worksheets/sheet1.xml"] = (
        f"{before}<sheetData>{rows}</sheetData>{rest.partition('</sheetData>')[2]}"
    )
    return archive(members)
