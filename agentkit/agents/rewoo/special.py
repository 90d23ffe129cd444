"""Actions that are there from the start: plain functions, and the answers to calls of no or an
unknown action.
"""

from __future__ import annotations

from collections.abc import Callable

from agentkit.agents.rewoo.actions import BaseAction
from agentkit.agents.rewoo.describing import Description, describe, tool_api
from agentkit.agents.rewoo.inputs import BaseParser
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode, ActionValidCode
from agentkit.errors import WrongType


class FunctionAction(BaseAction):
    """A plain function, sync or async, as an action."""

    def __init__(
        self,
        function: Callable[..., object],
        name: str | None = None,
        description: str | None = None,
        *,
        enable: bool = True,
    ) -> None:
        """Name and description are the function's own unless given; raises WrongType for what
        cannot be called.
        """
        if not callable(function):
            raise WrongType(f"an action must be a BaseAction or a function, not {function!r:.200}.")
        told = describe(function)
        told["name"] = name or getattr(function, "_name", None) or told["name"]
        told["description"] = (
            description or getattr(function, "_description", None) or told["description"]
        )
        self.function = function
        super().__init__(told, enable=enable)

    def _function(self, name: str) -> Callable[..., object]:
        return self.function


class InvalidAction(BaseAction):
    """Answers calls of actions that do not exist."""

    effects = "none"

    def __init__(
        self,
        err_msg: str = "The action is invalid, please check the action name.",
        description: Description | None = None,
        parser: type[BaseParser] = BaseParser,
    ) -> None:
        super().__init__(description, parser, enable=False)
        self._err_msg = err_msg

    @tool_api
    def run(self, err_msg: str | None = None) -> ActionReturn:
        """Say what was wrong.

        Args:
            err_msg (str): what was wrong, where it is known.
        """
        return _refuse(self.name, err_msg, self._err_msg)


class NoAction(BaseAction):
    """Answers replies that name no action."""

    effects = "none"

    def __init__(
        self,
        err_msg: str = "Please follow the format",
        description: Description | None = None,
        parser: type[BaseParser] = BaseParser,
    ) -> None:
        super().__init__(description, parser, enable=False)
        self._err_msg = err_msg

    @tool_api
    def run(self, err_msg: str | None = None) -> ActionReturn:
        """Say what was wrong.

        Args:
            err_msg (str): what was wrong, where it is known.
        """
        return _refuse(self.name, err_msg, self._err_msg)


class FinishAction(BaseAction):
    """Ends the work with a result."""

    effects = "none"

    def __init__(
        self, description: Description | None = None, parser: type[BaseParser] = BaseParser
    ) -> None:
        super().__init__(description, parser, enable=True)

    @tool_api
    def run(self, response: str) -> ActionReturn:
        """Give the final result.

        Args:
            response (str): the final result.
        """
        said = [{"type": "text", "content": response}]
        return ActionReturn(
            {"text": response}, type=self.name, result=said, valid=ActionValidCode.FINISH
        )


def _refuse(name: str, said: str | None, default: str) -> ActionReturn:
    return ActionReturn(
        {"text": said},
        type=name,
        errmsg=said or default,
        valid=ActionValidCode.INVALID,
        state=ActionStatusCode.API_ERROR,
    )
