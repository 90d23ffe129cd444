"""What comes of checking an answer's markers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["supported", "doubtful", "missing", "unchecked"]
"""`missing`: the marker names no passage; `unchecked`: there was too little to compare."""
DoubtKind = Literal["number", "date", "name", "negation", "passage"]
"""What the passage does not say; `passage`: it speaks of something else."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a passage does not say, as the answer has it; empty when it is about something else."""

    kind: DoubtKind
    what: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one marker of an answer; `at` is where its bracket opens there."""

    marker: int
    at: int
    verdict: Verdict
    kind: DoubtKind | None = None
    what: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message under `checks`."""
        return asdict(self)
