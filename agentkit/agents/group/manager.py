"""GroupChatManager: the agent that a group talks through; it hands on what is said and gives the
floor.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import takewhile
from typing import Any, cast

from agentkit.agents.group.chat import GroupChat, sign
from agentkit.agents.group.mentions import asks_to_clear, read_clearing
from agentkit.agents.group.selection import Choice
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_kind
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.ends import stop_reason
from agentkit.conversation.engine import check_faces, ended, lend_cache, why_ended
from agentkit.conversation.model import list_tools
from agentkit.conversation.tooling import conversation
from agentkit.core.given import coalesce, find_first, is_list_of, list_new_objects, pick_kind
from agentkit.core.twin import Mode, faces
from agentkit.errors import NoEligibleSpeaker, WrongArgument, WrongType
from agentkit.events import SpeakerSelected
from agentkit.messages import AnyMessage, Stored, tool_responses_of
from agentkit.options import InputMode
from agentkit.reasons import EndReason

Message = Stored


class GroupChatManager(ConversableAgent):
    """Runs a group chat: whoever sends it a message hears nothing back until the group has talked
    it over.

    Every message goes to all members but its speaker; then the next speaker is chosen and asked for
    a reply, until a message terminates the chat, `max_round` messages were said, or nobody may
    speak or replies. A manager may be a member of another group; its reply there is the last thing
    that its own group said. Raises WrongType for no group chat, WrongArgument for an
    `llm_config` with functions. Names and defaults: AutoGen 0.2.
    """

    def __init__(
        self,
        groupchat: GroupChat,
        name: str | None = "chat_manager",
        max_consecutive_auto_reply: int | None = sys.maxsize,
        human_input_mode: InputMode = "NEVER",
        system_message: str | list[Any] | None = "Group chat manager.",
        silent: bool = False,
        **kwargs: Any,
    ) -> None:
        check_kind(str(name), "groupchat", groupchat, GroupChat, "a GroupChat")
        if list_tools(kwargs.get("llm_config")):
            raise WrongArgument(
                f"{name}: a manager calls no functions; take 'functions' and 'tools' out of its"
                " llm_config."
            )
        super().__init__(
            name or "chat_manager",
            max_consecutive_auto_reply=max_consecutive_auto_reply,
            human_input_mode=human_input_mode,
            system_message=system_message,
            **kwargs,
        )
        self._groupchat = groupchat
        self._silent = silent
        self._last_speaker: Agent | None = None
        for reply_func in (GroupChatManager.run_chat, GroupChatManager.a_run_chat):
            self.register_reply(
                Agent,
                reply_func,
                config=groupchat,
                reset_config=GroupChat.reset,
                ignore_async_in_sync_chat=True,
            )
            # The group itself, no copy: later changes of it count.
            self._reply_func_list[0]["config"] = groupchat

    @property
    def groupchat(self) -> GroupChat:
        """The group chat."""
        return self._groupchat

    @property
    def last_speaker(self) -> Agent | None:
        """Who said the newest message of the group: what members get from the manager, somebody
        else said.
        """
        return self._last_speaker

    def chat_messages_for_summary(self, agent: Agent) -> list[Message]:
        """The transcript of the group, whoever asks."""
        return self._groupchat.messages

    def _prepare_chat(
        self,
        recipient: Agent,
        clear_history: bool,
        prepare_recipient: bool = True,
        reply_at_receive: bool = True,
    ) -> None:
        super()._prepare_chat(recipient, clear_history, prepare_recipient, reply_at_receive)
        members = list_conversable(self._groupchat)
        others = list_new_objects([recipient], members)
        if clear_history:
            self._forget(others)
        for agent in others:
            agent._prepare_chat(self, clear_history, False, reply_at_receive)

    def _forget(self, others: Sequence[Agent]) -> None:
        """The transcript, and what was said to these members."""
        self._groupchat.reset()
        for agent in others:
            has_met = agent in self.chat_messages
            if has_met:
                self.clear_history(agent)

    # The chat

    async def _run_chat(
        self,
        mode: Mode,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: GroupChat | None = None,
    ) -> tuple[bool, Any]:
        """Reply function: let the group (`config`, by default the manager's) talk over the last
        message of the sender.

        Replies nothing, except to the manager of another group: the last thing said. Raises
        WrongArgument without members or sender, AsyncReplyInSyncChat (a RuntimeError) when a member
        needs an async chat.
        """
        chat = coalesce(config, getattr(self, "_groupchat", None))
        if not isinstance(chat, GroupChat):
            raise WrongArgument(
                f"{self.name}: run_chat needs a GroupChat; register it with config=GroupChat(...)."
            )
        messages = conversation(self, messages, sender)
        first_speaker = _check_start(self, mode, chat, sender)
        if not messages:
            return True, None
        # What comes first is what the sender said, also when introductions follow it.
        message = messages[-1]
        with _share_cache(self, chat):
            if chat.send_introductions:
                await _broadcast(self, mode, chat, chat.introductions_msg(), self)
            end = await _run_rounds(self, mode, chat, message, first_speaker)
        ended(self, first_speaker, end)
        announcing.note(self.name, f"group chat over: {stop_reason(end)}", silent=True, end=end)
        if not isinstance(first_speaker, GroupChatManager):
            return True, None
        return True, _find_conclusion(self, chat, first_speaker)

    run_chat, a_run_chat = faces(_run_chat)

    def clear_agents_history(self, reply: Message, groupchat: GroupChat) -> str:
        """Obey CLEAR HISTORY in a person's reply and give the rest of its text.

        Right behind the words may stand names of agents (else all forget, and the transcript) and
        how many messages stay. A reply that answers a call leaves at least that call.
        """
        wanted = read_clearing(reply["content"], groupchat.agent_names)
        is_answer = bool(tool_responses_of(reply))
        preserve = max(wanted.preserve, int(is_answer))
        forgetting, told = groupchat.agent_names, "all agents"
        if wanted.names:
            forgetting, told = wanted.names, ", ".join(wanted.names)
        else:
            transcript = groupchat.messages
            del transcript[: max(0, len(transcript) - preserve)]
        for agent in list_conversable(groupchat):
            if agent.name in forgetting:
                agent.clear_history(nr_messages_to_preserve=preserve)
        text = f"clears the history of {told}"
        if preserve:
            text += f" but for {preserve} messages"
        announcing.note(self.name, text)
        return wanted.text

    # Going on with an earlier chat

    async def _resume(
        self,
        mode: Mode,
        messages: list[Message] | str,
        remove_termination_string: str | Callable[[str], str] | None = None,
        silent: bool | None = False,
    ) -> tuple[ConversableAgent, Message]:
        """Bring the group to where these messages (a list, or JSON of `messages_to_string`) end;
        what it knew is forgotten.

        Gives the last speaker and the last message: `agent.initiate_chat(manager, message=message,
        clear_history=False)` goes on. `remove_termination_string` is deleted from that message, or
        a function over its text. Raises WrongType and WrongArgument for messages that cannot be.
        """
        chat = self._groupchat
        if isinstance(messages, str):
            messages = self.messages_from_string(messages)
        *earlier, last = check_resumable(messages, chat.agent_names, self.name)
        last = remove_termination(last, remove_termination_string)
        if chat.agents:
            self._prepare_chat(chat.agents[0], True)
        for message in earlier:
            await self._repeat(mode, message)
        if not silent and self._is_termination_msg(last):
            text = (
                "the last message is a termination message; it will end the chat at once unless you"
                " change it"
            )
            announcing.note(self.name, text)
        speaker = self._find_speaker(last)
        text = f"resumes a chat of {len(earlier) + 1} messages, the last by {speaker.name}"
        announcing.note(self.name, text, bool(silent))
        return speaker, last

    resume, a_resume = faces(_resume)

    async def _repeat(self, mode: Mode, message: Message) -> None:
        """Let everybody hear a message of the earlier chat."""
        speaker = self._find_speaker(message)
        if speaker is not self:
            await mode.peer(speaker, "send", message, self, request_reply=False, silent=True)
        await _broadcast(self, mode, self._groupchat, message, speaker)
        self._groupchat.append(message, speaker)

    def _find_speaker(self, message: Message) -> Any:
        """The agent of that name; the manager itself for its own messages. Results of functions
        bear the function's name.
        """
        name = message["name"]
        if message.get("role") != "function":
            return coalesce(self._groupchat.agent_by_name(name), self)
        members = list_conversable(self._groupchat)
        able = find_first(members, lambda agent: agent.can_execute_function(name))
        return coalesce(able, self)

    def messages_from_string(self, message_string: str) -> list[Message]:
        """The messages in a JSON text; raises WrongArgument for anything else."""
        return read_messages(message_string)

    def messages_to_string(self, messages: list[Message]) -> str:
        """The messages as a JSON text that `resume` takes."""
        return json.dumps(messages)


# What follows takes the agent that leads: a manager, or another with `run_chat` among its reply
# functions.


def _check_start(leader: Agent, mode: Mode, chat: GroupChat, sender: Agent | None) -> Agent:
    """The sender, who begins."""
    if not chat.agents:
        raise WrongArgument(
            f"{leader.name}: the group chat has no agents; put some into GroupChat(agents=[...])."
        )
    if sender is None:
        raise WrongArgument(
            f"{leader.name}: run_chat needs the sender whose message begins the group chat."
        )
    check_faces(mode, chat.agents)
    return sender


def _share_cache(leader: Any, chat: GroupChat) -> AbstractContextManager[object]:
    """The members use the leader's cache, too."""
    cache = leader.client_cache
    if cache is None:
        return nullcontext()
    return lend_cache(chat.agents, cache)


async def _run_rounds(
    leader: Any, mode: Mode, chat: GroupChat, message: Message, speaker: Agent
) -> EndReason:
    """One message a round until the chat ends; gives the reason."""
    silent = _is_silent(leader)
    for number in range(1, chat.max_round + 1):
        leader._last_speaker = speaker
        chat.append(message, speaker)
        await _broadcast(leader, mode, chat, sign(message, speaker), speaker)
        if leader._is_termination_msg(chat.messages[-1]):
            return EndReason("terminated", speaker.name)
        if number == chat.max_round:
            break
        try:
            speaker, reply = await _next_reply(leader, mode, chat, speaker, number)
        except NoEligibleSpeaker as error:
            return coalesce(error.end, EndReason("speakers", told=str(error)))
        if reply is None:
            return coalesce(why_ended(speaker, leader), EndReason("silent", speaker.name))
        reply = _obey(leader, reply, chat)
        await mode.peer(speaker, "send", reply, leader, request_reply=False, silent=silent)
        message = coalesce(leader.last_message(speaker), {"content": ""})
    return EndReason("rounds", limit=chat.max_round)


def _is_silent(leader: Any) -> bool:
    return getattr(leader, "_silent", False)


async def _broadcast(
    leader: Agent, mode: Mode, chat: GroupChat, message: Message | str, speaker: Agent
) -> None:
    """Hand the message on to everybody but its speaker."""
    for agent in chat.agents:
        if agent is not speaker:
            await mode.peer(leader, "send", message, agent, request_reply=False, silent=True)


async def _next_reply(
    leader: Agent, mode: Mode, chat: GroupChat, last_speaker: Agent, number: int
) -> tuple[Agent, Any]:
    """Who speaks next, and what; after an interruption at the keyboard the admin, if the group has
    one.
    """
    try:
        chat.last_choice = None
        speaker = await mode.peer(chat, "select_speaker", last_speaker, leader)
        _announce_choice(leader, chat.last_choice, speaker, number)
        return speaker, await mode.peer(speaker, "generate_reply", sender=leader)
    except KeyboardInterrupt:
        admin = chat.agent_by_name(chat.admin_name)
        if admin is None:
            raise
        return admin, await mode.peer(admin, "generate_reply", sender=leader)


def _announce_choice(leader: Any, choice: Choice | None, speaker: Agent, number: int) -> None:
    made = choice or Choice(speaker, "custom", [])
    event = SpeakerSelected(leader.name, speaker.name, made.method, number, made.candidates)
    announcing.announce(event, f"\nNext speaker: {speaker.name}\n", _is_silent(leader))


def _find_conclusion(leader: Any, chat: GroupChat, sender: Agent) -> str | None:
    """The last thing that was said after the sender's message, termination messages left out."""
    newest_first = reversed(chat.messages)
    since = takewhile(lambda each: each["name"] != sender.name, newest_first)
    for message in since:
        content = message["content"]
        if content and not leader._is_termination_msg(message):
            return str(content)
    return None


def _obey(leader: Any, reply: Any, chat: GroupChat) -> Any:
    """The reply; of one with CLEAR HISTORY, which is done as the leader does it, or as managers do,
    the rest.
    """
    if not chat.enable_clear_history or not asks_to_clear(reply):
        return reply
    as_managers_do = partial(GroupChatManager.clear_agents_history, leader)
    clear = getattr(leader, "clear_agents_history", as_managers_do)
    return {**reply, "content": str(clear(reply, chat))}


def list_conversable(chat: GroupChat) -> list[ConversableAgent]:
    """The agents of the group that keep a history."""
    return pick_kind(chat.agents, ConversableAgent)


def read_messages(text: str) -> list[Stored]:
    """The messages in a JSON text; raises WrongArgument when it is another JSON value or none,
    WrongType for anything but a text.
    """
    if not isinstance(text, str):
        raise WrongType(f"messages_from_string reads a JSON text, not {text!r:.80}.")
    try:
        messages = json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongArgument(
            f"The messages are not valid JSON ({error}): {text!r:.80}; give what"
            " messages_to_string wrote."
        ) from None
    return _check_messages(messages)


def check_resumable(messages: Any, names: Collection[str], manager: str) -> list[Stored]:
    """Copies of the messages, each with the name of an agent of the group or of the manager.

    Raises WrongType for anything but a list, WrongArgument for an empty one and for names of
    strangers.
    """
    wanted = "a list of dicts or a JSON text"
    check_kind(manager, "the messages to resume", messages, list, wanted)
    if not messages:
        raise WrongArgument(
            f"{manager}: there are no messages to resume; begin a new chat with initiate_chat."
        )
    copies: list[Stored] = []
    for index, message in enumerate(_check_messages(messages)):
        name = message.get("name") or manager
        if name not in (manager, *names) and message.get("role") != "function":
            raise WrongArgument(
                f"{manager}: message {index} is by {name!r}, who is not in the group"
                f" {[*names]}; add that agent first."
            )
        copies.append({**message, "name": name})
    return copies


def remove_termination(message: Stored, remove: str | Callable[[str], str] | None) -> Stored:
    """The message without the termination string: the text to delete, or a function over the
    content.
    """
    content = message.get("content")
    if remove is None or not isinstance(content, str):
        return message
    if isinstance(remove, str):
        rest = content.replace(remove, "")
        return {**message, "content": rest}
    if not callable(remove):
        raise WrongType(
            f"remove_termination_string must be a text, a function or None, not {remove!r}."
        )
    return {**message, "content": remove(content)}


def _check_messages(value: Any) -> list[Stored]:
    if not is_list_of(value, dict):
        raise WrongArgument(f"Messages must be a list of dicts, not {value!r:.80}.")
    return cast("list[Stored]", value)
