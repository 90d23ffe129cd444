"""Text of models, people and documents made safe to show as Markdown. Raw HTML is never switched on; this is for the rest."""

from __future__ import annotations

import re
from collections.abc import Collection

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?!\()")
_CONTROL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=])")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)", re.MULTILINE)


def literal(text: str) -> str:
    """One line of text exactly as it stands, for labels, names and captions."""
    return _CONTROL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Markdown of a person or a model: formatted, but `$` stays a dollar sign and no picture is fetched from anywhere."""
    return "".join(part if index % 2 else _tame(part) for index, part in enumerate(_CODE.split(text)))


def answer(text: str, message_id: str, markers: Collection[int]) -> str:
    """An answer in Markdown whose `[n]` are links `#cite-MESSAGE-n`, for the markers that have a source."""

    def link(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(",")]
        return "".join(f"[[{n}]](#cite-{message_id}-{n})" if n in markers else f"\\[{n}\\]" for n in numbers)

    return "".join(part if index % 2 else _MARKER.sub(link, _tame(part)) for index, part in enumerate(_CODE.split(text)))


def finished(text: str) -> tuple[str, str]:
    """A growing text cut into what will not change any more (whole paragraphs) and the rest."""
    for match in reversed(list(re.finditer(r"\n\s*\n", text))):
        if len(_FENCE.findall(text[: match.start()])) % 2 == 0:
            return text[: match.start()], text[match.end() :]
    return "", text


def _tame(text: str) -> str:
    return re.sub(r"(?<!\\)\$", r"\\$", text).replace("![", "!\\[")
