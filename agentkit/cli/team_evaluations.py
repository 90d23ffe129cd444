"""`team eval`: a question set of the lab put to a team, and what its answers are worth."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.output import count, dollars, note, put, put_json, put_table
from agentkit.cli.store import follow, open_workspace
from agentkit.cli.teams import find_key
from agentkit.events import QuestionTried

_HOW_TO_GO_ON = "If it breaks off, `team eval --go-on {run}` goes on with it."
if TYPE_CHECKING:
    from agentkit.ledger.evaluations.results import Evaluation
    from agentkit.workspace import Workspace


def evaluate_team(
    context: typer.Context,
    team: Annotated[
        str, typer.Argument(metavar="TEAM", help="The id of a team, or the name of one of yours.")
    ] = "",
    set_name: Annotated[
        str, typer.Argument(metavar="SET", help="The name of a question set of the retrieval lab.")
    ] = "",
    collection: Annotated[
        str, typer.Option(help="Where is looked; by default what the set was made for.")
    ] = "",
    model: Annotated[str, typer.Option(help="The id of a model; by default the chosen one.")] = "",
    at_once: Annotated[int, typer.Option(help="So many questions at the same time.")] = 2,
    beside: Annotated[
        str,
        typer.Option("--with", help="The id of an evaluation to compare it with; else the last."),
    ] = "",
    go_on: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help=(
                "Go on with this evaluation, which broke off or was stopped, in place of TEAM and"
                " SET: what was answered is not asked or paid for again."
            ),
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Put a question set to a team: how many citations are right, tokens, cost and time."""
    _check_given(team, set_name, go_on)
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        before = None
        if beside:
            before = workspace.evaluations.one(owner, beside)
        if go_on:
            run = workspace.resume_evaluation(owner, go_on)
        else:
            key = find_key(workspace, team)
            _tell_forecast(workspace, key, set_name, model)
            run = workspace.evaluate_team(
                owner, key, set_name, collection=collection, model_id=model, at_once=at_once
            )
        note(_HOW_TO_GO_ON.format(run=run.id))
        found = follow(run, {QuestionTried: _tell_progress})
        before = before or _find_last(workspace, found)
    if as_json:
        put_json(_to_json(found, before))
    else:
        _put(found, before)
    _end(found)


def _check_given(team: str, set_name: str, go_on: str) -> None:
    """Either names what is to be asked, and of whom."""
    if go_on and team:
        raise typer.BadParameter("give either TEAM and SET, or --go-on ID")
    if not go_on and not set_name:
        raise typer.BadParameter("give TEAM and SET, or --go-on ID")


def _end(found: Evaluation) -> None:
    """The exit code says whether it was stopped, or a question failed."""
    if found.state == "stopped":
        raise typer.Exit(130)
    if found.sums.failed:
        raise typer.Exit(1)


def _find_last(workspace: Workspace, found: Evaluation) -> Evaluation | None:
    """The newest whole one of the team with the set over the same collection before this, of any
    version and model.
    """
    began = found.began
    history = workspace.evaluations.history(workspace.settings.owner, began.set_id, began.team_id)
    for one in history:
        is_before = one.is_whole and one.started_at < found.started_at
        if is_before and one.began.collection == began.collection:
            return one
    return None


def _tell_forecast(workspace: Workspace, key: str, set_name: str, model: str) -> None:
    from agentkit.ui.evaluations import words

    expected = workspace.forecast_evaluation(workspace.settings.owner, key, set_name, model)
    asked = count(expected.questions, "question")
    note(f"{asked}: {words.tell_calls(expected)}; Ctrl-C stops, and keeps what was answered.")


def _tell_progress(tried: QuestionTried) -> None:
    from agentkit.ledger.evaluations.results import count_cited, count_right

    if tried.status == "failed":
        note(f"{tried.number}: failed: {tried.error}")
        return
    cited = count(count_cited(tried), "citation")
    note(f"{tried.number}: {count_right(tried)} of {cited} right, {tried.seconds:.1f} s")


def _put(found: Evaluation, before: Evaluation | None) -> None:
    """The questions, the sums, and what changed since an earlier one."""
    from agentkit.ledger.evaluations.differences import compare
    from agentkit.ui.evaluations import words

    put_table(
        ("question", "score", "right", "cited", "calls", "tokens", "cost", "seconds", "run"),
        map(_to_row, found.results),
        ("score", "right", "cited", "calls", "tokens", "cost", "seconds"),
    )
    put("")
    for name, value in _sums(found).items():
        put(f"{name:<15}{value:.4f}" if isinstance(value, float) else f"{name:<15}{value}")
    if state := words.tell_state(found):
        put(f"{'state':<15}{state}")
    put(f"{'evaluation':<15}{found.run_id}")
    if before is not None:
        _put_collections(before.began.collection, found.began.collection)
        put(words.tell_difference(compare(before.results, found.results)))


def _put_collections(before: str, now: str) -> None:
    """That two evaluations looked into different collections, which may be all that differs."""
    if before != now:
        put(
            f"It looked into “{now}” and the earlier one into “{before}”: what differs may be due"
            " to the documents."
        )


def _to_row(tried: QuestionTried) -> tuple[str, ...]:
    from agentkit.ledger.evaluations.results import count_cited, count_right, measure_score

    tokens = tried.input_tokens + tried.output_tokens
    return (
        tried.question,
        f"{measure_score(tried):.2f}",
        f"{count_right(tried)}",
        f"{count_cited(tried)}",
        f"{tried.calls:,}",
        f"{tokens:,}",
        dollars(tried.cost, tried.unpriced),
        f"{tried.seconds:.1f}",
        tried.run_id,
    )


def _sums(found: Evaluation) -> dict[str, Any]:
    """By the names under which JSON and the terminal tell them."""
    return dataclasses.asdict(found.sums)


def _to_json(found: Evaluation, before: Evaluation | None) -> dict[str, Any]:
    told = {
        "evaluation": found.run_id,
        "state": found.state,
        "team": found.began.team_id,
        "set": found.began.set_name,
        "collection": found.began.collection,
        "model": found.began.model_id,
        "sums": _sums(found),
        "questions": [_question_to_json(one) for one in found.results],
    }
    return told | ({"compared": _compare(before, found)} if before else {})


def _question_to_json(tried: QuestionTried) -> dict[str, Any]:
    """As it was told; documents stand in lists, never as keys, as their names are people's own."""
    from agentkit.ledger.evaluations.results import measure_score

    plain = dataclasses.asdict(tried)
    cited = [{"document": name, "passages": passages} for name, passages in tried.cited.items()]
    return {**plain, "expected": list(tried.expected), "cited": cited} | {
        "score": measure_score(tried)
    }


def _compare(before: Evaluation, found: Evaluation) -> dict[str, Any]:
    from agentkit.ledger.evaluations.differences import compare

    compared = compare(before.results, found.results)
    return {
        "evaluation": before.run_id,
        "collection": before.began.collection,
        "verdict": compared.verdict,
        "mean": compared.mean,
        "margin": compared.margin,
        "better": compared.count("better"),
        "worse": compared.count("worse"),
        "same": compared.count("same"),
        "left_out": compared.left_out,
    }
