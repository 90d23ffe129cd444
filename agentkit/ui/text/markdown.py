"""Text of models, people and documents made safe to show as Markdown.

Raw HTML is never switched on; this is for the rest. What is code is decided by a CommonMark
parser. Outside of fenced code no picture is left, and nothing that only the browser's parser
knows (formulas, footnotes, directives) may begin there, so both see the same fences.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_REMEMBERED = 20_000  # characters; a longer text is parsed each time, so that few are kept
_FORMATTED = 100_000  # characters; parsing the worst text of that length takes about a second
_FENCE = re.compile("```|~~~")
_CONTROL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=])")
_MARKER = re.compile(r"\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")
_TAMED_MARKER = re.compile(rf"(!\\)?({_MARKER.pattern})(?!\()")
_ACTIVE = re.compile(r"\\[\s\S]|!\[|\[\^|\$|:::")
"""What is escaped in prose: pictures, footnotes, formulas, directives; what is escaped already."""
_MARKUP = re.compile(r"\\[\s\S]|<(?=[A-Za-z/!?])(?!https?:)")
"""What begins a tag outside of code; what is escaped already; addresses stay."""
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SIGN = re.compile(r"\\\\|\\\$|\$\$?|\\[\[\]()]|\n(?=[ \t]*\n)")
_INLINE = re.compile(r"(?<![$\w])\$(?!\s)[^\n$]*[^\s\\$]\$(?![$\w])")
"""Two `$` that stand as around a formula, on one line: those of `from $5 to $6` do not."""
_WORDS = re.compile(r"\S(?:[^\n]*\S)?")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_CLOSES = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
"""The signs that models put around formulas."""

Show = Callable[[str, int], str]
"""Makes a part of a text, which begins there, what is shown of it."""


class _Run(NamedTuple):
    """Backticks beside one another."""

    start: int
    end: int
    line: int
    escaped: bool


class _Formula(NamedTuple):
    """Where a formula stands, its signs included."""

    start: int
    end: int
    inside: str
    display: bool


def literal(text: str) -> str:
    """One line of text exactly as it stands, for labels, names and captions."""
    return _CONTROL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Markdown of a person or a model: formatted, with formulas, but `$5` is a price.

    No picture is fetched. A text longer than any that people read is shown as it stands.
    """
    return _in_parts(text, lambda part, _: _tame(part))


def answer(
    text: str,
    message_id: str,
    markers: Collection[int],
    doubts: Collection[tuple[int, int]] = (),
) -> str:
    """An answer in Markdown whose `[n]` are links `#cite-MESSAGE-n`, where there is a source.

    `doubts` names markers by where their bracket opens in the text, and their number: these are
    shown as `[n?]`, and their links end with a `?`, by which the page's style knows them.
    """
    places = {match.start(): order for order, match in enumerate(_MARKER.finditer(text))}
    doubtful = {(places[at], number) for at, number in doubts if at in places}
    text = _normal(text)  # moves the markers, but keeps their order
    starts = [match.start() for match in _MARKER.finditer(text)]

    def show(part: str, start: int) -> str:
        tame, first = _tame(part), bisect_left(starts, start)
        order = {match.start(): at for at, match in enumerate(_MARKER.finditer(tame), first)}

        def link(match: re.Match[str]) -> str:
            at = order[match.start(2)]
            links = (
                _link(n, message_id, n in markers, (at, n) in doubtful)
                for n in map(int, match[2][1:-1].split(","))
            )
            return ("\\!" if match[1] else "") + "".join(links)

        return _TAMED_MARKER.sub(link, tame)

    return _in_parts(text, show)


def make_footnotes(text: str, numbers: Mapping[int, int]) -> str:
    """Markdown for other programs: its `[n]` are footnotes of these numbers, where there is one.

    No picture is fetched there either, no markup is more than text, and code ends with the text.
    """

    def show(part: str, _: int) -> str:
        return _TAMED_MARKER.sub(note, _MARKUP.sub(_escape_markup, _tame(part)))

    def note(match: re.Match[str]) -> str:
        marks = (
            f"[^{numbers[n]}]" if n in numbers else f"\\[{n}\\]"
            for n in map(int, match[2][1:-1].split(","))
        )
        return ("\\!" if match[1] else "") + "".join(marks)

    return _close_fence(_in_parts(text, show))


def _close_fence(text: str) -> str:
    """The text with an end of the code that would go on in whatever follows it."""
    if not _FENCE.search(text):
        return text
    last = _cut_blocks(f"{text}\n\nwhat follows")[-1]
    if last.type != "fence":
        return text
    return f"{text.rstrip()}\n{last.markup}"


def _escape_markup(match: re.Match[str]) -> str:
    if match[0].startswith("\\"):
        return match[0]
    return f"\\{match[0]}"


def _link(number: int, message_id: str, linked: bool, doubtful: bool) -> str:
    sign = "?" if doubtful else ""
    shown = f"\\[{number}{sign}\\]"
    return f"[{shown}](#cite-{message_id}-{number}{sign})" if linked else shown


def mark_parts(parts: Sequence[tuple[str, bool]]) -> str:
    """Text as it stands, line by line, with a ground behind the parts that are marked."""
    shown = "".join(_ground(part) if mark else _lines(part) for part, mark in parts)
    return _INDENT.sub("", shown)  # else it would be code


def _lines(text: str) -> str:
    return _CONTROL.sub(r"\\\1", _normal(text)).replace("\n", "  \n")


def _ground(text: str) -> str:
    """The words with a ground, and the space around them and between lines without."""
    shown = _WORDS.sub(lambda words: f":primary-background[{_lines(words[0])}]", _normal(text))
    return shown.replace("\n", "  \n")


def split_finished(text: str) -> tuple[str, str]:
    """A growing text cut into what will not change any more (whole paragraphs) and the rest."""
    text = _normal(text)
    if len(text) > _FORMATTED:
        return "", text
    fenced: set[int] = set()
    for kind, start, end in _blocks(text):
        if kind == "fence":
            fenced.update(range(start, end))
    lines = text.split("\n")
    for cut in range(len(lines) - 2, 0, -1):
        is_empty = not lines[cut].strip()
        if is_empty and cut not in fenced:
            return "\n".join(lines[:cut]).rstrip(), "\n".join(lines[cut + 1 :])
    return "", text


def cut_to_beginning(text: str, characters: int, lines: int) -> str:
    """The first lines of a text that is longer; all of a text that is hardly longer.

    It is not cut in the middle of a word, and ends with dots, but for within code.
    """
    text = _normal(text)
    is_short = len(text) <= characters * 1.3 and text.count("\n") <= lines * 1.3
    if is_short:
        return text
    shown = "\n".join(text.split("\n")[:lines])
    if len(shown) > characters:
        shown = shown[:characters]
        start, word, _ = shown.rpartition(" ")
        if word:
            shown = start
    kind, _, end = next(reversed(_blocks(shown)), ("", 0, 0))
    in_code = kind == "fence" and end == shown.count("\n") + 1
    if in_code:
        return shown
    return f"{shown.rstrip()} …"


def _in_parts(text: str, show: Show) -> str:
    """The text with fenced code as it stands, and the prose between as `show` makes it."""
    text = _normal(text)
    if len(text) > _FORMATTED:
        return _as_it_stands(text)
    starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    shown, at = [], 0
    for kind, first, last in _blocks(text):
        start, end = starts[first], starts[min(last, len(starts) - 1)]
        shown.append(_with_code(text[at:start], at, show))
        shown.append(text[start:end] if kind == "fence" else show(text[start:end], start))
        at = end
    return "".join([*shown, _with_code(text[at:], at, show)])


def _as_it_stands(text: str) -> str:
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    return f"{fence}\n{text}\n{fence}"


def _normal(text: str) -> str:
    """With the line ends, and without the characters, that a parser of Markdown replaces."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def _blocks(text: str) -> tuple[tuple[str, int, int], ...]:
    """Where `fence` and `html_block` are, as lines (from, to); none when no code is fenced."""
    if not _FENCE.search(text):
        return ()
    if len(text) > _REMEMBERED:
        return _parse_inline(text)
    return _remembered(text)


def _cut_blocks(text: str) -> list[Token]:
    return _load_parser().parse(text)


@cache
def _load_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes long, and a page without code does without

    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"])


def _parse_inline(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(
        (token.type, token.map[0], token.map[1])
        for token in _cut_blocks(text)
        if token.map and token.type in ("fence", "html_block")
    )


_remembered = lru_cache(maxsize=1024)(_parse_inline)


def _with_code(text: str, begins: int, show: Show) -> str:
    """Prose, which begins there in the whole text, with the code in its lines as it stands.

    A picture in such code is cut in two: should a browser not take it for code, it is not a picture
    either. Code over several lines is shown as prose is, as each line may begin something.
    """
    shown, at = [], 0

    def show_there(part: str, start: int) -> str:
        return show(part, begins + start)

    for start, end in _code(text):
        shown.append(_with_formulas(text, at, start, show_there))
        ticks = "`" * (len(text[start:end]) - len(text[start:end].lstrip("`")))
        shown.append(text[start:end].replace("![", f"!{ticks} {ticks}["))
        at = end
    return "".join([*shown, _with_formulas(text, at, len(text), show_there)])


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Where code between backticks begins and ends, within single lines."""
    runs = list(_runs(text))
    later: dict[tuple[int, int], list[_Run]] = {}  # by line and number of backticks, last first
    for run in reversed(runs):
        later.setdefault((run.line, run.end - run.start), []).append(run)
    done = 0
    for run in runs:
        start = run.start + run.escaped
        if run.start < done or start == run.end:
            continue
        candidates = later.get((run.line, run.end - start), [])
        while candidates and candidates[-1].start <= run.start:
            candidates.pop()
        if candidates:
            done = candidates.pop().end
            yield start, done


def _runs(text: str) -> Iterator[_Run]:
    line, after_slashes = 0, -1
    for match in re.finditer(r"\n|\\+|`+", text):
        found = match[0]
        if found == "\n":
            line += 1
        elif found[0] == "`":
            yield _Run(match.start(), match.end(), line, match.start() == after_slashes)
        elif len(found) % 2:
            after_slashes = match.end()


def _with_formulas(text: str, start: int, end: int, show: Show) -> str:
    """The part of a text between two places, its formulas as Streamlit wants them."""
    shown, at = [], start
    for formula in _formulas(text, start, end):
        shown.append(show(text[at : formula.start], at))
        inside = _TAG.sub("< ", formula.inside.replace("![", "! ["))  # the same formula
        if formula.display and (indent := _indent_alone(text, formula)) is not None:
            lines = [indent + line.strip() for line in inside.split("\n")]
            shown.append("\n".join(["$$", *lines, f"{indent}$$"]))
        else:
            shown.append(f"${inside}$")
        at = formula.end
    return "".join([*shown, show(text[at:end], at)])


def _formulas(text: str, start: int, end: int) -> Iterator[_Formula]:
    """What stands between two signs of a formula that no empty line parts, and looks like one."""
    signs = list(_SIGN.finditer(text, start, end))
    at = start
    for sign, closing in zip(signs, _closings(signs), strict=True):
        if closing is None or sign.start() < at:
            continue
        is_lone = sign[0] == "$" and not _INLINE.match(text, sign.start())
        if is_lone:
            continue
        inside, at = text[sign.end() : closing.start()].strip(), closing.end()
        if "$" in inside or not is_formula(inside):
            continue
        display = sign[0] in ("$$", "\\[")
        yield _Formula(sign.start(), at, inside, display)


def _closings(signs: Sequence[re.Match[str]]) -> list[re.Match[str] | None]:
    """For each sign the one that closes what it opens: the next of its kind before an empty line.

    The single `$` is closed by the next of any kind, or not at all.
    """
    found: list[re.Match[str] | None] = []
    ahead: dict[str, re.Match[str]] = {}
    for sign in reversed(signs):
        found.append(ahead.get(_CLOSES.get(sign[0], "")))
        if sign[0].startswith("\n"):
            ahead.clear()
        ahead[sign[0]] = sign
        if "$" in sign[0]:
            ahead["$"] = sign
    return found[::-1]


def is_formula(text: str) -> bool:
    """Whether what stands between two signs of a formula looks like one.

    `$5 (= 4.60 euros) or 6$` does not, nor does `\\[1\\]`.
    """
    telling = r"[\\^]" if text[:1].isdigit() else r"[\\^_={]|^[A-Za-z]$"
    return bool(re.search(telling, text))


def _indent_alone(text: str, formula: _Formula) -> str | None:
    """What the lines of a formula are indented by; None when it does not stand alone in them."""
    if not _REST_OF_LINE.match(text, formula.end):
        return None
    before = text[text.rfind("\n", 0, formula.start) + 1 : formula.start]
    return None if before.strip(" \t") else before


def _tame(text: str) -> str:
    """Prose in which nothing begins that was not meant: what is escaped stays so."""

    def escape(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == "\\":
            return found
        return "!\\[" if found == "![" else f"\\{found}"

    return _ACTIVE.sub(escape, text)
