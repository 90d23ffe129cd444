"""UserProxyAgent: a ConversableAgent that stands for a person, asks them every time, and runs code
for others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from agentkit.conversation.conversable import ConversableAgent
from agentkit.options import InputMode


class UserProxyAgent(ConversableAgent):
    """Replies with what the person says; when they skip, with the results of functions and code."""

    DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS: ClassVar[dict[str, str]] = {
        "ALWAYS": "A person who answers questions and does or approves what is asked of them.",
        "TERMINATE": (
            "Someone who runs Python code (in a python block) and shell scripts (in a sh block) and"
            " reports the output; a person looks at the end result."
        ),
        "NEVER": (
            "A computer that does nothing but run Python code (in a python block) and shell scripts"
            " (in a sh block) and report the output."
        ),
    }

    def __init__(
        self,
        name: str,
        is_termination_msg: Callable[..., bool] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: InputMode = "ALWAYS",
        function_map: dict[str, Callable[..., Any]] | None = None,
        # AutoGen's default, never written to.
        code_execution_config: (dict[str, Any] | Literal[False]) = {},  # noqa: B006
        default_auto_reply: str | dict[str, Any] | None = "",
        llm_config: dict[str, Any] | Literal[False] | None = False,
        system_message: str | list[Any] | None = "",
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        """The arguments of ConversableAgent; code runs isolated unless `code_execution_config` says
        otherwise.
        """
        if description is None:
            description = self.DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS.get(human_input_mode)
        super().__init__(
            name,
            system_message,
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            function_map,
            code_execution_config,
            llm_config,
            default_auto_reply,
            description,
            **kwargs,
        )
