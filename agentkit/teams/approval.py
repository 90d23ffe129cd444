"""What may run: harmless tools do, everything else after the person agrees.

They approve, change or reject it, approve all of its kind for this answer, or a tool for always.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agentkit import runs
from agentkit.core.tools import effects_of, parse_arguments
from agentkit.errors import WrongArgument

APPROVE, APPROVE_ALL, ALWAYS = "Approve", "Approve all", "Always allow"
EDIT, REJECT = "Edit", "Reject"
OF_CODE = (APPROVE, APPROVE_ALL, EDIT, REJECT)
OF_TOOLS = (APPROVE, APPROVE_ALL, ALWAYS, EDIT, REJECT)


class Allowed(Protocol):
    """The names of tools that run without being asked about, until the person takes that back."""

    def __contains__(self, tool: object) -> bool:
        """Whether the tool is one of them."""

    def add(self, tool: str) -> None:
        """Make the tool one of them."""


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
    """Asks on behalf of one agent, and remembers what needs no question any more."""

    def __init__(self, agent: str, allowed: Allowed) -> None:
        self.agent = agent
        self._allowed = allowed
        self._asking = threading.Lock()
        self._kinds: set[str] = set()

    def of_call(self, tool: Callable[..., object] | None, name: str, arguments: str) -> Decision:
        """What becomes of a call of the tool, arguments as JSON or a text; raises Stopped."""
        if tool is not None and effects_of(tool) == "none":
            return Decision(True, arguments)
        bare = arguments.strip() in ("", "{}")
        prompt = f"May `{name}` run?" if bare else f"May `{name}` run with these arguments?"
        language = "json" if _is_object(arguments) else "text"
        return self._decide(f"tool {name}", prompt, arguments, language, OF_TOOLS, name)

    def of_code(self, prompt: str, code: str, language: str) -> Decision:
        """What becomes of the code; raises Stopped."""
        return self._decide("code", prompt, code, language, OF_CODE)

    def _decide(
        self, kind: str, prompt: str, draft: str, language: str, options: tuple[str, ...], tool: str = ""
    ) -> Decision:
        with self._asking:  # what is answered for one of several at once may answer for the others
            if kind in self._kinds or tool in self._allowed:
                return Decision(True, draft)
            answer = runs.ask_human(
                self.agent, prompt, options=options, draft=draft, language=language
            )
            choice, _, rest = answer.partition("\n")
            if choice == APPROVE_ALL:
                self._kinds.add(kind)
            elif choice == ALWAYS and tool:
                self._allowed.add(tool)
        if choice in options and choice not in (EDIT, REJECT):
            return Decision(True, draft)
        if choice == EDIT:
            return Decision(True, rest, rest.strip() != draft.strip())
        # whatever else was said is no consent
        return Decision(False, reason=(rest if choice == REJECT else answer).strip())


def rejected(what: str, reason: str) -> str:
    """A rejection as models read it."""
    because = f"They say: {reason}" if reason else "They gave no reason."
    return f"The user rejected {what}; it was not run. {because}"


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(parse_arguments(arguments), dict) and arguments.lstrip()[:1] == "{"
    except WrongArgument:
        return False


def readable(arguments: Any) -> str | None:
    """Arguments as the person reads and edits them; None for what is no JSON object."""
    try:
        given = parse_arguments(arguments if isinstance(arguments, str) else dict(arguments or {}))
    except WrongArgument:
        return None
    return json.dumps(given, ensure_ascii=False, indent=2)
