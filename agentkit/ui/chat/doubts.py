"""What is said of the markers of an answer that their passages do not bear out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from agentkit.ui.text import markdown

_SHOWN = 6  # lines below an answer
_LONGEST = 60  # characters of what a passage does not say


def places(checks: Sequence[dict[str, Any]]) -> set[tuple[int, int]]:
    """Where markers stand that are not to look like citations, with their numbers."""
    return {(int(one["at"]), int(one["marker"])) for one in checks if _is_doubtful(one)}


def wholly_doubtful(checks: Sequence[dict[str, Any]]) -> set[int]:
    """Numbers of the markers that are doubtful wherever they stand."""
    doubtful = {int(one["marker"]) for one in checks if _is_doubtful(one)}
    return doubtful - {int(one["marker"]) for one in checks if not _is_doubtful(one)}


def of_marker(
    checks: Sequence[Mapping[str, object]], marker: int, nth: int | None = None
) -> list[str]:
    """What is doubtful about one marker, a sentence in Markdown for each reason.

    With `nth`, only what is so where it stands for the `nth` time, from 0.
    """
    mine = [one for one in checks if one["marker"] == marker]
    if nth is not None and nth < len(mine):
        mine = [mine[nth]]
    doubtful = [one for one in mine if one["verdict"] == "doubtful"]
    return list(dict.fromkeys(f"The passage {_reason(one)}." for one in doubtful))


def draw_legend(checks: Sequence[dict[str, Any]]) -> None:
    """A line below the answer for each thing that is doubtful; nothing when there is none."""
    lines = list(dict.fromkeys(_lines(checks)))
    if not lines:
        return
    more = len(lines) - _SHOWN
    left = [f"- and {more} more"] if more > 0 else []
    shown = "\n".join([f"- {line}" for line in lines[:_SHOWN]] + left)
    st.caption(f":material/help: **Check before you rely on it:**\n{shown}")


def _lines(checks: Sequence[dict[str, Any]]) -> Iterator[str]:
    for one in sorted(filter(_is_doubtful, checks), key=lambda one: int(one["at"])):
        marker = markdown.literal(f"[{one['marker']}?]")
        yield f"{marker} {_reason(one)}"


def _reason(one: Mapping[str, object]) -> str:
    what = str(one.get("what", ""))
    what = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}…"
    quoted = f"“{markdown.literal(what)}”"
    if one["verdict"] == "missing":
        return "names no passage"
    match one.get("kind"):
        case "number" | "date" | "name":
            return f"does not say {quoted}"
        case "negation":
            return f"and the sentence differ in {quoted}"
        case _:
            return "does not seem to be about this"


def _is_doubtful(one: Mapping[str, object]) -> bool:
    return one["verdict"] in ("doubtful", "missing")
