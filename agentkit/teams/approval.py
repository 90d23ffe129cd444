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
from agentkit.core import replay
from agentkit.core.tools import Origin, effects_of, name_permission, origin_of, parse_arguments
from agentkit.errors import WrongArgument
from agentkit.events import WantedCall
from agentkit.options import OptionKey, read_choice

OF_CODE: tuple[OptionKey, ...] = ("approve", "approve_all", "edit", "reject")
OF_TOOLS: tuple[OptionKey, ...] = ("approve", "approve_all", "always", "edit", "reject")
OF_STORES: tuple[OptionKey, ...] = ("approve", "always", "reject")
OF_REPEATS: tuple[OptionKey, ...] = ("approve", "reject")
_REPEAT = (
    "`{name}` had begun when the app was closed, and it is not known whether it was done. Run it"
    " again?"
)
NOT_REPEATED = (
    "This call had begun when the app was closed; whether it was done is not known. The user does"
    " not want it to be made again."
)
"""As models read it."""
AGREED: tuple[OptionKey, ...] = ("approve", "approve_all", "always", "edit")


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
    waited_s: float | None = None
    """How long nobody answered, where nobody did."""


class Approval:
    """Asks on behalf of one agent, and remembers what needs no question any more."""

    def __init__(self, agent: str, allowed: Allowed, wanted_by: str = "") -> None:
        """`wanted_by`: the agent that wants the calls, where it is one only."""
        self.agent = agent
        self._wanted_by = wanted_by
        self._allowed = allowed
        self._asking = threading.Lock()
        self._kinds: set[str] = set()

    def of_call(
        self,
        tool: Callable[..., object] | None,
        name: str,
        arguments: str,
        permit: str = "",
        origin: Origin | None = None,
    ) -> Decision:
        """What becomes of a call of the tool, arguments as JSON or a text; raises Stopped.

        `permit`: under which name a permission for always counts, and `origin`: what people are
        told of it; else the tool says both, or its name is it.
        """
        if _is_harmless(tool):
            return Decision(True, arguments)
        prompt = f"May `{name}` run with these arguments?"
        if arguments.strip() in ("", "{}"):
            prompt = f"May `{name}` run?"
        was_done = replay.find_recording().has_result(self.agent, name, arguments)
        return self._decide(
            f"tool {name}",
            prompt,
            arguments,
            _find_language(arguments),
            OF_TOOLS,
            permit or name_permission(tool, name),
            was_done=was_done,
            wants=self._tell_wanted(origin or origin_of(tool, name)),
        )

    def may_repeat(
        self,
        tool: Callable[..., object] | None,
        name: str,
        arguments: str,
        origin: Origin | None = None,
    ) -> bool:
        """Whether a call may be made, though it had begun when the run broke off with which this
        one goes on, and nobody knows whether it was done. Raises Stopped.
        """
        if _is_harmless(tool):
            return True
        prompt = _REPEAT.format(name=name)
        recording = replay.find_recording()
        has_begun = recording.has_begun(self.agent, name, arguments)
        was_asked = recording.has_asked(self.agent, prompt, arguments)
        if not has_begun and not was_asked:
            return True
        wants = self._tell_wanted(origin or origin_of(tool, name), again=True)
        answer = runs.ask_human(
            self.agent,
            prompt,
            options=OF_REPEATS,
            draft=arguments,
            language=_find_language(arguments),
            wants=wants,
        )
        choice, _ = read_choice(answer)
        return choice == "approve"

    def of_code(
        self, prompt: str, code: str, language: str, tool: str = "", name: str = ""
    ) -> Decision:
        """What becomes of the code, which may be what the tool of that name is given; raises
        Stopped.
        """
        was_done = replay.find_recording().has_code(self.agent, language, code)
        wants = None
        if name:
            wants = self._tell_wanted(Origin(name))
        return self._decide(
            "code",
            prompt,
            code,
            language,
            OF_CODE,
            tool,
            was_done=was_done,
            wants=wants,
        )

    def of_store(self, prompt: str, config: str, permit: str) -> Decision:
        """Whether the store with this config, as JSON, may be opened; raises Stopped.

        `permit`: under which name a permission for always counts.
        """
        return self._decide("store", prompt, config, "json", OF_STORES, permit)

    def _tell_wanted(self, origin: Origin, *, again: bool = False) -> WantedCall | None:
        """Who wants to call what; None where it is not known who."""
        if not self._wanted_by:
            return None
        return WantedCall(self._wanted_by, origin.tool, origin.server, again)

    def _was_asked(self, prompt: str, draft: str) -> bool:
        """Whether the finished run that this one begins from asked the same."""
        recording = replay.find_recording()
        if not recording.repeats:
            return False
        return recording.has_asked(self.agent, prompt, draft)

    def _may_pass(self, kind: str, tool: str, *, was_done: bool) -> bool:
        """Whether nobody need be asked.

        In a run that begins from a finished one, what was agreed to there counts only for what is
        not done anew.
        """
        if kind in self._kinds:
            return True
        if replay.find_recording().repeats:
            return was_done
        return tool in self._allowed

    def _decide(
        self,
        kind: str,
        prompt: str,
        draft: str,
        language: str,
        options: tuple[OptionKey, ...],
        tool: str = "",
        *,
        was_done: bool = False,
        wants: WantedCall | None = None,
    ) -> Decision:
        with self._asking:  # what is answered for one of several at once may answer for the others
            asked_before = self._was_asked(prompt, draft)
            if not asked_before and self._may_pass(kind, tool, was_done=was_done):
                return Decision(True, draft)
            answer = runs.ask_human(
                self.agent,
                prompt,
                options=options,
                draft=draft,
                language=language,
                tool=tool,
                wants=wants,
            )
            if not asked_before:
                self._remember(answer, kind, tool)
        return _read_decision(answer, draft, options)

    def _remember(self, answer: str, kind: str, tool: str) -> None:
        """What was agreed to for more than this once."""
        choice, _ = read_choice(answer)
        if choice == "approve_all":
            self._kinds.add(kind)
            return
        is_lasting = choice == "always" and tool
        if is_lasting:
            self._allowed.add(tool)


def _read_decision(answer: str, draft: str, options: tuple[OptionKey, ...]) -> Decision:
    """What an answer says; anything but the options that agree is a refusal."""
    choice, rest = read_choice(answer)
    if choice == "edit":
        was_changed = rest.strip() != draft.strip()
        return Decision(True, rest, was_changed)
    is_consent = choice in options and choice in AGREED
    if is_consent:
        return Decision(True, draft)
    if isinstance(answer, runs.Unanswered):
        return Decision(False, waited_s=answer.waited_s)
    reason = answer
    if choice == "reject":
        reason = rest
    return Decision(False, reason=reason.strip())


def describe_rejection(what: str, decision: Decision) -> str:
    """A rejection as models read it."""
    if decision.waited_s is not None:
        within = f"no answer within {decision.waited_s:g} seconds"
        return f"{what} was not run: it needs the user's approval, and there was {within}."
    because = "They gave no reason."
    if decision.reason:
        because = f"They say: {decision.reason}"
    return f"The user rejected {what}; it was not run. {because}"


def _is_object(arguments: str) -> bool:
    if not arguments.lstrip().startswith("{"):
        return False
    try:
        given = parse_arguments(arguments)
    except WrongArgument:
        return False
    return isinstance(given, dict)


def _find_language(arguments: str) -> str:
    """What arguments are written in, for whoever shows them."""
    if _is_object(arguments):
        return "json"
    return "text"


def _is_harmless(tool: Callable[..., object] | None) -> bool:
    """Whether a tool is known, and changes nothing."""
    return tool is not None and effects_of(tool) == "none"


def format_arguments(arguments: Any) -> str | None:
    """Arguments as the person reads and edits them; None for anything but a JSON object."""
    given = arguments
    if not isinstance(arguments, str):
        given = dict(arguments or {})
    try:
        read = parse_arguments(given)
    except WrongArgument:
        return None
    return json.dumps(read, ensure_ascii=False, indent=2)


class Unasked(Approval):
    """For scripts, whose person has read what they run: everything is agreed to."""

    def of_call(
        self,
        tool: Callable[..., object] | None,
        name: str,
        arguments: str,
        permit: str = "",
        origin: Origin | None = None,
    ) -> Decision:
        """The call as it is."""
        return Decision(True, arguments)

    def of_code(
        self, prompt: str, code: str, language: str, tool: str = "", name: str = ""
    ) -> Decision:
        """The code as it is."""
        return Decision(True, code)


def name_agreement(agent: str, permit: str) -> str:
    """How it is remembered in a chat that the person agreed to an agent's first call of a tool."""
    return f"{agent}: {permit}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether an agent's calls of one tool are asked about, by its policy: `never`, the `first` of
    a chat alone, or `always`.
    """

    policy: str
    remembered: str
    """As `name_agreement` gives it."""
    agreed: Allowed
    """What was agreed to in the chat."""

    @property
    def is_given(self) -> bool:
        """Whether nobody need be asked."""
        if self.policy == "first":
            return self.remembered in self.agreed
        return self.policy == "never"

    def remember(self) -> None:
        """Where the first call alone is asked about, the others are agreed to from now on."""
        if self.policy == "first":
            self.agreed.add(self.remembered)


_ASKS = "asks_itself"


def mark_asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that asks the person itself, as far as that is wanted."""
    function.__dict__[_ASKS] = True
    return function


def asks_itself(function: Callable[..., Any]) -> bool:
    """Whether nobody else has to ask before it runs."""
    return _ASKS in getattr(function, "__dict__", {})
