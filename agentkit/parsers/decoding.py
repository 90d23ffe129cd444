"""From the text of one JSON value to the value: strictly, and if that fails with what can be
repaired without guessing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.errors import JsonParsingError
from agentkit.parsers.base import Span, excerpt, place

_DEEPEST = 500
_NO_NUMBER = re.compile("NaN|Infinity")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# Outside of strings: what Chinese and Japanese keyboards write for JSON's own marks, and Python's
# words for its constants.
_MARKS = str.maketrans("，：｛｝［］", ",:{}[]")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_TOKEN = re.compile(
    r"""(?:[^"'“”„＂‘’/\#，：｛｝［］TFN]++|"[^"\\\x00-\x1f]*+"|'[^'\\\x00-\x1f]*+'
        |(?!(?:True|False|None)\b)[TFN])++
      | (?P<string>"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')
      | (?P<curly>[“”„＂][^“”„＂]*+[“”＂]|[‘’][^‘’]*+[‘’])
      | (?P<comment>//[^\n]*+|/\*.*?\*/|\#[^\n]*+)
      | (?P<word>\b(?:True|False|None)\b(?!\s*+[:：]))
      | (?P<mark>[，：｛｝［］])
      | (?P<open>["'“”„＂‘’]|/\*)
      | .""",
    re.DOTALL | re.VERBOSE,
)
_IN_STRING = re.compile(r'\\(?P<escaped>.)|(?P<raw>[\x00-\x1f"])', re.DOTALL)


def decode(text: str, span: Span) -> Any:
    """The JSON value that stands in the text from span[0] up to span[1].

    Repaired are trailing commas, comments, single, curly and full-width quotes, full-width
    punctuation, keys without quotes, escaped punctuation (`\\_`), Python's True, False and None,
    and an object whose quotes are all escaped. Raises JsonParsingError with line and column for all
    else, such as missing commas, quotes that are not escaped, text that is cut off, numbers that
    JSON lacks (NaN, 1e999) and nesting that is too deep.
    """
    source = text[span[0] : span[1]]
    try:
        return decode_strictly(source)
    except json.JSONDecodeError as error:
        value, repaired = _repair(source)
        if repaired:
            return value
        at = span[0] + error.pos
        problem = f"{error.msg} at {place(text, at)}, near {text[at : at + 40]!r}"
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply"
        if not isinstance(error, RecursionError):
            problem = str(error)
    raise JsonParsingError(
        f"The JSON that begins at {place(text, span[0])} cannot be read: {problem}. Reply with"
        f" valid JSON. The reply: {excerpt(text)}",
        text,
    ) from None


def decode_strictly(source: str) -> Any:
    """The JSON value in the source, which may hold raw line breaks in strings, and nothing else
    that JSON forbids.

    Raises json.JSONDecodeError, ValueError for impossible numbers and broken characters,
    RecursionError for deep nesting.
    """
    value = _DECODER.decode(source)
    if _SURROGATE.search(source):
        _refuse_halves(value)
    return value


def decode_prefix(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at that index, and the index behind it; raises as
    `decode_strictly` does.
    """
    value, end = _DECODER.raw_decode(text, start)
    if _SURROGATE.search(text, start, end):
        _refuse_halves(value)
    return value, end


def _read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        _refuse_number(digits)
    return number


def _refuse_number(digits: str) -> Any:
    raise ValueError(f"{digits[:40]} is not a number in JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_number, parse_float=_read_float)


def _refuse_halves(value: object) -> None:
    """No text that cannot be stored: half of a character that \\u writes in two halves."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "there is half of a character (a lone surrogate, \\ud800 to \\udfff)"
        ) from None


def _repair(source: str) -> tuple[Any, bool]:
    """The value, and whether there is one."""
    import pyjson5

    try:
        if re.match(r'[{\[]\s*+\\"', source):
            return decode_strictly(json.loads(f'"{source}"', strict=False)), True
        value = pyjson5.decode(_TOKEN.sub(_to_json5, source), maxdepth=_DEEPEST)
        if _NO_NUMBER.search(source):
            json.dumps(value, allow_nan=False)
    except (pyjson5.Json5Exception, ValueError, RecursionError):
        return None, False
    return value, True


def _to_json5(token: re.Match[str]) -> str:
    """What is outside of strings in ASCII, what is inside of them without anything that JSON5
    forbids.
    """
    return _JSON5[token.lastgroup](token[0])


def _write_string(found: str) -> str:
    return _quote(found[1:-1], found[0])


def _write_curly(found: str) -> str:
    return _quote(found[1:-1], '"')


def _write_comment(found: str) -> str:
    return " "


def _write_mark(found: str) -> str:
    return found.translate(_MARKS)


def _refuse_open(found: str) -> str:
    raise ValueError("a string or a comment never ends")


_JSON5: Mapping[str | None, Callable[[str], str]] = {
    None: str,
    "string": _write_string,
    "curly": _write_curly,
    "comment": _write_comment,
    "word": _WORDS.__getitem__,
    "mark": _write_mark,
    "open": _refuse_open,
}
"""By the group of the pattern that a token is of; others stay as they are."""


def _quote(content: str, quote: str) -> str:
    return quote + _IN_STRING.sub(lambda part: _escape(part, quote), content) + quote


def _escape(part: re.Match[str], quote: str) -> str:
    escaped, raw = part["escaped"], part["raw"]
    if raw is None:
        # "C:\dir" and "\alpha" may mean a backslash or not: nobody knows.
        is_unknown = escaped.isalnum() and escaped not in "bfnrtu"
        if is_unknown:
            raise ValueError(f"\\{escaped} is not an escape in JSON")
        return part[0]
    is_plain = raw == '"' and quote != '"'
    if is_plain:
        return raw
    return f"\\u{ord(raw):04x}"
