"""What the steps of a plan gave, and which of it stays when a plan is changed or run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter

from agentkit.agents.rewoo.plan import Plan, is_label
from agentkit.core.given import to_list
from agentkit.core.tools import Given
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import without_keys


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a step gave, or why it failed."""

    label: str
    ok: bool
    text: str
    """What dependents and the solver read; of a failed step `[failed: why]`."""
    seconds: float = 0.0
    """Over all attempts."""
    attempts: int = 1
    cached: bool = False
    """Whether another step with the same tool and arguments gave it."""
    error: str = ""
    arguments: str = ""
    """As the tool got them, with the evidence of other steps put in."""
    value: object = field(default=None, compare=False, repr=False)
    """What the call returned; not stored."""
    passages: tuple[Given, ...] = field(default=(), compare=False, repr=False)
    """The passages in `text`, as the tool told them; not stored."""

    def to_json(self) -> dict[str, object]:
        """As it can be stored, without `value` and `passages`."""
        stored = attrgetter(*_STORED)(self)
        return dict(zip(_STORED, stored, strict=True))

    @classmethod
    def from_json(cls, data: object) -> Evidence:
        """The evidence that `to_json` gave, or as much of it as label, ok and text; raises
        WrongArgument for less.
        """
        if not isinstance(data, Mapping) or not data.keys() >= _NEEDED:
            raise WrongArgument(
                f"Evidence is an object with at least label, ok and text, but it is {data!r:.200}."
            )
        unknown = data.keys() - _STORED
        return cls(**without_keys(data, unknown))

    @classmethod
    def of_failure(cls, label: str, problem: str, arguments: str) -> Evidence:
        """That of a step that did not run."""
        text = f"[failed: {problem}]"
        return cls(label, False, text, attempts=0, error=problem, arguments=arguments)

    def copy_for(self, label: str, arguments: str) -> Evidence:
        """The same for another step that has the same tool and arguments."""
        return replace(self, label=label, seconds=0.0, attempts=0, cached=True, arguments=arguments)


# Only texts and numbers can be stored; what else there is takes no part in comparisons, either.
_NEEDED = {"label", "ok", "text"}
_STORED = [field.name for field in fields(Evidence) if field.compare]
Known = Mapping[str, Evidence | str]
"""What is known by label, as evidence or as a text that somebody gives for it."""
Cache = MutableMapping[str, Evidence]
"""Evidence of successful steps by tool and arguments."""


def still_known(
    plan: Plan, evidence: Known, changed: str | Iterable[str] = ()
) -> dict[str, Evidence]:
    """The evidence that stays when steps have failed, or are changed or to run again: of all that
    do not depend on them.

    Given as `known`, the run begins again from there. A text stands for the evidence of a step that
    succeeded. Raises WrongArgument for a label that is not in the plan or cannot be one, and
    WrongType for anything but evidence and texts.
    """
    if not isinstance(evidence, Mapping):
        raise WrongType(
            "What is known must be evidence or texts by label, such as {'#E1': 'text'}, not"
            f" {evidence!r:.200}."
        )
    given = {label: _to_evidence(label, each) for label, each in evidence.items()}
    failed = {label for label, each in given.items() if not each.ok}
    again = set(to_list(changed, str))
    lost = plan.after_all(again | failed.intersection(plan.labels))
    return without_keys(given, lost)


def _to_evidence(label: object, given: object) -> Evidence:
    if not is_label(label):
        raise WrongArgument(
            f"Evidence is known by labels such as #E1, but this is given for {label!r:.80}."
        )
    if isinstance(given, str):
        return Evidence(label, True, given, attempts=0)
    if not isinstance(given, Evidence):
        raise WrongType(
            f"What is known of {label} must be evidence or a text, but it is {given!r:.200}; see"
            " Evidence.from_json."
        )
    return replace(given, label=label)
