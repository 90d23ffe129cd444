"""Text of models, people and documents made safe to show as Markdown. Raw HTML is never switched on; this is for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_INSIDE = r"((?:(?!\n[ \t]*\n).)+?)"  # of a formula, which no empty line interrupts
_FORMULA = re.compile(
    rf"(?<!\\)(?:\$\${_INSIDE}\$\$|\\\[{_INSIDE}\\\]|\\\({_INSIDE}\\\)|(?<![$\w])\$(?!\s)([^$\n]+?)(?<![\s\\])\$(?![$\w]))",
    re.DOTALL,
)
"""What stands between the signs that models put around formulas: `$$ $$` and `\\[ \\]`, `\\( \\)` and `$ $`."""
_MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?!\()")
_CONTROL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=])")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)", re.MULTILINE)


def literal(text: str) -> str:
    """One line of text exactly as it stands, for labels, names and captions."""
    return _CONTROL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Markdown of a person or a model: formatted, with formulas, but `$5` is a price and no picture is fetched."""
    return _in_parts(text, _tame)


def answer(text: str, message_id: str, markers: Collection[int]) -> str:
    """An answer in Markdown whose `[n]` are links `#cite-MESSAGE-n`, for the markers that have a source."""

    def link(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[1].split(",")]
        return "".join(f"[[{n}]](#cite-{message_id}-{n})" if n in markers else f"\\[{n}\\]" for n in numbers)

    return _in_parts(text, lambda part: _MARKER.sub(link, _tame(part)))


def finished(text: str) -> tuple[str, str]:
    """A growing text cut into what will not change any more (whole paragraphs) and the rest."""
    for match in reversed(list(re.finditer(r"\n\s*\n", text))):
        if len(_FENCE.findall(text[: match.start()])) % 2 == 0:
            return text[: match.start()], text[match.end() :]
    return "", text


def _in_parts(text: str, show: Callable[[str], str]) -> str:
    """The text with code as it stands, formulas as Streamlit wants them, and the prose between as `show` makes it."""
    return "".join(part if index % 2 else _with_formulas(part, show) for index, part in enumerate(_CODE.split(text)))


def _with_formulas(text: str, show: Callable[[str], str]) -> str:
    shown, end = [], 0
    for match in _FORMULA.finditer(text):
        inside = next(group for group in match.groups() if group).strip()
        if not _is_formula(inside):
            continue
        indent, after = text[: match.start()].rpartition("\n")[2], text[match.end() :].partition("\n")[0]
        alone = match[0][:2] in ("$$", "\\[") and not (indent + after).strip()
        shown += [show(text[end : match.start()]), f"$$\n{indent}{inside}\n{indent}$$" if alone else f"${inside}$"]
        end = match.end()
    return "".join([*shown, show(text[end:])])


def _is_formula(text: str) -> bool:
    """Whether it looks like one: `$5 (= 4.60 euros) or 6$` does not, nor does `\\[1\\]`."""
    return bool(re.search(r"[\\^]" if text[:1].isdigit() else r"[\\^_={]|^[A-Za-z]$", text))


def _tame(text: str) -> str:
    return re.sub(r"(?<!\\)\$", r"\\$", text).replace("![", "!\\[")
