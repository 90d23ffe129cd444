"""Texts and files to chunks of so many tokens, with the names of AutoGen's `retrieve_utils`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from agentkit.core import bus
from agentkit.documents import Jail, Limits
from agentkit.errors import DocumentError, EmptyDocument, WrongArgument, WrongType
from agentkit.events import Noted
from agentkit.llm.tokens.windows import count_token, truncated
from agentkit.settings import load_settings

CHUNK_MODES = ("multi_lines", "one_line")
_LONGEST_TOKEN = 64
"""Characters; a line with more for each token that fits is not counted, which would take long, but
cut.
"""
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
    lines = [piece for line in text.split("\n") for piece in _fitting(line, max_tokens, count)]
    if chunk_mode == "one_line":
        return [line for line, _ in lines if line.strip()]
    return list(_filled(lines, max_tokens, must_break_at_empty_line, overlap))


def _fitting(line: str, most: int, count: Counter) -> Iterator[Line]:
    """The line, in as many pieces as it takes."""
    if len(line) <= 2 * most and (tokens := count(line)) <= most:
        yield line, tokens
        return
    start = 0
    while (end := _end(line, start, most, count)) < len(line):
        piece = line[start:end].strip()
        yield piece, count(piece)
        start = end
        while start < len(line) and line[start].isspace():
            start += 1
    yield line[start:], count(line[start:])


def _end(line: str, start: int, most: int, count: Counter) -> int:
    """Where the longest piece ends that fits, at a space if there is one; behind one character at
    least.
    """
    size, far = 2 * most, most * _LONGEST_TOKEN
    while start + size < len(line) and size < far and count(line[start : start + size]) <= most:
        size *= 2
    rest = line[start : start + min(size, far)]
    if start + len(rest) == len(line) and count(rest) <= most:
        return len(line)
    low, high = 1, max(1, len(truncated(rest, most)) if count is count_token else len(rest))
    low = high if count(rest[:high]) <= most else low
    while low < high:  # the most characters that fit, by halving
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(rest[:middle]) <= most else (low, middle - 1)
    space = rest.rfind(" ", 1, low + 1)
    return start + (space if space > 0 and low < len(rest) else low)


def _filled(lines: Sequence[Line], most: int, at_empty: bool, overlap: int) -> Iterator[str]:
    start = fresh = 0
    texts = [index for index, (line, _) in enumerate(lines) if line.strip()]
    # A line break may cost a token.
    sums = list(accumulate((tokens + 1 for _, tokens in lines), initial=0))
    while start < len(lines):
        end = max(start + 1, bisect_right(sums, sums[start] + most + 1) - 1)
        if at_empty and end < len(lines):
            end = _empty_line(lines, texts, fresh, end) or end
        chunk = "\n".join(line for line, _ in lines[start:end]).strip("\n")
        if chunk.strip():
            yield chunk
        if end == len(lines):
            return

        until = sums[_next_text(texts, end, default=end) + 1]
        start = _next_start(lines, sums, start, end, until - most - 1, overlap)
        fresh = end


def _next_text(texts: Sequence[int], start: int, default: int) -> int:
    """Index of the first line with text from `start` on."""
    following = bisect_left(texts, start)
    return texts[following] if following < len(texts) else default


def _empty_line(lines: Sequence[Line], texts: Sequence[int], start: int, end: int) -> int:
    """Index of the last empty line to break at; 0 when there is none behind some text."""
    first = _next_text(texts, start, default=end)
    for index in range(min(end, len(lines) - 1), first, -1):
        if not lines[index][0].strip():
            return index
    return 0


def _next_start(
    lines: Sequence[Line], sums: Sequence[int], start: int, end: int, least: int, overlap: int
) -> int:
    """Where the next chunk begins: so many lines back as overlap, as long as a new line fits behind
    them (from `least` on).
    """
    back, index = end, end
    while overlap > 0 and index - 1 > start:
        index -= 1
        if sums[index] < least:
            break
        if lines[index][0].strip():
            back, overlap = index, overlap - 1
    return back


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
    split = custom_text_split_function or partial(
        split_text_to_chunks,
        max_tokens=max_tokens,
        chunk_mode=chunk_mode,
        must_break_at_empty_line=must_break_at_empty_line,
        count=count,
    )
    chunks: list[str] = []
    sources: list[dict[str, str]] = []
    failed: list[DocumentError] = []
    with Jail(Limits.from_settings(load_settings())) as jail:
        for file in files:
            path, source = file if isinstance(file, tuple) else (file, file)
            try:
                text = _text(jail, path)
            except DocumentError as error:
                bus.emit(Noted("retrieval", f"{source} is left out: {error}"))
                failed.append(error)
                continue
            found = split(text)
            if isinstance(found, str):
                raise WrongType(
                    "custom_text_split_function must return a list of chunks, not the text"
                    f" {found!r:.80}."
                )
            kept = [chunk for chunk in found if chunk.strip()]
            chunks += kept
            sources += [{"source": source}] * len(kept)
    if failed and not chunks:
        raise failed[0]
    return chunks, sources


def _text(jail: Jail, path: str) -> str:
    """What stands in a file; nothing when the file is empty, which is no error here."""
    try:
        return jail.read(Path(path), path).text
    except EmptyDocument:
        return ""
