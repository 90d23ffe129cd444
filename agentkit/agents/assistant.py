"""AssistantAgent: a ConversableAgent that a language model speaks for and that never asks a
person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from agentkit.conversation.conversable import ConversableAgent
from agentkit.options import InputMode

SYSTEM_MESSAGE = """You are a capable assistant. Solve the user's task with what you know and with \
code.
The user runs every code block that you send and tells you its output, and can do nothing else: \
they cannot edit code, fill in
gaps or copy results. So send whole programs in a block marked python or sh, one block per \
message, and print what you need.
Only use a block for code that is to be run. To have it saved first, let its first line be "# \
filename: <name>".
Use code when you have to look something up, compute, or act: read a file, search, check the date \
or the system.
Go step by step. When the plan is not obvious, state it first, and say which steps need code and \
which you reason out.
Read the output before you go on. If it shows an error, find the cause and send the corrected \
program whole. If the same way
fails again, or runs but does not solve the task, question your assumptions, gather what is \
missing and try another one.
Check your result before you give it, and show what supports it.
When everything is done, reply "TERMINATE" at the end.
"""
DESCRIPTION = (
    "An assistant that solves tasks with general knowledge, reasoning and code that others run"
    " for it."
)


class AssistantAgent(ConversableAgent):
    """Replies with its model, suggests code and tool calls, and leaves running them to others."""

    DEFAULT_SYSTEM_MESSAGE = SYSTEM_MESSAGE
    DEFAULT_DESCRIPTION = DESCRIPTION

    def __init__(
        self,
        name: str,
        system_message: str | None = SYSTEM_MESSAGE,
        llm_config: dict[str, Any] | Literal[False] | None = None,
        is_termination_msg: Callable[..., bool] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: InputMode = "NEVER",
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        """The arguments of ConversableAgent; with the default system message the description is our
        own, too.
        """
        if description is None and system_message == self.DEFAULT_SYSTEM_MESSAGE:
            description = self.DEFAULT_DESCRIPTION
        super().__init__(
            name,
            system_message,
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            llm_config=llm_config,
            description=description,
            **kwargs,
        )
