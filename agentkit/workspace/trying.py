"""A team that is tried as it stands, before it is kept: a run that belongs to no chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from agentkit import runs
from agentkit.core import bus
from agentkit.core.replay import Recording
from agentkit.core.text import shorten
from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.llm import Model
from agentkit.llm.calls.budgets import budgeted
from agentkit.llm.calls.limits import Limit, Used, limited
from agentkit.messages import new_id
from agentkit.retrieval import Library
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer, Question, Task, Team
from agentkit.teams.allowed import AllowedTools
from agentkit.teams.built.document import TeamDocument, read_document
from agentkit.teams.built.dry import make_stand_in
from agentkit.teams.built.team import build_team
from agentkit.teams.own_tools import load_tools
from agentkit.workspace import kernels
from agentkit.workspace.agreeing import allow_tools
from agentkit.workspace.answering import (
    list_documents,
    look_elsewhere,
    say_end,
    say_question,
)


class Bench(Protocol):
    """What of a workspace a team needs that is asked outside of chats."""

    settings: Settings
    ledger: Ledger
    library: Library
    bill: Bill

    def model(self, model_id: str = "") -> Model:
        """The model of that id, else the chosen or first configured one; raises NotFound."""


KIND = "try"
"""The kind of such a run."""
_TITLE = 60


def try_team(
    workspace: Bench,
    owner: str,
    given: TeamDocument | Mapping[str, Any],
    question: Question,
    *,
    dry: bool = False,
) -> Run[Answer]:
    """Let the team answer; with `dry` a stand-in speaks for every model, which costs nothing.

    Raises ConfigError for a team that cannot work, and NotFound for a model or a collection that
    is not there.
    """
    document = given if isinstance(given, TeamDocument) else read_document(given)
    asked_team = build_team(document, KIND)
    stand_in = None
    if dry:
        stand_in = make_stand_in(document)
    return ask_alone(workspace, owner, asked_team, question, Terms(stand_in=stand_in))


@dataclass(frozen=True, slots=True)
class Terms:
    """How a team is asked outside of chats."""

    kind: str = KIND
    """Of the run."""
    stand_in: Model | None = None
    """What speaks for every model; None for the models themselves."""
    is_attended: bool = True
    """Whether somebody is there who can be asked; else nobody ever answers."""
    resumes: str = ""
    """The id of the run that broke off and is gone on with."""
    recording: Recording | None = None
    """What that had completed."""


def ask_alone(
    workspace: Bench, owner: str, asked_team: Team, question: Question, terms: Terms
) -> Run[Answer]:
    """Let a team answer in a run that belongs to no chat; raises as `try_team`."""
    stand_in = terms.stand_in
    model = stand_in or workspace.model(question.model_id)
    asked_team.check(model)
    tools = load_tools(workspace.settings.tools) if asked_team.calls_tools else ()
    look_up, find = look_elsewhere(workspace.library, owner, question.collection)
    settings = workspace.settings
    limit = Limit(settings.run_tokens, settings.run_dollars)

    def find_model(model_id: str) -> Model:
        return stand_in or workspace.model(model_id)

    def work() -> Answer:
        run = runs.current()
        assert run is not None  # started below
        run.answer_s = settings.answer_s if terms.is_attended else 0.0
        task = Task(
            question,
            model,
            look_up,
            answer_id=run.message_id or new_id(),
            parent_id=say_question(question, (), {}),
            find=find,
            documents=partial(list_documents, workspace.library, owner, question.collection),
            tools=tools,
            allowed=AllowedTools(settings.data),
            models=find_model,
            look_ups=partial(look_elsewhere, workspace.library, owner),
            cells=kernels.make_cells(settings.data, run.id),
        )
        allow_tools(task, settings)
        purse = workspace.bill.purse(owner, run_id=run.id)
        with limited(limit, Limit(), Used()), budgeted(purse), bus.listening(task.hear):
            try:
                answer = asked_team.work(task)
            except Exception as error:
                say_end(run, task, asked_team, error)
                raise
            finally:
                kernels.remove(settings.data, run.id)
        if terms.recording is not None:
            terms.recording.go_live()  # also where all had been done already
        return answer

    return runs.start(
        work,
        kind=terms.kind,
        title=shorten(question.text, _TITLE),
        owner=owner,
        ledger=workspace.ledger,
        team="" if asked_team.id == KIND else asked_team.id,
        resumes=terms.resumes,
        recording=terms.recording,
    )
