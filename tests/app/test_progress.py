"""The progress of documents that are taken in or indexed: what is counted from events, and what
pages show meanwhile.
"""

from __future__ import annotations

import threading
from itertools import accumulate
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.core import bus
from agentkit.errors import FetchFailed
from agentkit.events import (
    CallStatus,
    DocumentDone,
    DocumentProgress,
    Event,
    ModelReplied,
    Recorded,
)
from agentkit.runs import Run
from agentkit.ui.documents.tally import Tally, summary
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle


def tally_of(size: int, *events: Event, error: Exception | None = None) -> Tally:
    """What is counted from a run that emits these events and then ends."""

    def work() -> None:
        for event in events:
            bus.emit(event)
        if error:
            raise error

    run = runs.start(work, kind="test", owner="somebody else", size=size)
    assert run.wait(60)
    tally = Tally(size)
    tally.follow(run)
    return tally


def test_counts_each_document_once_by_how_it_ended() -> None:
    tally = tally_of(
        5,
        DocumentProgress("1", "a.md", "parse"),
        DocumentProgress("1", "a.md", "embed"),
        DocumentDone("1", "a.md", "indexed"),
        DocumentProgress("2", "b.md", "parse"),
        DocumentDone("2", "b.md", "failed", error="It is empty."),
        DocumentDone("1", "a.md", "unchanged", note="Not changed."),
        DocumentDone("5", "copy.md", "indexed", same_as="a.md"),
        DocumentProgress("4", "d.md", "embed", 3, 4),
    )
    assert tally.counts == {"indexed": 2, "failed": 1, "unchanged": 1}
    assert [one.document for one in tally.copies] == ["copy.md"]
    assert list(tally.under_way) == ["4"]
    assert tally.fraction == pytest.approx((4 + 0.15 + 0.8 * 3 / 4) / 5)
    assert [one.error for one in tally.failed] == ["It is empty."]
    text = summary("5 documents into A_B", tally)
    assert text.startswith("**5 documents into A\\_B:** 2 added, 1 unchanged, 1 failed, in ")


def test_following_again_counts_only_what_is_new() -> None:
    run = runs.start(
        lambda: bus.emit(DocumentDone("1", "a.md", "indexed")),
        kind="test",
        owner="somebody else",
        size=1,
    )
    assert run.wait(60)
    tally = Tally(1)
    tally.follow(run)
    tally.follow(run)
    assert tally.done == 1
    assert tally.fraction == 1


def test_what_was_there_before_is_updated_and_not_added() -> None:
    done = [
        DocumentDone("1", "a.md", "indexed", updated=True),
        DocumentDone("2", "b.md", "indexed"),
        DocumentDone("3", "c.md", "stopped"),
    ]
    text = summary("3 documents into Docs", tally_of(3, *done))
    assert text.startswith("**3 documents into Docs:** 1 added, 1 updated, in ")
    assert summary("x", tally_of(2, *done[:2]), "index").startswith("**x:** 2 built, in ")


class Paced:
    """A run whose documents end at these seconds after its start, as far as it has come."""

    def __init__(self, *ends: float) -> None:
        self.ends = ends
        self.started_at, self.ended = 0.0, True

    def events(self, after: int) -> list[Recorded]:
        done = DocumentDone("", "a.md", "indexed")
        return [Recorded(number, at, done) for number, at in enumerate(self.ends, 1)][after:]


def left_of(size: int, *ends: float) -> list[float | None]:
    """What is told to be left after each end."""
    tally, told = Tally(size), []
    for number in range(1, len(ends) + 1):
        tally.follow(cast("Run[object]", Paced(*ends[:number])))
        told.append(tally.left_s)
    return told


def test_the_time_that_is_left_is_told_once_it_can_be() -> None:
    assert Tally(10).left_s is None
    assert left_of(10, 1.0, 6.0) == [None, pytest.approx(24.0)]


@given(st.lists(st.floats(0.01, 60), min_size=2, max_size=30))
def test_the_time_that_is_left_never_counts_up(steps: list[float]) -> None:
    ends = list(accumulate(steps))
    told = [one for one in left_of(len(ends) + 5, *ends) if one is not None]
    assert told == sorted(told, reverse=True)


def test_an_estimate_that_was_far_too_low_is_taken_back() -> None:
    assert left_of(4, 2.0, 60.0)[1] is None


def test_a_run_that_fails_as_a_whole_says_why() -> None:
    tally = tally_of(1, error=FetchFailed("The page did not arrive."))
    assert tally.problem == "The page did not arrive."
    assert summary("x into y", tally) == "**x into y:** it broke off."


class HaltedIngest:
    """A run that is done with one document of three and waits with the second."""

    def __init__(
        self,
        workspace: ScriptableWorkspace,
        kind: str = "ingest",
        title: str = "3 documents into Kitchen",
    ) -> None:
        self.go_on = threading.Event()
        self.half = threading.Event()
        self.run: Run[None] = runs.start(
            self.work, kind=kind, title=title, owner=OWNER, ledger=workspace.ledger, size=3
        )
        assert self.half.wait(60)

    def work(self) -> None:
        bus.emit(DocumentDone("1", "a.md", "failed", error="a.md is damaged."))
        bus.emit(DocumentProgress("2", "b_c.md", "embed", 1, 2))
        bus.emit(
            ModelReplied(
                "1",
                "",
                "p",
                "m",
                "embedding",
                "failed",
                error_type="RateLimited",
                retry_in_s=9000.0,
            )
        )
        self.half.set()
        while not self.go_on.wait(0.01):
            # There is one: this is its work.
            if runs.current().stopping:  # type: ignore[union-attr]
                return

    def end(self) -> None:
        self.go_on.set()
        assert self.run.wait(60)


def test_progress_is_shown_in_any_session_and_can_be_cancelled(
    workspace: ScriptableWorkspace,
) -> None:
    halted = HaltedIngest(workspace)
    for app in (open_page("documents"), open_page("documents")):  # a refresh is a new session
        assert any(
            "1 of 3 documents · 1 failed" in str(bar.proto.text) for bar in app.get("progress")
        )
        assert any("b\\_c\\.md is being embedded, 50%" in one.value for one in app.caption)
        assert any("Rate limited, next try in " in one.value for one in app.caption)
        assert not [one for one in app.button if one.key == "load-samples"]
    app.button(key=f"stop-{halted.run.id}").click().run()
    settle(app)
    assert "1 failed, 2 not taken in, as you cancelled" in app.warning[0].value
    app.button(key=f"dismiss-{halted.run.id}").click().run()
    assert not app.warning


def test_the_summary_comes_by_itself_when_the_run_ends(workspace: ScriptableWorkspace) -> None:
    halted = HaltedIngest(workspace)
    app = open_page("documents")
    halted.go_on.set()
    settle(app)
    assert "1 failed" in app.warning[0].value
    assert "- **a\\.md**  \n  a\\.md is damaged\\." in [one.value for one in app.markdown]


def fast_following() -> None:
    """The script of a page that says how often it was drawn; nothing has come when it is drawn
    first.
    """
    import streamlit as st

    from agentkit.events import DocumentProgress
    from agentkit.ui.documents import progress
    from agentkit.ui.documents.tally import Tally

    st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    if st.session_state["drawn"] == 1:
        st.session_state["progress-drawn"] = (0, float("inf"))  # however short ago that was
        begun = Tally(3, under_way={"1": DocumentProgress("1", "a.md", "parse")})
        progress._draw_page_again({"run": begun})


def test_the_page_follows_at_once_when_the_first_document_comes() -> None:
    app = AppTest.from_function(fast_following)
    app.run()
    assert app.session_state["drawn"] == 2


def ending_between() -> None:
    """The script of a page that reads what it shows just before a run ends that is watched further
    down.
    """
    import streamlit as st

    from agentkit.ui.documents import progress
    from tests.app.test_progress import LATE

    st.markdown("after" if LATE[0].run.ended else "before")
    LATE[0].end()
    progress.draw_progress()


LATE: list[HaltedIngest] = []


def test_a_page_that_was_read_before_the_end_is_drawn_anew(workspace: ScriptableWorkspace) -> None:
    LATE[:] = [HaltedIngest(workspace)]
    app = AppTest.from_function(ending_between)
    app.session_state["watched-ingest"] = {LATE[0].run.id: Tally(3)}
    app.run()
    assert next(one.value for one in app.markdown) == "after"
    assert "1 failed" in app.warning[0].value


def index_view() -> None:
    """The script of a page that shows how indexes are built."""
    from agentkit.ui.documents import progress

    progress.draw_progress("index")


def test_an_index_that_is_built_is_shown_in_its_own_place_and_words(
    workspace: ScriptableWorkspace,
) -> None:
    halted = HaltedIngest(workspace, "index", "200 tokens for Kitchen")
    assert not open_page("documents").get("progress"), (
        "the page of the documents is about taking in"
    )
    for app in (
        AppTest.from_function(index_view).run(),
        AppTest.from_function(index_view).run(),
    ):  # a refresh is a new session
        assert any("Building 200 tokens for Kitchen" in one.value for one in app.markdown)
        assert any(
            "1 of 3 documents · 1 failed" in str(bar.proto.text) for bar in app.get("progress")
        )
    app.button(key=f"stop-{halted.run.id}").click().run()
    settle(app)
    assert "1 failed, 2 not built, as you cancelled" in app.warning[0].value
    app.button(key=f"dismiss-{halted.run.id}").click().run()
    assert not app.warning


def test_an_index_that_only_takes_the_place_of_another_counts_nothing() -> None:
    assert (
        summary("B instead of A", tally_of(0), "index")
        == "**B instead of A:** nothing was missing."
    )
    built = tally_of(2, DocumentDone("1", "a.md", "indexed"), DocumentDone("2", "b.md", "indexed"))
    assert summary("B instead of A", built, "index").startswith("**B instead of A:** 2 built, in ")


def test_a_server_that_is_asked_again_is_told_until_it_answers() -> None:
    def told(error_type: str, retry_in_s: float | None) -> ModelReplied:
        status: CallStatus = "failed" if retry_in_s else "ok"
        return ModelReplied(
            "1", "", "p", "m", "embedding", status, error_type=error_type, retry_in_s=retry_in_s
        )

    progress = DocumentProgress("1", "a.md", "embed", 0, 4)
    waiting = tally_of(1, progress, told("RateLimited", 8.0)).waits
    assert waiting is not None
    assert waiting[0] == "RateLimited"
    assert tally_of(1, progress, told("RateLimited", 8.0), told("", None)).waits is None
