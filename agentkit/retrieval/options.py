"""How a collection is searched: the settings that chat, agents, the command line and the retrieval
lab share.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, get_args

from agentkit.errors import ConfigError
from agentkit.retrieval.types import Mode

MODES: tuple[Mode, ...] = get_args(Mode)
_WHOLE, _ANY = ((int,), "a whole number"), ((int, float), "a number")
LIMITS: dict[str, tuple[float, float]] = {
    "top_k": (1, 1_000),
    "depth": (1, 10_000),
    "collapse": (0.5, 1.0),
    "diversity": (0.0, 1.0),
    "rerank_depth": (1, 1_000),
    "min_score": (0.0, 1.0),
}
"""Lowest and highest value of the numbers; those whose limits are whole are whole numbers
themselves.
"""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """All that a search can be told; every collection keeps its own. Raises ConfigError for a value
    that cannot be.
    """

    mode: Mode = "hybrid"
    """`dense` compares meanings, `lexical` words, `hybrid` both."""
    top_k: int = 8
    """Passages that are given at most, 1 to 1,000."""
    depth: int = 50
    """Candidates of each stage, at least; never fewer than twice `top_k`. 1 to 10,000."""
    merge: bool = True
    """Whether neighbouring chunks among the hits become one passage."""
    collapse: float = 0.95
    """A passage whose cosine to a better one is at least this is left out as a near-duplicate; 1
    keeps all. 0.5 to 1.
    """
    diversity: float = 0.0
    """How much a passage must differ from better ones, as in maximal marginal relevance: 0 (not at
    all) to 1.
    """
    reranker: str = ""
    """Which reranker reads the best candidates once more; empty for none."""
    rerank_depth: int = 30
    """Candidates that the reranker reads, at least `top_k`; others are not given then. 1 to
    1,000.
    """
    min_score: float = 0.0
    """Passages whose final score is lower are left out as weak evidence; 0 keeps all. 0 to 1.

    The final score is the reranker's where there is one, else the fused one; the cosine in dense
    mode; in lexical mode the BM25 score as a share of the highest that is possible for the query.
    """

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"The mode is {self.mode!r}; choose one of {', '.join(MODES)}.")
        if not isinstance(self.merge, bool):
            raise ConfigError(f"merge is {self.merge!r}; give true or false.")
        if not isinstance(self.reranker, str):
            raise ConfigError(f"reranker is {self.reranker!r}; give a name.")
        for name, (low, high) in LIMITS.items():
            _check(name, getattr(self, name), low, high)

    def to_dict(self) -> dict[str, Any]:
        """All options by name."""
        return {name: getattr(self, name) for name in _NAMES}

    def to_json(self) -> str:
        """The options that differ from the defaults, as a JSON object."""
        defaults = DEFAULT.to_dict()
        given = self.to_dict()
        changed = {name: given[name] for name in given if given[name] != defaults[name]}
        return json.dumps(changed)

    @classmethod
    def from_json(cls, text: str) -> SearchOptions:
        """Options as `to_json` writes them; raises ConfigError for other names or impossible
        values.
        """
        given: dict[str, Any] = json.loads(text)
        if unknown := sorted(set(given) - set(_NAMES)):
            raise ConfigError(
                f"There are no search options {', '.join(unknown)}; known are"
                f" {', '.join(sorted(_NAMES))}."
            )
        return cls(**given)


def _check(name: str, value: float, low: float, high: float) -> None:
    kinds, called = _WHOLE if isinstance(low, int) else _ANY
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}; give {called} from {low:,} to {high:,}.")


_NAMES = tuple(one.name for one in dataclasses.fields(SearchOptions))
DEFAULT = SearchOptions()
