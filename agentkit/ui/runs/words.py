"""The words for runs, their steps and what is odd about them; nothing reads them but people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.given import join_filled
from agentkit.events import LimitTold
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.run_documents import How
from agentkit.ledger.run_list import RunSort
from agentkit.ledger.spans import Problem, ProblemKind, Span, SpanKind, SpanStatus, Trace
from agentkit.reasons import end_from_json
from agentkit.ui.shared import state
from agentkit.ui.steps import wording
from agentkit.ui.text import figures

KINDS = {
    "chat": "Question",
    "ingest": "Documents taken in",
    "measure": "Measurement",
    "index": "Index version built",
    "switch": "Index version promoted",
    "transfer": "Transfer",
    "extract": "Table of documents",
    "script": "Script",
    "try": "Team tried",
    "draft questions": "Questions drafted",
    "evaluation": "Evaluation of a team",
    "evaluated question": "Question of an evaluation",
    "usage": "Question about usage",
}
"""What a run is, by its kind; others are called as they call themselves."""
STATES = {
    "running": "goes on",
    "finished": "finished",
    "failed": "failed",
    "stopped": "stopped",
    "interrupted": "interrupted",
    "waiting": "waits for you",
    "continued": "gone on with",
}
"""How a run stands."""
SORTS: dict[RunSort, str] = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "longest": "Longest first",
    "dearest": "Dearest first",
    "tokens": "Most tokens first",
}
HOWS: dict[How, str] = {"taken in": "Took it in", "found": "Found it", "cited": "Cited it"}
"""What a run had to do with a document."""
STEPS: dict[SpanKind, str] = {
    "run": "Run",
    "model": "Model",
    "embedding": "Embedding",
    "tool": "Tool",
    "code": "Code",
    "search": "Look-up",
    "compression": "Compression",
    "plan": "Plan",
    "step": "Plan step",
    "wait": "Question to you",
    "message": "Message",
    "speaker": "Next speaker",
    "document": "Document",
    "trial": "Question",
    "note": "Note",
    "unknown": "Unknown",
}
"""What a step is."""
_STATUSES: dict[SpanStatus, str] = {
    "failed": "failed",
    "stopped": "stopped",
    "cached": "from the cache",
    "open": "no end",
}
_PROBLEMS: dict[ProblemKind, str] = {
    "order": "event {seq} was stored after later ones",
    "twice": "event {seq} is there twice",
    "clock": "the clock went back at event {seq}",
    "no start": "the beginning of the run is missing",
    "no end": "{step} has no end",
    "no begin": "{step} has no beginning",
    "unknown": "event {seq} is of a kind that this version does not know ({what})",
}


def of_kind(kind: str) -> str:
    """What a run of this kind is."""
    return KINDS.get(kind, kind)


def of_state(state: str) -> str:
    """How a run in this state stands."""
    return STATES.get(state, state)


def of_team(team_id: str) -> str:
    """The name of a team; of one that was deleted its id."""
    found = state.find_team(team_id) if team_id else None
    return found.title if found else team_id


def why_ended(run: RunTotals, end: Mapping[str, Any] | None) -> str:
    """Why a run ended, as plain text; empty where its state says all."""
    if run.state == "continued":
        return "Another run went on with it"
    reason = end_from_json(end)
    told = wording.describe_end(reason) if reason and run.state == "finished" else run.reason
    told = wording.without_names(told).strip()
    return told[:1].upper() + told[1:]


def cost(run: RunTotals | Span) -> str:
    """What it cost; what is unknown is said, and nothing where there is nothing to pay."""
    if run.cost:
        return figures.dollars(run.cost) + (" and more" if run.unpriced else "")
    return "unknown" if run.unpriced else ""


def of_step(span: Span, trace: Trace) -> str:
    """The name of a step beside its kind, as plain text."""
    first = trace.events[span.seqs[0]].event if span.seqs else None
    if isinstance(first, LimitTold):
        return wording.of_limit(first)
    if span.kind == "plan":
        return "" if span.name == "1" else f"attempt {span.name}"
    if span.kind == "speaker":
        return wording.name_agent(span.name)
    return wording.without_names(span.name)


def describe_span(span: Span) -> str:
    """What stands at the bar of a step: how long, tokens, cost, and how it ended."""
    seconds = figures.milliseconds if span.seconds < 0.1 else figures.seconds
    parts = [
        seconds(span.seconds) if span.seconds else "",
        f"{figures.short(span.tokens)} tokens" if span.tokens else "",
        cost(span),
        figures.count(span.attempts, "attempt") if span.attempts > 1 else "",
        _STATUSES.get(span.status, ""),
    ]
    return join_filled(" · ", parts)


def of_problem(problem: Problem) -> str:
    """What is odd, as plain text."""
    step = f"“{problem.what}” (event {problem.seq})" if problem.seq else "the run"
    return _PROBLEMS[problem.kind].format(seq=problem.seq, what=problem.what, step=step)
