"""A collection whose embedding server has gone: the chat and the lab go by words and say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from agentkit.errors import ModelUnreachable
from agentkit.events import Fallback, Retrieved
from agentkit.retrieval import FakeEmbedder
from agentkit.ui.steps import draw
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle

Ingest = Callable[[str, dict[str, str]], None]
REASON = (
    "far at http://192.0.2.1/v1 cannot be reached (refused); check that it runs and that the"
    " address is right."
)
SAID = f"Passages were looked up by their words alone, not by meaning: {REASON}"


class Gone(FakeEmbedder):
    """Is out of reach."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise ModelUnreachable(REASON)


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    ingest("Kitchen", {"tea.md": "Green tea is steeped at 80 degrees."})
    workspace.library.embedders.default = Gone()
    return workspace


def warnings(app: AppTest) -> list[str]:
    assert not app.exception
    return [one.value.replace("\\", "") for one in app.warning]


def test_an_answer_says_what_its_passages_were_found_by(kitchen: ScriptableWorkspace) -> None:
    kitchen.script("It takes 80 degrees [1].", "It takes 80 degrees [1].")
    app = open_page("chat")
    app.chat_input[0].set_value("How hot for green tea?").run()
    settle(app)
    assert warnings(app) == [SAID]
    (chat,) = kitchen.ledger.chats(OWNER)
    answer = kitchen.ledger.thread(OWNER, chat.id)[-1]
    assert answer.extra["citations"][0]["document"] == "tea.md"
    assert answer.extra["fallback"]["error_type"] == "ModelUnreachable"
    assert warnings(open_page("chat", chat=chat.id)) == [SAID], "after a refresh, too"
    kitchen.library.embedders.default = FakeEmbedder()
    app.chat_input[0].set_value("And how hot for green tea in cups?").run()
    settle(app)
    assert warnings(app) == [SAID], "of the first answer only"


def test_the_lab_says_so_beside_what_it_found(kitchen: ScriptableWorkspace) -> None:
    app = open_page("retrieval_lab", q="green tea")
    assert warnings(app) == [SAID]
    assert list(app.dataframe[0].value["Document"]) == ["tea.md"]
    app = open_page("retrieval_lab", q="giraffes")
    assert warnings(app) == [SAID]
    assert "Nothing was found." in app.info[0].value


def test_the_step_names_the_model() -> None:
    told = Retrieved(
        "tea",
        "Kitchen",
        "lexical",
        [],
        0.04,
        fallback=Fallback("hybrid", "far_*", REASON, "ModelUnreachable"),
    )
    assert draw.describe(told).endswith(
        r"0 passages, 40 ms; by words alone, as far\_\* is out of reach"
    )
