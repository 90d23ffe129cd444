"""Texts and files to chunks of so many tokens, with the names of AutoGen's `retrieve_utils`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from agentkit.core import bus
from agentkit.documents import Jail, Limits
from agentkit.errors import DocumentError, EmptyDocument, WrongArgument
from agentkit.events import Noted
from agentkit.llm.token_limits import count_token, truncated
from agentkit.settings import load_settings

CHUNK_MODES = ("multi_lines", "one_line")
_LONGEST_TOKEN = 64
"""Characters; a line with more for each token that fits is not counted, which would take long, but cut."""
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
    """Chunks of whole lines, each of `max_tokens` at most; nothing of the text is lost but empty lines at a chunk's ends.

    `one_line` makes a chunk of every line. `multi_lines` fills chunks, breaks them at an empty line where there is one to break
    at (if `must_break_at_empty_line`), and begins each with the last `overlap` lines of the one before. A line that is too long
    by itself is cut between words. Raises WrongArgument (an AssertionError) for an unknown mode or no tokens at all.
    """
    if chunk_mode not in CHUNK_MODES:
        raise WrongArgument(f"split_text_to_chunks: chunk_mode must be one of {', '.join(CHUNK_MODES)}, not {chunk_mode!r}.")
    if max_tokens < 1:
        raise WrongArgument(f"split_text_to_chunks: max_tokens must be 1 or more, not {max_tokens!r}.")
    lines = [piece for line in text.split("\n") for piece in _fitting(line, max_tokens, count)]
    if chunk_mode == "one_line":
        return [line for line, _ in lines if line.strip()]
    return list(_filled(lines, max_tokens, must_break_at_empty_line, overlap))


def _fitting(line: str, most: int, count: Counter) -> Iterator[Line]:
    """The line, in as many pieces as it takes."""
    far = most * _LONGEST_TOKEN
    while len(line) > far or count(line) > most:
        piece = _beginning(line[:far], most, count)
        yield piece.strip(), count(piece.strip())
        line = line[len(piece) :].lstrip()
    yield line, count(line)


def _beginning(line: str, most: int, count: Counter) -> str:
    """The longest beginning of a line that fits, up to a space if there is one; at least one character."""
    low, high = 1, len(truncated(line, most)) if count is count_token else len(line)
    while low < high:  # the most characters that fit, by halving
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(line[:middle]) <= most else (low, middle - 1)
    space = line.rfind(" ", 1, low + 1)
    return line[: space if space > 0 and low < len(line) else low]


def _filled(lines: Sequence[Line], most: int, at_empty: bool, overlap: int) -> Iterator[str]:
    start = fresh = 0
    while start < len(lines):
        end, total = start, 0
        while end < len(lines) and (end == start or total + lines[end][1] + 1 <= most + 1):
            total += lines[end][1] + 1  # a line break may cost a token
            end += 1
        if at_empty and end < len(lines):
            end = _empty_line(lines, fresh, end) or end
        chunk = "\n".join(line for line, _ in lines[start:end]).strip("\n")
        if chunk.strip():
            yield chunk
        start, fresh = (_next_start(lines, start, end, most, overlap) if end < len(lines) else end), end


def _empty_line(lines: Sequence[Line], start: int, end: int) -> int:
    """Index of the last empty line to break at; 0 when there is none behind some text."""
    for index in range(min(end, len(lines) - 1), start, -1):
        if not lines[index][0].strip() and any(line.strip() for line, _ in lines[start:index]):
            return index
    return 0


def _next_start(lines: Sequence[Line], start: int, end: int, most: int, overlap: int) -> int:
    """Where the next chunk begins: so many lines back as overlap, as long as a new line fits behind them."""
    fresh = next((index for index in range(end, len(lines)) if lines[index][0].strip()), end)
    back, index = end, end
    while overlap > 0 and index - 1 > start:
        index -= 1
        if sum(tokens + 1 for _, tokens in lines[index : fresh + 1]) > most + 1:
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

    A file is a path, or a path and the address that it was fetched from. A file that cannot be read is noted and left out;
    when none can be read, the DocumentError of the first is raised. An empty file has no chunks.
    """
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
            found = custom_text_split_function(text) if custom_text_split_function else split_text_to_chunks(
                text, max_tokens, chunk_mode, must_break_at_empty_line, count=count)  # fmt: skip
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
