"""The words for what teams score, what a difference is worth, and how many calls are to come."""

from __future__ import annotations

from collections.abc import Mapping

from agentkit.core.intervals import FEWEST, Verdict
from agentkit.events import EvaluationBegan
from agentkit.ledger.evaluations.differences import Differences
from agentkit.ledger.evaluations.results import Basis, Evaluation, Expected, Sums
from agentkit.ledger.queries import Totals
from agentkit.ui.text import figures

STATES: Mapping[str, str] = {
    "running": "goes on",
    "finished": "",
    "failed": "failed",
    "stopped": "stopped",
    "interrupted": "interrupted",
}
ENDS: Mapping[str, str] = {
    "terminated": "answered",
    "replies": "limit of steps",
    "turns": "limit of turns",
    "rounds": "limit of messages",
    "silent": "no reply",
    "allowance": "limit reached",
    "window": "no room left",
    "passages": "no further passages",
    "no passages": "found no passages",
    "long passages": "passages too long",
}
"""How answers ended; other reasons are called as they call themselves."""
_BASES: Mapping[Basis, str] = {
    "earlier": "as in its earlier evaluations",
    "chats": "as in your chats",
    "team": "by the limits of the team",
}


def name_team(began: EvaluationBegan) -> str:
    """The team with its version, as it was called then."""
    _, _, version = began.team_id.partition(":")
    if not version.isdecimal():
        return began.team_name
    return f"{began.team_name}, version {version}"


def tell_calls(expected: Expected) -> str:
    """How many calls of models are to be expected."""
    fewest, most = expected.calls
    calls = figures.count(fewest, "call")
    if most is None:
        calls = f"at least {calls}"
    elif most != fewest:
        calls = f"{figures.count(fewest)} to {figures.count(most, 'call')}"
    return f"{calls} of models, {_BASES[expected.basis]}"


def tell_difference(found: Differences) -> str:
    """Whether one is better than the other, as far as the questions tell."""
    shares: Mapping[Verdict, str] = {
        "none": "No question is in both, so there is nothing to compare.",
        "same": f"No score differs over {figures.count(len(found.pairs), 'question')}.",
        "few": (
            f"{figures.count(found.differing, 'question')} of {len(found.pairs)} differ: too few to"
            f" tell this from chance. At least {FEWEST} have to differ."
        ),
        "open": f"This may be chance: {_tell_interval(found)}",
        "better": f"Better by more than chance: {_tell_interval(found)}",
        "worse": f"Worse by more than chance: {_tell_interval(found)}",
    }
    return shares[found.verdict]


def _tell_interval(found: Differences) -> str:
    margin = found.margin or 0.0
    ends = figures.ends(found.mean - margin, found.mean + margin)
    asked = figures.count(len(found.pairs), "question")
    return (
        f"the score differs by {found.mean:+.2f} over {asked}, and with 95 % confidence by {ends}."
    )


def tell_cost(sums: Sums) -> str:
    """What it cost; what is unknown is never shown as nothing."""
    took = Totals(calls=sums.calls, answered=sums.calls, cost=sums.cost, unpriced=sums.unpriced)
    return figures.cost(took)


def tell_state(found: Evaluation) -> str:
    """How it stands, where it is not simply at its end."""
    told = STATES.get(found.state, found.state)
    if found.is_whole:
        return told
    asked = f"{len(found.results)} of {found.began.questions} asked"
    return f"{told}, {asked}" if told else asked
