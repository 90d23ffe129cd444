"""Which class tells which kind of step, by the type of the event or of what several make
together.
"""

from __future__ import annotations

from typing import Any

from agentkit import events
from agentkit.ui.steps import cells, chat, documents, model, plan, run, tools
from agentkit.ui.steps.kind import Kind
from agentkit.ui.steps.step import Asked, CellRun, Chosen, Planned, Step, ToolUse, Writing

_OF: dict[type[Any], Kind[Any]] = {
    events.RunStarted: Kind(),
    events.RunFinished: run.Finished(),
    events.RunFailed: run.BrokenOff(),
    events.RunStopped: run.BrokenOff(),
    events.LimitTold: run.Limit(),
    events.Noted: run.Note(),
    events.ParameterRefused: run.Refused(),
    events.EvaluationBegan: run.SetBegan(),
    events.QuestionBegan: run.OneBegan(),
    events.QuestionTried: run.Trial(),
    events.QuestionDrafted: run.QuestionDraft(),
    events.Unknown: run.OfNewer(),
    events.MessageSent: chat.Message(),
    events.SpeakerSelected: chat.Speaker(),
    Chosen: chat.Choice(),
    events.ChatEnded: chat.ChatEnd(),
    events.HumanInputRequested: chat.Request(),
    events.HumanAnswered: chat.Reply(),
    Asked: chat.Question(),
    events.ModelCalled: model.Call(),
    events.ModelReplied: model.Replied(),
    events.TokenDelta: model.Word(),
    events.ThinkingDelta: model.Thought(),
    Writing: model.Written(),
    events.ReplyParsed: model.Parsed(),
    events.Compressed: model.Shortened(),
    events.ToolCalled: tools.Called(),
    events.ToolReturned: tools.Returned(),
    ToolUse: tools.Use(),
    events.CodeBegan: cells.Began(),
    events.CodeOutput: cells.Output(),
    events.CodeRan: cells.Ran(),
    CellRun: cells.Block(),
    events.EmbedderAwaited: documents.Awaited(),
    events.Retrieved: documents.Search(),
    events.DocumentProgress: documents.Progress(),
    events.DocumentDone: documents.Done(),
    events.PlanMade: plan.Made(),
    events.StepDone: plan.StepEnd(),
    Planned: plan.Plan(),
}


def kind_of(step: Step) -> Kind[Any]:
    """The class that tells it."""
    return _OF[type(step)]
