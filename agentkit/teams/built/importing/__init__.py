"""Teams of others as documents: workflows of AutoGen Studio, and scripts, which are read and never
run.
"""

from __future__ import annotations

import json
from typing import Any

from agentkit.errors import ConfigError
from agentkit.teams.built.document import LONGEST, TeamDocument, read_document
from agentkit.teams.built.importing.scripts import import_script
from agentkit.teams.built.importing.studio import import_studio, list_workflows
from agentkit.teams.built.importing.taken import Imported, Remark
from agentkit.teams.built.offers.catalog import ask_always

__all__ = ["Imported", "Remark", "import_team", "list_teams"]


def list_teams(text: str | bytes) -> list[str]:
    """What the workflows are called, where it is a whole set of them; raises ConfigError."""
    plain = _decode(text)
    if not plain.startswith("{"):
        return []
    return list_workflows(_load(plain))


def import_team(text: str | bytes, wanted: int = 0) -> Imported:
    """The team of a document of ours, of a workflow of AutoGen Studio, or of a Python script.

    Of a whole set of workflows it is the `wanted` one, from 0. Nothing of it is run, and no keys of
    models are taken. Raises ConfigError for what is too long, cannot be read, or has no agents.
    """
    plain = _decode(text)
    if not plain.startswith("{"):
        return import_script(plain)
    data = _load(plain)
    has_keys = not {"flow", "format"}.isdisjoint(data)
    has_version = isinstance(data.get("version"), int)
    if has_keys or has_version:
        document = read_document(data)
        return _take_document(document)
    return import_studio(data, wanted)


def _decode(text: str | bytes) -> str:
    if len(text) > LONGEST:
        raise ConfigError(
            f"The team has {len(text):,} characters; more than {LONGEST:,} are not read."
        )
    plain = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return plain.lstrip("\ufeff \t\r\n")


def _load(plain: str) -> Any:
    try:
        return json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The team cannot be read: it is not JSON ({error}).") from error


def _take_document(document: TeamDocument) -> Imported:
    """A document of ours; its tools ask, whatever it says."""
    careful = ask_always(document)
    if careful == document:
        return Imported(careful)
    told = "you are asked before each call of a dangerous tool, whatever the file says"
    return Imported(careful, (Remark("tools", told),))
