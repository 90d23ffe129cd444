"""What a transform is, and the hook that lets an agent use some."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.events import Noted
from agentkit.messages import Given

Messages = list[Given]


@runtime_checkable
class MessageTransform(Protocol):
    """One change to a list of messages; AutoGen's protocol, also for your own."""

    def apply_transform(self, messages: Messages) -> Messages:
        """The changed messages, as a new list; those given stay as they are."""

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """What changed, in words, and whether anything did."""


class Hooked(Protocol):
    """An agent as far as it is needed here."""

    @property
    def name(self) -> str:
        """Who says what the transforms did."""

    def register_hook(self, hookable_method: str, hook: Callable[..., Any]) -> None:
        """Let the hook work in the named place."""


class AgentCapability:
    """What can be added to agents: the base class for your own, as in AutoGen."""

    def add_to_agent(self, agent: Any) -> None:
        """Give an agent this capability; subclasses say how."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say how it is added to an agent."
        )


class TransformMessages(AgentCapability):
    """Applies transforms, in order, to the messages of an agent before it replies.

    The agent's own history stays whole, a system message at the head is left out of it all, and
    with `verbose` each transform that changed something says so: on the console and as an event.
    """

    def __init__(
        self, *, transforms: Sequence[MessageTransform] = (), verbose: bool = True
    ) -> None:
        self._transforms = list(transforms)
        self._verbose = verbose

    def add_to_agent(self, agent: Hooked) -> None:
        """Apply the transforms from now on to what this agent replies to; raises WrongArgument when
        they already are.
        """
        agent.register_hook("process_all_messages_before_reply", _Hook(self, agent))

    def apply(self, messages: Messages, agent: str = "") -> Messages:
        """The messages as the transforms want them, as a new list of copies; `agent` is the name to
        report under.
        """
        changed = copy.deepcopy(messages)
        begins_with_system = any(message.get("role") == "system" for message in changed[:1])
        system, changed = changed[:begins_with_system], changed[begins_with_system:]
        for transform in self._transforms:
            before = changed
            changed = transform.apply_transform(copy.deepcopy(before))
            # Transforms for early versions of AutoGen have no logs.
            if self._verbose and hasattr(transform, "get_logs"):
                _report(agent, *transform.get_logs(before, changed))
        return system + changed


@dataclass(frozen=True, slots=True)
class _Hook:
    """The transforms as a hook of one agent; equal to another of the same, so that none is
    registered twice.
    """

    transforms: TransformMessages
    agent: Hooked

    def __call__(self, messages: Messages) -> Messages:
        return self.transforms.apply(messages, self.agent.name)


def _report(agent: str, text: str, had_effect: bool) -> None:
    if had_effect:
        IOStream.get_default().print(text, flush=True)
        bus.emit(Noted(agent, text))
