"""Texts and files to chunks of so many tokens, with the names of AutoGen's `retrieve_utils`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, compress
from operator import itemgetter
from pathlib import Path

from agentkit.core import bus
from agentkit.core.given import list_missing
from agentkit.documents import Jail, Limits
from agentkit.errors import DocumentError, EmptyDocument, WrongArgument, WrongType
from agentkit.events import Noted
from agentkit.llm.tokens.windows import count_token, truncate
from agentkit.settings import load_settings

CHUNK_MODES = ("multi_lines", "one_line")
_LONGEST_TOKEN = 64
"""Characters; a line with more for each token that fits is not counted, which would take long, but
cut.
"""
_BLANKS = re.compile(r"\s*")
Counter = Callable[[str], int]
Line = tuple[str, int]
"""A line, and its tokens."""


def split_text_to_chunks(
    text: str,
    max_tokens: int = 4000,
    chunk_mode: str = "multi_lines",
    must_break_at_empty_line: bool = True,
    overlap: int = 0,
    *,
    count: Counter = count_token,
) -> list[str]:
    """Chunks of whole lines, each of `max_tokens` at most; nothing of the text is lost but empty
    lines at a chunk's ends.

    `one_line` makes a chunk of every line. `multi_lines` fills chunks, breaks them at an empty line
    where there is one to break at (if `must_break_at_empty_line`), and begins each with the last
    `overlap` lines of the one before. A line that is too long by itself is cut between words.
    Raises WrongArgument (an AssertionError) for an unknown mode or no tokens at all.
    """
    if chunk_mode not in CHUNK_MODES:
        raise WrongArgument(
            f"split_text_to_chunks: chunk_mode must be one of {', '.join(CHUNK_MODES)}, not"
            f" {chunk_mode!r}."
        )
    if max_tokens < 1:
        raise WrongArgument(
            f"split_text_to_chunks: max_tokens must be 1 or more, not {max_tokens!r}."
        )
    cut = partial(_cut, most=max_tokens, count=count)
    lines = list(chain.from_iterable(map(cut, text.split("\n"))))
    if chunk_mode == "one_line":
        return list(filter(str.strip, map(itemgetter(0), lines)))
    return list(_Joining(lines, max_tokens).join(must_break_at_empty_line, overlap))


def _cut(line: str, most: int, count: Counter) -> Iterator[Line]:
    """The line, in as many pieces as it takes."""
    if len(line) <= 2 * most and (tokens := count(line)) <= most:
        yield line, tokens
        return
    start = 0
    while (end := _find_end(line, start, most, count)) < len(line):
        piece = line[start:end].strip()
        yield piece, count(piece)
        blanks = next(_BLANKS.finditer(line, end))
        start = blanks.end()
    rest = line[start:]
    yield rest, count(rest)


def _find_end(line: str, start: int, most: int, count: Counter) -> int:
    """Where the longest piece ends that fits, at a space if there is one; behind one character at
    least.
    """
    longest = min(len(line) - start, most * _LONGEST_TOKEN)
    size = 2 * most
    while size < longest and count(line[start : start + size]) <= most:
        size *= 2
    piece = line[start : start + min(size, longest)]
    fitting = _measure_fitting(piece, most, count)
    if fitting == len(piece):
        return start + fitting
    space = piece.rfind(" ", 1, fitting + 1)
    if space < 0:
        return start + fitting
    return start + space


def _measure_fitting(text: str, most: int, count: Counter) -> int:
    """With how many characters the text fits; 1 at least."""
    longest = len(text)
    if count is count_token:
        longest = len(truncate(text, most))
    if count(text[:longest]) <= most:
        return max(1, longest)
    sizes = range(2, longest)
    return 1 + bisect_left(sizes, True, key=lambda size: count(text[:size]) > most)


class _Joining:
    """Lines on their way into chunks of at most so many tokens."""

    def __init__(self, lines: Sequence[Line], most: int) -> None:
        self._texts = list(map(itemgetter(0), lines))
        self._most = most
        places = range(len(lines))
        self._full = list(compress(places, map(str.strip, self._texts)))
        """Places of the lines with text."""
        self._empty = list_missing(places, set(self._full))
        # A line break may cost a token.
        sizes = (tokens + 1 for _, tokens in lines)
        self._sums = list(accumulate(sizes, initial=0))

    def join(self, at_empty: bool, overlap: int) -> Iterator[str]:
        """The chunks, which break at empty lines if that is wanted."""
        count, start, fresh = len(self._texts), 0, 0
        while start < count:
            full = self._sums[start] + self._most + 1
            end = max(start + 1, bisect_right(self._sums, full) - 1)
            if at_empty and end < count:
                end = self._find_empty_line(fresh, end)
            chunk = "\n".join(self._texts[start:end]).strip("\n")
            if chunk.strip():
                yield chunk
            if end == count:
                return
            start, fresh = self._next_start(start, end, overlap), end

    def _next_text(self, start: int, default: int) -> int:
        """The first line with text from `start` on."""
        following = bisect_left(self._full, start)
        return next(iter(self._full[following : following + 1]), default)

    def _find_empty_line(self, start: int, end: int) -> int:
        """The last empty line to break at; `end` when there is none behind some text."""
        first = self._next_text(start, default=end)
        before = bisect_right(self._empty, end)
        last = next(reversed(self._empty[:before]), first)
        return last if last > first else end

    def _next_start(self, start: int, end: int, overlap: int) -> int:
        """Where the next chunk begins: so many lines back as overlap, as long as a new line fits
        behind them.
        """
        following = self._next_text(end, default=end)
        least = self._sums[following + 1] - self._most - 1
        earliest = max(start + 1, bisect_left(self._sums, least))
        places = slice(bisect_left(self._full, earliest), bisect_left(self._full, end))
        back = deque(self._full[places], maxlen=max(0, overlap))
        return next(iter(back), end)


def split_files_to_chunks(
    files: Iterable[str | tuple[str, str]],
    max_tokens: int = 4000,
    chunk_mode: str = "multi_lines",
    must_break_at_empty_line: bool = True,
    custom_text_split_function: Callable[[str], Iterable[str]] | None = None,
    *,
    count: Counter = count_token,
) -> tuple[list[str], list[dict[str, str]]]:
    """The chunks of these files, and of each where it is from: `{"source": ...}`.

    A file is a path, or a path and the address that it was fetched from. A file that cannot be read
    is noted and left out;
    when none can be read, the DocumentError of the first is raised. An empty file has no chunks.
    """
    split_by_lines = partial(
        split_text_to_chunks,
        max_tokens=max_tokens,
        chunk_mode=chunk_mode,
        must_break_at_empty_line=must_break_at_empty_line,
        count=count,
    )
    split: Callable[[str], Iterable[str]] = custom_text_split_function or split_by_lines
    chunks: list[str] = []
    sources: list[dict[str, str]] = []
    failed: list[DocumentError] = []
    with Jail(Limits.from_settings(load_settings())) as jail:
        for file in files:
            path, source = (file, file) if isinstance(file, str) else file
            try:
                text = _read_text(jail, path)
            except DocumentError as error:
                bus.emit(Noted("retrieval", f"{source} is left out: {error}"))
                failed.append(error)
                continue
            found = list(filter(str.strip, _check_chunks(split(text))))
            chunks += found
            sources += [{"source": source}] * len(found)
    if failed and not chunks:
        raise failed[0]
    return chunks, sources


def _check_chunks(chunks: Iterable[str]) -> Iterable[str]:
    if isinstance(chunks, str):
        raise WrongType(
            f"custom_text_split_function must return a list of chunks, not the text {chunks!r:.80}."
        )
    return chunks


def _read_text(jail: Jail, path: str) -> str:
    """What stands in a file; nothing when the file is empty."""
    try:
        return jail.read(Path(path), path).text
    except EmptyDocument:
        return ""
