"""Right and wrong on the passages of a query in the retrieval lab, which make a question set."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from agentkit.retrieval.store.questions import Question
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts

QUERY = "At how many degrees is green tea brewed?"
PLACES = (("A", 1), ("A", 2), ("B", 1), ("B", 2))


def say(app: AppTest, key: str, verdict: str | None) -> None:
    app.segmented_control(key=key).set_value(verdict).run()
    assert not app.exception, app.exception[0].stack_trace


def test_what_is_marked_begins_a_set_and_can_be_taken_back(
    workspace: ScriptableWorkspace, ingest: Callable[[str, dict[str, str]], None]
) -> None:
    ingest("Kitchen", {"tea.md": "Green tea is brewed at 70 degrees.", "soup.md": "Soup is hot."})
    questions = workspace.library.questions
    app = open_page("retrieval_lab", collection="Kitchen", q=QUERY)
    first = list(app.dataframe[0].value["Document"])
    say(app, "mark-A-1", "Right")
    made = questions.named(OWNER, "Kitchen: questions of the lab")
    assert questions.questions(OWNER, made.id) == [Question(QUERY, {first[0]: 1})]
    assert f"In the set, answered by {first[0]}" in texts(app)
    say(app, "mark-A-2", "Wrong")
    app.toggle(key="compare").set_value(True).run()
    shown = [app.segmented_control(key=f"mark-{side}-{rank}").value for side, rank in PLACES]
    assert shown == ["Right", "Wrong", "Right", "Wrong"], "both sides tell what was said"
    say(app, "mark-B-1", "Wrong")
    assert questions.questions(OWNER, made.id) == []
    assert "The set does not have this question yet" in texts(app)
    say(app, "mark-A-1", "Right")
    app.button(key="marking-measure").click().run()
    assert app.selectbox(key="set").value == made.name
    assert not app.button(key="measure").disabled
