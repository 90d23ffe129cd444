"""The tab of documents on the Usage page: which were found and cited, which were of no use, and the
questions that none answered.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import health
from agentkit.ledger.usage.health import Unanswered, group_by_topic
from agentkit.retrieval import MiniLMEmbedder
from agentkit.teams import Question
from agentkit.ui.usage import health as tab
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.app.test_usage import open_tab
from tests.conftest import MODELS

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is brewed at 70 degrees for two minutes."
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOUP = "Soup simmers for an hour."


@pytest.fixture
def asked(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    """A question that is answered from a document, and one that is not."""
    ingest("Kitchen", {"tea.txt": TEA, "soup.txt": SOUP, "broth.txt": SOUP})
    ingest("Cellar", {"wine.txt": "Wine is kept at 12 degrees."})
    for text in ("At how many degrees is green tea brewed?", "Who wrote the Odyssey?"):
        workspace.ask(OWNER, Question(text, "Kitchen")).result()
    return workspace


def shown(app: AppTest) -> dict[str, str]:
    return {one.label: one.value for one in app.metric}


def test_each_document_is_counted_by_what_was_done_with_it(asked: ScriptableWorkspace) -> None:
    app = open_page("usage")
    open_tab(app, "Documents")
    numbers = shown(app)
    assert numbers["Documents"] == "4"
    assert numbers["Cited"] == "1"
    assert numbers["Held twice"] == "2"
    assert numbers["Stale"] == "0"
    used = sum(int(numbers[name]) for name in ("Cited", "Never cited", "Never found"))
    assert used == 4
    (control,) = (one for one in app.button_group if one.label == "Which documents")
    control.set_value("twice").run()
    assert not app.exception
    twice = app.dataframe[0].value
    assert sorted(twice.name) == ["broth.txt", "soup.txt"]
    assert sorted(twice.same_as) == ["broth.txt", "soup.txt"]
    control = next(one for one in app.button_group if one.label == "Which documents")
    control.set_value("cited").run()
    cited = app.dataframe[0].value
    assert [*cited.name] == ["tea.txt"]
    assert cited.cited.tolist() == [1]
    assert cited.last_used[0] is not None


def test_questions_without_evidence_lead_to_the_lab(asked: ScriptableWorkspace) -> None:
    app = open_page("usage")
    open_tab(app, "Documents")
    (topic,) = (one.label for one in app.expander if "question" in one.label)
    assert topic.startswith("Who wrote the Odyssey?")
    links = {one.proto.label: one.proto for one in app.get("page_link")}
    assert "Try in the lab" in links
    assert "Who+wrote+the+Odyssey" in links["Try in the lab"].query_string
    assert "collection=Kitchen" in links["Try in the lab"].query_string


def test_days_collections_and_owners_narrow_it(asked: ScriptableWorkspace) -> None:
    ledger = asked.ledger
    now = datetime.now(UTC).replace(tzinfo=None)
    whole = health.count(ledger, CallFilter(OWNER), now - timedelta(days=180))
    assert (whole.number, whole.cited, whole.stale) == (4, 1, 0)
    cellar = CallFilter(OWNER, collections=["Cellar"])
    assert health.count(ledger, cellar, now + timedelta(days=1)).stale == 1
    later = CallFilter(OWNER, since=now + timedelta(days=1))
    assert health.count(ledger, later, now).unfound == 4
    assert health.list_unanswered(ledger, later) == []
    assert [one.text for one in health.list_unanswered(ledger, CallFilter(OWNER))] == [
        "Who wrote the Odyssey?"
    ]
    assert health.list_unanswered(ledger, cellar) == []
    assert health.count(ledger, CallFilter("somebody"), now).number == 0
    assert health.list_unanswered(ledger, CallFilter("somebody")) == []


def test_questions_about_the_same_stand_together() -> None:
    questions = [Unanswered(text, "Kitchen", text, NOON) for text in ("a", "b", "c", "d")]
    nearness = [
        [1.0, 0.1, 0.9, 0.2],
        [0.1, 1.0, 0.3, 0.2],
        [0.9, 0.3, 1.0, 0.1],
        [0.2, 0.2, 0.1, 1.0],
    ]
    groups = group_by_topic(questions, nearness, 0.5)
    assert [[one.text for one in group] for group in groups] == [["a", "c"], ["b"], ["d"]]
    assert group_by_topic([], [], 0.5) == []


def test_the_packaged_model_tells_topics_apart() -> None:
    texts = (
        "How long is the warranty of the kettle?",
        "When does the last ferry leave?",
        "What is the guarantee period of the water kettle?",
        "How much paid leave does an employee get?",
        "What time is the final ferry to Skarholm?",
    )
    vectors = MiniLMEmbedder(MODELS).embed(texts)
    questions = [Unanswered(text, "Kitchen", text, NOON) for text in texts]
    groups = group_by_topic(questions, (vectors @ vectors.T).tolist(), tab.ALIKE)
    assert [[texts.index(one.text) for one in group] for group in groups] == [[0, 2], [1, 4], [3]]
