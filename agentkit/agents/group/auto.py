"""A model chooses the next speaker, in a small chat of its own in which its answers are checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentkit.agents.group import templates
from agentkit.agents.group.members import Group
from agentkit.agents.group.mentions import count_mentions
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.conversable import ConversableAgent
from agentkit.core.given import coalesce, to_list
from agentkit.core.io import IOStream
from agentkit.core.twin import Mode
from agentkit.messages import CALLS, AnyMessage, Stored, copy_message, has_calls, without_keys


async def ask_model(
    mode: Mode,
    chat: Group,
    candidates: list[Agent],
    selector: Agent | None,
    messages: Sequence[Stored] | None = None,
) -> Agent | None:
    """Whom the model names; None when there is no model, or no answer names exactly one of the
    candidates.

    It reads the messages, by default those of the group.

    The model is that of `select_speaker_auto_llm_config`, else the selector's own, with its
    registered clients and its usage.
    """
    prompt = chat.select_speaker_prompt(candidates)
    transcript = _without_open_calls(coalesce(messages, chat.messages))
    if prompt is not None:
        role = chat.role_for_select_speaker_messages
        question: AnyMessage = {"content": prompt, "name": "checking_agent", "override_role": role}
    elif transcript:
        question = transcript.pop()
    else:
        return None
    check = _Check(chat, candidates)
    chooser = _make_chooser(
        chat, selector, chat.select_speaker_msg(candidates), {check.agent: transcript}
    )
    who = getattr(selector, "name", "")
    if chooser.client is None:
        announcing.note(who, "has no model that could choose the next speaker", silent=True)
        return None
    check.agent.register_reply([chooser], check.reply)
    silent = not chat.select_speaker_auto_verbose
    turns = check.attempts + 1  # the last answer is checked in a turn of its own
    await mode.peer(
        check.agent,
        "initiate_chat",
        chooser,
        clear_history=False,
        silent=silent,
        max_turns=turns,
        summary_method=None,
        message=question,
    )
    if check.chosen is None:
        announcing.note(who, f"no answer of {check.attempts} named a next speaker", silent=True)
    return check.chosen


def _without_open_calls(messages: Sequence[Stored]) -> list[Stored]:
    """Copies of the messages; what the last one calls is still to come, and no server takes it."""
    copies = list(map(copy_message, messages))
    if copies and has_calls(copies[-1]):
        copies[-1] = cast(Stored, {**without_keys(copies[-1], CALLS), "role": "user"})
    return copies


def _make_chooser(
    chat: Group, selector: Agent | None, system_message: str, history: dict[Agent, list[Stored]]
) -> ConversableAgent:
    """The agent that the model speaks for."""
    classes = to_list(chat.select_speaker_auto_model_client_cls, type)
    config: Any = chat.select_speaker_auto_llm_config
    asks_as_selector = config is None
    if asks_as_selector and classes:
        config = getattr(selector, "llm_config", False)
    chooser = ConversableAgent(
        "speaker_selection_agent",
        system_message,
        human_input_mode="NEVER",
        llm_config=config or False,
        chat_messages=history,
    )
    if config is None:
        chooser.client = getattr(selector, "client", None)
    if isinstance(config, dict):
        _register_clients(chooser, config, classes)
    transform = chat.select_speaker_transform_messages
    if transform is not None:
        transform.add_to_agent(chooser)
    return chooser


def _register_clients(
    chooser: ConversableAgent, config: dict[str, Any], classes: list[type]
) -> None:
    """Register the classes of clients that the entries of the config name."""
    entries = config.get("config_list") or [config]
    wanted = [entry.get("model_client_cls") for entry in entries]
    for client_class in classes:
        if client_class.__name__ in wanted:
            chooser.register_model_client(client_class)


class _Check:
    """Reads the model's answers and asks again while attempts are left."""

    def __init__(self, chat: Group, candidates: list[Agent]) -> None:
        self.chat = chat
        self.candidates = candidates
        self.attempts = 1 + chat.max_retries_for_selecting_speaker
        self.attempt = 0
        self.chosen: Agent | None = None
        self.agent = ConversableAgent("checking_agent", human_input_mode="NEVER", llm_config=False)

    def reply(
        self, recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        """Reply function: nothing once a name is found or the attempts are used up, else what is
        wrong with the answer.
        """
        self.attempt += 1
        by_name = {agent.name: agent for agent in reversed(self.candidates)}
        named = list(count_mentions(messages[-1].get("content"), list(by_name)))
        if len(named) == 1:
            self.chosen = by_name[named[0]]
        self._show(named)
        if self.chosen is not None or self.attempt >= self.attempts:
            return True, None
        chat = self.chat
        template = chat.select_speaker_auto_none_template
        if named:
            template = chat.select_speaker_auto_multiple_template
        content = templates.fill(template, self.candidates)
        return True, {
            "content": content,
            "name": recipient.name,
            "override_role": chat.role_for_select_speaker_messages,
        }

    def _show(self, named: list[str]) -> None:
        if not self.chat.select_speaker_auto_verbose:
            return
        names = ", ".join(named) or "nobody"
        IOStream.get_default().print(
            f">>>>>>>> Choice of the next speaker, attempt {self.attempt} of {self.attempts}:"
            f" names {names}"
        )
