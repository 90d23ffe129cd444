"""The plan as data: steps with labels and what they need of one another; it can be shown, changed,
stored and run.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import starmap
from operator import attrgetter
from typing import Any, TypeGuard

from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.mistakes import Mistake, list_names
from agentkit.core.fences import read_fenced
from agentkit.core.given import coalesce, list_missing
from agentkit.core.lenient import find_below
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import text_or_empty

REFERENCE = re.compile(r"#E[0-9]{1,9}(?![0-9A-Za-z_])")
LABEL = re.compile(r"#E[0-9]{1,9}")
# A text that is never closed goes to the end: no JSON can come of it.
_STRING_OR_REFERENCE = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))|' + REFERENCE.pattern, re.DOTALL
)


class _AnyTool(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


ANY_TOOL: Collection[str] = _AnyTool()
"""Has every name in it, and lists none: for plans whose tools are not known yet."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it is for, and the tool with its arguments as the planner wrote them."""

    label: str
    """`#E1`, `#E2`, ...: the name of its evidence in other steps' arguments."""
    thought: str
    tool: str
    arguments: str = ""
    anyway: bool = False
    """Run it although a step that it needs failed, even if its tool has effects."""

    def __post_init__(self) -> None:
        """Raises WrongType for arguments other than a text."""
        if not isinstance(self.arguments, str):
            raise WrongType(
                f"The arguments of {self.label} must be a text, not {self.arguments!r:.200};"
                " Plan.from_json takes JSON, too."
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """The labels in its arguments, each once, in their order."""
        return tuple(dict.fromkeys(REFERENCE.findall(self.arguments)))

    def to_json(self) -> dict[str, Any]:
        """As it is stored and shown; `needs` follows from the arguments and is only told."""
        data: dict[str, Any] = {
            "label": self.label,
            "thought": self.thought,
            "tool": self.tool,
            "arguments": self.arguments,
            "needs": list(self.needs),
        }
        if self.anyway:
            data["anyway"] = True
        return data


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they were written; each runs as soon as its needs are met."""

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """A list of steps will do, too."""
        object.__setattr__(self, "steps", tuple(self.steps))

    def steps_without(self, known: Collection[str]) -> list[Step]:
        """The steps that are to run when there is evidence for the labels in `known`."""
        return [step for step in self.steps if step.label not in known]

    @property
    def labels(self) -> tuple[str, ...]:
        """The steps' labels in their order."""
        return tuple(step.label for step in self.steps)

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """The plan as a JSON object."""
        return {"steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, data: object) -> Plan:
        """The plan that `to_json` gave, perhaps changed by a person; raises WrongArgument for
        anything else.

        Arguments may be JSON values as well as texts. `problems` tells whether it can run.
        """
        steps = find_below(data, "steps")
        if not isinstance(steps, list | tuple):
            raise WrongArgument(
                f'A plan is an object like {{"steps": [...]}}, but it is {data!r:.200}.'
            )
        return cls(tuple(starmap(_read_step, enumerate(steps, start=1))))

    def problems(
        self, tools: Collection[str] | None = None, known: Collection[str] = ()
    ) -> list[str]:
        """Why the plan cannot run, in words for a planner or a person; empty when it can.

        `tools`: the names that may be called, None when any may; `known`: labels whose evidence is
            there already.
        """
        return [
            *_find_bad_labels(self.labels),
            *_find_unknown_tools(self, coalesce(tools, ANY_TOOL)),
            *_find_missing_steps(self, known),
            *_find_cycles(self, known),
        ]

    def after(self, label: str) -> set[str]:
        """The step of this label with all steps that need its evidence, also through others; raises
        WrongArgument for no step.
        """
        return self.after_all({label})

    def after_all(self, labels: set[str]) -> set[str]:
        """The same for several steps."""
        unknown = labels.difference(self.labels)
        if unknown:
            raise WrongArgument(
                f"The plan has no step {min(unknown)!r}; its steps are {', '.join(self.labels)}."
            )
        found, newest = set(labels), set(labels)
        while newest:
            users = [step.label for step in self.steps if not newest.isdisjoint(step.needs)]
            newest = set(users) - found
            found |= newest
        return found

    def redo(self, fresh: Plan, known: Collection[str]) -> Plan:
        """The fresh steps, and those of this plan that need what they do anew under its old name;
        so these run again, too.

        `known` are the labels of this plan whose evidence is there. What the fresh steps themselves
        need is not done again.
        """
        needed = map(attrgetter("needs"), fresh.steps)
        again = self.after_all(set(fresh.labels) & set(self.labels))
        again.difference_update(fresh.labels, *needed)
        rest = [step for step in self.steps if step.label in again]
        both = Plan((*fresh.steps, *rest))
        if both.problems(known=set(known) - set(both.labels)):
            return fresh
        return both


def fill(arguments: str, evidence: Mapping[str, str]) -> Arguments:
    """A step's arguments with the evidence put in, once: what looks like a label inside evidence
    stays as it is.

    A JSON object or array is filled string by string, so that no evidence can break its form; all
    else is one text.
    """
    value = coalesce(_parse_json(arguments), arguments)
    filled: Arguments = _fill(value, evidence)
    return filled


def _fill(value: Any, evidence: Mapping[str, str]) -> Any:
    fill_each = partial(_fill, evidence=evidence)
    if isinstance(value, str):
        return REFERENCE.sub(lambda found: evidence.get(found[0], found[0]), value)
    if isinstance(value, list):
        return list(map(fill_each, value))
    if isinstance(value, dict):
        return dict(zip(value, map(fill_each, value.values()), strict=True))
    return value


def _parse_json(text: str) -> object:
    """The JSON object or array that the text is, also with references that lack their quotes; None
    for other texts.
    """
    _, plain = read_fenced(text) or ("", text)
    if not plain.lstrip().startswith(("{", "[")):
        return None
    quoted = _STRING_OR_REFERENCE.sub(_quote_reference, plain)
    value: object = None
    with suppress(ValueError, RecursionError):
        value = json.loads(quoted, strict=False)
    return value


def _quote_reference(found: re.Match[str]) -> str:
    return found["string"] or f'"{found[0]}"'


def is_label(value: object) -> TypeGuard[str]:
    """Whether the value can be the label of a step."""
    return isinstance(value, str) and LABEL.fullmatch(value) is not None


def _read_step(number: int, data: object) -> Step:
    if not isinstance(data, Mapping):
        raise WrongArgument(
            f"Step {number} of the plan must be an object, but it is {data!r:.200}."
        )
    label, anyway = data.get("label"), data.get("anyway", False)
    if not is_label(label):
        raise WrongArgument(
            f"Step {number} of the plan has the label {label!r:.80}; write #E and a number, such as"
            f" #E{number}."
        )
    tool = text_or_empty(data.get("tool")).strip()
    if not tool:
        raise WrongArgument(f"Step {label} names no tool; its tool is {data.get('tool')!r:.80}.")
    if not isinstance(anyway, bool):
        raise WrongArgument(f"Step {label}: anyway is true or false, not {anyway!r:.80}.")
    thought = str(data.get("thought") or "")
    arguments = _write_arguments(label, data.get("arguments"))
    return Step(label, thought, tool, arguments, anyway)


def _write_arguments(label: str, given: object) -> str:
    """Arguments as a step has them; raises WrongArgument where they cannot be written as JSON."""
    arguments = coalesce(given, "")
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise WrongArgument(
            f"The arguments of {label} must be a text or JSON values; {error}."
        ) from error


def _find_bad_labels(labels: Sequence[str]) -> Iterator[str]:
    if not labels:
        yield Mistake.of("empty")
    for label in itertools.filterfalse(is_label, labels):
        yield Mistake.of("no label", label=label)
    repeated = Counter(labels) - Counter(set(labels))
    for label in repeated.elements():
        yield Mistake.of("twice", label=label)


def _find_unknown_tools(plan: Plan, tools: Collection[str]) -> Iterator[str]:
    unknown = [step for step in plan.steps if step.tool not in tools]
    for step in unknown:
        yield Mistake.of("unknown tool", label=step.label, tool=step.tool)
    if unknown:
        told = list_names(tools)
        yield Mistake.of("tools", tools=told)


def _find_missing_steps(plan: Plan, known: Collection[str]) -> Iterator[str]:
    """Steps that are to run, and need what neither the plan nor what is known has."""
    available = {*plan.labels, *known}
    for step in plan.steps_without(known):
        missing = list_missing(step.needs, available)
        if missing:
            yield Mistake.of("no step", label=step.label, others=", ".join(missing))


def _find_cycles(plan: Plan, known: Collection[str]) -> Iterator[str]:
    """One circle of steps that wait for one another, if there is any."""
    needs = {step.label: step.needs for step in plan.steps_without(known)}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = reversed(error.args[1])
        yield Mistake.of("circle", steps=" -> ".join(circle))
