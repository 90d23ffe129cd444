"""Compression: keeps the history that an agent's model is sent below a limit, by one strategy or
several in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_count, check_flag
from agentkit.conversation.compression.attempt import Attempt, assemble
from agentkit.conversation.compression.meter import Meter, model_of, window_named
from agentkit.conversation.compression.model_summary import ModelSummary
from agentkit.conversation.compression.recall import NO_FAILURE, Conversations, Failure, goes_on
from agentkit.conversation.compression.settings import is_trigger
from agentkit.conversation.compression.shape import Messages, divide
from agentkit.conversation.compression.sharing import broadcast, keep
from agentkit.conversation.compression.strategy import Strategy
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.model import list_tools
from agentkit.conversation.replies import Continued
from agentkit.conversation.tooling import conversation
from agentkit.core.given import coalesce
from agentkit.core.lenient import is_number
from agentkit.core.twin import Mode, core_of, faces
from agentkit.errors import WrongArgument, WrongType
from agentkit.llm.tokens.windows import DEFAULT_MODEL, how_to_set_window
from agentkit.messages import Given


@dataclass(frozen=True, slots=True)
class _Asker:
    """Whose model is asked; the defaults stand for nobody's, whose messages are counted only."""

    model: str
    window: int | None
    """Tokens; None when unknown."""
    name: str = ""
    agent: ConversableAgent | None = None
    client: Any = None
    system: Messages = field(default_factory=list)
    offered: Mapping[str, Any] = field(default_factory=dict)


def _describe(agent: ConversableAgent) -> _Asker:
    model, window = model_of(agent)
    offered = list_tools(agent.llm_config)
    return _Asker(
        model, window, agent.name, agent, agent.client, agent._oai_system_message, offered
    )


class Compression:
    """Shortens a history before the model is asked, as soon as all that is sent (tools included)
    reaches `trigger`.

    `trigger` is a share of the model's window or a number of tokens; where the first message alone
    takes more than half of that, it is so much later, as far as the limit allows. The system
    message, the first and at least the newest message stay as they are, `keep_last` messages where
    there is room; calls stay with their results, and cited passages in the
    summary. After a success no more than `limit` tokens are sent: by default the model's window, or
    the trigger where the window is not known. A failure leaves the history whole; both are told by
    the event Compressed. After a failure the same history is tried again when it has grown by a
    quarter, or has reached the limit. With `broadcast` the agent that is talked with (in a group
    chat everybody) gets the shorter history, too; a group's transcript stays whole.

    `strategy` is one or several in turn until the messages fit; by default the model's summary.
    `model` counts where no agent says which model it is. Raises WrongType and WrongArgument for
    what cannot be.
    """

    def __init__(
        self,
        strategy: Strategy | Sequence[Strategy] | None = None,
        trigger: float = 0.7,
        keep_last: int = 4,
        *,
        limit: int | None = None,
        broadcast: bool = False,
        model: str = DEFAULT_MODEL,
    ) -> None:
        self._strategies = _parse_strategies(strategy)
        self._trigger = read_trigger("Compression", "trigger", trigger)
        check_count("Compression", "keep_last", keep_last)
        _check_limit(limit)
        check_flag("Compression", "broadcast", broadcast)
        self._keep_last = max(1, keep_last)
        self._limit = limit
        self._broadcast = broadcast
        self._model = model
        self._meters: dict[str, Meter] = {}
        self._views: Conversations[tuple[Messages, Messages]] = Conversations()
        self._failures: Conversations[Failure] = Conversations()
        self._reply = faces(self._reply_function())[0]

    @property
    def name(self) -> str:
        """The strategies as events tell them."""
        return ", then ".join(strategy.name for strategy in self._strategies)

    def add_to_agent(self, agent: ConversableAgent) -> None:
        """Shorten what this agent's model is sent from now on.

        Raises WrongArgument when that is done already, when `trigger` is a share of a window that
        nobody knows, and for a GroupChatManager, which answers by its members.
        """
        if hasattr(agent, "groupchat"):
            raise WrongArgument(
                f"{agent.name} leads a group, whose members answer: add the compression to them,"
                " and give the GroupChat select_speaker_transform_messages for the choice of"
                " speakers."
            )
        entries = agent._reply_func_list
        if any(entry["reply_func"] is self._reply for entry in entries):
            raise WrongArgument(f"{agent.name}: this compression is added already.")
        if agent.client is not None:
            self._find_bounds(*model_of(agent))
        agent.register_reply(
            [Agent, None],
            self._reply,
            position=before_the_model(agent),
            reset_config=lambda config: self._forget(agent),
        )

    def _forget(self, agent: ConversableAgent) -> None:
        """Know nothing of the agent's conversations, as it knows none itself."""
        self._views.drop(agent)
        self._failures.drop(agent)

    async def _compress(
        self, mode: Mode, /, messages: Messages, agent: ConversableAgent | None = None
    ) -> Messages:
        """The messages, shortened when they reach the trigger; those given when they do not, or
        when that fails.
        """
        if agent is None:
            asker = _Asker(self._model, window_named(self._model))
        else:
            asker = _describe(agent)
        return await self._shorten_if_due(mode, messages, asker, None)

    compress = faces(_compress)[0]

    async def _shorten_if_due(
        self, mode: Mode, messages: Messages, asker: _Asker, peer: Agent | None
    ) -> Messages:
        trigger, limit = self._find_bounds(asker.model, asker.window)
        meter = self._find_meter(asker)
        fixed = 0
        if asker.agent is not None:
            fixed = meter.count_fixed(asker.system, asker.offered)
        attempt = Attempt(asker.name, self.name, meter, fixed, limit)
        tokens = attempt.tokens(messages)
        due = attempt.due_at(trigger, messages)
        if tokens < due:
            return messages
        failure = self._failures.get(asker.agent, peer) or NO_FAILURE
        if failure.rests(messages, tokens, self._limit or asker.window):
            return messages
        made = await attempt.run(
            messages, lambda: mode.block(self._shorten, messages, attempt, due, asker)
        )
        if made is None:
            self._failures.put(asker.agent, peer, Failure(list(messages), tokens))
            return messages
        self._failures.put(asker.agent, peer, NO_FAILURE)
        return made

    def _find_meter(self, asker: _Asker) -> Meter:
        if asker.model not in self._meters:
            self._meters[asker.model] = Meter(asker.model, asker.client)
        return self._meters[asker.model]

    def apply_transform(self, messages: list[Given]) -> list[Given]:
        """The same as a message transform, for `TransformMessages`; without an agent a strategy may
        lack a model.
        """
        shown = cast(Messages, messages)
        made = self.compress(self._renew(None, None, shown))
        self._views.put(None, None, (shown[:-1], made[:-1]))
        return cast(list[Given], list(made))

    def get_logs(
        self, pre_transform_messages: list[Given], post_transform_messages: list[Given]
    ) -> tuple[str, bool]:
        """How many messages became how many, and whether any did."""
        before, after = len(pre_transform_messages), len(post_transform_messages)
        if pre_transform_messages == post_transform_messages:
            return "No messages were compressed.", False
        return f"Compressed {before} messages to {after}.", True

    def _reply_function(self) -> Any:
        async def _compress_history(
            recipient: ConversableAgent,
            mode: Mode,
            /,
            messages: Messages | None = None,
            sender: Agent | None = None,
            config: object = None,
        ) -> tuple[bool, Any]:
            """Reply function: never final; those asked after it see the shortened history."""
            stored = _copy_stored(recipient, sender)
            shown = list(conversation(recipient, messages, sender))
            before = self._renew(recipient, sender, shown)
            made = await self._shorten_if_due(mode, before, _describe(recipient), sender)
            if made is shown:
                return False, None
            if not keep(recipient, sender, stored, shown, made):
                # Hooks change the last message.
                self._views.put(recipient, sender, (shown[:-1], made[:-1]))
            elif self._broadcast:
                broadcast(recipient, sender, stored)
            return Continued(made)

        return _compress_history

    def _renew(
        self, agent: ConversableAgent | None, peer: Agent | None, shown: Messages
    ) -> Messages:
        """A history that is not stored shorter: what was made of its beginning the last time, and
        what is new.
        """
        old, made = coalesce(self._views.get(agent, peer), ([], []))
        if not old or not goes_on(shown, old):
            return shown
        return [*made, *shown[len(old) :]]

    def _find_bounds(self, model: str, window: int | None) -> tuple[int, int]:
        """Tokens from which on it is shortened, and those that may be sent at most."""
        limit = self._limit or window
        if isinstance(self._trigger, int):
            limit = limit or self._trigger
            return min(self._trigger, limit), limit
        if limit is None:
            raise WrongArgument(
                f"Compression: trigger={self._trigger} is a share of the window of {model!r}, which"
                " is not known; give limit= or trigger= as a number of tokens, or"
                f" {how_to_set_window(model)}."
            )
        return int(self._trigger * limit), limit

    def _shorten(
        self, messages: Messages, attempt: Attempt, trigger: int, asker: _Asker
    ) -> Messages:
        parts = self._divide(messages, attempt, trigger)
        return assemble(parts, self._strategies, attempt, trigger, asker.client, asker.agent)

    def _divide(
        self, messages: Messages, attempt: Attempt, trigger: int
    ) -> tuple[Messages, Messages, Messages]:
        """Head, middle and tail; of the newest messages fewer stay where they alone would fill the
        room.
        """
        for keep_last in range(self._keep_last, 0, -1):
            head, middle, tail = divide(messages, keep_last)
            if middle and attempt.tokens([*head, *tail]) <= 3 * trigger // 4:
                break
        return head, middle, tail


def _parse_strategies(given: Any) -> list[Strategy]:
    strategies = coalesce(given, ModelSummary())
    if not isinstance(strategies, list | tuple):
        strategies = [strategies]
    for each in strategies or [None]:
        if not isinstance(each, Strategy):
            raise WrongType(
                f"Compression: strategy must be a strategy or a list of them, not {each!r:.80}."
            )
    return list(strategies)


def _check_limit(limit: int | None) -> None:
    check_count("Compression", "limit", coalesce(limit, 1))
    if limit == 0:
        raise WrongArgument(
            "Compression: limit=0 leaves room for nothing; give a number of tokens, or None."
        )


def _copy_stored(agent: ConversableAgent, peer: Agent | None) -> Messages:
    """The agent's conversation with the peer as it is now; empty without one."""
    if peer is None:
        return []
    return list(agent.chat_messages.get(peer, ()))


def before_the_model(agent: ConversableAgent) -> int:
    """The position in the agent's reply table right before its model is asked; the first one when
    it is not there.
    """
    for place, entry in enumerate(agent._reply_func_list):
        if getattr(core_of(entry["reply_func"]), "asks_model", False):
            return place
    return 0


def read_trigger(owner: str, argument: str, value: object) -> float:
    """A trigger: a share (float up to 1) or tokens (int); raises WrongType or WrongArgument for
    anything else.
    """
    if not is_number(value):
        raise WrongType(
            f"{owner}: {argument} must be a share up to 1.0 or a number of tokens, not"
            f" {value!r:.80}."
        )
    if not is_trigger(value):
        raise WrongArgument(
            f"{owner}: {argument}={value!r} must be above 0: a share up to 1.0, or a number of"
            " tokens."
        )
    if value > 1:
        return int(value)
    return value
