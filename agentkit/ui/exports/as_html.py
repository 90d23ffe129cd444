"""A chat as one page of HTML that needs nothing else: no program, no network, no other file.

What people, models and documents wrote is text in it, or what Markdown makes of it without markup
of its own; a policy in the page forbids all that could be loaded or run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from agentkit.core.given import pick_kind
from agentkit.ui.exports.exchanges import (
    Citation,
    Exchange,
    describe_chat,
    describe_source,
    list_exchanges,
)
from agentkit.ui.exports.plots import make_svgs
from agentkit.ui.text.markdown import is_formula
from agentkit.ui.text.results import Picture, Plot, Remark, Result, Table
from agentkit.workspace.sharing.form import ChatFile

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"
_STYLE = Path(__file__).with_name("page.css")
_FORMATTED = 100_000  # characters; a longer text is shown as it stands
_MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_FORMULA = re.compile(
    r"\$\$(?P<shown>[^$]{1,4000})\$\$"
    r"|(?<![$\w])\$(?!\s)(?P<within>[^\n$]{0,400}[^\s\\$])\$(?![$\w])"
    r"|\\\((?P<round>[^\n]{1,400}?)\\\)"
    r"|\\\[(?P<square>[^$]{1,1000}?)\\\]"
)


def write_page(file: ChatFile) -> str:
    """The open branch of a chat."""
    title = escape(" ".join(file.chat.title.split()))
    exchanges = list_exchanges(file)
    results = chain.from_iterable(exchange.results for exchange in exchanges)
    plots = _Plots(list(pick_kind(results, Plot)))
    articles = "\n".join(
        _write_exchange(exchange, number, plots) for number, exchange in enumerate(exchanges, 1)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{_STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{escape(describe_chat(file))}</p>
</header>
<main>
{articles}
</main>
</body>
</html>
"""


class _Plots:
    """The charts of a chat, drawn all at once."""

    def __init__(self, plots: Sequence[Plot]) -> None:
        svgs = make_svgs(list(map(attrgetter("spec"), plots)))
        self._drawn = dict(zip(map(id, plots), svgs, strict=True))

    def write(self, plot: Plot) -> str:
        """A chart with its values to unfold; these alone where it could not be drawn."""
        drawn, values = self._drawn[id(plot)], _write_table(plot.values)
        if not drawn:
            return values
        picture = Picture(plot.values.title, "image/svg+xml", drawn)
        return (
            f"{_write_picture(picture)}\n<details><summary>Its values</summary>{values}</details>"
        )


def _write_exchange(exchange: Exchange, number: int, plots: _Plots) -> str:
    return "\n".join(["<article>", *_write_parts(exchange, number, plots), "</article>"])


def _write_parts(exchange: Exchange, number: int, plots: _Plots) -> Iterator[str]:
    if exchange.question:
        yield f'<div class="question">\n<h2>You</h2>\n{_format(exchange.question)}</div>'
    yield from (_write_result(shown, plots) for shown in exchange.shown)
    yield "<h2>Answer</h2>"
    yield from (_write_result(result, plots) for result in exchange.results)
    if exchange.answer:
        markers = [int(one["marker"]) for one in exchange.citations]
        body = _format(exchange.answer, number, markers)
        yield f'<div class="answer">\n{body}</div>'
    if exchange.end:
        yield f'<p class="end">{escape(exchange.end)}</p>'
    if exchange.citations:
        yield _write_sources(exchange.citations, number)
    if exchange.took:
        yield f'<p class="took">{escape(exchange.took)}</p>'


def _write_sources(citations: Iterable[Citation], number: int) -> str:
    items = "\n".join(
        f'<li id="source-{number}-{int(one["marker"])}">[{int(one["marker"])}]'
        f" {escape(describe_source(one))}<q>{escape(str(one['text']))}</q></li>"
        for one in citations
    )
    return f'<section class="sources">\n<h2>Sources</h2>\n<ol>\n{items}\n</ol>\n</section>'


def _write_result(result: Result, plots: _Plots) -> str:
    match result:
        case Picture():
            return _write_picture(result)
        case Table():
            return _write_table(result)
        case Plot():
            return plots.write(result)
        case Remark(text):
            return f'<p class="took">{escape(text)}</p>'


def _write_picture(picture: Picture) -> str:
    address = f"data:{picture.mime};base64,{picture.content}"
    alt = escape(picture.title)
    return f'<figure><img alt="{alt}" src="{address}"><figcaption>{alt}</figcaption></figure>'


def _write_table(table: Table) -> str:
    head = _write_row(table.columns, "th")
    rows = "\n".join(_write_row(row, "td") for row in table.rows)
    return (
        f"<figure><figcaption>{escape(table.title)}</figcaption>"
        f'<div class="wide"><table>\n{head}\n{rows}\n</table></div></figure>'
    )


def _write_row(cells: Sequence[str], kind: str) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"


def _format(text: str, number: int = 0, markers: Collection[int] = ()) -> str:
    """Markdown as HTML, its markers as links to the sources of the answer of this number."""
    if len(text) > _FORMATTED:
        return f"<pre>{escape(text)}</pre>\n"
    made: str = _parser().render(text, {"number": number, "markers": frozenset(markers)})
    return made


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "formula", _read_formula)
    parser.core.ruler.push("markers", _link_markers)
    for kind, render in _RENDERED.items():
        parser.add_render_rule(kind, render)
    return parser


def _read_formula(state: StateInline, silent: bool) -> bool:
    """A formula stands as it was written: no program is there to draw it."""
    found = _FORMULA.match(state.src, state.pos)
    if not found or not is_formula(found[found.lastgroup or 0].strip()):
        return False
    if not silent:
        state.push("formula", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _link_markers(state: StateCore) -> None:
    """In text, and never in code or in addresses."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        children = token.children or []
        parts = [_split(child, state.env) for child in children]
        token.children = list(chain.from_iterable(parts))


def _split(token: Token, env: Any) -> Iterator[Token]:
    if token.type != "text":
        yield token
        return
    at = 0
    for match in _MARKER.finditer(token.content):
        yield Token("text", "", 0, content=token.content[at : match.start()])
        yield from (_to_marker(int(n), env) for n in match[1].split(","))
        at = match.end()
    yield Token("text", "", 0, content=token.content[at:])


def _to_marker(marker: int, env: Any) -> Token:
    if marker not in env["markers"]:
        return Token("text", "", 0, content=f"[{marker}]")
    return Token("marker", "", 0, content=f"{env['number']}-{marker}", info=str(marker))


def _draw_marker(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    return f'<sup><a href="#source-{token.content}">[{token.info}]</a></sup>'


def _draw_formula(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"<code>{escape(tokens[at].content)}</code>"


def _draw_image(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """What it shows and where it lies, as text: nothing is fetched."""
    token = tokens[at]
    return escape(f"[picture: {token.content}] ({token.attrGet('src')})")


def _draw_link(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    address = escape(str(tokens[at].attrGet("href")))
    return f'<a rel="noopener noreferrer" href="{address}">'


def _open_heading(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"<h{_lower(tokens[at])}>"


def _close_heading(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return f"</h{_lower(tokens[at])}>\n"


def _lower(token: Token) -> int:
    """The level of a heading below those of the page."""
    return min(int(token.tag[1:]) + 2, 6)


def _open_table(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return '<div class="wide"><table>\n'


def _close_table(renderer: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


_RENDERED = {
    "marker": _draw_marker,
    "formula": _draw_formula,
    "image": _draw_image,
    "link_open": _draw_link,
    "heading_open": _open_heading,
    "heading_close": _close_heading,
    "table_open": _open_table,
    "table_close": _close_table,
}
"""What is drawn otherwise than Markdown has it, by the kind of token."""
