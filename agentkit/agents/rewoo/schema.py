"""What actions and agents give back, with lagent's names and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from agentkit.core.given import coalesce
from agentkit.errors import WrongType


class ActionStatusCode(IntEnum):
    """How an action ended."""

    ING = 1
    SUCCESS = 0
    HTTP_ERROR = -1000
    ARGS_ERROR = -1001
    API_ERROR = -1002


class ActionValidCode(IntEnum):
    """Whether what was asked for is an action at all."""

    FINISH = 1
    OPEN = 0
    CLOSED = -1
    INVALID = -2
    ABSENT = -3


class AgentStatusCode(IntEnum):
    """How an agent's work stands, or ended."""

    END = 0
    STREAM_ING = 1
    SERVER_ERR = -1
    SESSION_CLOSED = -2
    SESSION_OUT_OF_LIMIT = -3
    SESSION_INVALID_ARG = -4
    SESSION_READY = 2
    PLUGIN_START = 3
    PLUGIN_END = 4
    PLUGIN_RETURN = 5
    CODING = 6
    CODE_END = 7
    CODE_RETURN = 8
    ANSWER_ING = 9


@dataclass
class ActionReturn:
    """What an action gave: `result` holds items with `type` and `content`, `errmsg` says why it is
    empty.
    """

    args: Any = None
    """The arguments by name; where they could not be read, what was given under `inputs`."""
    url: str | None = None
    type: str | None = None
    """The action's name."""
    result: list[dict[str, Any]] | None = None
    errmsg: str | None = None
    state: ActionStatusCode | int = ActionStatusCode.SUCCESS
    thought: str | None = None
    """What the planner wanted it for."""
    valid: ActionValidCode | int | None = ActionValidCode.OPEN

    @property
    def succeeded(self) -> bool:
        """Whether there is a result."""
        return self.state == ActionStatusCode.SUCCESS

    @property
    def is_bad_call(self) -> bool:
        """Whether the call was wrong, so that the same call would fail again."""
        return self.state == ActionStatusCode.ARGS_ERROR or self.valid == ActionValidCode.INVALID

    @property
    def problem(self) -> str:
        """Why there is no result, in words."""
        return str(self.errmsg or "the action gives no reason")

    def format_result(self) -> str:
        """The items line by line: texts as they are, others as `[type](content)`; raises WrongType
        for another form.
        """
        return "\n".join(map(self._format_item, coalesce(self.result, [])))

    def _format_item(self, item: Any) -> str:
        if not isinstance(item, dict) or not item.keys() >= {"type", "content"}:
            who = coalesce(self.type, "The action")
            raise WrongType(
                f"{who} gave the result {self.result!r:.200}; give a list of"
                ' items such as {"type": "text", "content": "..."}.'
            )
        kind, content = item["type"], item["content"]
        if kind == "text":
            return str(content)
        return f"[{kind}]({content})"


@dataclass
class AgentReturn:
    """What an agent's chat gave."""

    type: str = ""
    content: str = ""
    state: AgentStatusCode | int = AgentStatusCode.END
    actions: list[ActionReturn] = field(default_factory=list)
    """One for each step of the plan, in its order."""
    response: str = ""
    inner_steps: list[dict[str, Any]] = field(default_factory=list)
    """The messages on the way: the planner's replies, the log of the workers, the answer."""
    nodes: dict[str, Any] | None = None
    """Label -> Evidence, which a later run can begin from; None without a plan."""
    adjacency_list: dict[str, Any] | None = None
    """Label -> the labels whose evidence the step needs; None without a plan."""
    references: dict[str, Any] = field(default_factory=dict)
    errmsg: str | None = None
    """What went wrong on the way, in words."""
