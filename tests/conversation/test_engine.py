"""What is asked of the parts of several agents; agents of another make have none, and are left
out.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentkit import ConversableAgent
from agentkit.conversation.engine import check_faces, ended, lend_cache, why_ended
from agentkit.core.twin import SYNC
from agentkit.errors import AsyncReplyInSyncChat
from agentkit.llm.cache import InMemoryCache
from agentkit.reasons import EndReason

FOREIGN: Any = SimpleNamespace(name="foreign", _engine="no engine of ours")


def agent(name: str) -> ConversableAgent:
    return ConversableAgent(name, llm_config=False, human_input_mode="NEVER")


def test_why_an_agent_stopped_replying() -> None:
    ann, bob = agent("ann"), agent("bob")
    tired = EndReason("other", "ann", told="ann is tired")
    assert why_ended(ann, bob) is None
    ended(ann, bob, tired)
    assert (why_ended(ann, bob), why_ended(bob, ann)) == (tired, None)
    ended(FOREIGN, bob, EndReason("other", told="nobody keeps this"))
    assert why_ended(FOREIGN, bob) is None


def test_the_cache_of_a_chat_is_lent_to_those_who_have_a_model() -> None:
    ann, own, lent = agent("ann"), InMemoryCache("own"), InMemoryCache("lent")
    ann.client_cache = own
    with lend_cache([FOREIGN, ann], lent):
        assert ann.client_cache is lent
    assert ann.client_cache is own


def test_async_reply_functions_bar_a_sync_chat() -> None:
    async def reply(*_: object, **__: object) -> tuple[bool, None]:
        return False, None

    ann = agent("ann")
    check_faces(SYNC, [FOREIGN, ann])
    ann.register_reply(None, reply)
    with pytest.raises(AsyncReplyInSyncChat, match="ann"):
        check_faces(SYNC, [FOREIGN, ann])
