"""An evaluation that broke off after its first question, as a process leaves it that was killed."""

from __future__ import annotations

from agentkit.events import EvaluationBegan, Event, QuestionTried, Recorded, RunStarted
from agentkit.ledger import RunKey
from agentkit.ledger.evaluations.results import KIND
from agentkit.messages import new_id
from agentkit.workspace import Workspace

ANSWER = "Steeped at 80 degrees [1]."


def break_off(workspace: Workspace, owner: str, team: str, collection: str, model: str) -> str:
    """The id of its run; the owner has one question set, and what it asks is the team's."""
    [asked] = workspace.library.questions.sets(owner)
    first, *_ = workspace.library.questions.questions(owner, asked.id)
    began = (asked.id, asked.name, team, "RetrieveChat", collection, model, asked.questions)
    told = QuestionTried(
        1, first.text, dict(first.expected), answer=ANSWER, cited=dict(first.expected)
    )
    run = RunKey(new_id(), owner)
    events: list[Event] = [RunStarted(KIND, asked.name, team=team), EvaluationBegan(*began), told]
    for seq, event in enumerate(events, start=1):
        workspace.ledger.keep(run, [Recorded(seq, 1_700_000_000.0 + seq, event)])
    workspace.ledger.interrupt(run.id)
    return run.id
