"""The picture of a team: a box for each agent, and for what stands around them."""

from __future__ import annotations

import re

import pytest

from agentkit.teams.built.document import read_document
from agentkit.ui.teams import picture
from tests.teams.built import drafts


@pytest.mark.parametrize("name", ["You", "Documents", "Answer"])
def test_an_agent_called_like_a_box_has_one_of_its_own(name: str) -> None:
    draft = {
        "name": "One",
        "agents": [drafts.agent(name, documents={})],
        "flow": {"kind": "single", "agent": name},
    }
    document = read_document(draft)
    arrows = picture.list_arrows(document)
    drawn = picture.write(arrows, document, dark=False)
    boxes = dict(re.findall(r'(\d) \[label="(\w+)", style=', drawn))
    assert sorted(boxes.values()) == sorted(["You", "Documents", "Answer", name])
    ways = [(boxes[one], boxes[other]) for one, other in re.findall(r"(\d) -> (\d)", drawn)]
    assert ways == [("You", name), (name, "Answer"), (name, "Documents")]
    assert [picture.describe(arrow) for arrow in arrows] == [
        f"You to {name} (question)",
        f"{name} to Answer",
        f"{name} to Documents (looks up)",
    ]


def test_a_proxy_that_is_called_as_usual_is_the_box_of_the_documents() -> None:
    document = read_document(drafts.retrieve_chat())
    drawn = picture.write(picture.list_arrows(document), document, dark=True)
    assert drawn.count('[label="Documents"') == 1
