"""CompressibleAgent played by both faces; importing this registers the cases of its pairs."""

from __future__ import annotations

import asyncio
from typing import Any

from agentkit import GroupChat, GroupChatManager
from agentkit.agents.compressible import CompressibleAgent
from agentkit.errors import ModelUnreachable
from agentkit.llm.calls.scripted import scripted_model
from tests.contracts.faces import Face, case

LONG = "The invoice of March names Berlin and 1,200 euros. "


def talking(params: Any) -> Any:
    """A reply; to a request for a summary a summary."""
    return (
        "They spoke of invoices."
        if "You shorten" in str(params["messages"][0]["content"])
        else LONG
    )


def agent(face: Face, name: str, replies: Any = talking, /, **config: Any) -> CompressibleAgent:
    """A CompressibleAgent with a scripted model."""
    made: CompressibleAgent = face.add(
        CompressibleAgent(
            name,
            "Be short.",
            llm_config={
                "config_list": [{"model": scripted_model(replies)}],
                "cache_seed": None,
                "max_retries": 0,
            },
            max_consecutive_auto_reply=30,
            compress_config={"trigger_count": 400, **config} if config else False,
        )
    )
    return made


async def a_shorten(messages: list[dict[str, Any]]) -> tuple[bool, list[dict[str, Any]]]:
    """A function of one's own that waits for something."""
    await asyncio.sleep(0)
    return True, [messages[0], messages[-1]]


@case("CompressibleAgent.generate_reply")
def chat_with_summaries(face: Face) -> Any:
    ann = face.agent("ann", default_auto_reply=LONG, max_consecutive_auto_reply=30)
    return face.chat(ann, agent(face, "bob", mode="COMPRESS", leave_last_n=2))


@case("CompressibleAgent.generate_reply")
def chat_in_a_group(face: Face) -> Any:
    people = [
        agent(face, "bob", mode="COMPRESS"),
        agent(face, "cara", mode="COMPRESS", broadcast=False),
    ]
    chat = GroupChat(list(people), [], max_round=20, speaker_selection_method="round_robin")
    return face.chat(face.agent("ann"), face.add(GroupChatManager(chat, llm_config=False)))


@case("CompressibleAgent.generate_reply")
def chat_with_a_function_that_waits(face: Face) -> Any:
    ann = face.agent("ann", default_auto_reply=LONG, max_consecutive_auto_reply=30)
    return face.chat(ann, agent(face, "bob", mode="CUSTOMIZED", compress_function=a_shorten))


@case("CompressibleAgent.generate_reply")
def reply_to_other_messages_than_the_stored(face: Face) -> Any:
    bob, ann = agent(face, "bob"), face.agent("ann")
    bob.chat_messages[ann] = [{"role": "user", "content": "stored", "name": "ann"}]
    return face.call(bob, "generate_reply", [{"role": "user", "content": "given"}], ann)


@case("CompressibleAgent.on_oai_token_limit")
def shorten_and_fail(face: Face) -> Any:
    ann = face.agent("ann")
    verdicts = []
    for name, replies in (("bob", talking), ("bea", [ModelUnreachable("no server")])):
        bob = agent(face, name, replies, mode="COMPRESS", **{"async": True})
        bob.chat_messages[ann] = [
            {"role": "user", "content": f"{n} {LONG}", "name": "ann"} for n in range(40)
        ]
        verdicts.append(face.call(bob, "on_oai_token_limit", sender=ann))
    return verdicts


@case("CompressibleAgent.on_oai_token_limit")
def end_for_want_of_tokens(face: Face) -> Any:
    ann = face.agent("ann", default_auto_reply="more " * 1_500, max_consecutive_auto_reply=30)
    bob = face.add(CompressibleAgent("bob", llm_config=False))
    face.call(bob, "on_oai_token_limit", [{"role": "user", "content": "x"}], ann)
    config = {"config_list": [{"model": "gpt-3.5-turbo-0613", "api_key": "x"}]}
    full = face.add(CompressibleAgent("full", llm_config=config, compress_config=True))
    full.chat_messages[ann] = [{"role": "user", "content": "more " * 5_000, "name": "ann"}]
    return face.call(full, "on_oai_token_limit", sender=ann), face.chat(ann, full, "more " * 5_000)
