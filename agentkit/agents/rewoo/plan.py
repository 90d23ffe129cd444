"""The plan as data: steps with labels and what they need of one another; it can be shown, changed,
stored and run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.mistakes import Mistake
from agentkit.core.fences import unfenced
from agentkit.errors import WrongArgument, WrongType

REFERENCE = re.compile(r"#E[0-9]{1,9}(?![0-9A-Za-z_])")
LABEL = re.compile(r"#E[0-9]{1,9}")
# A text that is never closed goes to the end: no JSON can come of it.
_IN_JSON = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|' + REFERENCE.pattern, re.DOTALL)


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
        """Raises WrongType for arguments that are no text."""
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
        told = {
            "label": self.label,
            "thought": self.thought,
            "tool": self.tool,
            "arguments": self.arguments,
        }
        return {**told, "needs": list(self.needs), **({"anyway": True} if self.anyway else {})}


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they were written; each runs as soon as its needs are met."""

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """A list of steps will do, too."""
        object.__setattr__(self, "steps", tuple(self.steps))

    @property
    def labels(self) -> tuple[str, ...]:
        """The steps' labels in their order."""
        return tuple(step.label for step in self.steps)

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """The plan as a JSON object."""
        return {"steps": [step.to_json() for step in self.steps]}

    @classmethod
    def from_json(cls, data: object) -> Plan:
        """The plan that `to_json` gave, perhaps changed by a person; raises WrongArgument for what
        is no plan.

        Arguments may be JSON values as well as texts. `problems` tells whether it can run.
        """
        steps = data.get("steps") if isinstance(data, Mapping) else None
        if not isinstance(steps, list | tuple):
            raise WrongArgument(
                f'A plan is an object like {{"steps": [...]}}, but it is {data!r:.200}.'
            )
        return cls(tuple(_step(number, each) for number, each in enumerate(steps, start=1)))

    def problems(
        self, tools: Collection[str] | None = None, known: Collection[str] = ()
    ) -> list[str]:
        """Why the plan cannot run, in words for a planner or a person; empty when it can.

        `tools`: the names that may be called, None when any may; `known`: labels whose evidence is
            there already.
        """
        found: list[str] = [] if self.steps else [Mistake.of("empty")]
        found += [
            Mistake.of("no label", label=each) for each in self.labels if not LABEL.fullmatch(each)
        ]
        found += _repeated(self.labels)
        found += _unknown_tools(self, tools)
        there = {*self.labels, *known}
        for step in self.steps:
            if step.label in known:  # it will not run
                continue
            if missing := [need for need in step.needs if need not in there]:
                found.append(Mistake.of("no step", label=step.label, others=_listed(missing)))
        return found + _cycles(self, known)

    def after(self, label: str) -> set[str]:
        """The step of this label with all steps that need its evidence, also through others; raises
        WrongArgument for no step.
        """
        if label not in self.labels:
            raise WrongArgument(
                f"The plan has no step {label!r}; its steps are {_listed(self.labels)}."
            )
        users: dict[str, list[str]] = {}
        for step in self.steps:
            for need in step.needs:
                users.setdefault(need, []).append(step.label)
        found, fresh = {label}, [label]
        while fresh:
            more = [user for user in users.get(fresh.pop(), ()) if user not in found]
            found.update(more)
            fresh += more
        return found

    def redone(self, fresh: Plan, known: Collection[str]) -> Plan:
        """The fresh steps, and those of this plan that need what they do anew under its old name;
        so these run again, too.

        `known` are the labels of this plan whose evidence is there. What the fresh steps themselves
        need is not done again.
        """
        users = {
            label for each in fresh.labels if each in self.labels for label in self.after(each)
        }
        users -= {*fresh.labels, *(need for step in fresh.steps for need in step.needs)}
        both = Plan((*fresh.steps, *(step for step in self.steps if step.label in users)))
        return fresh if both.problems(known=set(known) - set(both.labels)) else both


def fill(arguments: str, evidence: Mapping[str, str]) -> Arguments:
    """A step's arguments with the evidence put in, once: what looks like a label inside evidence
    stays as it is.

    A JSON object or array is filled string by string, so that no evidence can break its form; all
    else is one text.
    """
    value = _json_of(arguments)
    if isinstance(value, list):
        return [_filled(each, evidence) for each in value]
    if isinstance(value, dict):
        return _filled_object(value, evidence)
    return _filled_text(arguments, evidence)


def _filled_text(text: str, evidence: Mapping[str, str]) -> str:
    return REFERENCE.sub(lambda found: evidence.get(found[0], found[0]), text)


def _filled(value: object, evidence: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return _filled_text(value, evidence)
    if isinstance(value, list):
        return [_filled(each, evidence) for each in value]
    return _filled_object(value, evidence) if isinstance(value, dict) else value


def _filled_object(value: Mapping[str, object], evidence: Mapping[str, str]) -> dict[str, object]:
    return {key: _filled(each, evidence) for key, each in value.items()}


def _json_of(text: str) -> object:
    """The JSON object or array that the text is, also with references that lack their quotes; None
    for other texts.
    """
    fenced = unfenced(text)
    text = fenced[1] if fenced else text
    if text.lstrip()[:1] not in ("{", "["):
        return None
    quoted = _IN_JSON.sub(
        lambda found: found[0] if found[0].startswith('"') else f'"{found[0]}"', text
    )
    for written in dict.fromkeys((text, quoted)):
        try:
            return json.loads(written, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _step(number: int, data: object) -> Step:
    if not isinstance(data, Mapping):
        raise WrongArgument(
            f"Step {number} of the plan must be an object, but it is {data!r:.200}."
        )
    label, tool, arguments = data.get("label"), data.get("tool"), data.get("arguments")
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise WrongArgument(
            f"Step {number} of the plan has the label {label!r:.80}; write #E and a number, such as"
            f" #E{number}."
        )
    if not isinstance(tool, str) or not tool.strip():
        raise WrongArgument(f"Step {label} names no tool; its tool is {tool!r:.80}.")
    written = _write_arguments(label, arguments)
    anyway = data.get("anyway", False)
    if not isinstance(anyway, bool):
        raise WrongArgument(f"Step {label}: anyway is true or false, not {anyway!r:.80}.")
    return Step(label, str(data.get("thought") or ""), tool.strip(), written, anyway)


def _write_arguments(label: str, arguments: object) -> str:
    """Arguments as a step has them; raises WrongArgument where they cannot be written as JSON."""
    if arguments is None:
        return ""
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise WrongArgument(
            f"The arguments of {label} must be a text or JSON values; {error}."
        ) from error


def _repeated(labels: tuple[str, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            yield Mistake.of("twice", label=label)
        seen.add(label)


def _unknown_tools(plan: Plan, tools: Collection[str] | None) -> list[str]:
    if tools is None:
        return []
    unknown = [step for step in plan.steps if step.tool not in tools]
    if not unknown:
        return []
    found = [Mistake.of("unknown tool", label=step.label, tool=step.tool) for step in unknown]
    return [*found, Mistake.of("tools", tools=_listed(tools) or "none")]


def _cycles(plan: Plan, known: Collection[str]) -> list[str]:
    """The steps that wait for one another, in one sentence; steps are taken away from the front as
    long as any can run.
    """
    steps = {step.label: step for step in plan.steps if step.label not in known}
    left = {label: {need for need in step.needs if need in steps} for label, step in steps.items()}
    users: dict[str, list[str]] = {}
    for label, needs in left.items():
        for need in needs:
            users.setdefault(need, []).append(label)
    ready = [label for label, needs in left.items() if not needs]
    while ready:
        label = ready.pop()
        del left[label]
        for user in users.get(label, ()):
            left[user].discard(label)
            if not left[user]:
                ready.append(user)
    return [_cycle(left)] if left else []


def _cycle(left: Mapping[str, set[str]]) -> str:
    """Every step that is left needs another of them, so that following the needs leads round."""
    label = next(iter(left))
    path: dict[str, None] = {}
    while label not in path:
        path[label] = None
        label = next(iter(sorted(left[label])))
    round_trip = [*list(path)[list(path).index(label) :], label]
    return Mistake.of("circle", steps=" -> ".join(round_trip))


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
