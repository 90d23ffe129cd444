"""Finds the fenced blocks of code in Markdown and, where a fence names no language, guesses it."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from agentkit.coding.base import CodeBlock
from agentkit.core.given import coalesce
from agentkit.errors import WrongArgument, WrongType

UNKNOWN = "unknown"
PICTURES = ("image_url", "input_image")
TEXTS = ("text", "input_text", "output_text")

# After a fence stands a word, or anything that touches it (```python title=x); other words are
# prose about backticks.
OPENING = re.compile(
    r"(?P<indent>[ \t]*+)(?P<fence>`{3,}+|~{3,}+)(?P<info>[ \t]*+\w*+[ \t]*+|\S[^`]*+)"
)
OPENING_IN_LINE = re.compile(
    r"(?P<indent>(?:[^`]|(?<!`)`{1,2}+(?!`))++)(?P<fence>`{3,}+)(?P<info>[ \t]*+\w*+[ \t]*+)"
)
CLOSING = re.compile(r"[ \t]*+(?P<fence>`{3,}+|~{3,}+)(?P<rest>[^`]*+)")
# ```sh in a block opens another one; "``` and so on" closes.
NAMED = re.compile(r"[\w{][^\s]*")
# How many fences to look at for the end of a block that holds others; keeps hostile texts linear.
LOOKAHEAD = 200
LANGUAGE = re.compile(r"\{?\s*\.?([^\s{}:,=]*)")
SHELL_COMMAND = re.compile(r"(?:python[\d.]*|pip3?)\s")


Fence = tuple[int, str, bool]
"""A line that may close a block: its index, its marks, and whether a language follows them."""


class MarkdownCodeExtractor:
    """The blocks between fences of backticks or tildes, with the language that the fence names or
    the code suggests.

    A block that is not closed is left out: half a program is not run. A fence ends with its first
    line of at least as many of the same marks; a block within the block (``` with a language, then
    ```) belongs to the outer one when both are closed. Code under an indented fence loses that
    indent, and its lines end with \\n.
    """

    def extract_code_blocks(
        self, message: str | Sequence[Mapping[str, object]] | None
    ) -> list[CodeBlock]:
        """The blocks in order; the language is empty when neither the fence nor the code tells
        it.
        """
        blocks: list[CodeBlock] = []
        for language, code in find_fenced_blocks(content_str(message)):
            blocks.append(CodeBlock(code, language or _guess_language(code)))
        return blocks


def _guess_language(code: str) -> str:
    language = infer_lang(code)
    if language == UNKNOWN:
        return ""
    return language


def find_fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Language as the fence names it (may be empty) and code of every closed block; blocks without
    a line are left out.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    fences = list(_find_fences(lines))
    blocks: list[tuple[str, str]] = []
    at, never = 0, {"`": "-", "~": "-"}
    while at < len(lines):
        opening = OPENING.fullmatch(lines[at]) or OPENING_IN_LINE.fullmatch(lines[at])
        at += 1
        if opening is None:
            continue
        fence = opening["fence"]
        sign = fence[0]
        if fence.startswith(never[sign]):
            continue
        end, following = _find_end(fences, at, fence)
        if end is None:
            never[sign] = fence
            continue
        if end > at:
            code = _dedent(lines[at:end], opening["indent"])
            blocks.append((_find_language(opening["info"]), code))
        at = following
    return blocks


def _find_fences(lines: Sequence[str]) -> Iterator[Fence]:
    for at, line in enumerate(lines):
        if match := CLOSING.fullmatch(line):
            named = NAMED.fullmatch(match["rest"].rstrip())
            yield at, match["fence"], named is not None


def _find_end(fences: list[Fence], start: int, fence: str) -> tuple[int | None, int]:
    """Index of the line that closes a fence whose code begins at start, and of the line from which
    to go on: that one, where it opens the next block, else the one behind.
    """
    depth, last = 1, len(fences)
    first: tuple[int | None, int] = (None, start)
    for index in range(bisect_left(fences, start, key=itemgetter(0)), len(fences)):
        at, marks, named = fences[index]
        if depth > last - index + 1:  # it cannot be closed so near
            break
        if not marks.startswith(fence):
            continue
        following, step = (at, 1) if named else (at + 1, -1)
        if first[0] is None:
            first, last = (at, following), index + LOOKAHEAD
        depth += step
        if depth == 0:
            return at, at + 1
    return first


def _dedent(lines: Sequence[str], indent: str) -> str:
    """The lines without the indent of their fence; one behind other signs counts for nothing."""
    if indent.strip():
        return "\n".join(lines)
    width = len(indent)
    return "\n".join(line[:width].lstrip(" \t") + line[width:] for line in lines)


def _find_language(info: str) -> str:
    match = next(LANGUAGE.finditer(info))
    return match[1]


def infer_lang(code: str) -> str:
    """`sh` for a call of pip or python, `python` for what compiles as Python, else `unknown`."""
    if SHELL_COMMAND.match(code):
        return "sh"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return UNKNOWN
    return "python"


def content_str(content: str | Sequence[Mapping[str, object]] | None) -> str:
    """The text of a message's content: None is empty, the parts of a list are joined, a picture is
    `<image>`.

    Raises WrongType for anything else, and WrongArgument for a part without a type or with an
    unknown one.
    """
    parts = coalesce(content, "")
    if isinstance(parts, str):
        return parts
    if not isinstance(parts, list | tuple):
        raise WrongType(f"content must be None, str, or list, but got {type(content)}: {content!r}")
    return "".join(map(_part_str, parts))


def _part_str(part: object) -> str:
    if not isinstance(part, Mapping):
        raise WrongType(
            "Wrong content format: every element should be dict if the content is a list, not"
            f" {part!r}."
        )
    kind = part.get("type")
    if kind is None:
        raise WrongArgument(f"Wrong content format. Missing 'type' key in content's dict: {part!r}")
    if kind in PICTURES:
        return "<image>"
    if kind not in TEXTS:
        raise WrongArgument(
            f"Wrong content format: unknown type {kind} within the content; known are"
            f" {', '.join(TEXTS + PICTURES)}."
        )
    return str(coalesce(part.get("text"), ""))
