"""Chats inside a reply: a queue of inner chats runs, and the last summary is the reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from agentkit.conversation.agent import Agent, ChatAgent
from agentkit.conversation.chats import Chat, a_initiate_chats, check_chats, in_order
from agentkit.conversation.checks import check_flag
from agentkit.conversation.replies import Verdict
from agentkit.conversation.summary import REFLECTION, reflect_as_told, with_carryover
from agentkit.core.given import coalesce
from agentkit.core.twin import SYNC, Mode, faces
from agentkit.errors import WrongArgument
from agentkit.messages import AnyMessage, Stored, content_of, text_of

DEFAULT = "summary_from_nested_chats"
Queue = list[Chat]


def reply_function(
    owner: str, queue: Queue, reply_func: str | Callable[..., object], use_async: bool | None
) -> Callable[..., object]:
    """The reply function for a queue.

    Raises WrongType for anything but a queue, WrongArgument for an unknown function and for async
    queues without chat ids.
    """
    check_chats(owner, queue)
    check_flag(owner, "use_async", use_async)
    summarize: Callable[..., object] = nested_summary
    if use_async:
        _check_ids(owner, queue)
        summarize = a_nested_summary
    if reply_func == DEFAULT:
        reply_func = summarize
    if not callable(reply_func):
        raise WrongArgument(
            f"{owner}: reply_func_from_nested_chats must be {DEFAULT!r} or a callable, not"
            f" {reply_func!r}."
        )
    function = reply_func

    async def _nested_reply(
        recipient: ChatAgent,
        mode: Mode,
        /,
        messages: Any = None,
        sender: Any = None,
        config: object = None,
    ) -> Verdict:
        if function is nested_summary:
            # In sync chats also within an async one, unless `use_async` is asked for.
            return await _nested_summary(queue, SYNC, recipient, messages, sender, config)
        verdict: Verdict = await mode.invoke(function, queue, recipient, messages, sender, config)
        return verdict

    sync, async_ = faces(_nested_reply)
    if use_async:
        return async_
    return sync


def _check_ids(owner: str, queue: Queue) -> None:
    for chat in queue:
        if chat.get("chat_id") is None:
            raise WrongArgument(
                f"{owner}: with use_async each chat of chat_queue needs a chat_id; this has"
                f" none: {chat!r:.200}."
            )


async def _nested_summary(
    queue: Queue,
    mode: Mode,
    /,
    recipient: ChatAgent,
    messages: list[Stored],
    sender: Agent,
    config: object,
) -> Verdict:
    """Run the queue one chat after the other; the reply is the last summary, or None when no chat
    of it has a message.
    """
    chats = select_chats(queue, recipient, messages, sender, config)
    if not chats:
        return True, None
    finished = await in_order(chats, mode)
    return True, finished[-1].summary


nested_summary = faces(_nested_summary)[0]


async def a_nested_summary(
    queue: Queue, recipient: ChatAgent, messages: list[Stored], sender: Agent, config: object
) -> Verdict:
    """Run the queue by its prerequisites; the reply is the summary of its last chat, or None as
    above.
    """
    chats = select_chats(queue, recipient, messages, sender, config)
    if not chats:
        return True, None
    finished = await a_initiate_chats(chats)
    return True, finished[chats[-1]["chat_id"]].summary


def select_chats(
    queue: Queue,
    recipient: ChatAgent,
    messages: Sequence[AnyMessage],
    sender: Agent,
    config: object,
) -> Queue:
    """The chats of the queue that have a message; the first takes the last message of the outer
    chat when it has none.
    """
    if not queue:
        return []
    chats = list(map(_begin, queue, repeat(recipient)))
    first = chats[0]
    if first["message"] is None:
        first["message"] = content_of(messages[-1])
    for chat in chats:
        message = chat["message"]
        if callable(message):
            chat["message"] = message(recipient, messages, sender, config)
    if "carryover_config" in first:
        carryover = _make_carryover(first.pop("carryover_config"), recipient, messages, sender)
        first["message"] = with_carryover(recipient.name, first["message"], carryover)
    return [chat for chat in chats if chat["message"]]


def _begin(chat: Chat, recipient: ChatAgent) -> Chat:
    """A copy of the chat, which the recipient begins unless another sender is given."""
    sender = coalesce(chat.get("sender"), recipient)
    return {"message": None, **chat, "sender": sender}


def _make_carryover(
    config: dict[str, Any], recipient: ChatAgent, messages: Sequence[AnyMessage], sender: Agent
) -> str:
    """What of the outer chat, as others know it, goes into the first inner one."""
    method: object = config.get("summary_method")
    args: dict[str, Any] = coalesce(config.get("summary_args"), {})
    if sender in recipient.chat_messages:
        messages = recipient.chat_messages_for_summary(sender)
    if callable(method):
        return str(method(recipient, messages, args))
    if method == REFLECTION:
        return str(reflect_as_told(recipient, messages, sender, args))
    select = _SELECTED.get(method)
    if select is None:
        raise WrongArgument(
            "carryover_config: summary_method must be 'all', 'last_msg', 'reflection_with_llm' or a"
            f" callable, not {method!r}."
        )
    selected = map(content_of, select(messages))
    return "\n".join(map(text_of, selected))


def _select_all(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    return [message for message in messages if message.get("content")]


def _select_last(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    return [messages[-1]]


_SELECTED: dict[Any, Callable[[Sequence[AnyMessage]], list[AnyMessage]]] = {
    "all": _select_all,
    "last_msg": _select_last,
}
"""Methods that take over what was said, word for word."""
