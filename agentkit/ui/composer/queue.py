"""The questions that wait for the answer of their chat to end; other tabs change them, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkit import runs
from agentkit.errors import NotFound
from agentkit.messages import new_id, without_keys
from agentkit.teams import Question
from agentkit.ui.shared import kept, state

Change = Callable[[dict[str, Any]], dict[str, Any] | None]


def read(chat_id: str | None) -> list[dict[str, Any]]:
    """The questions that wait for an answer to end, in the order in which they were sent."""
    return list(kept.get(chat_id, "queue") or [])


def put(question: Question) -> None:
    """Put it at the end of the queue of its chat."""
    waiting = {**question.to_json(), "id": new_id()}
    while True:  # until no other tab has changed it meanwhile
        before = kept.get(question.chat_id, "queue")
        if kept.exchange(question.chat_id, "queue", before, [*(before or []), waiting]):
            return


def take(chat_id: str | None, queued: Mapping[str, object]) -> bool:
    """Take a question out of the queue; False when another tab was faster."""
    while True:
        before = read(chat_id)
        left = [one for one in before if one["id"] != queued["id"]]
        if len(left) == len(before):
            return False
        if kept.exchange(chat_id, "queue", before, left or None):
            return True


def hold(chat_id: str | None, *, held: bool) -> None:
    """Let all that waits be asked only when the person says so, or no longer."""
    change(chat_id, lambda one: {**one, "held": held})


def forget_heard(chat_id: str) -> None:
    """Drop what the agents have heard; what they have not is asked now."""

    def settle(one: dict[str, Any]) -> dict[str, Any] | None:
        if not (said_to := one.get("said_to")):
            return one
        try:
            unheard = one["text"] in runs.get(said_to, state.owner()).unheard
        except NotFound:  # the app was closed meanwhile: the person says whether it is to be asked
            return {**without_keys(one, ["said_to"]), "held": True}
        if unheard:
            return without_keys(one, ["said_to"])
        return None

    change(chat_id, settle)


def change(chat_id: str | None, step: Change) -> None:
    """Change each question that waits, None to drop it."""
    while True:  # until no other tab has changed them meanwhile
        before = read(chat_id)
        after = [one for one in map(step, before) if one is not None]
        if after == before or kept.exchange(chat_id, "queue", before, after or None):
            return
