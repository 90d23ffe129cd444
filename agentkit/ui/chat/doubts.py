"""What is said of the markers of an answer that their passages do not bear out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from agentkit.core.text import shorten
from agentkit.ui.text import markdown

_SHOWN = 6  # lines below an answer
_LONGEST = 60  # characters of what a passage does not say


_REASONS = {
    "number": "does not say {what}",
    "date": "does not say {what}",
    "name": "does not say {what}",
    "negation": "and the sentence differ in {what}",
}
"""What is wrong with a passage, by the kind of doubt."""
_ABOUT_ELSE = "does not seem to be about this"


def places(checks: Sequence[dict[str, Any]]) -> set[tuple[int, int]]:
    """Where markers stand that are not to look like citations, with their numbers."""
    return {(int(one["at"]), int(one["marker"])) for one in checks if _is_doubtful(one)}


def wholly_doubtful(checks: Sequence[dict[str, Any]]) -> set[int]:
    """Numbers of the markers that are doubtful wherever they stand."""
    verdicts: dict[bool, set[int]] = {True: set(), False: set()}
    for one in checks:
        verdicts[_is_doubtful(one)].add(int(one["marker"]))
    return verdicts[True] - verdicts[False]


def of_marker(
    checks: Sequence[Mapping[str, object]], marker: int, nth: int | None = None
) -> list[str]:
    """What is doubtful about one marker, a sentence in Markdown for each reason.

    With `nth`, only what is so where it stands for the `nth` time, from 0.
    """
    mine = [one for one in checks if one["marker"] == marker]
    if nth is not None:
        mine = mine[nth : nth + 1] or mine
    told = [f"The passage {_reason(one)}." for one in mine if _is_doubtful(one)]
    return list(dict.fromkeys(told))


def draw_legend(checks: Sequence[dict[str, Any]]) -> None:
    """A line below the answer for each thing that is doubtful; nothing when there is none."""
    lines = list(dict.fromkeys(_lines(checks)))
    if not lines:
        return
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
    listed = "\n- ".join(lines)
    st.caption(f":material/help: **Check before you rely on it:**\n- {listed}")


def _lines(checks: Sequence[dict[str, Any]]) -> Iterator[str]:
    for one in sorted(filter(_is_doubtful, checks), key=lambda one: int(one["at"])):
        marker = markdown.literal(f"[{one['marker']}?]")
        yield f"{marker} {_reason(one)}"


def _reason(one: Mapping[str, object]) -> str:
    if one["verdict"] == "missing":
        return "names no passage"
    shown = shorten(str(one.get("what", "")), _LONGEST)
    reason = _REASONS.get(str(one.get("kind")), _ABOUT_ELSE)
    return reason.format(what=f"“{markdown.literal(shown)}”")


def _is_doubtful(one: Mapping[str, object]) -> bool:
    return one["verdict"] in ("doubtful", "missing")
