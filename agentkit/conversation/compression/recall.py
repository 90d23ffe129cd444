"""What a compression recalls of a conversation: it keeps neither of the two who talk alive, and
lets failures rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from agentkit.conversation.compression.shape import Messages

T = TypeVar("T")


class _Nobody:
    """Stands where there is no agent, or no peer."""


_NOBODY = _Nobody()


def _key(one: object) -> object:
    if one is None:
        return _NOBODY
    return one


class Conversations(Generic[T]):
    """One thing known of each conversation of an agent with a peer, for as long as both of them
    live.
    """

    def __init__(self) -> None:
        self._by_agent: WeakKeyDictionary[Any, WeakKeyDictionary[Any, T]] = WeakKeyDictionary()

    def get(self, agent: object, peer: object) -> T | None:
        """What is known of theirs; either may be None."""
        return self._of(agent).get(_key(peer))

    def put(self, agent: object, peer: object, value: T) -> None:
        """Know this of theirs, instead of what was known."""
        self._of(agent)[_key(peer)] = value

    def drop(self, agent: object) -> None:
        """Know nothing of this agent's any more."""
        self._by_agent.pop(_key(agent), None)

    def _of(self, agent: object) -> WeakKeyDictionary[Any, T]:
        return self._by_agent.setdefault(_key(agent), WeakKeyDictionary())


def goes_on(messages: Messages, earlier: Messages) -> bool:
    """Whether a history begins with an earlier one."""
    return messages[: len(earlier)] == earlier


def grown(before: int, now: int) -> bool:
    """Whether a history is by a quarter longer than when shortening it failed, in whatever measure:
    then it is tried again.
    """
    return 4 * now >= 5 * before


@dataclass(frozen=True, slots=True)
class Failure:
    """A history that could not be shortened, and the tokens that were sent with it."""

    messages: Messages
    tokens: int

    def rests(self, messages: Messages, tokens: int, limit: int | None) -> bool:
        """Whether it would be too soon to try again with this history: it is the same one, and has
        hardly grown.

        Never from `limit` tokens on: what cannot be sent must be shortened.
        """
        if limit is not None and tokens >= limit:
            return False
        return goes_on(messages, self.messages) and not grown(self.tokens, tokens)


NO_FAILURE = Failure([], 0)
"""What never keeps anybody from trying."""
