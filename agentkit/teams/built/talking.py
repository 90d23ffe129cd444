"""Flows in which agents talk: one alone, two, a group, a queue, and RetrieveChat."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from typing import Any, Literal

from agentkit import runs
from agentkit.agents import GroupChat, GroupChatManager, RetrieveUserProxyAgent
from agentkit.conversation import Agent, ChatResult, ConversableAgent, initiate_chats
from agentkit.core.given import find_first
from agentkit.errors import ConfigError
from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.messages import AnyMessage, has_calls, text_of
from agentkit.retrieval import Hit
from agentkit.teams.answer import complete_question, look_up_and_answer
from agentkit.teams.approval import Agreement, Approval, name_agreement
from agentkit.teams.built.agents import RetrieveConfig
from agentkit.teams.built.flows import (
    TEMPLATES,
    Group,
    Queue,
    Queued,
    RetrieveChat,
    Single,
    TwoAgents,
)
from agentkit.teams.built.members import Members, ends_with
from agentkit.teams.citing import describe_source
from agentkit.teams.conversing import (
    USER,
    as_told,
    converse,
    make_opening,
    recall_talk,
    remember,
)
from agentkit.teams.findings import Findings
from agentkit.teams.group import GROUP, WatchedGroup, tell_all
from agentkit.teams.task import Answer, Task

LIBRARY = "Library"
_MAY_OPEN = (
    "May a store of this team's own be opened? What stands in these files and folders of this"
    " computer, and at these addresses, is read and told to models; a database may be written to."
)
_PASSWORD = re.compile(r"(password=)[^\s&]+|(://[^:/@\s]+:)[^@/\s]+(?=@)")
"""In the address of a database. Nothing is left out that a database reads as the next setting."""
_INSTEAD = "Set its `vector_db` to `collection`: then it looks into the chat's collection."


def answer_alone(flow: Single, members: Members, task: Task, found: Findings) -> Answer:
    """One agent; whoever puts the question also carries out what it calls.

    Without a language model it answers from the passages at once.
    """
    if not members.model_of(flow.agent).is_language_model:
        return look_up_and_answer(task, members.look_up(flow.agent), flow.agent)
    library = ConversableAgent(
        LIBRARY,
        human_input_mode=task.human_input,
        llm_config=False,
        max_consecutive_auto_reply=flow.max_turns,
        is_termination_msg=lambda message: not has_calls(message),
    )
    return _talk_over(members, task, found, library, flow.agent, None)


def talk_in_pairs(flow: TwoAgents, members: Members, task: Task, found: Findings) -> Answer:
    """One puts the question to the other, and they go on until one of them ends it."""
    starts, answers = members[flow.starts], members[flow.answers]
    members.offer(flow.starts, starts, answers)
    nested = [_to_nested(members, one, range(place)) for place, one in enumerate(flow.nested)]
    if nested:
        answers.register_nested_chats(nested, trigger=starts)
    return _talk_over(members, task, found, starts, flow.answers, flow.max_turns)


def _talk_over(
    members: Members,
    task: Task,
    found: Findings,
    starts: ConversableAgent,
    name: str,
    max_turns: int | None,
) -> Answer:
    answers = members[name]
    members.offer(name, answers, starts)
    remember(answers, starts, recall_talk(task), name)

    def begin() -> ChatResult:
        return starts.initiate_chat(
            answers,
            message=make_opening(task),
            clear_history=False,
            max_turns=max_turns,
            summary_method=None,
        )

    return converse(task, begin, name, found, members.notes())


def talk_in_group(flow: Group, members: Members, task: Task, found: Findings) -> Answer:
    """A group that a manager leads until the writer is done, or so many messages were said."""
    agents: list[Agent] = [members[name] for name in flow.agents]
    for name in flow.agents:
        members.offer(name, members[name], members[name])
    talk = recall_talk(task)
    told = as_told(talk, GROUP, flow.writer)
    group = WatchedGroup(agents, told, **to_group_settings(flow, members))
    manager = GroupChatManager(
        group,
        GROUP,
        llm_config=members.chat_config(),
        is_termination_msg=partial(_is_writers_end, flow.writer, ends_with(flow.ends_on)),
    )
    user = _find_person(flow, members)
    group.hear = partial(tell_all, group, manager, user)
    for name in flow.agents:
        remember(members[name], manager, talk, flow.writer)

    def begin() -> ChatResult:
        return user.initiate_chat(
            manager, message=make_opening(task), clear_history=False, summary_method=None
        )

    return converse(task, begin, flow.writer, found, members.notes())


def _find_person(flow: Group, members: Members) -> ConversableAgent:
    """Who puts the question: the person who is a member, else one who only asks."""
    person = find_first(flow.agents, lambda name: members.document.agent(name).role == "person")
    if person is None:
        return ConversableAgent(USER, human_input_mode="NEVER", llm_config=False)
    return members[person]


def _is_writers_end(writer: str, ends: Callable[[AnyMessage], bool], message: AnyMessage) -> bool:
    if message.get("name") != writer or runs.has_said():
        return False
    return ends(message)


def to_group_settings(flow: Group, members: Members) -> dict[str, Any]:
    """The arguments of GroupChat beside agents and messages."""
    settings: dict[str, Any] = {
        "max_round": flow.max_round,
        "admin_name": flow.admin_name,
        "func_call_filter": flow.func_call_filter,
        "speaker_selection_method": _hear_and_choose(flow),
        "max_retries_for_selecting_speaker": flow.max_retries_for_selecting_speaker,
        "enable_clear_history": flow.enable_clear_history,
        "send_introductions": flow.send_introductions,
        "select_speaker_auto_verbose": flow.select_speaker_auto_verbose,
        "role_for_select_speaker_messages": flow.role_for_select_speaker_messages,
    }
    for name in TEMPLATES:
        if text := getattr(flow, name):
            settings[name] = text
    if flow.select_speaker_auto_llm_config is not None:
        selecting = members.llm_config(flow.select_speaker_auto_llm_config)
        settings["select_speaker_auto_llm_config"] = selecting
    if flow.transitions:
        settings["speaker_transitions_type"] = flow.speaker_transitions_type
        settings["allowed_or_disallowed_speaker_transitions"] = {
            members[after]: [members[name] for name in names]
            for after, names in flow.followers.items()
        }
    else:
        repeaters = [members[name] for name in flow.repeaters]
        settings["allow_repeat_speaker"] = repeaters or flow.allow_repeat_speaker
    return settings


Method = Literal["auto", "round_robin", "random", "manual"]
Choose = Callable[[Agent, GroupChat], Agent | Method]


def _hear_and_choose(flow: Group) -> Choose:
    """As `choose_speaker` does, once everybody has heard what the person said meanwhile."""
    chosen = choose_speaker(flow.speaker_selection_method, flow.reads_results)

    def choose(last_speaker: Agent, group: GroupChat) -> Agent | Method:
        next_one = chosen(last_speaker, group) if callable(chosen) else chosen
        if isinstance(group, WatchedGroup):
            group.hear_said()
        return next_one

    return choose


def choose_speaker(method: Method, reads_results: bool) -> Method | Choose:
    """The method, or one by which whoever has called a tool goes on."""
    if not reads_results:
        return method

    def choose(last_speaker: Agent, group: GroupChat) -> Agent | Method:
        is_result = group.messages[-1].get("role") == "tool"
        return last_speaker if is_result else method

    return choose


def talk_in_queue(flow: Queue, members: Members, task: Task, found: Findings) -> Answer:
    """One conversation after the other; what the last one's recipient says is the answer."""
    question = complete_question(task)
    chats = []
    for place, one in enumerate(flow.chats):
        _offer_both(members, one)
        chats.append(_to_chat(members, one, question, range(place)))
    return converse(
        task,
        lambda: initiate_chats(chats)[-1],
        flow.chats[-1].recipient,
        found,
        members.notes(),
    )


def _offer_both(members: Members, chat: Queued) -> None:
    """Each carries out what the other calls."""
    sender, recipient = members[chat.sender], members[chat.recipient]
    members.offer(chat.recipient, recipient, sender)
    members.offer(chat.sender, sender, recipient)


def _to_chat(
    members: Members, chat: Queued, question: str, before: Sequence[int]
) -> dict[str, Any]:
    made = {
        "sender": members[chat.sender],
        "recipient": members[chat.recipient],
        "message": chat.message.replace("{question}", question),
        "max_turns": chat.max_turns,
        "summary_method": chat.summary_method,
    }
    if chat.summary_prompt:
        made["summary_args"] = {"summary_prompt": chat.summary_prompt}
    if not chat.carryover:
        made["finished_chat_indexes_to_exclude_from_carryover"] = list(before)
    return made


def _to_nested(members: Members, chat: Queued, before: Sequence[int]) -> dict[str, Any]:
    """A conversation within one: {question} stands for the last message."""
    _offer_both(members, chat)

    def opening(
        recipient: Agent, messages: Sequence[AnyMessage], sender: Agent, config: object
    ) -> str:
        return chat.message.replace("{question}", text_of(messages[-1].get("content")))

    return {**_to_chat(members, chat, "", before), "message": opening}


def look_up_and_ask(flow: RetrieveChat, members: Members, task: Task, found: Findings) -> Answer:
    """RetrieveChat: passages go with the question, and others when the assistant asks for them."""
    assistant, config = members[flow.assistant], flow.retrieve_config
    options: dict[str, Any] = {
        "human_input_mode": task.human_input,
        "max_consecutive_auto_reply": flow.max_turns,
        "retrieve_config": to_retrieve_config(config, task.model.name),
    }
    if config.has_own_store:
        _agree_to_store(flow, task)
        proxy = RetrieveUserProxyAgent(flow.proxy, **options)
    else:
        proxy = CollectionProxy(flow.proxy, found, task.retrieve, **options)
    members.offer(flow.assistant, assistant, proxy)
    question = complete_question(task)

    def begin() -> ChatResult:
        return proxy.initiate_chat(
            assistant,
            message=proxy.message_generator,
            problem=question,
            n_results=config.n_results,
            summary_method=None,
        )

    return converse(task, begin, flow.assistant, found, members.notes())


def _agree_to_store(flow: RetrieveChat, task: Task) -> None:
    """Have the person agree to the store of this config: once in a chat, or for always.

    Raises ConfigError where no such store is opened and where nobody agrees, and Stopped.
    """
    if not task.own_stores:
        raise ConfigError(
            f"{flow.proxy} was to open a store of its own. This app serves other machines, and"
            f" nobody logs in, so that no file of this computer is read for a team. {_INSTEAD}"
        )
    given = flow.retrieve_config.model_dump(mode="json", exclude_defaults=True)
    told = json.dumps(given, ensure_ascii=False, indent=2)
    permit = _name_permit(given["vector_db"], told)
    agreement = Agreement("first", name_agreement(flow.proxy, permit), task.agreed)
    if agreement.is_given:
        return
    given["db_config"] = dict(starmap(_hide_password, flow.retrieve_config.db_config.items()))
    shown = json.dumps(given, ensure_ascii=False, indent=2)
    decision = Approval(flow.proxy, task.allowed).of_store(_MAY_OPEN, shown, permit)
    if not decision.approved:
        raise ConfigError(
            f"{flow.proxy} was to open a store of its own, and nobody agreed to it. Ask again and"
            f" approve it, or change the team. {_INSTEAD}"
        )
    agreement.remember()


def _hide_password(key: str, value: Any) -> tuple[str, Any]:
    """A setting of a database without a password: questions are kept, and go along with an exported
    chat.
    """
    if key == "password":
        return key, "***"
    if isinstance(value, str):
        return key, _PASSWORD.sub(r"\1\2***", value)
    return key, value


def _name_permit(kind: str, told: str) -> str:
    """Under which name a permission counts: for this config alone, whatever team it stands in."""
    digest = hashlib.sha256(told.encode()).hexdigest()[:12]
    return f"store in {kind} ({digest})"


def to_retrieve_config(config: RetrieveConfig, model: str) -> dict[str, Any]:
    """AutoGen's dict; a key that is empty here has its default there."""
    given = config.model_dump(exclude={"n_results"})
    given["model"] = config.model or model
    if not config.has_own_store:
        given["vector_db"] = None
    for key in ("customized_prompt", "docs_path", "custom_text_types", "db_config"):
        is_empty = not given[key]
        if is_empty:
            del given[key]
    return given


class CollectionProxy(RetrieveUserProxyAgent):
    """A RetrieveUserProxyAgent whose passages are those of the chat's collection, numbered as the
    answer cites them.
    """

    def __init__(
        self, name: str, found: Findings, retrieve: Callable[[str], list[Hit]], **options: Any
    ) -> None:
        super().__init__(name, **options)
        self._found, self._retrieve = found, retrieve

    def retrieve_docs(self, problem: str, n_results: int = 20, search_string: str = "") -> None:
        """Look up, and keep what was found as `_results`; the look-up tells of itself."""
        hits = [hit for hit in self._retrieve(problem) if search_string in hit.text]
        numbered = self._found.number(hits[:n_results])
        results: list[tuple[Any, float]] = []
        for number, hit in numbered:
            document = _to_document(number, hit)
            results.append((document, 1 - hit.score))
        self._results = [results]
        self._told = True


def _to_document(number: int, hit: Hit) -> dict[str, Any]:
    source = describe_source(hit)
    text = format_passages([Passage(number, source, hit.text)])
    return {"id": str(hit.chunk_id), "content": text, "metadata": {"source": source}}
