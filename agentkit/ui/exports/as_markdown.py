"""A chat, or one turn of it, as Markdown for other programs: sources are footnotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentkit.ui.exports.exchanges import (
    Exchange,
    describe_chat,
    describe_source,
    list_exchanges,
)
from agentkit.ui.text import markdown
from agentkit.ui.text.results import Picture, Remark, Result, Table
from agentkit.workspace.sharing.form import ChatFile


def write_chat(file: ChatFile) -> str:
    """The open branch of a chat."""
    page = _Page()
    parts = [f"# {markdown.literal(file.chat.title)}", markdown.literal(describe_chat(file))]
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
        return markdown.footnoted(text, numbers)

    def put_picture(self, picture: Picture) -> str:
        """The sign of a picture, which itself stands at the end."""
        name = f"picture-{len(self.pictures) + 1}"
        self.pictures.append(f"[{name}]: data:{picture.mime};base64,{picture.content}")
        return f"![{markdown.literal(picture.title)}][{name}]"


def _write_exchange(exchange: Exchange, page: _Page) -> Iterable[str]:
    if exchange.question:
        yield "## You"
        yield markdown.footnoted(exchange.question, {})
    yield from (_write_result(picture, page) for picture in exchange.shown)
    yield "## Answer"
    yield from (_write_result(result, page) for result in exchange.results)
    if exchange.answer:
        yield page.put_answer(exchange.answer, exchange.citations)
    remarks = filter(None, [exchange.end, exchange.took])
    yield from (f"*{markdown.literal(remark)}*" for remark in remarks)


def _write_result(result: Result, page: _Page) -> str:
    match result:
        case Picture():
            return page.put_picture(result)
        case Table():
            return _write_table(result)
        case Remark(text):
            return markdown.literal(text)


def _write_table(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    head, rule, *body = rows
    lines = [_write_row(head), f"| {' | '.join(rule)} |", *map(_write_row, body)]
    return "\n".join([f"*{markdown.literal(table.title)}*", "", *lines])


def _write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown.literal, cells))} |"


def _describe(citation: Mapping[str, Any]) -> str:
    place = markdown.literal(describe_source(dict(citation)))
    return f"{place}: “{markdown.literal(str(citation['text']))}”"


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
