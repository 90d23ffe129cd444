"""Sums of what model calls took, in AutoGen's form, and how they are shown."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

from agentkit.core.io import IOStream
from agentkit.errors import WrongArgument
from agentkit.events import Usage

_RULE = "-" * 100
_NONE_ASKED = "No actual cost incurred (all completions are using cache)."
_ALL_ASKED = (
    "All completions are non-cached: the total cost with cached completions is the same as actual"
    " cost."
)


class UsageSummary:
    """Costs (US dollars) and tokens by model; several threads may add at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[str, dict[str, Any]] = {}
        self._cost: float = 0

    def __deepcopy__(self, memo: Mapping[int, object]) -> UsageSummary:
        made = UsageSummary()
        with self._lock:
            made._models, made._cost = copy.deepcopy(self._models), self._cost
        return made

    def add(self, model: str, cost: float | None, usage: Usage) -> None:
        """Count a call; an unknown cost counts as 0."""
        added = {
            "cost": cost or 0,
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.total,
        }
        with self._lock:
            self._cost += added["cost"]
            before = self._models.get(model, {})
            self._models[model] = {key: before.get(key, 0) + value for key, value in added.items()}

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._models, self._cost = {}, 0

    def as_dict(self) -> dict[str, Any] | None:
        """`{"total_cost": ..., model: {"cost", "prompt_tokens", "completion_tokens",
        "total_tokens"}}`; None without calls.
        """
        with self._lock:
            if not self._models:
                return None
            return {"total_cost": self._cost, **copy.deepcopy(self._models)}


def print_summaries(
    actual: Mapping[str, object] | None,
    total: Mapping[str, object] | None,
    mode: str | Sequence[str],
) -> None:
    """Print the sums that `mode` names to the agents' console; raises WrongArgument for another
    mode.
    """
    modes = {mode} if isinstance(mode, str) else set(mode)
    if not modes or modes - {"actual", "total"}:
        raise WrongArgument(
            f'print_usage_summary: mode is {mode!r}; choose from "actual", "total", ["actual",'
            ' "total"].'
        )
    out = IOStream.get_default()
    if total is None:
        out.print('No usage summary. Please call "create" first.', flush=True)
        return
    out.print(_RULE, flush=True)
    texts = {"actual": _NONE_ASKED, "total": _to_table(total, "including")}
    if actual:
        texts["actual"] = _to_table(actual, "excluding")
    if len(modes) == 2 and actual == total:
        texts["total"] = _ALL_ASKED
    out.print("\n\n".join(texts[each] for each in sorted(modes)), flush=True)
    out.print(_RULE, flush=True)


def _to_table(sums: Mapping[str, Any], word: str) -> str:
    lines = [f"Usage summary {word} cached usage: ", f"Total cost: {round(sums['total_cost'], 5)}"]
    for model, counted in sums.items():
        if model != "total_cost":
            rounded = {**counted, "cost": round(counted["cost"], 5)}
            shown = ", ".join(starmap("{}: {}".format, rounded.items()))
            lines.append(f"* Model '{model}': {shown}")
    return "\n".join(lines)
