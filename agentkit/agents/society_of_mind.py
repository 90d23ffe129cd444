"""SocietyOfMindAgent: to others one agent, within a group that talks each message over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from agentkit.agents.group import GroupChatManager
from agentkit.conversation.agent import Agent
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.model import model_reply
from agentkit.conversation.replies import Verdict
from agentkit.conversation.tooling import conversation
from agentkit.core.twin import Mode, faces
from agentkit.errors import WrongType
from agentkit.messages import AnyMessage, Stored, text_of
from agentkit.options import InputMode

Preparer = Callable[["SocietyOfMindAgent", list[Stored]], Any]

_BEFORE = "You were asked something and talked it over with your team. This is what was said:"
_PROMPT = (
    "Answer what was asked at first, in a reply that stands for itself. Do not speak of the team or"
    " of how the answer came about."
)


class SocietyOfMindAgent(ConversableAgent):
    """Hands each message to the group of `chat_manager`, which begins anew, and replies with what
    comes of it.

    The members know what was said to and by this agent before. `response_preparer` makes the reply
    of the group's messages: a callable over (this agent, messages), or a prompt for the agent's
    model. By default it is a prompt where there is a model, and else the last message without
    TERMINATE. Works in sync and async chats. Names and defaults: AutoGen 0.2. Raises WrongType
    unless the manager is a GroupChatManager.
    """

    def __init__(
        self,
        name: str,
        chat_manager: GroupChatManager | None,
        response_preparer: str | Preparer | None = None,
        is_termination_msg: Callable[..., bool] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: InputMode = "TERMINATE",
        function_map: dict[str, Callable[..., object]] | None = None,
        code_execution_config: dict[str, Any] | Literal[False] = False,
        llm_config: dict[str, Any] | Literal[False] | None = False,
        default_auto_reply: str | dict[str, Any] | None = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            name,
            "",
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            function_map,
            code_execution_config,
            llm_config,
            default_auto_reply,
            **kwargs,
        )
        self.update_chat_manager(chat_manager)
        prepare: Any = response_preparer
        if prepare is None:
            prepare = _find_last_words if self.client is None else _PROMPT
        self.response_preparer: Preparer = _ask_by(prepare) if isinstance(prepare, str) else prepare

    def _register_stock_replies(self) -> None:
        """The group in place of the model."""
        super()._register_stock_replies()
        kind = SocietyOfMindAgent
        self.replace_reply_func(kind.generate_oai_reply, kind.generate_inner_monologue_reply)
        self.replace_reply_func(kind.a_generate_oai_reply, kind.a_generate_inner_monologue_reply)

    @property
    def chat_manager(self) -> GroupChatManager | None:
        """Who leads the group; without one this agent has no reply of its own."""
        return self._chat_manager

    def update_chat_manager(self, chat_manager: GroupChatManager | None) -> None:
        """Let another group talk messages over from now on."""
        if not isinstance(chat_manager, GroupChatManager | None):
            raise WrongType(
                f"{self.name}: chat_manager must be a GroupChatManager, not {chat_manager!r}."
            )
        self._chat_manager = chat_manager

    async def _generate_inner_monologue_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> Verdict:
        """Reply function: what the group makes of the last message. What fails in the group is
        raised.
        """
        messages = conversation(self, messages, sender)
        manager = self._chat_manager
        if manager is None or not messages:
            return False, None
        await self._prepare(mode, manager, messages[:-1], sender)
        await mode.peer(self, "initiate_chat", manager, message=messages[-1], clear_history=False)
        return True, await mode.invoke(self.response_preparer, self, manager.groupchat.messages)

    generate_inner_monologue_reply, a_generate_inner_monologue_reply = faces(
        _generate_inner_monologue_reply
    )

    async def _prepare(
        self, mode: Mode, manager: GroupChatManager, earlier: Sequence[Stored], sender: Agent | None
    ) -> None:
        """Let the members forget all but what was said outside."""
        self.clear_history(manager)
        manager.reset()
        manager.groupchat.reset()
        for agent in manager.groupchat.agents:
            if isinstance(agent, ConversableAgent):
                agent.reset()
            for message in earlier:
                signed = {"name": self._find_speaker(message, sender), **message}
                await mode.peer(manager, "send", signed, agent, request_reply=False, silent=True)

    def _find_speaker(self, message: Stored, sender: Agent | None) -> str:
        outside = "user" if sender is None else sender.name
        if message.get("role") == "assistant":
            return self.name
        return outside


def _find_last_words(agent: SocietyOfMindAgent, messages: list[Stored]) -> str:
    if messages:
        return text_of(messages[-1].get("content")).replace("TERMINATE", "").strip()
    return ""


def _ask_by(prompt: str) -> Preparer:
    """What the agent's model makes of what was said, asked by the prompt."""

    def prepare_reply(agent: SocietyOfMindAgent, messages: list[Stored]) -> Any:
        said = [
            {"role": "user", "name": each.get("name", ""), "content": text_of(each.get("content"))}
            for each in messages
        ]
        asked = [
            {"role": "system", "content": _BEFORE},
            *said,
            {"role": "system", "content": prompt},
        ]
        return model_reply(agent.client, asked, agent.client_cache, agent, {})

    return prepare_reply
