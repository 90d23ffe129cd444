"""Every method that exists as `x` and `a_x` does the same in both: one script, played by each face,
leaves the same behind.

Compared are the result or the exception, all events, what was printed, and the transcripts,
counters, caches and contexts of everybody who took part.
"""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from agentkit import ConversableAgent
from agentkit.conversation import nested

# Importing them registers them.
from tests.agents.compressible import face_cases as compressible  # noqa: F401

# Importing them registers them.
from tests.contracts import face_cases, face_cases_dialog, face_cases_plans  # noqa: F401
from tests.contracts.faces import CASES, Case, Face, outcome, pairs
from tests.conversation import cast


def test_every_pair_has_a_case() -> None:
    found = set(pairs())
    assert len(found) >= 15
    assert sorted(found - set(CASES)) == []
    assert sorted(set(CASES) - found) == []


def test_a_pair_without_a_case_would_be_found() -> None:
    class Fresh(ConversableAgent):
        def send_off(self) -> None: ...

        async def a_send_off(self) -> None: ...

    module = sys.modules[nested.__name__]
    Fresh.__module__ = module.__name__
    vars(module)["Fresh"] = Fresh
    try:
        assert "Fresh.send_off" in set(pairs())
    finally:
        del vars(module)["Fresh"]


ALL = [
    pytest.param(play, id=f"{name}-{play.__name__}")
    for name, plays in CASES.items()
    for play in plays
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("play", ALL)
def test_both_faces_do_the_same(play: Case) -> None:
    sync, asynchronous = outcome(play, is_async=False), outcome(play, is_async=True)
    assert asynchronous == sync
    assert any(sync.values())


def test_a_difference_would_be_seen() -> None:
    def differs(face: Face) -> None:
        face.call(
            face.agent("ann"), "send", "async" if face.is_async else "sync", face.agent("bob")
        )

    sync, asynchronous = outcome(differs, is_async=False), outcome(differs, is_async=True)
    assert {key for key in sync if sync[key] != asynchronous[key]} == {
        "events",
        "printed",
        "people",
    }


# Long chats


def talkers(replies: int) -> tuple[ConversableAgent, ConversableAgent]:
    settings = {"max_consecutive_auto_reply": replies, "default_auto_reply": "on and on"}
    return cast.agent("ann", **settings), cast.agent("bob", **settings)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_chat_of_20000_messages_does_not_recurse(is_async: bool) -> None:
    ann, bob = talkers(10_000)
    result = cast.call(is_async, ann, "initiate_chat", bob, message="hi", silent=True)
    assert len(result.chat_history) == 20_001 > 20 * sys.getrecursionlimit() - 1
    assert result.stop_reason == "bob reached its limit of automatic replies (10000)"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_memory_grows_with_the_messages_only(is_async: bool) -> None:
    """A message is kept as three dicts: by both sides and in the result. Nothing waits for those
    that follow.
    """
    ann, bob = talkers(2_500)
    tracemalloc.start()
    try:
        result = cast.call(is_async, ann, "initiate_chat", bob, message="hi", silent=True)
        kept, highest = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(result.chat_history) == 5_001
    assert kept / 5_001 < 1_500
    assert highest < 2 * kept
