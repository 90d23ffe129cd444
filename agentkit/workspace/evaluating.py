"""A question set that is put to a team: each question in a run of its own, several at a time, and
what came of them told in one run around them.
"""

from __future__ import annotations

import contextvars
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from agentkit import runs
from agentkit.agents.retrieve_chat.prompts import ASKS_AGAIN
from agentkit.core import bus, stopping
from agentkit.errors import AgentkitError, ConfigError, NotFound, Stopped, WrongArgument, explain
from agentkit.events import (
    EvaluationBegan,
    Event,
    HumanInputRequested,
    ModelReplied,
    QuestionBegan,
    QuestionTried,
    Retrieved,
    events_of,
)
from agentkit.ledger import queries
from agentkit.ledger.bill.forecasts import find_forecast
from agentkit.ledger.evaluations.results import (
    AT_ONCE,
    KIND,
    Evaluation,
    Evaluations,
    Expected,
)
from agentkit.ledger.queries import Totals
from agentkit.retrieval.evaluation.measuring import check_set
from agentkit.retrieval.store.questions import Question as Known
from agentkit.runs import Run
from agentkit.teams import Answer, Question, Team
from agentkit.teams.built.calls import Range, estimate_calls
from agentkit.workspace.team_shelf import TeamShelf
from agentkit.workspace.trying import Bench, Terms, ask_alone
from agentkit.workspace.unfinished import (
    TakenUp,
    Unfinished,
    find_unfinished,
    take_up,
)


class Place(Bench, Protocol):
    """What of a workspace an evaluation needs."""

    evaluations: Evaluations

    @property
    def team_shelf(self) -> TeamShelf:
        """The teams that can be asked."""

    def team(self, owner: str, team_id: str) -> Team:
        """The team of that id; raises NotFound, and ConfigError for one that cannot work."""


KIND_OF_ONE = "evaluated question"
"""The kind of the run that answers one question."""
MOST_AT_ONCE = 16
_TERMS = Terms(kind=KIND_OF_ONE, is_attended=False)


def forecast(workspace: Place, owner: str, team_id: str, model_id: str, questions: int) -> Expected:
    """How many calls it will probably take to put so many questions to the team; raises
    NotFound.
    """
    earlier = [
        tried.calls
        for one in workspace.evaluations.history(owner, team_id=team_id)
        for tried in one.results
        if tried.status == "ok"
    ]
    if earlier:
        return Expected(questions, (min(earlier), max(earlier)), "earlier")
    if known := find_forecast(workspace.ledger, owner, team_id, model_id):
        low, high = known.calls
        return Expected(questions, (round(low), round(high)), "chats")
    return Expected(questions, _read_limits(workspace, owner, team_id), "team")


def _read_limits(workspace: Place, owner: str, team_id: str) -> Range:
    try:
        return estimate_calls(workspace.team_shelf.find_document(owner, team_id))
    except NotFound:
        workspace.team(owner, team_id)  # it is there, and has no document
        return 1, None


@dataclass(frozen=True, slots=True)
class Setting:
    """A team, what it is asked, and over what."""

    team: Team
    set_id: str
    set_name: str
    collection: str
    model_id: str
    questions: Sequence[Known]
    at_once: int
    before: Unfinished | None = None
    """The evaluation that broke off and is gone on with."""


def prepare(
    workspace: Place,
    owner: str,
    team_id: str,
    set_name: str,
    *,
    collection: str = "",
    model_id: str = "",
    at_once: int = AT_ONCE,
) -> Setting:
    """What is to be asked; raises NotFound, WrongArgument, and ConfigError where nothing can be
    measured.
    """
    if not 1 <= at_once <= MOST_AT_ONCE:
        raise WrongArgument(
            f"{at_once:,} questions at once cannot be; choose from 1 to {MOST_AT_ONCE}."
        )
    library = workspace.library
    chosen = library.questions.named(owner, set_name)
    where = collection or chosen.collection
    if not where:
        raise ConfigError(
            f"The question set {chosen.name!r} was made for no collection; say which is to be"
            " looked into."
        )
    name = library.collection(owner, where).name
    questions = library.questions.questions(owner, chosen.id)
    check_set(library, owner, chosen.id, name, questions)
    team, model = workspace.team(owner, team_id), workspace.model(model_id)
    team.check(model)
    return Setting(team, chosen.id, chosen.name, name, model.id, questions, at_once)


def prepare_rest(workspace: Place, owner: str, run_id: str) -> Setting:
    """What is left of an evaluation that broke off or was stopped; raises NotFound, and ConfigError
    where it cannot be gone on with.
    """
    before = find_unfinished(workspace.ledger, workspace.evaluations, owner, run_id)
    began = before.evaluation.began
    library = workspace.library
    chosen = library.questions.one(owner, began.set_id)
    setting = prepare(
        workspace,
        owner,
        began.team_id,
        chosen.name,
        collection=began.collection,
        model_id=began.model_id,
        at_once=began.at_once,
    )
    before.check_questions(setting.questions)
    return replace(setting, before=before)


def evaluate(workspace: Place, owner: str, setting: Setting) -> Run[Evaluation]:
    """Put the questions to the team, so many at the same time.

    A question that fails is told, and the others are asked all the same. When the run is stopped,
    those that were answered by then are kept.
    """

    def work() -> Evaluation:
        run = runs.current()
        assert run is not None  # started below
        bus.emit(_begin(setting))
        if setting.before is not None:
            _tell_again(setting.before)
            run.flush()
            workspace.ledger.replace_run(setting.before.run, run.key)
        _ask_all(setting, lambda number, known: _ask(workspace, owner, setting, number, known))
        run.flush()
        state = "stopped" if run.stopping else "finished"  # as it will stand in a moment
        return replace(workspace.evaluations.one(owner, run.id), state=state)

    return runs.start(
        work,
        kind=KIND,
        title=f"{setting.set_name} to {_name(setting.team)}",
        owner=owner,
        ledger=workspace.ledger,
        size=len(setting.questions),
        team=setting.team.id,
        resumes=setting.before.run.id if setting.before else "",
    )


def _name(team: Team) -> str:
    """With its version, where it has one."""
    _, _, version = team.id.partition(":")
    if version.isdecimal():
        return f"{team.title}, version {version}"
    return team.title


def _begin(setting: Setting) -> EvaluationBegan:
    return EvaluationBegan(
        setting.set_id,
        setting.set_name,
        setting.team.id,
        setting.team.title,
        setting.collection,
        setting.model_id,
        len(setting.questions),
        setting.at_once,
    )


def _tell_again(before: Unfinished) -> None:
    """What came of the questions that were asked, and which runs have begun to answer others."""
    for tried in before.told.values():
        bus.emit(tried)
    for number, run_id in before.begun.items():
        bus.emit(QuestionBegan(number, run_id))


def _ask_all(setting: Setting, ask: Callable[[int, Known], None]) -> None:
    """Ask each that was not asked before, in threads that work in this run."""
    told: Mapping[int, QuestionTried] = {}
    if setting.before:
        told = setting.before.told
    left = [
        (number, known)
        for number, known in enumerate(setting.questions, start=1)
        if number not in told
    ]
    with ThreadPoolExecutor(setting.at_once, "agentkit-evaluation") as pool:
        asked = [
            pool.submit(contextvars.copy_context().run, ask, number, known)
            for number, known in left
        ]
    for one in asked:
        one.result()


def _ask(workspace: Place, owner: str, setting: Setting, number: int, known: Known) -> None:
    """Ask one question and tell what came of it; nothing once the run was told to stop."""
    signal = stopping.current()
    if signal.is_set:
        return
    question = Question(known.text, setting.collection, setting.team.id, setting.model_id)
    tried = QuestionTried(number, known.text, dict(known.expected))
    begun = ""
    if setting.before:
        begun = setting.before.begun.get(number, "")
    taken_up = take_up(workspace.ledger, owner, begun)
    terms = _TERMS
    if taken_up is not None:
        terms = _go_on(taken_up)
    try:
        run = ask_alone(workspace, owner, setting.team, question, terms)
    except AgentkitError as error:
        bus.emit(_fail(tried, error))
        return
    _tell_begun(number, run)
    with signal.on_stop(run.stop):
        run.wait()
    if not _was_stopped(run):
        took = queries.of_runs(workspace.ledger, owner, [run.id]).get(run.id, Totals())
        told = _tell(tried, run, took)
        earlier_s = 0.0
        if taken_up:
            earlier_s = taken_up.seconds
        bus.emit(replace(told, seconds=told.seconds + earlier_s))


def _was_stopped(run: Run[Answer]) -> bool:
    """Whether its answer, if there is one, is perhaps a part of what it was to be."""
    return run.stopping or isinstance(run.error, Stopped)


def _go_on(taken_up: TakenUp) -> Terms:
    return replace(_TERMS, resumes=taken_up.run_id, recording=taken_up.recording)


def _tell_begun(number: int, run: Run[Answer]) -> None:
    """Stored at once, so that this run is found again, whatever happens."""
    bus.emit(QuestionBegan(number, run.id))
    if around := runs.current():
        around.flush()


def _fail(tried: QuestionTried, error: BaseException) -> QuestionTried:
    return replace(tried, status="failed", error=explain(error))


def _tell(tried: QuestionTried, run: Run[Answer], took: Totals) -> QuestionTried:
    """What came of a question, out of the run that answered it."""
    recorded = run.events()
    events = events_of(recorded)
    told = replace(
        tried,
        run_id=run.id,
        updates=sum(map(_asks_again, events)),
        look_ups=_count(events, Retrieved),
        asked=_count(events, HumanInputRequested),
        calls=took.answered,
        input_tokens=took.prompt_tokens,
        output_tokens=took.completion_tokens,
        cost=took.cost,
        unpriced=took.unpriced,
        seconds=recorded[-1].at - recorded[0].at,
    )
    if run.error is not None:
        return _fail(told, run.error)
    answer = run.result()
    cited = Counter(citation.document for citation in answer.citations)
    return replace(told, answer=answer.text, end=answer.end.kind, cited=dict(cited))


def _asks_again(event: Event) -> bool:
    """Whether a model asks for other passages."""
    return isinstance(event, ModelReplied) and ASKS_AGAIN.search(event.text) is not None


def _count(events: Sequence[Event], kind: type[Any]) -> int:
    return sum(isinstance(event, kind) for event in events)
