"""The tab of quality on the Usage page: citations that bear answers out, and thumbs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from agentkit.ledger.feedback import rate
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import quality
from agentkit.teams import Question
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.app.test_agents import scripted
from tests.app.test_usage import choose_row, open_tab

Ingest = Callable[[str, dict[str, str]], None]
TEA = "Green tea is brewed at 70 degrees for two minutes."
ALL = CallFilter(OWNER)


@pytest.fixture
def asked(workspace: ScriptableWorkspace, ingest: Ingest) -> list[str]:
    """Three answers: one borne out, one that its passage does not bear out, one that cites
    nothing; the ids of their messages.
    """
    ingest("Kitchen", {"tea.txt": TEA})
    replies = [
        "Green tea is brewed at 70 degrees [1].",
        "Green tea is brewed at 95 degrees [1].",
        "I do not know.",
    ]
    scripted(workspace, *replies)
    ids, model = [], workspace.added[0].id
    for at in range(3):
        run = workspace.ask(OWNER, Question(f"How hot is tea? {at}", "Kitchen", model_id=model))
        run.result()
        ids.append(run.message_id)
    return ids


def test_shares_of_answers(workspace: ScriptableWorkspace, asked: list[str]) -> None:
    rate(workspace.ledger, OWNER, asked[0], "up")
    rate(workspace.ledger, OWNER, asked[1], "down", "It is 70.")
    sums = quality.sum_up(workspace.ledger, ALL)
    assert (sums["answers"], sums["citing"], sums["up"], sums["down"]) == (3, 2, 1, 1)
    assert (sums["markers"], sums["doubtful"], sums["supported"]) == (2, 1, 0.5)
    app = open_page("usage")
    open_tab(app, "Quality")
    shown = {one.label: one.value for one in app.metric}
    assert shown["Cite something"] == "66.7 %"
    assert shown["Borne out"] == "50.0 %"
    assert shown["Thumbs up"] == "50.0 %"
    sides, poor = app.dataframe[0].value, app.dataframe[1].value
    assert sides.answers.tolist() == [3]
    assert "Shares of fewer than 20 answers say little." in [one.value for one in app.caption]
    assert poor.comment.tolist() == ["It is 70."]
    assert poor.doubtful.tolist() == [1]


def test_a_poor_answer_leads_to_its_run(workspace: ScriptableWorkspace, asked: list[str]) -> None:
    frame = quality.find_poor(workspace.ledger, ALL)
    sql = "select run_id from messages where id = ?"
    run = workspace.database.value(sql, [asked[1]])
    assert frame.run_id.tolist() == [run]
    app = open_page("usage")
    open_tab(app, "Quality")
    choose_row(app, "quality-0")
    assert app.query_params["run"] == run


def test_days_teams_collections_and_owners_narrow_it(
    workspace: ScriptableWorkspace, asked: list[str]
) -> None:
    ledger = workspace.ledger
    for side in quality.SIDES:
        frame = quality.by_side(ledger, ALL, side)
        assert frame.answers.sum() == len(asked)
    assert quality.by_side(ledger, ALL, "collection").key.tolist() == ["Kitchen"]
    later = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=1)
    for narrowed in (
        CallFilter("somebody"),
        CallFilter(OWNER, since=later),
        CallFilter(OWNER, teams=["group"]),
        CallFilter(OWNER, collections=["Cellar"]),
        CallFilter(OWNER, models=["another"]),
    ):
        assert quality.sum_up(ledger, narrowed)["answers"] == 0
        assert quality.find_poor(ledger, narrowed).empty
    steps = quality.over_time(ledger, ALL, "UTC", 24)
    assert steps.supported.tolist() == [0.5]
    assert steps.citing.tolist() == pytest.approx([2 / 3])
