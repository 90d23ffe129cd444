"""Tools that agents of built teams may call, and the question before one of them runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from agentkit.conversation import ConversableAgent, register_function
from agentkit.conversation.tooling import normalize_name
from agentkit.core.given import coalesce
from agentkit.core.tools import (
    Effects,
    effects_of,
    name_permission,
    parse_arguments,
    schema_of,
    to_text,
)
from agentkit.teams.approval import (
    NOT_REPEATED,
    Agreement,
    Allowed,
    Approval,
    Decision,
    describe_rejection,
    mark_asking,
    name_agreement,
)
from agentkit.teams.built.agents import Mark, Policy
from agentkit.teams.findings import DESCRIPTION, DESCRIPTION_FIND, FIND, SEARCH
from agentkit.teams.planning.calculator import calculate
from agentkit.teams.tools import todays_date

BUILT_IN: Mapping[str, Callable[..., Any]] = {
    "calculate": calculate,
    "todays_date": todays_date,
}
"""Those that need nothing; `agentkit.teams.built.offers` makes the others."""
_DESCRIPTIONS: Mapping[str, str] = {SEARCH: DESCRIPTION, FIND: DESCRIPTION_FIND}
"""What models are told where the function itself says it to those who read code."""
CODE_IN = "code_in"
"""The attribute of a tool that names its argument with Python code."""
_MAY_RUN = "May this Python code run?"
_MARKS: Mapping[Mark, Effects] = {"harmless": "none", "dangerous": "some"}


def name_call(name: str) -> str:
    """Under which name a model calls the tool: servers take letters, digits, `_` and `-` only."""
    return normalize_name(name.replace("/", "__"))


def mark(tool: Callable[..., Any], marked: Mark) -> Callable[..., Any]:
    """The tool, taken for harmless or dangerous as the team says, or as it declares itself."""
    if marked == "as_declared" or effects_of(tool) == _MARKS[marked]:
        return tool

    @wraps(tool)
    def marked_tool(*args: Any, **kwargs: Any) -> Any:
        return tool(*args, **kwargs)

    vars(marked_tool)["effects"] = _MARKS[marked]
    return marked_tool


def offer_tool(
    name: str, tool: Callable[..., Any], caller: ConversableAgent, executor: ConversableAgent
) -> None:
    """Let `caller` ask for the tool, and `executor` run it."""
    called, about = name_call(name), _DESCRIPTIONS.get(name, str(inspect.getdoc(tool)))
    parameters = schema_of(tool)
    if parameters is None:
        register_function(tool, caller=caller, executor=executor, name=called, description=about)
        return
    told = {"name": called, "description": about, "parameters": parameters}
    caller.update_tool_signature({"type": "function", "function": told}, is_remove=False)
    executor.register_function({called: tool})


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks before a tool runs, when, and what was agreed to before."""

    agent: str
    """The one that runs the tool."""
    wanted_by: str
    """The one that calls it."""
    allowed: Allowed
    policy: Policy = "always"
    agreed: Allowed | None = None
    """Of which tools the first call was agreed to in the chat; None for this answer alone."""


def guard(tool: Callable[..., Any], asking: Asking) -> Any:
    """The tool, which runs once the person has agreed; one without effects runs as it is.

    Sync or async as the tool is. What was rejected is told to the model in place of a result.
    """
    if effects_of(tool) == "none":
        return tool
    ask = _Asker(tool, asking)
    if inspect.iscoroutinefunction(tool):

        @wraps(tool)
        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            given = ask(args, kwargs)
            return given if isinstance(given, str) else await tool(**given)

        return mark_asking(guarded_async)

    @wraps(tool)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        given = ask(args, kwargs)
        return given if isinstance(given, str) else tool(**given)

    return mark_asking(guarded)


class _Asker:
    """Gives the arguments with which a call may be made, or what the model is told instead."""

    def __init__(self, tool: Callable[..., Any], asking: Asking) -> None:
        self._tool = tool
        self._approval = Approval(asking.agent, asking.allowed, asking.wanted_by)
        remembered = name_agreement(asking.agent, name_permission(tool, tool.__name__))
        agreed = coalesce(asking.agreed, set[str]())
        self._agreement = Agreement(asking.policy, remembered, agreed)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | str:
        name, given = self._tool.__name__, self._bind(args, kwargs)
        told = to_text(given)
        if not self._agreement.is_given:
            decision = self._decide(name, given)
            if not decision.approved:
                return describe_rejection("this call", decision)
            self._agreement.remember()
            told = decision.draft
        if self._approval.may_repeat(self._tool, name, told):
            return dict(parse_arguments(told))
        return NOT_REPEATED

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name; a tool told by a schema is only given such."""
        takes_words = schema_of(self._tool) is not None
        if takes_words and not args:
            return kwargs
        signature = inspect.signature(self._tool)
        bound = signature.bind(*args, **kwargs)
        return dict(bound.arguments)

    def _decide(self, name: str, given: Mapping[str, Any]) -> Decision:
        """What the person says; they read and edit code as code, all else as JSON."""
        argument = getattr(self._tool, CODE_IN, "")
        if not argument:
            return self._approval.of_call(self._tool, name, to_text(given))
        code, permit = str(given.get(argument, "")), name_permission(self._tool, name)
        decision = self._approval.of_code(_MAY_RUN, code, "python", permit, name)
        return replace(decision, draft=to_text({**given, argument: decision.draft}))
