"""Whole chats: what one gives back, and queues of them, in order or by their prerequisites."""

from __future__ import annotations

import asyncio
import graphlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import (
    check_all,
    check_flag,
    check_ids,
    check_kind,
    is_whole_number,
)
from agentkit.conversation.model import CutReply
from agentkit.conversation.summary import (
    REFLECTION,
    check_carryover,
    check_reflection,
    find_method,
    format_item,
    list_items,
)
from agentkit.core.given import coalesce, list_missing
from agentkit.core.twin import Mode, faces
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored
from agentkit.reasons import EndReason

Chat = dict[str, Any]
"""The arguments of `initiate_chat`, with `sender` and, for async queues, `chat_id` and
`prerequisites`.
"""
_FIGURES = ("cost", "prompt_tokens", "completion_tokens", "total_tokens")


@dataclass
class ChatResult:
    """What a chat gave; a snapshot that later chats do not change."""

    chat_id: Any = None
    chat_history: list[Stored] = None  # type: ignore[assignment]  # AutoGen's default, also below
    """The messages as the one who began the chat has stored them."""
    summary: Any = None
    cost: dict[str, dict[str, Any]] = None  # type: ignore[assignment]
    """US dollars and tokens: `usage_including_cached_inference` and
    `usage_excluding_cached_inference`.
    """
    human_input: list[str] = None  # type: ignore[assignment]
    """What the person behind the one who began said."""
    stop_reason: str = ""
    """Why the chat ended, in words."""
    cut_replies: list[CutReply] = field(default_factory=list)
    """Replies of models that were cut, oldest first: of the agents, of chats within this one, and
    of its summary.
    """
    end: EndReason | None = None
    """Why the chat ended, as a value."""


def gather_usage_summary(agents: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """The usage of all these agents together, with and without calls that a cache answered."""
    including: dict[str, Any] = {"total_cost": 0}
    excluding: dict[str, Any] = {"total_cost": 0}
    clients = filter(None, map(_client_of, agents))
    for client in {id(client): client for client in clients}.values():
        _add(including, client.total_usage_summary)
        _add(excluding, client.actual_usage_summary)
    return {
        "usage_including_cached_inference": including,
        "usage_excluding_cached_inference": excluding,
    }


def _client_of(agent: object) -> Any:
    """What the agent asks its model by; None without a model, and for agents of another make."""
    return getattr(agent, "client", None)


def _add(total: dict[str, Any], summary: Mapping[str, Any] | None) -> None:
    for model, figures in coalesce(summary, {}).items():
        if model == "total_cost":
            total[model] += figures
            continue
        sums = total.setdefault(model, dict.fromkeys(_FIGURES, 0))
        for key in sums:
            sums[key] += figures[key]


def check_chat(chat: Mapping[str, Any], sender: Any) -> None:
    """Raise WrongArgument for the arguments of a chat that cannot be run."""
    recipient, method = chat.get("recipient"), chat.get("summary_method")
    who = getattr(sender, "name", "a chat")
    if not isinstance(recipient, Agent):
        raise WrongArgument(f"{who}: the recipient of a chat must be an agent, not {recipient!r}.")
    find_method(who, method)
    models = (_client_of(recipient), _client_of(sender))
    if method == REFLECTION and models == (None, None):
        raise WrongArgument(
            f"{who}: summary_method 'reflection_with_llm' needs a model; give the sender or"
            f" {recipient.name} an llm_config."
        )
    _check_options(who, chat)


def _check_options(who: str, chat: Mapping[str, Any]) -> None:
    message, turns = chat.get("message"), coalesce(chat.get("max_turns"), 0)
    if not isinstance(message, str | dict | Callable | None):
        raise WrongArgument(
            f"{who}: the message of a chat is a text, a dict or a callable, not {message!r}."
        )
    if not is_whole_number(turns) or turns < 0:
        raise WrongArgument(
            f"{who}: max_turns must be a whole number from 0 or None, not {turns!r}."
        )
    for flag in ("clear_history", "silent", "verbose"):
        check_flag(who, flag, chat.get(flag))
    args, cache = chat.get("summary_args"), chat.get("cache")
    check_kind(who, "summary_args", args, dict | None, "a dict")
    if chat.get("summary_method") == REFLECTION:
        check_reflection(who, coalesce(args, {}))
    if isinstance(cache, str | int | float | list | dict):  # a seed or a folder, perhaps
        raise WrongType(
            f"{who}: cache must be a Cache, such as Cache.disk(seed), or None, not {cache!r:.200}."
        )
    if not callable(message):  # a callable gets its carryover as it is
        check_carryover(who, chat.get("carryover"))


def initiate_chats(chat_queue: list[Chat]) -> list[ChatResult]:
    """Run chats one after the other; each gets the summaries of those before as carryover.

    Every dict holds the arguments of `initiate_chat` and `sender`;
    `finished_chat_indexes_to_exclude_from_carryover` leaves summaries out. Where a chat has
    `prerequisites`, order and carryover are as with `a_initiate_chats`. Raises WrongArgument before
    the first chat begins.
    """
    return _in_order_sync(chat_queue)


async def in_order(chat_queue: list[Chat], mode: Mode) -> list[ChatResult]:
    """The core of `initiate_chats`, for cores that run a queue: so chats within chats need no
    deeper stack.
    """
    _check_queue(chat_queue)
    if any(map(_list_needed, chat_queue)):
        found = await _by_prerequisites(chat_queue, mode)
        ids = map(itemgetter("chat_id"), chat_queue)
        return [found[each] for each in ids]
    finished: dict[Any, ChatResult] = {}
    for index, given in enumerate(chat_queue):
        finished[index] = await _run(given, finished, mode)
    return list(finished.values())


def _list_needed(chat: Chat) -> list[Any]:
    """The ids of the chats that must have ended before."""
    return list(chat.get("prerequisites", ()))


async def _by_prerequisites(chat_queue: list[Chat], mode: Mode) -> dict[Any, ChatResult]:
    """The core of `a_initiate_chats`; in sync mode one chat at a time."""
    _check_queue(chat_queue)
    chats = _index_by_id(chat_queue)
    order = _sort(chats)
    finished: dict[Any, ChatResult] = {}
    ready = {chat_id: asyncio.Event() for chat_id in order}

    async def run(chat_id: Any) -> None:
        before: dict[Any, ChatResult] = {}
        for each in _list_needed(chats[chat_id]):
            await ready[each].wait()  # in sync mode they are done
            before[each] = finished[each]
        finished[chat_id] = await _run(chats[chat_id], before, mode)
        ready[chat_id].set()

    await mode.gather(*map(run, order))
    return dict(zip(order, (finished[each] for each in order), strict=True))


async def _run(given: Chat, before: Mapping[Any, ChatResult], mode: Mode) -> ChatResult:
    """One chat of a queue, with the summaries of those before that it does not leave out."""
    left_out = given.get("finished_chat_indexes_to_exclude_from_carryover", [])
    told = (before[each] for each in list_missing(before, left_out))
    chat = _with_summaries(given, list(map(attrgetter("summary"), told)))
    result: ChatResult = await mode.peer(chat["sender"], "initiate_chat", **chat)
    return result


_in_order_sync = faces(in_order)[0]
_by_prerequisites_async = faces(_by_prerequisites)[1]


async def a_initiate_chats(chat_queue: list[Chat]) -> dict[Any, ChatResult]:
    """(async) Run chats side by side, each as soon as its `prerequisites` are done; results by
    `chat_id`.

    A chat gets the summaries of its prerequisites as carryover. Raises WrongArgument for chats
    without an id, for ids that are there twice or unknown, and for prerequisites in a circle, which
    it names.
    """
    return await _by_prerequisites_async(chat_queue)


def check_chats(owner: str, queue: object) -> None:
    """Raise WrongType for anything but a list of dicts."""
    check_all(owner, "chat_queue", queue, Mapping, "a dict of the arguments of a chat")


def _check_queue(queue: Sequence[Chat]) -> None:
    check_chats("initiate_chats", queue)
    for index, chat in enumerate(queue):
        if chat.get("sender") is None:
            raise WrongArgument(
                f"Chat {index} of the queue has no sender; say which agent begins it."
            )
        check_chat(chat, chat["sender"])
        for key in ("prerequisites", "finished_chat_indexes_to_exclude_from_carryover"):
            check_ids(chat["sender"].name, key, chat.get(key, ()))


def _with_summaries(given: Chat, summaries: list[Any]) -> Chat:
    """A copy of the chat with the summaries behind its own carryover, told on the console."""
    own = given.get("carryover")
    check_carryover(given["sender"].name, own)
    chat = {**given, "carryover": list_items(own) + summaries}
    if not chat.get("silent", False):
        announcing.note(chat["sender"].name, f"begins a chat with {chat['recipient'].name}")
    return chat


def announce_beginning(
    sender: str, recipient: str, message: object, options: Mapping[str, Any], silent: bool
) -> None:
    """Tell what a chat begins with and carries over, when its options say `verbose`."""
    if silent or not options.get("verbose"):
        return
    opening = format_item(message)
    if callable(message):
        opening = getattr(message, "__name__", repr(message))
    items = map(format_item, list_items(options.get("carryover")))
    told = "\ncarried over:\n".join([f"to {recipient}:\n{opening}", *items])
    announcing.note(sender, told)


def _index_by_id(queue: Sequence[Chat]) -> dict[Any, Chat]:
    chats: dict[Any, Chat] = {}
    for index, chat in enumerate(queue):
        chat_id = chat.get("chat_id")
        if chat_id is None or chat_id in chats:
            raise WrongArgument(
                f"Chat {index} of the queue has chat_id {chat_id!r}; each chat needs one of its"
                " own."
            )
        chats[chat_id] = chat
    return chats


def _sort(chats: Mapping[Any, Chat]) -> list[Any]:
    """The ids so that prerequisites come first; raises WrongArgument for unknown ones and
    circles.
    """
    needs = {chat_id: _list_needed(chat) for chat_id, chat in chats.items()}
    for chat_id, needed in needs.items():
        unknown = list_missing(needed, chats)
        if unknown:
            raise WrongArgument(
                f"Chat {chat_id!r} has prerequisites that are not in the queue: {unknown!r}."
            )
    try:
        return list(graphlib.TopologicalSorter(needs).static_order())
    except graphlib.CycleError as error:
        circle = " -> ".join(map(repr, error.args[1]))
        raise WrongArgument(f"The prerequisites of the chats run in a circle: {circle}.") from None
