"""`eval --again`, and what `ingest` says of question sets that were measured before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from agentkit.cli.output import count, note, put, put_json
from agentkit.cli.store import follow, open_workspace
from agentkit.errors import Stopped

if TYPE_CHECKING:
    from agentkit.core.intervals import Verdict
    from agentkit.retrieval.evaluation.comparing import Difference
    from agentkit.retrieval.store.courses import Course
    from agentkit.workspace import Workspace

WORTH: Mapping[Verdict, str] = {
    "none": "nothing to compare",
    "same": "no question differs",
    "few": "too few differ to tell it from chance",
    "open": "within chance",
    "better": "better by more than chance",
    "worse": "worse by more than chance",
}


def measure_again(context: typer.Context, collection: str, *, as_json: bool) -> None:
    """Measure the sets that are out of date, and tell what changed; exits with 1 where one got
    worse by more than chance.
    """
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        courses = workspace.library.questions.courses(owner, collection)
        due = [one for one in courses if one.is_due]
        if due:
            note(f"Measuring {count(len(due), 'question set')} again ...")
            follow(workspace.measure_again(owner, due), {})
        rows = _tell_again(workspace, due)
    if as_json:
        put_json({"measured": rows})
    else:
        _put(rows)
    if "worse" in [row["verdict"] for row in rows]:
        raise typer.Exit(1)


def _put(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        note("No measurement is out of date.")
    for row in rows:
        put(f"{row['set']} on {row['collection']}: nDCG@10 {row['in_words']}")


def _tell_again(workspace: Workspace, due: Sequence[Course]) -> list[dict[str, Any]]:
    """What became of the sets that were measured."""
    from agentkit.retrieval.evaluation.watching import compare_course

    owner = workspace.settings.owner
    rows = []
    for before in due:
        (after,) = [
            one
            for one in workspace.library.questions.courses(owner, before.collection)
            if one.set_id == before.set_id
        ]
        found = compare_course(workspace.library, owner, after)
        rows.append(_to_row(after, found))
    return rows


def _to_row(course: Course, found: Difference | None) -> dict[str, Any]:
    told = {"set": course.set_name, "collection": course.collection, "causes": course.causes}
    if found is None:
        return told | {"verdict": "none", "difference": None, "in_words": WORTH["none"]}
    verdict, difference = found.verdict, found.interval.mean
    return told | {
        "verdict": verdict,
        "difference": difference,
        "interval": found.interval.ends,
        "questions": found.interval.questions,
        "in_words": tell_difference(found),
    }


def tell_difference(found: Difference) -> str:
    """`-0.07 over 40 questions: within chance`."""
    interval = found.interval
    asked = count(interval.questions, "question")
    return f"{interval.mean:+.2f} over {asked}: {WORTH[found.verdict]}"


def watch_ingest(workspace: Workspace, collection: str) -> None:
    """Say which sets were measured before these documents; those that are set to it are measured
    at once, with a warning where the search got worse.
    """
    owner = workspace.settings.owner
    by_itself = []
    for one in workspace.library.questions.courses(owner, collection):
        if one.begins_by_itself:
            by_itself.append(one)
        elif one.is_due:
            note(f"{one.set_name} was measured before this: `agentkit eval --again` does it anew.")
    if not by_itself:
        return
    try:
        follow(workspace.measure_again(owner, by_itself), {})
    except Stopped:
        note("Not measured again.")
        return
    for row in _tell_again(workspace, by_itself):
        note(f"{row['set']} measured again: nDCG@10 {row['in_words']}")
