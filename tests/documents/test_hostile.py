"""Files that nobody should open: each ends in the proper error, and the same jail reads the next
file.
"""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentkit.documents import SUPPORTED, DocumentText, Jail, Limits
from agentkit.errors import (
    DamagedDocument,
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    NoTextFound,
    UnknownFormat,
)
from tests.documents import makers

Read = Callable[[bytes, str], DocumentText]
LAUGHS = "".join(
    [
        "<!DOCTYPE l [<!ENTITY a0 'ha'>",
        *(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10)),
        "]>",
    ]
)
EVIL_XML = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


@pytest.fixture(autouse=True)
def alive(read: Read) -> Iterator[None]:
    """After each test here the jail must still read a file."""
    yield
    assert read(b"Still here.", "a.txt").text == "Still here."


def refused(read: Read, kind: type[DocumentError], data: bytes, name: str, advice: str) -> None:
    with pytest.raises(kind, match=advice) as caught:
        read(data, name)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(name)


@pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.docx", "a", "a.csv"])
def test_empty(read: Read, name: str) -> None:
    refused(read, EmptyDocument, b"", name, "is empty")
    refused(read, EmptyDocument, b" \n\t\r\n", name, "is empty")


def test_without_text(read: Read) -> None:
    refused(read, EmptyDocument, b"<html><script>1</script></html>", "a.html", "holds no text")
    refused(read, NoTextFound, makers.picture_pdf(), "a.pdf", "OCR")
    refused(read, EmptyDocument, makers.docx_with("<w:p/>"), "a.docx", "holds no text")


def test_encrypted(read: Read) -> None:
    refused(
        read,
        EncryptedDocument,
        makers.pdf(["x"], password="secret"),
        "a.pdf",
        "without the password",
    )
    office = makers.ole("EncryptedPackage".encode("utf-16-le"))
    refused(read, EncryptedDocument, office, "a.docx", "without the password")


@pytest.mark.parametrize(
    ("data", "name", "advice"),
    [
        (makers.ole(b"W"), "a.doc", "save it as .docx"),
        (makers.ole(b"W"), "a.xls", "save it as .xlsx"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a.png", "OCR"),
        (b"\xff\xd8\xff\xe0" + bytes(40), "scan", "OCR"),
        (b"\x89PNG\r\n\x1a\n and then text", "fake.png", "OCR"),
        (b"\x1f\x8b\x08" + bytes(40), "a.tar.gz", "Unpack"),
        (makers.archive({"a.txt": "x", "b.txt": "y"}), "a.zip", "Unpack"),
        (b"ID3\x04" + bytes(40), "a.mp3", "transcript"),
        (b"\x7fELF" + bytes(99), "program", "no reader"),
    ],
)
def test_unknown_kinds_come_with_advice(read: Read, data: bytes, name: str, advice: str) -> None:
    refused(read, UnknownFormat, data, name, advice)


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.epub"])
def test_text_under_a_binary_name(read: Read, name: str) -> None:
    refused(read, DamagedDocument, b"just some words", name, "right extension")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub"])
def test_truncated_and_flipped_packages(read: Read, name: str) -> None:
    data = makers.FILES[name]()
    refused(read, DamagedDocument, data[: len(data) // 2], name, "again")
    rng = random.Random(7)
    for _ in range(10):
        bad = bytearray(data)
        for _ in range(40):
            bad[rng.randrange(4, len(bad))] = rng.randrange(256)
        survive(read, bytes(bad), name)


def survive(read: Read, data: bytes, name: str) -> None:
    """Either text or one of our errors."""
    try:
        read(data, name)
    except DocumentError as error:
        assert str(error).startswith(name)  # noqa: PT017  reading may succeed as well


def test_truncated_pdf(read: Read) -> None:
    data = makers.pdf(["Some text on the page."] * 5)
    for share in (0.02, 0.3, 0.6, 0.95):
        survive(read, data[: int(len(data) * share)], "a.pdf")
    refused(read, DamagedDocument, b"%PDF-1.7\n" + bytes(200), "a.pdf", "Download it again")


@pytest.mark.parametrize("ending", sorted(SUPPORTED))
def test_random_bytes_under_every_extension(read: Read, ending: str) -> None:
    data = random.Random(ending).randbytes(5_000)
    with pytest.raises(DocumentError):
        read(data, "a" + ending)
    for name, make in makers.FILES.items():  # the right first bytes, then noise
        if name.endswith(ending):
            survive(read, make()[:64] + data, name)


def test_zip_bombs(read: Read) -> None:
    refused(
        read,
        DocumentTooLarge,
        makers.huge_zip("word/media/a.bin", 60 * 2**20),
        "a.docx",
        "would unpack to 60 MB",
    )
    many = makers.archive({f"word/{n}.xml": "" for n in range(10_050)})
    refused(read, DocumentTooLarge, many, "a.docx", "10,0.. parts")


def test_xml_entities(read: Read) -> None:
    refused(read, DamagedDocument, f"{LAUGHS}<l>&a9;</l>".encode(), "a.xml", "entities")
    refused(read, DamagedDocument, EVIL_XML.encode(), "a.xml", "entities")
    refused(read, DamagedDocument, EVIL_XML.encode("utf-16"), "a.xml", "entities")
    survive(read, makers.docx_with("<w:p><w:r><w:t>&a9;</w:t></w:r></w:p>", LAUGHS), "a.docx")
    assert read(b"<!DOCTYPE x><x>plain</x>", "a.xml").text == "x: plain"


def test_xml_entities_in_a_workbook(read: Read) -> None:
    with zipfile.ZipFile(io.BytesIO(makers.xlsx())) as book:
        members: dict[str, str | bytes] = {name: book.read(name) for name in book.namelist()}
        text = book.read("xl/worksheets/sheet1.xml").decode()
    assert "19.5" in text
    members["xl/worksheets/sheet1.xml"] = LAUGHS.replace("DOCTYPE l", "DOCTYPE worksheet") + text[
        text.index("<worksheet") :
    ].replace("19.5", "&a9;")
    refused(read, DamagedDocument, makers.archive(members), "a.xlsx", "again")


@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_deep_nesting(read: Read, depth: int) -> None:
    refused(read, DamagedDocument, b"[" * depth + b"]" * depth, "a.json", "nested too deeply")
    refused(
        read,
        DamagedDocument,
        b'{"a":' * depth + b"1" + b"}" * depth,
        "a.jsonl",
        "nested too deeply",
    )
    refused(read, DamagedDocument, b"<a>" * depth + b"</a>" * depth, "a.xml", "nested too deeply")
    refused(
        read,
        DamagedDocument,
        b"<div>" * depth + b"text" + b"</div>" * depth,
        "a.html",
        "nested too deeply",
    )
    survive(read, b"{\\rtf1" + b"{\\b " * depth + b"x" + b"}" * depth, "a.rtf")
    survive(read, b"> " * depth + b"x", "a.md")


def test_a_page_may_be_nested_as_deeply_as_browsers_allow(read: Read) -> None:
    assert (
        read(b"<div>" * 500 + b"text" + b"</div>" * 500 + b"<p>after</p>", "a.html").text
        == "text\n\nafter"
    )


def test_malformed_data(read: Read) -> None:
    refused(read, DamagedDocument, b'{"a": ', "a.json", "rename it to .txt")
    refused(read, DamagedDocument, b'{"a": 1}\n{oops}', "a.jsonl", "line 2")
    refused(read, DamagedDocument, json.dumps({"worksheets": []}).encode(), "a.ipynb", "no cells")


def test_a_csv_whose_quote_never_closes(read: Read) -> None:
    assert "a" in read(b'x,y\n"a' + b",b\n" * 100_000, "a.csv").text


@pytest.mark.parametrize("place", ["999999999999", "1048577", "0", "-5"])
def test_rows_where_no_sheet_has_any(tmp_path: Path, place: str) -> None:
    data = makers.xlsx_with(
        f'<row r="1"><c r="A1"><v>1</v></c></row><row r="{place}"><c><v>2</v></c></row>'
    )
    with pytest.raises(DamagedDocument, match="where sheets end"):
        small(tmp_path, data, "a.xlsx", Limits(timeout_s=30))


def test_the_last_cell_of_a_sheet(tmp_path: Path) -> None:
    data = makers.xlsx_with('<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>')
    assert "7" in small(tmp_path, data, "a.xlsx", Limits(timeout_s=30)).text


def test_an_element_of_very_many_attributes(tmp_path: Path) -> None:
    attributes = " ".join(f'a{number}="x"' for number in range(200_000))
    page = f"<html><body><p {attributes}>hello</p></body></html>".encode()
    assert small(tmp_path, page, "a.html", Limits(timeout_s=30)).text == "hello"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (makers.xlsx_with('<row r="1"><c r="ZZZZZZZ1"><v>1</v></c></row>'), "a.xlsx"),
        (makers.xlsx_with(f'<row r="1"><c r="A1"><v>{"9" * 100_000}</v></c></row>'), "a.xlsx"),
        (makers.xlsx_with('<row r="1"><c r="A1" t="d"><v>1999-99-99</v></c></row>'), "a.xlsx"),
        (makers.pdf(["a"])[:-600], "a.pdf"),
        (b"%PDF-1.7\n", "a.pdf"),
    ],
)
def test_what_a_library_says_is_not_passed_on(read: Read, data: bytes, name: str) -> None:
    with pytest.raises(DamagedDocument) as caught:
        read(data, name)
    assert not re.search(r"Error|PDFium|Success|Traceback|[<>{}]", str(caught.value))


def small(tmp_path: Path, data: bytes, name: str, limits: Limits) -> DocumentText:
    path = tmp_path / "small"
    path.write_bytes(data)
    with Jail(limits) as jail:
        return jail.read(path, name)


def test_limits_of_size(tmp_path: Path) -> None:
    with pytest.raises(DocumentTooLarge, match="AGENTKIT_MAX_FILE_MB"):
        small(tmp_path, b"x" * 5_000, "a.txt", Limits(max_bytes=4_000))
    with pytest.raises(DocumentTooLarge, match="AGENTKIT_MAX_CHARS"):
        small(tmp_path, b"x" * 5_000, "a.txt", Limits(max_chars=4_000))
    with pytest.raises(DocumentTooLarge, match="AGENTKIT_MAX_PAGES"):
        small(tmp_path, makers.pdf(["a"] * 3), "a.pdf", Limits(max_pages=2))
    with pytest.raises(DocumentTooLarge, match="2 slides"):
        small(tmp_path, makers.pptx(), "a.pptx", Limits(max_pages=1))


def test_pdf_whose_page_inflates(read: Read) -> None:
    data = makers.deflated_pdf_bomb(20_000_000)
    assert len(data) < 200_000
    refused(read, NoTextFound, data, "a.pdf", "OCR")
