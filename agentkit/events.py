"""What can happen in a run: a union of frozen dataclasses; `Recorded` adds when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from agentkit.code_events import Cell as Cell
from agentkit.code_events import CodeBegan as CodeBegan
from agentkit.code_events import CodeOutput as CodeOutput
from agentkit.code_events import CodeRan as CodeRan
from agentkit.evaluation_events import EvaluationBegan as EvaluationBegan
from agentkit.evaluation_events import QuestionBegan as QuestionBegan
from agentkit.evaluation_events import QuestionDrafted as QuestionDrafted
from agentkit.evaluation_events import QuestionTried as QuestionTried
from agentkit.event_values import CallStatus as CallStatus
from agentkit.event_values import DocumentStatus as DocumentStatus
from agentkit.event_values import Fallback as Fallback
from agentkit.event_values import MessageStatus as MessageStatus
from agentkit.event_values import Purpose as Purpose
from agentkit.event_values import ReplyEnd as ReplyEnd
from agentkit.event_values import Stage as Stage
from agentkit.event_values import Thinking as Thinking
from agentkit.event_values import Usage as Usage
from agentkit.event_values import WantedCall as WantedCall
from agentkit.model_events import ModelCalled as ModelCalled
from agentkit.model_events import ModelReplied as ModelReplied
from agentkit.model_events import ThinkingDelta as ThinkingDelta
from agentkit.model_events import TokenDelta as TokenDelta
from agentkit.options import Moment
from agentkit.reasons import EndReason


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began."""

    what: str
    """Kind of run, such as `chat` or `ingest`."""
    title: str = ""
    resumes: str = ""
    """The id of the run that broke off and that this one goes on with; empty for none."""
    team: str = ""
    """The id of the team that is asked; empty for none, and in what older versions stored."""
    repeats: str = ""
    """The id of the finished run that this one begins from; empty for none."""
    from_step: int = 0
    """The model call of that run from which on things were done anew, counted from 1; 0 for none,
    and where a step of a plan was.
    """


@dataclass(frozen=True, slots=True)
class MessageSent:
    """An agent, a person or a team said something; the ledger keeps it in the chat's tree."""

    id: str
    parent_id: str | None
    sender: str
    recipient: str
    role: str
    content: str
    status: MessageStatus = "complete"
    extra: dict[str, Any] = field(default_factory=dict)
    """What travels with the message for the program: `citations`, `attachments`."""
    thinking: Thinking | None = None
    """What its model thought before."""


@dataclass(frozen=True, slots=True)
class EmbedderAwaited:
    """A look-up waits for an embedding model that is not ready yet: it is loaded, or made ready for
    this machine, which it is once.
    """

    embedder: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passages were looked up."""

    query: str
    collection: str
    mode: str
    """How was searched: `hybrid`, `dense`, `lexical` or `exact`."""
    hits: list[dict[str, Any]]
    seconds: float
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Passages that were found but not given, by reason: `weak` (below the threshold), `duplicate`
    (of one that is given).
    """
    options: dict[str, Any] = field(default_factory=dict)
    """How was searched, by the names of `SearchOptions`."""
    fallback: Fallback | None = None
    """Why `mode` is not the one that was asked for; None when it is."""
    began: float = field(default=0.0, compare=False)
    """Seconds since 1970 (UTC); 0 where nobody noted it. On a busy machine it is told late."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """An agent begins to execute a function that a model asked for."""

    call_id: str
    agent: str
    name: str
    arguments: str
    """As the model wrote them, usually JSON."""


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The function of that call returned or failed."""

    call_id: str
    agent: str
    name: str
    ok: bool
    content: str
    """What the model is told."""
    seconds: float = 0.0
    passages: list[dict[str, Any]] = field(default_factory=list)
    """Those in the content, as the tool gave them: `marker`; `document_id`, `start` and `end` of
    the hit.
    """


@dataclass(frozen=True, slots=True)
class ReplyParsed:
    """An agent's parser read a reply of its model; one event for each try, `attempt` counts from
    1.
    """

    agent: str
    parser: str
    """The kind of parser."""
    attempt: int
    ok: bool
    fields: Any = None
    """All that was said, thoughts included, as a JSON value; None when it could not be read."""
    content: str = ""
    """What of it others hear."""
    error: str = ""
    """Why it could not be read; the model is told so."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A history was made shorter before a model call, or that failed and it was left whole."""

    agent: str
    strategy: str
    ok: bool
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    tokens_spent: int = 0
    """What the model calls of the compression took."""
    cost: float | None = 0.0
    """US dollars of these calls; None when a price is unknown."""
    seconds: float = 0.0
    estimated: bool = False
    """Whether the counts are estimates."""
    summary: str = ""
    """What stands for the messages that are gone."""
    error: str = ""
    results_shortened: int = 0
    """Results of tools and code of which only the first and last lines were sent."""


@dataclass(frozen=True, slots=True)
class LimitTold:
    """What a run or chat may take, or a budget, is nearly used up (the next call included), or a
    call was not made as it would go beyond.
    """

    agent: str
    scope: Literal["run", "chat", "question", "day", "month"]
    unit: Literal["tokens", "dollars"]
    used: float
    limit: float
    reached: bool = False
    budget: str = ""
    """The id of the budget; empty for a limit."""
    unpriced: str = ""
    """The model whose price is unknown, so that the budget cannot count its calls; that alone is
    told then.
    """


@dataclass(frozen=True, slots=True)
class PlanMade:
    """A planner wrote a plan; one event for each try, `attempt` counts from 1."""

    agent: str
    plan_id: str
    attempt: int
    steps: list[dict[str, Any]] = field(default_factory=list)
    """Each with label, thought, tool, arguments and the labels that it needs."""
    error: str = ""
    """What is wrong with it, as the planner is told; empty when it will run."""


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step of that plan has its evidence, or failed."""

    agent: str
    plan_id: str
    label: str
    tool: str
    arguments: str
    """With the evidence of other steps put in."""
    ok: bool
    evidence: str
    seconds: float = 0.0
    attempts: int = 1
    cached: bool = False
    passages: list[dict[str, Any]] = field(default_factory=list)
    """Those in the evidence, as in ToolReturned."""
    error: str = ""
    """Why it failed; empty in what older versions stored."""


@dataclass(frozen=True, slots=True)
class SpeakerSelected:
    """A group chat's manager gave the floor to somebody; `round` counts from 1."""

    agent: str
    speaker: str
    method: str
    round: int
    candidates: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ParameterRefused:
    """A parameter that the person wished for is not sent: the model's server refuses it.

    By the name `pictures` it tells that the model does not see those of the question.
    """

    agent: str
    model: str
    model_id: str
    parameter: str
    value: str = ""
    """The value that is refused; empty when any is."""
    wished: str = ""
    """The value that was wished for."""


@dataclass(frozen=True, slots=True)
class ChatEnded:
    """A chat between two agents is over."""

    sender: str
    recipient: str
    reason: str
    """Why, in words: who sent a termination message, which limit was reached, what the human
    said.
    """
    messages: int = 0
    silent: bool = False
    """Whether the chat was not meant to be shown, as the inner one that chooses a speaker."""
    end: EndReason | None = None
    """The reason as a value; None in what older versions stored."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something an agent tells whoever watches, such as a warning or a limit reached."""

    agent: str
    text: str
    end: EndReason | None = None
    """Why a group is over, when that is what it tells."""
    document_id: str = ""
    """The document that the agent is done with, when that is what it tells."""
    detail: str = ""
    """What is for those who want to know more; older versions stored it in the text's lines."""


@dataclass(frozen=True, slots=True)
class DocumentProgress:
    """A document moved on; `done` of `total` units (bytes, pieces) of this stage are finished."""

    document_id: str
    document: str
    stage: Stage
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class DocumentDone:
    """A document's ingest ended; when `indexed`, it is durable."""

    document_id: str
    document: str
    status: DocumentStatus
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0
    error: str = ""
    note: str = ""
    same_as: str = ""
    """Name of a document of the collection that has the same content; empty for none."""
    updated: bool = False
    """Whether it took the place of what the document had before."""


@dataclass(frozen=True, slots=True)
class HumanInputRequested:
    """The run waits for a person.

    The answer is a text. With `options` it begins with one of them on a line of its own; below it
    may stand what goes with it: the changed draft, or a reason.
    """

    request_id: str
    agent: str
    prompt: str
    options: list[str] = field(default_factory=list)
    """Each an `OptionKey`, or a name that stands for itself, such as that of an agent."""
    draft: str = ""
    """What is to run when the person agrees; they may change it."""
    language: str = ""
    """Language of the draft, such as `python` or `json`."""
    to: str = ""
    """The agent that the answer is told."""
    moment: Moment = ""
    until: float | None = None
    """When it is given up, in seconds since 1970 (UTC); None where it waits for any time."""
    tool: str = ""
    """Of a call of a tool: under which name a permission for it counts."""
    wants: WantedCall | None = None
    """Of a call of a tool, where it is known who wants it."""


@dataclass(frozen=True, slots=True)
class HumanAnswered:
    """The person answered, did not in time, or said something unasked."""

    request_id: str
    """Empty for what nobody asked."""
    text: str
    waited_s: float | None = None
    """How long nobody answered, where nobody did."""
    place: int | None = None
    """After how many messages of a group they heard it, where nobody asked."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run reached its end."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended with an error."""

    error: str
    error_type: str


@dataclass(frozen=True, slots=True)
class RunStopped:
    """The user stopped the run; what was done so far is kept."""

    reason: str = "stopped by the user"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that a newer version of agentkit wrote, as it stands there."""

    name: str
    """The kind, as that version calls it."""
    data: dict[str, Any] = field(default_factory=dict)


Event = (
    RunStarted
    | MessageSent
    | ModelCalled
    | TokenDelta
    | ThinkingDelta
    | ModelReplied
    | EmbedderAwaited
    | Retrieved
    | DocumentProgress
    | DocumentDone
    | ToolCalled
    | ToolReturned
    | CodeBegan
    | CodeOutput
    | CodeRan
    | ReplyParsed
    | Compressed
    | LimitTold
    | PlanMade
    | StepDone
    | SpeakerSelected
    | ParameterRefused
    | EvaluationBegan
    | QuestionBegan
    | QuestionTried
    | QuestionDrafted
    | ChatEnded
    | Noted
    | HumanInputRequested
    | HumanAnswered
    | RunFinished
    | RunFailed
    | RunStopped
    | Unknown
)
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in Event.__args__ if kind is not Unknown
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with its place in a run: `seq` counts from 1, `at` is seconds since 1970 (UTC)."""

    seq: int
    at: float
    event: Event


def events_of(recorded: Iterable[Recorded]) -> list[Event]:
    """The events alone."""
    return [one.event for one in recorded]
