"""The ordered table of an agent's reply functions: the first that matches the sender and is final
makes the reply.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias, TypeVar

from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_kind
from agentkit.core.given import coalesce
from agentkit.core.twin import Mode, core_of
from agentkit.errors import AsyncReplyInSyncChat, SenderRequired, WrongArgument, WrongType
from agentkit.messages import LIST, Stored

Verdict = tuple[bool, Any]
"""`(final, reply)`: a reply function says whether its reply is the last word."""
ReplyFunction = Callable[..., object]
"""`(recipient, messages, sender, config) -> (final, reply)`, sync or async."""
C = TypeVar("C", bound=Callable[..., object])
Entry = dict[str, Any]
"""`trigger`, `reply_func`, `config`, `init_config`, `reset_config`, `ignore_async_in_sync_chat`, as
in AutoGen.
"""


Trigger: TypeAlias = "type | str | Agent | Callable[..., object] | Sequence[Trigger] | None"
"""Whose messages a reply function answers: a class of agents, a name, an agent, a callable on the
sender, None (nobody's), or a list of these."""

ANYBODY: list[Trigger] = [Agent, None]
"""Whoever it is, or nobody."""


class Continued(tuple[bool, None]):
    """`(False, None)` of a reply function that changed the messages: those asked after it get
    `messages`.
    """

    messages: list[Stored]

    def __new__(cls, messages: list[Stored]) -> Continued:
        """Go on with these messages."""
        made = super().__new__(cls, (False, None))
        made.messages = messages
        return made


class ReplyTable:
    """The reply functions in the order in which they are asked."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.entries: list[Entry] = []

    def register(
        self,
        trigger: Trigger,
        reply_func: ReplyFunction,
        position: int,
        config: object,
        reset_config: object,
        *,
        ignore_async: bool,
        remove_others: bool,
    ) -> None:
        """Insert a function; raises WrongArgument for an impossible trigger, WrongType for anything
        but a function.
        """
        check_trigger(self.owner, trigger)
        check_kind(self.owner, "reply_func", reply_func, Callable, "callable")
        check_kind(self.owner, "position", position, int, "a whole number")
        check_kind(self.owner, "reset_config", reset_config, Callable | None, "callable or None")
        if remove_others:
            self.entries.clear()
        self.entries.insert(
            position,
            {
                "trigger": trigger,
                "reply_func": reply_func,
                "config": copy.copy(config),
                "init_config": config,
                "reset_config": reset_config,
                "ignore_async_in_sync_chat": ignore_async and is_async(reply_func),
            },
        )

    def replace(self, old: ReplyFunction, new: ReplyFunction) -> None:
        """Exchange a function wherever it is registered; without effect when it is not."""
        check_kind(self.owner, "new_reply_func", new, Callable, "callable")
        for entry in self.entries:
            if entry["reply_func"] == old:
                entry["reply_func"] = new

    def reset(self) -> None:
        """Put the configs back to what was registered."""
        for entry in self.entries:
            if entry["reset_config"] is None:
                entry["config"] = copy.copy(entry["init_config"])
            else:
                entry["reset_config"](entry["config"])

    def check_sync(self) -> None:
        """Raise AsyncReplyInSyncChat when a function is registered that a sync chat may neither
        call nor ignore.
        """
        called = [entry for entry in self.entries if not entry["ignore_async_in_sync_chat"]]
        barred = set(filter(is_async, map(_function_of, called)))
        if barred:
            names = ", ".join(sorted(map(attrgetter("__name__"), barred)))
            raise AsyncReplyInSyncChat(
                f"{self.owner} has async reply functions ({names}), which a"
                " sync chat cannot call; use a_initiate_chat, or register them with"
                " ignore_async_in_sync_chat=True."
            )

    async def answer(
        self,
        mode: Mode,
        agent: Agent,
        messages: list[Stored],
        sender: Agent | None,
        exclude: Collection[ReplyFunction],
    ) -> Verdict:
        """The first final reply as `(True, reply)`; `(False, None)` when no function has one.

        A method that exists as a sync and an async face is one function: each mode asks its own
        face of it.
        """
        for entry in self._select(mode, exclude):
            if not matches(entry["trigger"], sender):
                continue
            verdict = await self._ask(entry, mode, agent, messages, sender)
            final, reply = verdict
            if final:
                return True, reply
            if isinstance(verdict, Continued):
                messages = verdict.messages
        return False, None

    async def _ask(
        self,
        entry: Entry,
        mode: Mode,
        agent: Agent,
        messages: list[Stored],
        sender: Agent | None,
    ) -> Verdict:
        """What one reply function says; raises WrongType when that is not a verdict."""
        function, config = entry["reply_func"], entry["config"]
        core = core_of(function)
        if core is not None:
            verdict = await core(agent, mode, messages=messages, sender=sender, config=config)
        else:
            verdict = await mode.invoke(
                function, agent, messages=messages, sender=sender, config=config
            )
        if not isinstance(verdict, LIST) or len(verdict) != 2:
            name = getattr(function, "__qualname__", repr(function))
            raise WrongType(
                f"{self.owner}: the reply function {name} must return (final, reply), not"
                f" {verdict!r:.200}."
            )
        return verdict  # type: ignore[return-value]  # a list does as well

    def _select(self, mode: Mode, exclude: Collection[ReplyFunction]) -> list[Entry]:
        """The entries that a chat of this mode asks; excluding one face of a method excludes
        both.
        """
        entries = self.entries
        if exclude:
            excluded = list(map(_method_of, exclude))
            entries = [
                entry for entry in entries if _method_of(entry["reply_func"]) not in excluded
            ]
        if not mode.is_async:
            return [entry for entry in entries if not is_async(entry["reply_func"])]
        # Of a pair that is registered by both faces, an async chat asks the async one.
        async_functions = filter(is_async, map(_function_of, self.entries))
        paired = set(map(core_of, async_functions)) - {None}
        selected = []
        for entry in entries:
            function = entry["reply_func"]
            if is_async(function) or core_of(function) not in paired:
                selected.append(entry)
        return selected


def _function_of(entry: Entry) -> ReplyFunction:
    function: ReplyFunction = entry["reply_func"]
    return function


def _method_of(function: ReplyFunction) -> ReplyFunction:
    """What both faces of a method have in common; of any other function, itself."""
    core: ReplyFunction | None = core_of(function)
    return coalesce(core, function)


def asks_model(core: C) -> C:
    """Mark the core of a reply function that asks the agent's model; what is to be done just before
    finds its place by that.
    """
    vars(core)["asks_model"] = True
    return core


def is_async(function: ReplyFunction) -> bool:
    """Whether it is a coroutine function; for functions and methods without the slow search of
    `inspect`.
    """
    try:
        return bool(function.__code__.co_flags & inspect.CO_COROUTINE)
    except AttributeError:
        return inspect.iscoroutinefunction(function)


def check_trigger(owner: str, trigger: object) -> None:
    """Raise WrongArgument for an impossible trigger."""
    if isinstance(trigger, list):
        for each in trigger:
            check_trigger(owner, each)
    elif not isinstance(trigger, str | Callable | Agent | None):
        raise WrongArgument(
            f"{owner}: a trigger is an agent class, a name, an agent, a callable, None or a list of"
            f" these, not {trigger!r}."
        )


def matches(trigger: Trigger, sender: Agent | None) -> bool:
    """Whether a message of this sender (None: of nobody) triggers.

    Raises SenderRequired for a name when there is no sender, WrongType when a callable gives no
    bool.
    """
    if isinstance(trigger, list):
        if trigger == ANYBODY:  # as those of the stock replies
            return _is_kind((Agent, NoneType), sender)
        return any(matches(each, sender) for each in trigger)
    if trigger is None:
        return sender is None
    if isinstance(trigger, type):
        return sender is not None and _is_kind(trigger, sender)
    if isinstance(trigger, str):
        return _is_called(trigger, sender)
    if callable(trigger) and not _is_kind(Agent, trigger):
        return _ask_trigger(trigger, sender)
    return bool(trigger == sender)


def _is_called(name: str, sender: Agent | None) -> bool:
    if sender is None:
        raise SenderRequired(
            f"The trigger {name!r} is a name; generate_reply needs a sender to compare it with."
        )
    return name == sender.name


def _ask_trigger(trigger: Callable[..., object], sender: Agent | None) -> bool:
    answer = trigger(sender)
    if not isinstance(answer, bool):
        raise WrongType(f"The trigger {trigger!r} must return True or False, not {answer!r}.")
    return answer


_Kind: TypeAlias = "type | tuple[type, ...]"
_kinds: dict[tuple[_Kind, type], bool] = {}


def _is_kind(kind: _Kind, value: object) -> bool:
    """isinstance, remembered by type: protocols are slow to compare."""
    key = (kind, type(value))
    known = _kinds.get(key)
    if known is not None:
        return known
    if len(_kinds) > 4096:
        _kinds.clear()
    _kinds[key] = isinstance(value, kind)
    return _kinds[key]
