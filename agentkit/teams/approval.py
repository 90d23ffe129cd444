"""Nothing runs before the person agrees: they approve, change or reject it, or approve all of its kind for this answer."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit import runs

APPROVE, APPROVE_ALL, EDIT, REJECT = "Approve", "Approve all", "Edit", "Reject"
OPTIONS = (APPROVE, APPROVE_ALL, EDIT, REJECT)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person decided."""

    approved: bool
    draft: str = ""
    """What is to run now."""
    changed: bool = False
    """Whether the person changed it."""
    reason: str = ""
    """Why it was rejected, as far as they said."""


class Approval:
    """Asks on behalf of one agent, and remembers what needs no question any more until the answer is there."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._kinds: set[str] = set()

    def decide(self, kind: str, prompt: str, draft: str, language: str) -> Decision:
        """What becomes of the draft, a thing of this kind; raises Stopped when the run is stopped meanwhile."""
        if kind in self._kinds:
            return Decision(True, draft)
        answer = runs.ask_human(self.agent, prompt, options=OPTIONS, draft=draft, language=language)
        choice, _, rest = answer.partition("\n")
        if choice == APPROVE_ALL:
            self._kinds.add(kind)
        if choice in (APPROVE, APPROVE_ALL):
            return Decision(True, draft)
        if choice == EDIT:
            return Decision(True, rest, rest.strip() != draft.strip())
        # whatever else was said is no consent
        return Decision(False, reason=(rest if choice == REJECT else answer).strip())
