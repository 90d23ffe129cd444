"""Many people at once: everybody gets an answer out of the right document, and nothing is left
over.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentkit import runs
from agentkit.ledger.queries import CallFilter
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.servers.openai_server import OpenAIServer, answer_from_passages
from tests.soak import TIMES

PEOPLE = 8
QUESTIONS = 3 * TIMES


def told(number: int) -> str:
    return f"The code word of station {number} is zebra{number}."


@pytest.mark.soak
def test_many_ask_while_documents_come_in(
    shared_server: OpenAIServer, owner: str, tmp_path: Path
) -> None:
    shared_server.script = answer_from_passages
    settings = Settings(tmp_path / "data", owner, openai_base_url=shared_server.base_url)
    workspace = Workspace(settings, FakeEmbedder())
    before = set(threading.enumerate())

    def person(number: int) -> None:
        """Takes a document in, and asks about it, over and over."""
        name, place = f"station {number}", tmp_path / f"{number}.txt"
        place.write_text(told(number))
        for turn in range(QUESTIONS):
            source = Source(f"{turn}.txt", place, f"upload:{number}/{turn}")
            workspace.ingest(owner, name, [source]).result()
            asked = f"What is the code word of station {number}?"
            answer = workspace.ask(owner, asked, collection=name).result()
            assert f"zebra{number}." in answer.text
            assert {one.text for one in answer.citations} == {told(number)}

    with ThreadPoolExecutor(PEOPLE) as people:
        for done in [people.submit(person, number) for number in range(PEOPLE)]:
            done.result()
    assert runs.live(owner) == []
    assert not [one for one in set(threading.enumerate()) - before if not one.daemon]
    (asked,) = workspace.figures.groups(CallFilter(owner, purpose="chat"), "model")
    assert asked.totals.calls == PEOPLE * QUESTIONS
    workspace.close()
