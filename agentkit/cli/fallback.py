"""What is said of a search that went by words alone, because the embedding model was out of
reach.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from agentkit.cli.output import note
from agentkit.events import Fallback


def note_fallback(fallback: Fallback) -> None:
    """Say why, on stderr."""
    note(f"Passages are looked up by their words alone, not by meaning: {fallback.error}")


def fallback_fields(fallback: Fallback | None) -> dict[str, Any] | None:
    """As a script sees it; None when the search was the one that was asked for."""
    if fallback:
        return dataclasses.asdict(fallback)
    return None
