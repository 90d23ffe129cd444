"""The run itself: its end, its limits, what agents remark, and questions of a set one by one."""

from __future__ import annotations

from agentkit.events import (
    DocumentProgress,
    EvaluationBegan,
    LimitTold,
    Noted,
    ParameterRefused,
    QuestionBegan,
    QuestionDrafted,
    QuestionTried,
    RunFailed,
    RunFinished,
    RunStopped,
    Unknown,
)
from agentkit.ledger.evaluations.results import count_cited, count_right
from agentkit.ui.steps import wording
from agentkit.ui.steps.kind import Kind, Remark
from agentkit.ui.steps.plan import end_plan
from agentkit.ui.steps.step import Steps
from agentkit.ui.steps.tools import end_tools
from agentkit.ui.text import figures, markdown


class Finished(Kind[RunFinished]):
    """The run is over: what agents were reading, they have read."""

    def enter(self, event: RunFinished, seq: int, steps: Steps) -> None:
        """Leave out documents that are still under way, as older versions stored them."""
        for key, step in list(steps.shown.items()):
            if isinstance(step, DocumentProgress):
                del steps.shown[key]


class BrokenOff(Kind[RunFailed | RunStopped]):
    """The run ended early; why stands with the answer."""

    def enter(self, event: RunFailed | RunStopped, seq: int, steps: Steps) -> None:
        """No step of a plan and no tool goes on."""
        end_plan(steps)
        end_tools(steps)


class Limit(Remark[LimitTold]):
    """A limit is nearly used up, or forbade a call."""

    def line(self, step: LimitTold) -> str:
        """Which, and how much of it."""
        icon = ":material/block:" if step.reached else ":material/data_usage:"
        return f"{icon} {markdown.literal(wording.of_limit(step))}"


class Note(Remark[Noted]):
    """What an agent tells whoever watches."""

    def enter(self, event: Noted, seq: int, steps: Steps) -> None:
        """Show it; what was made of a document stands for the reading of it."""
        if isinstance(steps.shown.get(event.document_id), DocumentProgress):
            del steps.shown[event.document_id]
        super().enter(event, seq, steps)

    def line(self, step: Noted) -> str:
        """Its first line; older versions stored the detail below it."""
        first, _, _ = step.text.partition("\n")
        return f":material/info: {markdown.literal(step.agent)}: {markdown.literal(first)}"


class Refused(Remark[ParameterRefused]):
    """A parameter that is not sent."""

    def line(self, step: ParameterRefused) -> str:
        """Which, of which model."""
        return f":material/tune: {markdown.literal(wording.of_refusal(step))}"


class OfNewer(Remark[Unknown]):
    """What a newer version of agentkit wrote."""

    def line(self, step: Unknown) -> str:
        """Its name."""
        what = "Something of a newer version of agentkit that this one cannot show"
        return f":material/update: {what}: {markdown.literal(step.name)}"


class SetBegan(Remark[EvaluationBegan]):
    """The questions of a set are about to be put to a team."""

    def line(self, step: EvaluationBegan) -> str:
        """Which set, of whom."""
        asked = figures.count(step.questions, "question")
        set_name, team = map(markdown.literal, (step.set_name, step.team_name))
        return f":material/quiz: {asked} of {set_name} to {team}"


class OneBegan(Remark[QuestionBegan]):
    """One of them is asked."""

    def line(self, step: QuestionBegan) -> str:
        """Its place in the set."""
        return f":material/quiz: Question {step.number} is asked"


class Trial(Remark[QuestionTried]):
    """One of them was asked."""

    def line(self, step: QuestionTried) -> str:
        """What came of it."""
        question = markdown.literal(step.question)
        if step.status == "failed":
            return f":material/error: {question}: {markdown.literal(step.error)}"
        right = f"{count_right(step)} of {figures.count(count_cited(step), 'citation')} right"
        return f":material/quiz: {question}: {right}, {figures.seconds(step.seconds)}"


class QuestionDraft(Remark[QuestionDrafted]):
    """A model drafted a question from a document."""

    def line(self, step: QuestionDrafted) -> str:
        """The question, and what answers it."""
        question = markdown.literal(step.question) or "nothing to ask"
        return f":material/edit_note: {markdown.literal(step.document)}: {question}"
