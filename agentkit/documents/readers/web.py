"""HTML pages and EPUB books: headings, paragraphs, lists and table rows; no scripts, styles or
navigation.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from operator import methodcaller

from agentkit.core.given import list_known
from agentkit.documents.assembly import BETWEEN, Outline, Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.readers.package import Package, check_complete, resolve
from agentkit.documents.refusals import check_pages
from agentkit.errors import DamagedDocument, EncryptedDocument

_NOT_READ = "script style nav noscript template svg iframe object head select textarea button"
_SKIPPED = frozenset(_NOT_READ.split())
_BLOCK_TAGS = (
    "p div section article main header footer aside figure figcaption blockquote address form"
    " fieldset table thead tbody tfoot tr ul ol dl dt dd li details summary hr body center"
    " caption pre"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_CELLS = frozenset({"td", "th"})
_IN_CELLS = dict.fromkeys((*_BLOCKS, "br"), " ")
"""What the beginning of an element becomes within the cell of a table."""
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_MARKS = {**dict.fromkeys(_BLOCKS - {"p", "div"}, ""), "li": "- "}
"""What stands in front of a block; those that are left out keep the mark of the one around."""
_BEHIND_IN_CELLS = dict.fromkeys(_BLOCKS, " ")
"""What the end of an element becomes there."""
_BEFORE_ROWS = {"table": BETWEEN}
"""What stands before the next row of a table once an element has ended."""
_CHARSET = re.compile(
    rb"""(?:<meta[^>]{0,200}charset\s*=\s*["']?"""
    rb"""|<\?xml[^>]{0,200}encoding\s*=\s*["'])([\w.:-]+)""",
    re.IGNORECASE,
)
_DEEPEST = 2_048
_NOT_YET, _OVER = 0, -1
"""Where the title would be, in place of the depth of its element."""
_SPACE = re.compile(r"[^\S\xa0]+")


def read_html(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a web page; sections follow its headings."""
    page = _parse(data, Outline())
    return Reading(page.outline.parts(), page.title, pictures=page.pictures)


def read_epub(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a book in its reading order; `place` is the chapter's file."""
    package = Package(data, name)
    rootfile = package.xml("META-INF/container.xml").find(".//{*}rootfile")
    if rootfile is None:
        raise DamagedDocument(
            f"{name} names no content. Convert it to EPUB again, for example with Calibre."
        )
    opf = rootfile.get("full-path", "")
    book = package.xml(opf)
    folder = posixpath.dirname(opf)
    files = {item.get("id"): resolve(folder, item.get("href", "")) for item in book.iter("{*}item")}
    references = list(map(methodcaller("get", "idref"), book.iter("{*}itemref")))
    check_pages(name, len(references), "chapters", limits)
    listed = filter(None, map(files.get, references))
    chapters = list_known(listed, package.members)
    if _is_protected(package, chapters):
        raise EncryptedDocument(
            f"{name} is protected against copying. Add a copy without protection."
        )
    title = book.findtext(".//{*}title", "")
    return Reading(_read_chapters(package, chapters), title, pictures=True)


def _is_protected(package: Package, chapters: list[str]) -> bool:
    """Fonts are often scrambled, which does not matter; chapters are not."""
    references = package.xml_if_there("META-INF/encryption.xml").iter("{*}CipherReference")
    listed = map(methodcaller("get", "URI"), references)
    return not frozenset(chapters).isdisjoint(listed)


def _read_chapters(package: Package, chapters: list[str]) -> Iterator[Part]:
    for chapter in chapters:
        yield from _parse(package.bytes(chapter), Outline(place=chapter)).outline.parts()


def _parse(data: bytes, outline: Outline) -> _Page:
    """Read a page into the outline, without a tree: one takes the square of the time for an element
    of many attributes.
    """
    from lxml import etree

    declared = _CHARSET.search(data[:4_096])
    encoding = ""
    if declared:
        encoding = declared[1].decode("ascii", "replace")
    text = decode(data, encoding)
    page = _Page(outline)
    if text.strip():
        parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True, target=page)
        with suppress(etree.XMLSyntaxError):  # nothing in it that could be an element
            etree.fromstring(text.encode(), parser)
        check_complete(parser)
    return page


class _Page:
    """What the parser tells of a page: each element's start and end, and the text between; its
    title, whether it has pictures.
    """

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.title = ""
        self.pictures = False
        self._blocks = _Blocks(outline)
        self._depth = 0
        self._skipped_from = 0
        self._title = ""
        self._title_depth = _NOT_YET

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError
        self.pictures |= tag == "img"
        if tag == "title" and self._title_depth == _NOT_YET:
            self._title_depth = self._depth
        if self._skipped_from:
            return
        if tag in _SKIPPED:
            self._skipped_from = self._depth
        else:
            self._blocks.start(tag)

    def data(self, text: str) -> None:
        """Characters, at times in several pieces."""
        if self._depth == self._title_depth:
            self._title += text
        if not self._skipped_from:
            self._blocks.text(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._depth == self._title_depth:
            self.title = " ".join(self._title.split())
            self._title_depth = _OVER
        if self._depth == self._skipped_from:
            self._skipped_from = 0
        elif not self._skipped_from:
            self._blocks.end(tag)
        self._depth -= 1

    def close(self) -> None:
        """The page ends."""
        self._blocks.end_block()


class _Blocks:
    """Collects the text between the borders of blocks and hands each block to the outline."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._inline: list[str] = []
        self._heading = ""
        """The tag of the heading that has begun, if one has."""
        self._cells = 0
        self._pre = 0
        self._before_row = BETWEEN
        self._mark = ""

    def text(self, text: str) -> None:
        """Take the characters that follow a tag."""
        self._inline.append(text if self._pre else _SPACE.sub(" ", text))

    def start(self, tag: str) -> None:
        """An element begins."""
        if self._cells and tag not in _CELLS:
            self._inline.append(_IN_CELLS.get(tag, ""))
        else:
            _STARTS.get(tag, _Blocks._skip)(self, tag)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._cells and tag not in _CELLS:
            self._inline.append(_BEHIND_IN_CELLS.get(tag, ""))
        else:
            _ENDS.get(tag, _Blocks._skip)(self, tag)

    def _start_cell(self, tag: str) -> None:
        self._cells += 1

    def _end_cell(self, tag: str) -> None:
        self._cells = max(0, self._cells - 1)
        self._inline.append(" " if self._cells else " | ")

    def _start_block(self, tag: str) -> None:
        self.end_block()
        self._pre += tag == "pre"
        self._mark = _MARKS.get(tag, self._mark)

    def _end_block(self, tag: str) -> None:
        self.end_block(is_row=tag == "tr")
        self._pre = max(0, self._pre - (tag == "pre"))
        self._before_row = _BEFORE_ROWS.get(tag, self._before_row)

    def _start_heading(self, tag: str) -> None:
        self.end_block()
        self._heading = tag

    def _end_heading(self, tag: str) -> None:
        if tag == self._heading:
            self.end_block()

    def _break_line(self, tag: str) -> None:
        self._inline.append("\n")

    def _skip(self, tag: str) -> None:
        """The element is part of the text around it."""

    def end_block(self, is_row: bool = False) -> None:
        """End the block that is being collected, if there is any text in it."""
        text = self._take_text()
        heading, self._heading = self._heading, ""
        if not text.strip():
            return
        if heading:
            self.outline.heading(_LEVELS[heading], text)
        elif is_row:
            self.outline.add(text.removesuffix(" |").removesuffix("|"), self._before_row)
            self._before_row = "\n"
        else:
            self.outline.add(text, "\n" if self._mark else BETWEEN, self._mark)
        self._mark = ""

    def _take_text(self) -> str:
        """The collected characters, with one space between words unless they are preformatted."""
        text = "".join(self._inline)
        self._inline.clear()
        if self._pre:
            text = text.strip("\n")
        else:
            lines = text.strip().split("\n")
            text = "\n".join(map(" ".join, map(str.split, lines)))
        return text.replace("\xa0", " ")


_STARTS = {
    **dict.fromkeys(_BLOCKS, _Blocks._start_block),
    **dict.fromkeys(_LEVELS, _Blocks._start_heading),
    **dict.fromkeys(_CELLS, _Blocks._start_cell),
    "br": _Blocks._break_line,
}
_ENDS = {
    **dict.fromkeys(_BLOCKS, _Blocks._end_block),
    **dict.fromkeys(_LEVELS, _Blocks._end_heading),
    **dict.fromkeys(_CELLS, _Blocks._end_cell),
}
