"""What a question is narrowed to, as it travels with the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from agentkit.events import MessageSent
from agentkit.ledger import StoredMessage
from agentkit.retrieval.types import Scope

EVERYTHING = Scope()


def scope_to_json(scope: Scope) -> dict[str, Any]:
    """The fields that narrow, as they travel with a question under `scope`."""
    given = {one.name: getattr(scope, one.name) for one in fields(scope)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in given.items()
        if value != getattr(EVERYTHING, name)
    }


def scope_of(question: StoredMessage | MessageSent) -> Scope:
    """What a question was narrowed to."""
    return scope_from_json(question.extra.get("scope", {}))


def scope_from_json(fields_given: Mapping[str, Any]) -> Scope:
    """What `scope_to_json` made."""
    given = dict(fields_given)
    for name in ("added_from", "added_before"):
        if name in given:
            given[name] = datetime.fromisoformat(given[name])
    return Scope(**given)
