"""What can happen while the questions of a set are drafted, or put to a team: kinds of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class EvaluationBegan:
    """The questions of a set are about to be put to a team."""

    set_id: str
    set_name: str
    team_id: str
    """With its version, where people built it."""
    team_name: str
    collection: str
    """The name of the collection that is looked into."""
    model_id: str
    questions: int
    """How many there are."""
    at_once: int = 1
    """How many are answered at the same time."""


@dataclass(frozen=True, slots=True)
class QuestionBegan:
    """A team is asked one of them; `QuestionTried` tells its end."""

    number: int
    """Its place in the set, from 1."""
    run_id: str
    """The run that answers it."""


@dataclass(frozen=True, slots=True)
class QuestionTried:
    """A team was asked one of them, in a run of its own; each is told once it has ended."""

    number: int
    """Its place in the set, from 1."""
    question: str
    expected: dict[str, Any] = field(default_factory=dict)
    """The documents that answer it by name, each with its grade."""
    run_id: str = ""
    """The run that answered it."""
    status: str = "ok"
    """`ok` or `failed`; one that was stopped is not told."""
    answer: str = ""
    end: str = ""
    """The kind of reason why the team came to its end, such as `answered` or `no evidence`."""
    cited: dict[str, Any] = field(default_factory=dict)
    """Names of the documents that the answer cites, each with the number of passages."""
    updates: int = 0
    """How often an agent asked for other passages (UPDATE CONTEXT)."""
    look_ups: int = 0
    asked: int = 0
    """How often a person was asked, who is not there."""
    calls: int = 0
    """Of models that were answered, without those for vectors."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None where no price is known."""
    unpriced: int = 0
    """Calls with tokens whose price is unknown."""
    seconds: float = 0.0
    error: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class QuestionDrafted:
    """A model drafted a question that a document answers, for a person to keep or not."""

    collection: str
    """Its name then."""
    document_id: str
    document: str
    """The document's name."""
    question: str = ""
    """Empty where the model found nothing to ask."""
