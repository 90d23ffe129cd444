"""Reading the content of one file in this process; `jail` does the same in a child that may be killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from agentkit.documents.assembly import Reading, assemble
from agentkit.documents.decoding import title_from
from agentkit.documents.detection import detect
from agentkit.documents.document import DocumentText, Limits
from agentkit.documents.readers import FORMATS
from agentkit.documents.readers.pdf import render_pdf
from agentkit.documents.refusals import AGAIN
from agentkit.errors import AgentkitError, DamagedDocument, EmptyDocument, NoTextFound, UnknownFormat


def read_here(data: bytes, name: str, limits: Limits) -> DocumentText:
    """Read the content of a file that the user calls `name`; every failure is a DocumentError with advice."""
    with _explained(name):
        chosen = FORMATS[detect(data, name)]
        reading = chosen.reader(data, name, limits)
        document = assemble(reading, name, chosen.media_type, limits)
    if not document.text:
        raise _without_text(name, reading)
    return document if document.title else replace(document, title=title_from(name))


def render_here(data: bytes, name: str, page: int, highlight: tuple[int, int] | None, width: int) -> bytes:
    """PNG of one page of a PDF; UnknownFormat for files without pages to draw."""
    with _explained(name):
        if detect(data, name) != ".pdf":
            raise UnknownFormat(f"{name} is no PDF; only pages of PDF files can be drawn. Show its text instead.")
        return render_pdf(data, name, page, highlight, width)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what parsers raise on damaged bytes into one sentence for the user."""
    try:
        yield
    except (AgentkitError, MemoryError):
        raise
    except RecursionError as error:
        raise DamagedDocument(f"{name} is nested too deeply to be read. Export it in a flatter form or as text.") from error
    except Exception as error:  # each library fails in ways of its own
        raise DamagedDocument(f"{name} is damaged: its content is not what files of its kind hold. {AGAIN}") from error


def _without_text(name: str, reading: Reading) -> EmptyDocument | NoTextFound:
    if reading.pictures:
        return NoTextFound(
            f"{name} holds pictures but no text (a scan?). Run OCR on it, for example OCRmyPDF, and add the result."
        )
    return EmptyDocument(f"{name} holds no text. Check that it was saved, and add it again.")
