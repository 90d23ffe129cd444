"""What a running tool tells beside its text reaches the one who runs it, and nobody else."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

from agentkit.conversation import ConversableAgent
from agentkit.core import bus
from agentkit.core.tools import collecting, give
from agentkit.events import Event, ToolReturned


def passage(number: int) -> dict[str, Any]:
    return {"marker": number, "document_id": "d", "start": 0, "end": number}


def test_blocks_around_hear_it_too_and_outside_nobody_does() -> None:
    give([passage(1)])
    with collecting() as outer:
        with collecting() as inner:
            thread = threading.Thread(
                target=contextvars.copy_context().run, args=(give, [passage(2)])
            )
            thread.start()
            thread.join()
        give([passage(3)])
    assert (inner, outer) == ([passage(2)], [passage(2), passage(3)])
    give([passage(4)])
    assert len(outer) == 2


def test_calls_side_by_side_have_each_their_own() -> None:
    both = asyncio.Event()
    begun: list[int] = []

    async def look_up(number: int) -> str:
        begun.append(number)
        if len(begun) == 2:
            both.set()
        await both.wait()
        give([passage(number)])
        return f"<{number}>"

    agent = ConversableAgent(
        "a", human_input_mode="NEVER", llm_config=False, function_map={"look_up": look_up}
    )
    calls = [{"name": "look_up", "arguments": f'{{"number": {number}}}'} for number in (1, 2)]
    heard: list[Event] = []

    async def run() -> None:
        await asyncio.gather(*(agent.a_execute_function(each) for each in calls))

    with bus.listening(heard.append):
        asyncio.run(run())
    returned = {event.content: event.passages for event in heard if isinstance(event, ToolReturned)}
    assert returned == {"<1>": [passage(1)], "<2>": [passage(2)]}
