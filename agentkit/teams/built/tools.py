"""Tools that agents of built teams may call, and the question before one of them runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal

from agentkit.core.tools import effects_of, parse_arguments, to_text
from agentkit.teams.approval import (
    NOT_REPEATED,
    Allowed,
    Approval,
    describe_rejection,
    mark_asking,
)
from agentkit.teams.planning_calculator import calculate
from agentkit.teams.tools import todays_date

BUILT_IN: Mapping[str, Callable[..., Any]] = {
    "calculate": calculate,
    "todays_date": todays_date,
}
Policy = Literal["never", "first", "always"]


def guard(tool: Callable[..., Any], agent: str, allowed: Allowed, policy: Policy) -> Any:
    """The tool, which runs once the person has agreed; one without effects runs as it is.

    Sync or async as the tool is. What was rejected is told to the model in place of a result.
    """
    if effects_of(tool) == "none":
        return tool
    ask = _Asker(tool, agent, allowed, policy)
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

    def __init__(
        self, tool: Callable[..., Any], agent: str, allowed: Allowed, policy: Policy
    ) -> None:
        self._tool, self._policy = tool, policy
        self._approval = Approval(agent, allowed)
        self._agreed = policy == "never"

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | str:
        name = self._tool.__name__
        given = inspect.signature(self._tool).bind(*args, **kwargs).arguments
        told = to_text(given)
        if not self._agreed:
            decision = self._approval.of_call(self._tool, name, told)
            if not decision.approved:
                return describe_rejection("this call", decision)
            self._agreed = self._policy == "first"
            told = decision.draft
        if not self._approval.may_repeat(self._tool, name, told):
            return NOT_REPEATED
        return dict(parse_arguments(told))
