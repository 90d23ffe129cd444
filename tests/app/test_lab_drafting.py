"""Questions that a model drafts from documents, in the lab: told before, stopped, kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.errors import ConfigError, ModelUnreachable
from agentkit.events import QuestionDrafted
from agentkit.retrieval.store.questions import Question
from agentkit.ui.lab.drafting import join, read_kept, table, tell_cost
from agentkit.workspace.question_sets import drafting
from agentkit.workspace.question_sets.drafting import DraftCost
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts


@pytest.fixture
def pantry(
    workspace: ScriptableWorkspace, ingest: Callable[[str, dict[str, str]], None]
) -> ScriptableWorkspace:
    """A workspace with three documents, one of which answers nothing."""
    ingest(
        "Kitchen",
        {
            "tea.md": "Green tea is brewed at 70 degrees.",
            "coffee.md": "Coffee is brewed at 92 degrees.",
            "empty.md": "Page left blank.",
        },
    )
    return workspace


def lab() -> AppTest:
    return open_page("retrieval_lab", view="Measure", collection="Kitchen")


def keep(app: AppTest, workspace: ScriptableWorkspace, *rows: int) -> None:
    """Tick these rows of what was drafted last, and keep them."""
    found = drafting.find_drafted(workspace.ledger, OWNER, "Kitchen")
    assert found is not None
    shown = len([one for one in found.drafts if one.question])
    app.session_state[f"drafts-{found.run_id}-{shown}"] = {
        "edited_rows": {row: {"Keep": True} for row in rows},
        "added_rows": [],
        "deleted_rows": [],
    }
    app.run()
    app.button(key="keep-drafts").click().run()
    assert not app.exception, app.exception[0].stack_trace


def test_the_offline_model_says_that_it_cannot(pantry: ScriptableWorkspace) -> None:
    app = lab()
    assert "The offline model only quotes, so it cannot write questions" in texts(app)
    assert "draft-questions" not in [one.key for one in app.button]


def test_drafts_are_announced_ticked_and_begin_a_set(pantry: ScriptableWorkspace) -> None:
    pantry.script("- How hot is coffee brewed?", "NONE", "At which heat is green tea brewed?")
    app = lab()
    assert "To be expected: 3 calls, about" in texts(app)
    app.button(key="draft-questions").click().run()
    settle(app)
    assert "In 1 document the model found nothing to ask" in texts(app)
    assert app.button(key="keep-drafts").disabled, "nobody has ticked one"
    keep(app, pantry, 1)
    made = pantry.library.questions.named(OWNER, "Kitchen: questions of the lab")
    asked = [Question("At which heat is green tea brewed?", {"tea.md": 1})]
    assert pantry.library.questions.questions(OWNER, made.id) == asked
    app = lab()  # they outlive the page
    assert app.selectbox(key="set").value == made.name
    shown = next(frame.value for frame in app.dataframe if "Keep" in frame.value)
    assert list(shown["Question"]) == ["How hot is coffee brewed?"], "the other is in the set"
    calls = pantry.database.rows(
        "select agent, run_id is not null as told from llm_calls where purpose = 'chat'"
    )
    assert calls == [{"agent": "Drafting", "told": True}] * 3


def test_what_was_drafted_before_a_failure_is_kept(pantry: ScriptableWorkspace) -> None:
    pantry.script("How hot is coffee brewed?", ModelUnreachable("the server went away"))
    app = lab()
    app.button(key="draft-questions").click().run()
    settle(app)
    assert "It ended early" in texts(app)
    found = drafting.find_drafted(pantry.ledger, OWNER, "Kitchen")
    assert found is not None
    assert [one.question for one in found.drafts] == ["How hot is coffee brewed?"]
    assert not app.button(key="draft-questions").disabled


def test_a_run_that_is_stopped_keeps_no_half_question(pantry: ScriptableWorkspace) -> None:
    halting = pantry.halting("How hot is", " coffee brewed?")
    library = pantry.library
    documents = drafting.choose_documents(library, OWNER, "Kitchen", 3)
    ids = [one.id for one in documents]
    run = drafting.draft_questions(pantry, OWNER, "Kitchen", pantry.added[0], ids)
    assert halting.halted.wait(120)
    run.stop()
    assert run.wait(120)
    assert drafting.find_drafted(pantry.ledger, OWNER, "Kitchen") is None
    with pytest.raises(ConfigError, match="only quotes"):
        drafting.draft_questions(pantry, OWNER, "Kitchen", pantry.model("offline"), ids)


def test_documents_are_chosen_all_over_and_new_ones_first(pantry: ScriptableWorkspace) -> None:
    def names(number: int, known: Sequence[str] = ()) -> list[str]:
        chosen = drafting.choose_documents(pantry.library, OWNER, "Kitchen", number, known)
        return [one.name for one in chosen]

    assert names(9) == ["coffee.md", "empty.md", "tea.md"]
    assert names(1, ["coffee.md"]) == ["empty.md"]
    assert names(3, ["coffee.md"]) == ["empty.md", "tea.md", "coffee.md"]


def test_a_question_asked_of_two_documents_expects_both_and_no_price_is_made_up() -> None:
    drafts = [QuestionDrafted("Kitchen", name, name, "Why?") for name in ("a.md", "b.md")]
    edited = table(drafts)
    edited["Keep"] = [True, True]
    assert join(read_kept(edited)) == [Question("Why?", {"a.md": 1, "b.md": 1})]
    assert "of unknown price" in tell_cost(DraftCost(2, 300, None))
    edited.loc[0, "Question"] = "  "
    assert read_kept(edited) == [Question("Why?", {"b.md": 1})]
