"""PDF: the text of each page with headings from the outline, and pictures of pages with a passage
marked.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from operator import itemgetter
from typing import Any

from agentkit.core.given import join_filled
from agentkit.documents.assembly import Part, Reading
from agentkit.documents.decoding import clean
from agentkit.documents.document import Limits
from agentkit.documents.refusals import check_pages, refuse_locked
from agentkit.errors import DamagedDocument, NotFound

_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
# pdfium writes U+FFFE (older builds U+0002) for a hyphen that only breaks a word over two lines.
_CHANGED = re.compile(
    "\r\n?|[\ufb00-\ufb06]|[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufeff\ufffe\uffff]"
)
_PASSWORD = 4
_MOST_BOOKMARKS = 10_001
Mark = tuple[int, int, bool]
"""Characters of a page's text, from and to, and whether they are marked strongly."""
_LIGHT, _STRONG = (255, 240, 186), (255, 214, 92)
_MAX_PIXELS = 25_000_000


def read_pdf(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a PDF, one part a page; the part's text is what `render_pdf` counts its marks in."""
    document = _open(data, name)
    count = len(document)
    check_pages(name, count, "pages", limits)
    title = document.get_metadata_value("Title") or ""
    return Reading(_read_pages(document, count), title, pages=count, pictures=True)


def _open(data: bytes, name: str) -> Any:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD:
            raise refuse_locked(name) from error
        raise DamagedDocument(
            f"{name} is damaged: it cannot be opened as a PDF. Download it again, or print it to a"
            " new PDF."
        ) from error
    if len(document) == 0:
        raise DamagedDocument(f"{name} has no pages. Download it again, or print it to a new PDF.")
    return document


def _read_pages(document: Any, count: int) -> Iterator[Part]:
    headings = _find_headings(document)
    heading = ""
    for index in range(count):
        starting = headings.get(index, [heading])
        text = _substitute(_read_raw(document, index))[0].rstrip()
        yield Part(text, starting[0], index + 1)
        heading = starting[-1]
    document.close()


def _find_headings(document: Any) -> dict[int | None, list[str]]:
    """Page index -> paths of the outline entries that begin there."""
    found: dict[int | None, list[str]] = {}
    path: list[str] = []
    for bookmark in islice(document.get_toc(max_depth=6), _MOST_BOOKMARKS):
        title = " ".join(clean(bookmark.get_title() or "").split())[:120]
        path = [*path[: bookmark.level], title]
        target = bookmark.get_dest()
        if target and title:
            found.setdefault(target.get_index(), []).append(join_filled(" > ", path))
    return found


def _read_raw(document: Any, index: int) -> str:
    import pypdfium2

    try:
        page = document[index]
    except pypdfium2.PdfiumError:  # one broken page does not cost the others
        return ""
    text_page = page.get_textpage()
    text = str(text_page.get_text_range())
    text_page.close()
    page.close()
    return text


def _substitute(raw: str) -> tuple[str, list[tuple[int, int]]]:
    """The page's text as we keep it, and where it departs from pdfium's: (our index, pdfium's
    index) behind each change.
    """
    pieces: list[str] = []
    shifts = [(0, 0)]
    at = length = 0
    for match in _CHANGED.finditer(raw):
        found = match.group()
        new = "\n"
        if found[0] != "\r":
            new = _LIGATURES.get(found, "")
        pieces += (raw[at : match.start()], new)
        length += match.start() - at + len(new)
        at = match.end()
        shifts.append((length, at))
    pieces.append(raw[at:])
    return "".join(pieces), shifts


def _find_raw_index(shifts: list[tuple[int, int]], index: int) -> int:
    """pdfium's text index of our index."""
    ours, theirs = shifts[bisect_right(shifts, index, key=itemgetter(0)) - 1]
    return theirs + index - ours


def render_pdf(data: bytes, name: str, page: int, marks: Sequence[Mark], width: int) -> bytes:
    """Draw page `page` (from 1) as PNG of `width` pixels; NotFound beyond the last."""
    document = _open(data, name)
    if not 1 <= page <= len(document):
        raise NotFound(f"{name} has no page {page}; its pages are 1 to {len(document)}.")
    sheet = document[page - 1]
    across, down = sheet.get_size()
    scale = min(width / max(across, 1.0), (_MAX_PIXELS / max(across * down, 1.0)) ** 0.5)
    image = sheet.render(scale=scale).to_pil().convert("RGB")
    for start, end, strong in marks:
        _mark(image, sheet, (start, end), _STRONG if strong else _LIGHT)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()


def _mark(image: Any, sheet: Any, span: tuple[int, int], colour: tuple[int, int, int]) -> None:
    """Multiply a passage's rectangles with a marker's colour: the letters stay as dark as they
    are.
    """
    from PIL import Image, ImageChops

    for left, top, right, bottom in _find_boxes(image, sheet, span):
        region = image.crop((left, top, right, bottom))
        image.paste(ImageChops.multiply(region, Image.new("RGB", region.size, colour)), (left, top))


def _find_boxes(
    image: Any, sheet: Any, highlight: tuple[int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """Pixel boxes (left, top, right, bottom) of the passage, one a line; page rotation is taken
    into account.
    """
    import ctypes

    import pypdfium2.raw as pdfium

    text_page = sheet.get_textpage()
    shifts = _substitute(str(text_page.get_text_range()))[1]
    ends = map(_find_raw_index, repeat(shifts), (highlight[0], highlight[1] - 1))
    first, last = map(partial(pdfium.FPDFText_GetCharIndexFromTextIndex, text_page), ends)
    if first < 0 or last < first:
        return
    x, y = ctypes.c_int(), ctypes.c_int()
    for number in range(text_page.count_rects(first, last - first + 1)):
        left, bottom, right, top = text_page.get_rect(number)
        corners = []
        for across, up in ((left, bottom), (right, top)):
            pdfium.FPDF_PageToDevice(sheet, 0, 0, image.width, image.height, 0, across, up, x, y)
            corners.append((x.value, y.value))
        (x0, x1), (y0, y1) = map(sorted, zip(*corners, strict=True))
        box = max(x0 - 1, 0), max(y0 - 2, 0), min(x1 + 2, image.width), min(y1 + 2, image.height)
        if box[0] < box[2] and box[1] < box[3]:
            yield box
