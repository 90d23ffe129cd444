"""Which format a file has: its first bytes are believed before its name."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePath

from agentkit.core.given import find_value
from agentkit.documents.decoding import is_text
from agentkit.documents.readers import FORMATS
from agentkit.documents.refusals import refuse_locked
from agentkit.errors import DamagedDocument, EncryptedDocument, UnknownFormat

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LEGACY = {".doc": ".docx", ".dot": ".docx", ".xls": ".xlsx", ".ppt": ".pptx", ".pps": ".pptx"}
_PICTURE = (
    "is a picture, and text in pictures is not read. Run OCR on it and add the resulting PDF or"
    " text."
)
_ARCHIVE = "is an archive. Unpack it and add the files inside."
_RENAME = "Download it again, or give it the right extension."
_MEDIA = "is sound or video. Add a transcript of it."
_FOREIGN = (
    (
        re.compile(
            rb"\x89PNG|\xff\xd8\xff|GIF8|BM|II\*\0|MM\0\*"
            rb"|.{4}ftyp(?:hei[cx]|avif|mif1)|RIFF.{4}WEBP",
            re.DOTALL,
        ),
        _PICTURE,
    ),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!"), _ARCHIVE),
    (re.compile(rb"ID3|OggS|fLaC|\x1aE\xdf\xa3|.{4}ftyp|RIFF", re.DOTALL), _MEDIA),
)
"""How files begin that hold no text, and what to do with them."""
_PACKAGES = (
    ("\nword/", ".docx"),
    ("\nppt/", ".pptx"),
    ("\nxl/workbook.xml", ".xlsx"),
    ("\nMETA-INF/container.xml", ".epub"),
)
"""How a member begins by which a package is known, one of a list with a line for each."""
_ODF_TEXT = b"application/vnd.oasis.opendocument.text"
_BINARY = frozenset(ending for ending, format_ in FORMATS.items() if format_.binary)


def detect(data: bytes, name: str) -> str:
    """The extension under which the bytes are to be read.

    Raises UnknownFormat with advice, EncryptedDocument, or DamagedDocument when the name
    promises a format that the bytes are not.
    """
    ending = PurePath(name).suffix.lower()
    if _is_pdf(data):
        return ".pdf"
    if data.startswith(b"{\\rtf"):
        return ".rtf"
    if data.startswith(_OLE):
        raise _explain_ole(data, name, ending)
    if data.startswith(b"PK\x03\x04"):
        return _detect_package(data, name, ending)
    return _detect_text(data, name, ending)


def _is_pdf(data: bytes) -> bool:
    """Whether it begins as a PDF, or does so behind a few other bytes."""
    if data.startswith(b"%PDF-"):
        return True
    return b"%PDF-" in data[:1_024] and not is_text(data)


def _detect_text(data: bytes, name: str, ending: str) -> str:
    if data[:1] > b"\x7f":  # no text begins like these, whatever follows
        _refuse_foreign(data, name)
    readable = is_text(data)
    if ending in _BINARY:
        what = "does not begin like one"
        if readable:
            what = "holds plain text"
        raise DamagedDocument(
            f"{name} is not a valid {ending[1:].upper()} file: it {what}. {_RENAME}"
        )
    if not readable:
        _refuse_foreign(data, name)
        raise _explain_binary(name, ending)
    if ending in FORMATS:
        return ending
    beginning = data[:512].lstrip().lower()
    if beginning.startswith((b"<!doctype html", b"<html")):
        return ".html"
    return ".txt"


def _explain_binary(name: str, ending: str) -> DamagedDocument | UnknownFormat:
    if ending in FORMATS:
        return DamagedDocument(f"{name} is not a text: it holds binary data. {_RENAME}")
    return UnknownFormat(
        f"{name}: no reader knows this kind of file. Save or export it as PDF, DOCX, HTML or"
        " plain text."
    )


def _explain_ole(data: bytes, name: str, ending: str) -> EncryptedDocument | UnknownFormat:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return refuse_locked(name)
    advice = "in a current format (.docx, .xlsx, .pptx or PDF)"
    if ending in _LEGACY:
        advice = f"as {_LEGACY[ending]}"
    return UnknownFormat(
        f"{name} is in an old binary Office format, which is not read. Open it and save it"
        f" {advice}."
    )


def _detect_package(data: bytes, name: str, ending: str) -> str:
    members = _list_members(data, name, ending)
    if members is None:
        return ending  # its reader says what is broken
    listed = "\n".join(("", *members))
    known = find_value(_PACKAGES, lambda sign: sign in listed, "")
    if known:
        return known
    if _is_writer(data, ending, members):
        return ".odt"
    if ending in _BINARY:
        raise DamagedDocument(
            f"{name} is not a valid {ending[1:].upper()} file, but some other archive. {_RENAME}"
        )
    if b"opendocument" in data[:200] or "xl/workbook.bin" in members:
        raise UnknownFormat(
            f"{name}: this office format is not read. Save it as .docx, .xlsx, .pptx or PDF."
        )
    raise UnknownFormat(f"{name} {_ARCHIVE}")


def _is_writer(data: bytes, ending: str, members: list[str]) -> bool:
    """Whether a package is a text in the format of OpenDocument."""
    if _ODF_TEXT in data[:200]:
        return True
    return ending == ".odt" and "content.xml" in members


def _list_members(data: bytes, name: str, ending: str) -> list[str] | None:
    """The files of an archive; None for one that is damaged and has a reader that says so.

    Raises DamagedDocument for any other that is damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        if ending in _BINARY:
            return None
        raise DamagedDocument(f"{name} is a damaged archive. Download it again.") from None


def _refuse_foreign(data: bytes, name: str) -> None:
    for _, advice in filter(lambda known: known[0].match(data), _FOREIGN):
        raise UnknownFormat(f"{name} {advice}")
