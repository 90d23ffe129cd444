"""Whole chats: what one gives back, and queues of them, in order or by their prerequisites."""

from __future__ import annotations

import asyncio
import graphlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkit.conversation import telling
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_all, check_flag, check_ids, check_kind
from agentkit.conversation.model import CutReply
from agentkit.conversation.summary import carried, check_carryover, check_method, check_reflection
from agentkit.core.twin import Mode, faces
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored
from agentkit.reasons import EndReason

Chat = dict[str, Any]
"""The arguments of `initiate_chat`, with `sender` and, for async queues, `chat_id` and `prerequisites`."""


@dataclass
class ChatResult:
    """What a chat gave; a snapshot that later chats do not change."""

    chat_id: Any = None
    chat_history: list[Stored] = None  # type: ignore[assignment]  # AutoGen's default, also below
    """The messages as the one who began the chat has stored them."""
    summary: Any = None
    cost: dict[str, dict[str, Any]] = None  # type: ignore[assignment]
    """US dollars and tokens: `usage_including_cached_inference` and `usage_excluding_cached_inference`."""
    human_input: list[str] = None  # type: ignore[assignment]
    """What the person behind the one who began said."""
    stop_reason: str = ""
    """Why the chat ended, in words."""
    cut_replies: list[CutReply] = field(default_factory=list)
    """Replies of models that were cut, oldest first: of the agents, of chats within this one, and of its summary."""
    end: EndReason | None = None
    """Why the chat ended, as a value."""


def gather_usage_summary(agents: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """The usage of all these agents together, with and without calls that a cache answered."""
    gathered: dict[str, dict[str, Any]] = {
        "usage_including_cached_inference": {"total_cost": 0},
        "usage_excluding_cached_inference": {"total_cost": 0},
    }
    for client in {id(client): client for agent in agents if (client := getattr(agent, "client", None))}.values():
        _add(gathered["usage_including_cached_inference"], client.total_usage_summary)
        _add(gathered["usage_excluding_cached_inference"], client.actual_usage_summary)
    return gathered


def _add(total: dict[str, Any], summary: Mapping[str, Any] | None) -> None:
    for model, figures in (summary or {}).items():
        if model == "total_cost":
            total["total_cost"] += figures
            continue
        sums = total.setdefault(model, {"cost": 0, "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
        for key in sums:
            sums[key] += figures[key]


def check_chat(chat: Mapping[str, Any], sender: Any) -> None:
    """Raise WrongArgument for the arguments of a chat that cannot be run."""
    recipient, method, message = chat.get("recipient"), chat.get("summary_method"), chat.get("message")
    who = getattr(sender, "name", "a chat")
    if not isinstance(recipient, Agent):
        raise WrongArgument(f"{who}: the recipient of a chat must be an agent, not {recipient!r}.")
    check_method(who, method)
    if method == "reflection_with_llm" and getattr(recipient, "client", None) is None and getattr(sender, "client", None) is None:
        raise WrongArgument(
            f"{who}: summary_method 'reflection_with_llm' needs a model; give the sender or {recipient.name} an llm_config."
        )
    if message is not None and not isinstance(message, str | dict) and not callable(message):
        raise WrongArgument(f"{who}: the message of a chat is a text, a dict or a callable, not {message!r}.")
    turns = chat.get("max_turns")
    if turns is not None and (isinstance(turns, bool) or not isinstance(turns, int) or turns < 0):
        raise WrongArgument(f"{who}: max_turns must be a whole number from 0 or None, not {turns!r}.")
    _check_options(who, chat)


def _check_options(who: str, chat: Mapping[str, Any]) -> None:
    for flag in ("clear_history", "silent"):
        check_flag(who, flag, chat.get(flag))
    args, cache = chat.get("summary_args"), chat.get("cache")
    check_kind(who, "summary_args", args, dict | None, "a dict")
    if chat.get("summary_method") == "reflection_with_llm":
        check_reflection(who, args or {})
    if isinstance(cache, str | int | float | list | dict):  # a seed or a folder, perhaps
        raise WrongType(f"{who}: cache must be a Cache, such as Cache.disk(seed), or None, not {cache!r:.200}.")
    if not callable(chat.get("message")):  # a callable gets its carryover as it is
        check_carryover(who, chat.get("carryover"))


def initiate_chats(chat_queue: list[Chat]) -> list[ChatResult]:
    """Run chats one after the other; each gets the summaries of those before as carryover.

    Every dict holds the arguments of `initiate_chat` and `sender`; `finished_chat_indexes_to_exclude_from_carryover` leaves
    summaries out. Raises WrongArgument before the first chat begins.
    """
    return _in_order_sync(chat_queue)


async def in_order(chat_queue: list[Chat], mode: Mode) -> list[ChatResult]:
    """The core of `initiate_chats`, for cores that run a queue: so chats within chats need no deeper stack."""
    _check_queue(chat_queue)
    finished: list[ChatResult] = []
    for given in chat_queue:
        left_out = given.get("finished_chat_indexes_to_exclude_from_carryover", [])
        summaries = [result.summary for index, result in enumerate(finished) if index not in left_out]
        chat = _with_summaries(given, summaries)
        finished.append(await mode.peer(chat["sender"], "initiate_chat", **chat))
    return finished


_in_order_sync = faces(in_order)[0]


async def a_initiate_chats(chat_queue: list[Chat]) -> dict[Any, ChatResult]:
    """(async) Run chats side by side, each as soon as its `prerequisites` are done; results by `chat_id`.

    A chat gets the summaries of its prerequisites as carryover. Raises WrongArgument for chats without an id, for ids that are
    there twice or unknown, and for prerequisites in a circle, which it names.
    """
    _check_queue(chat_queue)
    chats = _by_id(chat_queue)
    order = _order(chats)
    tasks: dict[Any, asyncio.Task[ChatResult]] = {}

    async def run(chat_id: Any) -> ChatResult:
        given = chats[chat_id]
        needed = {each: await tasks[each] for each in given.get("prerequisites", [])}
        left_out = given.get("finished_chat_indexes_to_exclude_from_carryover", [])
        summaries = [result.summary for each, result in needed.items() if each not in left_out]
        chat = _with_summaries(given, summaries)
        result: ChatResult = await chat["sender"].a_initiate_chat(**chat)
        return result

    for chat_id in order:
        tasks[chat_id] = asyncio.create_task(run(chat_id))
    try:
        await asyncio.gather(*tasks.values())
    finally:  # after an error the others must not go on unseen
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    return {chat_id: tasks[chat_id].result() for chat_id in order}


def check_chats(owner: str, queue: object) -> None:
    """Raise WrongType for what is no list of dicts."""
    check_all(owner, "chat_queue", queue, Mapping, "a dict of the arguments of a chat")


def _check_queue(queue: Sequence[Chat]) -> None:
    check_chats("initiate_chats", queue)
    for index, chat in enumerate(queue):
        if chat.get("sender") is None:
            raise WrongArgument(f"Chat {index} of the queue has no sender; say which agent begins it.")
        check_chat(chat, chat["sender"])
        for key in ("prerequisites", "finished_chat_indexes_to_exclude_from_carryover"):
            check_ids(chat["sender"].name, key, chat.get(key, ()))


def _with_summaries(given: Chat, summaries: list[Any]) -> Chat:
    """A copy of the chat with the summaries behind its own carryover, told on the console."""
    own = given.get("carryover") or []
    check_carryover(given["sender"].name, own)
    chat = {**given, "carryover": ([own] if isinstance(own, str) else own) + summaries}
    if not chat.get("silent", False):
        carryover = "\n".join(carried(item) for item in chat["carryover"])
        note = f"begins a chat with {chat['recipient'].name}" + (f", carrying over:\n{carryover}" if carryover else "")
        telling.note(chat["sender"].name, note)
    return chat


def _by_id(queue: Sequence[Chat]) -> dict[Any, Chat]:
    chats: dict[Any, Chat] = {}
    for index, chat in enumerate(queue):
        chat_id = chat.get("chat_id")
        if chat_id is None or chat_id in chats:
            raise WrongArgument(f"Chat {index} of the queue has chat_id {chat_id!r}; each chat needs one of its own.")
        chats[chat_id] = chat
    return chats


def _order(chats: Mapping[Any, Chat]) -> list[Any]:
    """The ids so that prerequisites come first; raises WrongArgument for unknown ones and circles."""
    needs = {chat_id: list(chat.get("prerequisites", [])) for chat_id, chat in chats.items()}
    for chat_id, needed in needs.items():
        if unknown := [each for each in needed if each not in chats]:
            raise WrongArgument(f"Chat {chat_id!r} has prerequisites that are not in the queue: {unknown!r}.")
    try:
        return list(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(repr(each) for each in error.args[1])
        raise WrongArgument(f"The prerequisites of the chats run in a circle: {circle}.") from None
