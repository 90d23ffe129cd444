"""Figures of everybody together, for what watches the machine: how much, never of whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from agentkit.database import Database, Row
from agentkit.ledger.queries import COMPLETION, COST, PROMPT


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure with its values, one for each set of labels."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str
    samples: tuple[tuple[Mapping[str, str], float], ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Figures that one statement gives: each a column of its rows, the others are labels."""

    sql: str
    figures: Mapping[str, tuple[Literal["counter", "gauge"], str]]


_CALLS = _Asked(
    f"""select provider, model, purpose, status,
        count(*) as agentkit_model_calls_total,
        coalesce(sum({PROMPT}), 0)::double as agentkit_model_prompt_tokens_total,
        coalesce(sum({COMPLETION}), 0)::double as agentkit_model_completion_tokens_total,
        coalesce(sum({COST}), 0)::double as agentkit_model_cost_dollars_total,
        count(*) filter ({COST} is null and {PROMPT} + {COMPLETION} > 0)
            as agentkit_model_calls_unpriced_total,
        coalesce(sum(c.seconds), 0)::double as agentkit_model_call_seconds_total
        from llm_calls c where not c.imported
        group by provider, model, purpose, status order by all""",
    {
        "agentkit_model_calls_total": ("counter", "Attempts to ask a model."),
        "agentkit_model_prompt_tokens_total": ("counter", "Tokens of prompts."),
        "agentkit_model_completion_tokens_total": ("counter", "Tokens of replies."),
        "agentkit_model_cost_dollars_total": ("counter", "Known cost in US dollars."),
        "agentkit_model_calls_unpriced_total": ("counter", "Calls of unknown price."),
        "agentkit_model_call_seconds_total": ("counter", "Seconds that calls took."),
    },
)
_RUNS = _Asked(
    "select kind, state, count(*) as agentkit_runs from runs group by kind, state order by all",
    {"agentkit_runs": ("gauge", "Runs by kind and how they stand.")},
)
_DOCUMENTS = _Asked(
    "select status, count(*) as agentkit_documents from documents group by status order by all",
    {"agentkit_documents": ("gauge", "Documents by how they stand, all versions of indexes.")},
)


def read_metrics(database: Database) -> Iterator[Metric]:
    """The figures as they are now; raises StoreError."""
    for asked in (_CALLS, _RUNS, _DOCUMENTS):
        rows = database.rows(asked.sql)
        for name, (kind, about) in asked.figures.items():
            yield Metric(name, kind, about, tuple(_sample(row, name, asked) for row in rows))
    size = float(database.bytes())
    yield Metric("agentkit_database_bytes", "gauge", "Size on the disk.", (({}, size),))


def _sample(row: Row, name: str, asked: _Asked) -> tuple[Mapping[str, str], float]:
    labels = {key: str(row[key]) for key in row.keys() - asked.figures.keys()}
    return labels, float(row[name])
