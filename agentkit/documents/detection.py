"""Which format a file has: its first bytes are believed before its name."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath

from agentkit.documents.decoding import is_text
from agentkit.documents.readers import FORMATS
from agentkit.documents.refusals import locked
from agentkit.errors import DamagedDocument, UnknownFormat

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LEGACY = {".doc": ".docx", ".dot": ".docx", ".xls": ".xlsx", ".ppt": ".pptx", ".pps": ".pptx"}
_PICTURE = (
    "is a picture, and text in pictures is not read. Run OCR on it and add the resulting PDF or"
    " text."
)
_ARCHIVE = "is an archive. Unpack it and add the files inside."
_RENAME = "Download it again, or give it the right extension."
_MEDIA = "is sound or video. Add a transcript of it."
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", _PICTURE),
    (b"\xff\xd8\xff", _PICTURE),
    (b"GIF8", _PICTURE),
    (b"BM", _PICTURE),
    (b"II*\0", _PICTURE),
    (b"MM\0*", _PICTURE),
    (b"\x1f\x8b", _ARCHIVE),
    (b"BZh", _ARCHIVE),
    (b"\xfd7zXZ", _ARCHIVE),
    (b"7z\xbc\xaf", _ARCHIVE),
    (b"Rar!", _ARCHIVE),
    (b"ID3", _MEDIA),
    (b"OggS", _MEDIA),
    (b"fLaC", _MEDIA),
    (b"\x1aE\xdf\xa3", _MEDIA),
)
_CONTAINERS = (
    (b"ftyp", 4, frozenset({b"heic", b"heix", b"avif", b"mif1"})),
    (b"RIFF", 0, frozenset({b"WEBP"})),
)
"""Containers of sound, video or pictures: their mark, where it stands, and the kinds of picture."""
_PACKAGES = (
    ("word/", ".docx"),
    ("ppt/", ".pptx"),
    ("xl/workbook.xml", ".xlsx"),
    ("META-INF/container.xml", ".epub"),
)
_FLAT_ODF = b"application/vnd.oasis.opendocument.text"


def detect(data: bytes, name: str) -> str:
    """The extension under which the bytes are to be read.

    Raises UnknownFormat with advice, EncryptedDocument, or DamagedDocument when the name
    promises a format that the bytes are not.
    """
    ending = PurePath(name).suffix.lower()
    if found := _by_magic(data, name, ending):
        return found
    if data[:1] > b"\x7f":  # no text begins like these, whatever follows
        _refuse_foreign(data, name)
    known = FORMATS.get(ending)
    if known and known.binary:
        what = "holds plain text" if is_text(data) else "does not begin like one"
        raise DamagedDocument(f"{name} is no {ending[1:].upper()} file: it {what}. {_RENAME}")
    if not is_text(data):
        _refuse_foreign(data, name)
        if known:
            raise DamagedDocument(f"{name} is no text: it holds binary data. {_RENAME}")
        raise UnknownFormat(
            f"{name}: no reader knows this kind of file. Save or export it as PDF, DOCX, HTML or"
            " plain text."
        )
    if known:
        return ending
    begins_as_page = data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html"))
    return ".html" if begins_as_page else ".txt"


def _by_magic(data: bytes, name: str, ending: str) -> str:
    if b"%PDF-" in data[:1_024] and (data.startswith(b"%PDF-") or not is_text(data)):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    if data.startswith(_OLE):
        return _ole(data, name, ending)
    return _package(data, name, ending) if data.startswith(b"PK\x03\x04") else ""


def _ole(data: bytes, name: str, ending: str) -> str:
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise locked(name)
    advice = "in a current format (.docx, .xlsx, .pptx or PDF)"
    if ending in _LEGACY:
        advice = f"as {_LEGACY[ending]}"
    raise UnknownFormat(
        f"{name} is in an old binary Office format, which is not read. Open it and save it"
        f" {advice}."
    )


def _package(data: bytes, name: str, ending: str) -> str:
    known = FORMATS.get(ending)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        if known and known.binary:
            return ending  # its reader says what is broken
        raise DamagedDocument(f"{name} is a damaged archive. Download it again.") from None
    for prefix, found in _PACKAGES:
        if any(member.startswith(prefix) for member in members):
            return found
    if _FLAT_ODF in data[:200] or (ending == ".odt" and "content.xml" in members):
        return ".odt"
    if known and known.binary:
        raise DamagedDocument(
            f"{name} is no {ending[1:].upper()} file, but some other archive. {_RENAME}"
        )
    if b"opendocument" in data[:200] or "xl/workbook.bin" in members:
        raise UnknownFormat(
            f"{name}: this office format is not read. Save it as .docx, .xlsx, .pptx or PDF."
        )
    raise UnknownFormat(f"{name} {_ARCHIVE}")


def _refuse_foreign(data: bytes, name: str) -> None:
    for container, at, pictures in _CONTAINERS:
        if data.startswith(container, at):
            advice = _PICTURE if data[8:12] in pictures else _MEDIA
            raise UnknownFormat(f"{name} {advice}")
    for magic, advice in _FOREIGN:
        if data.startswith(magic):
            raise UnknownFormat(f"{name} {advice}")
