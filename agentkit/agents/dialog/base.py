"""AgentBase: a ConversableAgent in AgentScope's style: it is called with a message and returns one,
and has one memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Literal, TypeGuard, cast

from agentkit.agents.dialog.configs import find_llm_config
from agentkit.agents.dialog.memory import TemporaryMemory, list_messages
from agentkit.agents.dialog.model import DialogModel, merge, show_to
from agentkit.agents.dialog.msg import Msg
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_agent_name
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.model import list_tools, model_reply
from agentkit.conversation.replies import asks_model
from agentkit.conversation.tooling import conversation
from agentkit.core import stopping
from agentkit.core.given import coalesce, is_list_of, list_missing, list_new_objects, to_list
from agentkit.core.io import is_quiet
from agentkit.core.twin import Mode, core_of, faces
from agentkit.errors import BadModelReply, NoModelConfig, ResponseParsingError, WrongType
from agentkit.messages import (
    AnyMessage,
    Stored,
    copy_message,
    has_calls,
    read_given,
    tool_responses_of,
)
from agentkit.parsers.reasoning import find_answer

CALLS = 20
"""Rounds of tool calls that one reply may take."""
_NAMED = 3  # listeners that are named, where there are more it is everyone


class AgentBase(ConversableAgent):
    """`x = agent(x)`: hears a message (several, or none), replies, remembers both, and lets its hub
    hear the reply.

    In chats it is a ConversableAgent like others, which knows what it remembers besides the chat.
    What shortens a history (`Compression`, message transforms) shortens what its model reads of
    both; its memory and its own history stay whole. The model is that of `llm_config`, or the one
    that `init` or the environment knows as `model_config_name`; without both there is none. What it
    says in a call is told as MessageSent. Further arguments are ConversableAgent's.
    """

    def __init__(
        self,
        name: str,
        sys_prompt: str | None = None,
        model_config_name: str | None = None,
        use_memory: bool = True,
        *,
        llm_config: dict[str, Any] | Literal[False] | None = None,
        **kwargs: Any,
    ) -> None:
        if llm_config is None:
            llm_config = False
            if model_config_name:
                llm_config = find_llm_config(model_config_name)
        prompt = coalesce(sys_prompt, "")
        kwargs = {"human_input_mode": "NEVER", "system_message": prompt, **kwargs}
        super().__init__(name, llm_config=llm_config, **kwargs)
        self.memory = TemporaryMemory() if use_memory else None
        self._audience: list[AgentBase] | None = None  # AgentScope's name, which scripts use
        # Calls of tools with their results, by the id of the message before them.
        self._rounds: defaultdict[str, list[Stored]] = defaultdict(list)
        replace = self.replace_reply_func
        replace(ConversableAgent.generate_oai_reply, AgentBase.generate_dialog_reply)
        replace(ConversableAgent.a_generate_oai_reply, AgentBase.a_generate_dialog_reply)

    @property
    def name(self) -> str:
        """The agent's name, which can be changed."""
        return super().name

    @name.setter
    def name(self, name: str) -> None:
        """Be called so from now on; raises WrongType and WrongArgument for other values."""
        self._name = check_agent_name(name)

    @property
    def sys_prompt(self) -> str:
        """What the model is told about its role."""
        return self.system_message

    @sys_prompt.setter
    def sys_prompt(self, sys_prompt: str | None) -> None:
        """Tell it something else."""
        self.update_system_message(coalesce(sys_prompt, ""))

    @property
    def model(self) -> DialogModel | None:
        """The model as a callable, for `reply` methods of one's own; None without one."""
        if self.client is None:
            return None
        return DialogModel(self)

    # The call style

    async def _call(self, mode: Mode, /, *args: Any, **kwargs: Any) -> Any:
        """Reply to the message (by `reply`) and let the hub hear it; Stopped when the run was
        stopped.
        """
        stopping.check()
        said = await self._reply_somehow(mode, *args, **kwargs)
        for listener in self._listeners:
            listener.observe(said)
        return said

    call, a_call = faces(_call)

    async def _reply_somehow(self, mode: Mode, /, *args: Any, **kwargs: Any) -> Any:
        """What the class replies: a `reply` of its own counts in async calls, too."""
        kind = type(self)
        has_own = core_of(kind.reply) is None
        if mode.is_async and has_own and core_of(kind.a_reply) is not None:
            return await mode.block(self.reply, *args, **kwargs)
        return await mode.peer(self, "reply", *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`reply`, heard by the agents of the hub; `a_call` is the async form."""
        return self.call(*args, **kwargs)

    async def _reply(self, mode: Mode, /, x: Msg | Sequence[Msg] | None = None) -> Msg:
        """Hear `x`, reply to everything that is remembered, and remember that; calls of tools are
        answered on the way.

        The model goes on knowing what it called and what came of it, as it does in a chat.
        """
        self._remember(x)
        heard = self._recall(list_messages(x))
        reply, rounds = await self._answer(mode, self._to_stored(heard))
        self._keep_rounds(heard, rounds)
        said = self._to_msg(reply)
        self._remember_own(said)
        self.speak(said)
        return said

    reply, a_reply = faces(_reply)

    def observe(self, x: Msg | Sequence[Msg] | None) -> None:
        """Remember what others said, without a reply."""
        self._remember(x)

    def _remember(self, x: Msg | Sequence[Msg] | None) -> None:
        if self.memory is not None:
            self.memory.add(x)

    def _recall(self, heard: list[Msg]) -> list[Msg]:
        """All that is remembered; without a memory what is heard just now."""
        if self.memory is None:
            return heard
        return self.memory.get_memory()

    def _keep_rounds(self, heard: Sequence[Msg], rounds: list[Stored]) -> None:
        """Calls of tools are shown again behind the message that they followed."""
        if self.memory is None or not rounds:
            return
        if heard:
            latest = heard[-1]
            self._rounds[latest.id] += rounds

    def _remember_own(self, said: Msg) -> None:
        """Of its own words it remembers what their `memory` says: None is all, "" is nothing."""
        if said.memory is None:
            self._remember(said)
        elif said.memory:
            kept = Msg(self.name, said.memory, "assistant")
            kept["id"] = said.id  # what it is told of its own words later is nothing new
            self._remember(kept)

    def speak(self, content: Msg | str | Iterable[tuple[bool, str]] | None) -> None:
        """Show what is said, and tell it as MessageSent; of a `stream` each word as it comes. None
        is nothing.
        """
        if content is None:
            return
        listeners = self._name_listeners()
        silent = is_quiet() or bool(self.silent)
        if isinstance(content, str):
            content = Msg(self.name, content, "assistant")
        if not isinstance(content, Msg):
            texts = map(itemgetter(1), content)
            announcing.announce_streamed(texts, self.name, listeners, silent)
            return
        announce_once(content, listeners, silent=silent)

    # Hubs

    @property
    def audience(self) -> list[AgentBase] | None:
        """Who hears what this agent replies; None outside of hubs."""
        return self._audience

    @property
    def _listeners(self) -> list[AgentBase]:
        return coalesce(self._audience, [])

    def _name_listeners(self) -> str:
        """Who listens, in words."""
        names = list(map(attrgetter("name"), self._listeners))
        if len(names) in range(1, _NAMED + 1):
            return ", ".join(names)
        return "everyone"

    def reset_audience(self, audience: Sequence[AgentBase]) -> None:
        """Let these agents hear what this one replies, itself left out."""
        self._audience = list_new_objects([self], audience)

    def clear_audience(self) -> None:
        """Let nobody hear it."""
        self._audience = None

    def rm_audience(self, audience: AgentBase | Sequence[AgentBase]) -> None:
        """Let these agents hear it no longer."""
        leaving = to_list(audience, AgentBase)
        if self._audience is not None:
            self._audience = list_missing(self._audience, leaving)

    # Replies

    async def _generate_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        **kwargs: Any,
    ) -> Any:
        """The reply to what is remembered and to the chat: hooks and reply functions are given
        both.
        """
        if messages is not None or sender is not None:
            messages = self._with_memory(conversation(self, messages, sender), sender)
        return await super()._generate_reply(mode, messages, sender, **kwargs)

    generate_reply, a_generate_reply = faces(_generate_reply)

    @asks_model
    async def _generate_dialog_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: Any | None = None,
    ) -> tuple[bool, Any]:
        """Reply function: what the model says to the messages; `config` may be another client."""
        client = coalesce(config, self.client)
        if client is None:
            return False, None
        asked = merge(conversation(self, messages, sender))
        if self.system_message:
            asked[:0] = self._oai_system_message[:1]
        reply = await self._ask_model(mode, client, asked)
        return reply is not None, reply

    generate_dialog_reply, a_generate_dialog_reply = faces(_generate_dialog_reply)

    async def _ask_model(self, mode: Mode, client: Any, asked: list[Stored]) -> Any:
        """The model's reply: a text without the reasoning in front of it, or a message; None when
        it is empty.
        """
        reply = await mode.block(
            model_reply, client, asked, self.client_cache, self, list_tools(self.llm_config)
        )
        if isinstance(reply, str):
            return _without_reasoning(reply)
        return reply

    def _to_stored(self, messages: Sequence[Msg]) -> list[Stored]:
        """Messages as the model hears them, each on its own: what shortens histories finds again
        what it has shortened.
        """
        stored: list[Stored] = []
        for message in messages:
            stored += [show_to(self.name, message), *self._rounds.get(message.id, ())]
        return stored

    def _with_memory(self, messages: list[Stored], sender: Agent | None) -> list[Stored]:
        """What is remembered, then the chat; in calls the messages are all that is remembered.

        A message of one's own is copied: what is shown then differs from the stored history, which
        no summary with thoughts in it takes the place of, and nobody else gets one.
        """
        chat = list(map(_copy_own, messages))
        if sender is None:
            return chat
        remembered = self._recall([])
        return [*self._to_stored(remembered), *chat]

    async def _answer(self, mode: Mode, messages: list[Stored]) -> tuple[Any, list[Stored]]:
        """The reply of the engine, with all its abilities, and the calls before it, which the agent
        itself executes.
        """
        ending = [ConversableAgent.check_termination_and_human_reply]  # a call always has a reply
        known = len(messages)
        for _ in range(CALLS):
            reply = await mode.peer(self, "generate_reply", messages=messages, exclude=ending)
            if not _is_about_calls(reply):
                return reply, messages[known:]
            messages = [*messages, as_author_knows(reply)]
        raise BadModelReply(
            f"{self.name}: its model still calls tools after {CALLS} rounds; ask again, or with"
            " fewer tools."
        )

    def _to_msg(self, reply: Any) -> Msg:
        """The reply of the engine as a message; raises NoModelConfig and BadModelReply for an empty
        one.
        """
        if isinstance(reply, Msg):
            return reply
        content = read_given(reply)
        has_content = isinstance(content, str | list) and content
        if has_content:
            return Msg(self.name, content, "assistant")
        has_model = self.client is not None
        if not content and not has_model:
            raise NoModelConfig(
                f"{self.name} has no model to reply with; give the model_config_name or an"
                " llm_config."
            )
        raise BadModelReply(
            f"{self.name}: its model gave an empty reply; ask again, or choose another model."
        )

    def _append_oai_message(
        self, message: AnyMessage | str, role: str, conversation_id: Agent, is_sending: bool = True
    ) -> bool:
        """In its own history stands what the agent remembers, which may be more than what others
        hear.
        """
        append = partial(
            super()._append_oai_message,
            role=role,
            conversation_id=conversation_id,
            is_sending=is_sending,
        )
        if not is_sending or not _has_own_memory(message):
            return append(message)
        told = message["content"]
        stored = append(as_author_knows(message))
        if stored:
            conversation = self._oai_messages[conversation_id]
            conversation[-1] = cast(Stored, _Own(conversation[-1], told))
        return stored

    def last_message(self, agent: Agent | None = None) -> Stored | None:
        """The newest message of a conversation as the other one knows it; raises as
        ConversableAgent's does.
        """
        last = super().last_message(agent)
        return last and _as_others_know(last)

    def chat_messages_for_summary(self, agent: Agent) -> list[Stored]:
        """The conversation as the other one knows it: a summary goes on to others."""
        return list(map(_as_others_know, super().chat_messages_for_summary(agent)))


class _Own(dict[str, Any]):
    """A message in the history of its author, with what the author remembers as its content; `told`
    is what others heard.

    It equals none that everybody may know.
    """

    def __init__(self, stored: AnyMessage, told: object) -> None:
        super().__init__(stored)
        self.told = told

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Own) and self.told == other.told and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> tuple[Any, ...]:
        return _Own, (dict(self), self.told)


def _has_own_memory(message: object) -> TypeGuard[Msg]:
    """Whether its author remembers something else of a message than others hear."""
    return isinstance(message, Msg) and bool(message.memory)


def as_author_knows(message: AnyMessage) -> Stored:
    """A message as its author remembers it."""
    if _has_own_memory(message):
        message = {**message, "content": message.memory}
    return cast(Stored, message)


def _without_reasoning(reply: str) -> str | None:
    """What a reply says behind its `<think>...</think>`, which is for nobody else; None when there
    is nothing behind it.
    """
    try:
        start = find_answer(reply)
    except ResponseParsingError:
        return None
    if start == 0:
        return reply
    answer = reply[start:].lstrip()
    return answer or None


def _is_about_calls(reply: Any) -> bool:
    """Whether a reply calls functions, or is the result of such calls."""
    if not isinstance(reply, dict):
        return False
    marks = (has_calls(reply), tool_responses_of(reply), reply.get("role") == "function")
    return any(marks)


def _copy_own(message: AnyMessage) -> Stored:
    if isinstance(message, _Own):
        return copy_message(message)
    return cast(Stored, message)


def _as_others_know(message: AnyMessage) -> Stored:
    if isinstance(message, _Own):
        message = {**message, "content": message.told}
    return cast(Stored, message)


def announce_once(said: Msg, listeners: str, *, silent: bool) -> None:
    """Announce a message once, however often it is handed on."""
    if not said.told:
        said.told = True
        announcing.announce_spoken(said, said.name, listeners, silent)


def list_agents(given: Any) -> list[AgentBase]:
    """One agent or several as a list; raises WrongType for anything else."""
    agents = [given] if isinstance(given, AgentBase) else given
    if not is_list_of(agents, AgentBase):
        raise WrongType(f"Participants must be dialog agents (AgentBase), not {given!r:.200}.")
    return list(agents)
