"""A chat, or one turn of it, as Markdown for other programs: sources are footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentkit.ui.exports.exchanges import (
    Exchange,
    describe_chat,
    describe_source,
    list_exchanges,
)
from agentkit.ui.text import markdown
from agentkit.ui.text.results import Picture, Plot, Remark, Result, Table

if TYPE_CHECKING:
    from agentkit.workspace.sharing.form import ChatFile

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")
_BEGINS_LIST = re.compile(r"^(\d{0,9})([-+=.)])")


def write_chat(file: ChatFile) -> str:
    """The open branch of a chat."""
    page = _Page()
    parts = [f"# {escape(file.chat.title)}", escape(describe_chat(file))]
    for exchange in list_exchanges(file):
        parts += _write_exchange(exchange, page)
    return _join([*parts, *page.notes, *page.pictures])


def write_answer(answer: str, citations: Sequence[Mapping[str, Any]]) -> str:
    """One answer with its sources."""
    page = _Page()
    return _join([page.put_answer(answer, citations), *page.notes])


class _Page:
    """What stands at the end of a text, numbered through."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.pictures: list[str] = []

    def put_answer(self, text: str, citations: Sequence[Mapping[str, Any]]) -> str:
        """The text with footnotes in place of its markers."""
        first = len(self.notes) + 1
        numbers = {int(one["marker"]): first + place for place, one in enumerate(citations)}
        self.notes += [f"[^{numbers[int(one['marker'])]}]: {_describe(one)}" for one in citations]
        return markdown.make_footnotes(text, numbers)

    def put_picture(self, picture: Picture) -> str:
        """The sign of a picture, which itself stands at the end."""
        name = f"picture-{len(self.pictures) + 1}"
        self.pictures.append(f"[{name}]: data:{picture.mime};base64,{picture.content}")
        return f"![{escape(picture.title)}][{name}]"


def _write_exchange(exchange: Exchange, page: _Page) -> Iterable[str]:
    if exchange.question:
        yield "## You"
        yield markdown.make_footnotes(exchange.question, {})
    yield from (_write_result(picture, page) for picture in exchange.shown)
    yield "## Answer"
    yield from (_write_result(result, page) for result in exchange.results)
    if exchange.answer:
        yield page.put_answer(exchange.answer, exchange.citations)
    remarks = filter(None, [exchange.end, exchange.took])
    yield from (f"*{escape(remark)}*" for remark in remarks)


def _write_result(result: Result, page: _Page) -> str:
    match result:
        case Picture():
            return page.put_picture(result)
        case Table():
            return _write_table(result)
        case Plot():
            return _write_table(result.values)
        case Remark(text):
            return escape(text)


def _write_table(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    head, rule, *body = rows
    lines = [_write_row(head), f"| {' | '.join(rule)} |", *map(_write_row, body)]
    return "\n".join([f"*{escape(table.title)}*", "", *lines])


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape, cells))} |"


def _describe(citation: Mapping[str, Any]) -> str:
    place = escape(describe_source(dict(citation)))
    return f"{place}: “{escape(str(citation['text']))}”"


def escape(text: str) -> str:
    """The text on one line, in which nothing is markup; full stops stay as people read them."""
    return _BEGINS_LIST.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", " ".join(text.split())))


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
