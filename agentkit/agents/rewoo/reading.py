"""From a planner's reply to a plan, in linear time; whatever is wrong is told at once, so that the
planner can mend it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from agentkit.agents.rewoo.closing import Region
from agentkit.agents.rewoo.mistakes import Mistake
from agentkit.agents.rewoo.plan import ANY_TOOL, Plan, Step
from agentkit.core.given import coalesce, list_known
from agentkit.errors import ResponseParsingError

MOST_STEPS = 100
"""A longer plan is refused: a model that repeats itself must not start thousands of calls."""
_MOST_TOLD = 20
_SHOWN = 60  # characters of a thought or a line that a mistake quotes

_BEFORE = r"(?m:^)(?:[ \t>*`\-+#]|\d{1,3}[.)]){0,8}"
_LABEL = r"[#＃][ \t]{0,3}[EeＥｅ][ \t]{0,3}(?:\d{1,9}|[\[［(（]\d{1,9}[\]］)）])"
_EQUALS = r"[*`_]{0,3}[ \t]{0,8}[=＝:：]"
_PLAN = re.compile(
    _BEFORE + r"(?i:Plan|计划|計劃)[ \t]{0,3}\d{0,4}[*_]{0,3}[ \t]{0,3}[:：][*_]{0,3}"
)
_ACTION = re.compile(_BEFORE + rf"(?P<label>{_LABEL}){_EQUALS}")
_TOOL = r"\w[\w.\-/:]{0,79}(?: [\w.\-/:]{1,79}){0,4}"
_CALL = rf"[ \t\n]{{0,8}}[*`_]{{0,3}}(?P<tool>{_TOOL})[*`_]{{0,3}}[ \t]{{0,4}}(?P<open>[\[［])"
_AFTER_EQUALS = re.compile(_CALL)
_INLINE = re.compile(rf"(?P<label>{_LABEL}){_EQUALS}{_CALL}")
_MARKS = re.compile(f"(?P<plan>{_PLAN.pattern})|{_ACTION.pattern}")
_MENTION = re.compile(r"[#＃][EeＥｅ](?:\d{1,9}|[\[［]\d{1,9}[\]］])(?![0-9A-Za-z_])")
_FENCE = re.compile(r"(?m)^[ \t]{0,8}```.*$")
_CLOSED = re.compile(r"[\]］]")
_QUOTE_CLOSED = re.compile(r"'\s*[\]］]")
_ACTION_OR_REST = re.compile(rf"\A\s*[\]］]|{_ACTION.pattern}")
"""An action, or at the very beginning the end of one."""


@dataclass(slots=True)
class _Reading:
    """What was read so far: steps, what is wrong, and the plan line that waits for its action."""

    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    thought: str | None = None
    broken: set[str] = field(default_factory=set)
    """Labels of actions that cannot be read; others may refer to them all the same."""
    used: bool = False
    """Whether the current plan line has its action."""
    plans: int = 0

    def begin_plan(self, thought: str) -> None:
        """Go on with the next plan line."""
        self.close()
        # An empty line `Plan:` is a heading above the plans.
        if self.thought or self.used or not self.plans:
            self.plans += 1
        self.thought, self.used = thought, False

    def close(self) -> None:
        """End the current plan line, which needs an action."""
        if self.thought and not self.used:
            thought = _shorten(self.thought)
            mistake = Mistake.of("no action", number=self.plans, thought=thought)
            self.problems.append(mistake)

    def begin_action(self, label: str) -> str:
        """Give the current plan line an action; returns its thought."""
        thought = coalesce(self.thought, "")
        if self.thought is None:
            self.problems.append(Mistake.of("no plan line", label=label))
        elif self.used:
            shown = _shorten(thought)
            wrong = Mistake.of("second action", label=label, number=self.plans, thought=shown)
            self.problems.append(wrong)
        self.used = True
        return thought


def can_be_called(tool: str) -> bool:
    """Whether a plan can write this name of a tool."""
    return re.fullmatch(_TOOL, tool) is not None


def parse_plan(
    text: str, tools: Collection[str] | None = None, known: Collection[str] = ()
) -> Plan:
    """The plan in a planner's reply; reasoning, prose and code fences around it are passed over.

    `tools` are the names that may be called (None: any), `known` labels of earlier evidence that
    may be referred to. Labels are bound by name. Raises ResponseParsingError that tells all that is
    wrong.
    """
    callable_tools = coalesce(tools, ANY_TOOL)
    read = _read(_select_relevant(text))
    others = {*known, *read.broken}
    plan = Plan(tuple(_normalize(read.steps, callable_tools, others)))
    others.difference_update(plan.labels)
    problems = [*read.problems, *_find_problems(plan, callable_tools, others, read)]
    if problems:
        raise ResponseParsingError(Mistake.join_all(_list_first(problems)), text)
    return plan


def _list_first(problems: Sequence[str]) -> list[str]:
    """As many as are told, and how many more there are."""
    told, others = list(problems[:_MOST_TOLD]), problems[_MOST_TOLD:]
    if others:
        told.append(Mistake.of("more", more=len(others)))
    return told


def _find_problems(
    plan: Plan, tools: Collection[str], others: Collection[str], read: _Reading
) -> list[str]:
    """What is wrong with the plan as a whole; it may refer to `others` beside its own labels."""
    count = len(plan.steps)
    if count > MOST_STEPS:
        return [Mistake.of("too many", steps=count, most=MOST_STEPS)]
    if count:
        return [*plan.problems(tools, others), *find_forward(plan, others)]
    if read.problems:
        return []
    return [Mistake.of("no plan")]


def _select_relevant(text: str) -> str:
    """Without the reasoning; only what stands in code fences where all actions stand in them."""
    rest = _drop_reasoning(text)
    if _ACTION.search(rest):
        text = rest
    inside, outside = _split_fences(text)
    if any(map(_ACTION_OR_REST.search, outside)):
        return text
    if any(map(_ACTION.search, inside)):
        return "\n".join(inside)
    return text


def _drop_reasoning(text: str) -> str:
    """What follows the last `</think>`; one with a closing bracket before the next mark stands in
    the input of an action.
    """
    end = begin = 0
    starts = map(re.Match.start, _MARKS.finditer(text))
    for until in [*starts, len(text)]:
        before, closed, after = text[begin:until].rpartition("</think>")
        if closed and not _CLOSED.search(after):
            end = begin + len(before) + len(closed)
        begin = until
    return text[end:]


def _split_fences(text: str) -> tuple[list[str], list[str]]:
    """The parts in code fences, and those outside; within a fence, only one without a language
    closes it.
    """
    parts: tuple[list[str], list[str]] = [], []
    within, begin = False, 0
    for fence in _FENCE.finditer(text):
        if within and fence[0].strip(" \t\r`"):
            continue
        parts[not within].append(text[begin : fence.start()])
        within, begin = not within, fence.end()
    parts[not within].append(text[begin:])
    return parts


def _read(text: str) -> _Reading:
    read = _Reading()
    marks = list(_MARKS.finditer(text))
    starts = map(re.Match.start, marks[1:])
    last = max(map(re.Match.start, _QUOTE_CLOSED.finditer(text)), default=-1)
    for mark, end in zip(marks, [*starts, len(text)], strict=False):
        region = Region(text[mark.end() : end], goes_on=last >= end)
        if mark["plan"] is not None:
            _read_plan_line(read, region)
        else:
            _read_action_line(read, region, _normalize_label(mark["label"]))
    read.close()
    return read


def _read_plan_line(read: _Reading, region: Region) -> None:
    """A thought, and perhaps actions behind it on the same line."""
    inline = _find_inline(region.text)
    end = inline.found.start() if inline else len(region.text)
    read.begin_plan(_tidy(region.text[:end]))
    _read_actions(read, region, inline)


def _read_action_line(read: _Reading, region: Region, label: str) -> None:
    """One action or several; one without a call cannot be read."""
    if found := _AFTER_EQUALS.match(region.text):
        _read_actions(read, region, _Call(label, found))
        return
    read.begin_action(label)
    read.broken.add(label)
    line = region.text.strip().partition("\n")[0]
    read.problems.append(Mistake.of("no form", label=label, line=_shorten(line)))


@dataclass(frozen=True, slots=True)
class _Call:
    """A place where a tool is called, with the label that comes before."""

    label: str
    found: re.Match[str]


def _find_inline(text: str, start: int = 0) -> _Call | None:
    """The next call that stands in a line with other text."""
    found = _INLINE.search(text, start)
    return found and _Call(_normalize_label(found["label"]), found)


def _read_actions(read: _Reading, region: Region, call: _Call | None) -> None:
    """The action that begins a region, and those that follow it on the same lines."""
    while call is not None:
        thought, tool = read.begin_action(call.label), call.found["tool"]
        start = call.found.end()
        end, doubtful = region.ending(start, call.found["open"], _INLINE)
        if end is None:
            read.problems.append(Mistake.of("no bracket", label=call.label, tool=tool))
            read.steps.append(Step(call.label, thought, tool))
            return
        read.steps.append(Step(call.label, thought, tool, region.text[start:end].strip()))
        if doubtful:
            read.problems.append(Mistake.of("doubtful end", label=call.label))
        call = _find_inline(region.text, end + 1)


def _normalize(steps: Sequence[Step], tools: Collection[str], known: Collection[str]) -> list[Step]:
    """With references and tools by their exact names, where what was written can mean only one of
    them.
    """
    labels = {*known, *Plan(tuple(steps)).labels}

    def normalize_reference(found: re.Match[str]) -> str:
        written, name = found[0], _normalize_label(found[0])
        # A small letter may as well begin a colour such as #e10.
        if name in labels or written[1] in "EＥ":
            return name
        return written

    def normalize(step: Step) -> Step:
        arguments = _MENTION.sub(normalize_reference, step.arguments)
        return replace(step, tool=_normalize_tool(step.tool, tools), arguments=arguments)

    return list(map(normalize, steps))


def _normalize_tool(name: str, tools: Collection[str]) -> str:
    """The one tool of this name when upper and lower case do not count; else the name as it is."""
    if name in tools:
        return name
    wanted = name.casefold()
    alike = [tool for tool in tools if tool.casefold() == wanted]
    match alike:
        case [only]:
            return only
    return name


def find_forward(plan: Plan, known: Collection[str]) -> Iterator[str]:
    """References to steps that only come later; those in a circle are told as such."""
    later = set(plan.labels).difference(known)
    for step in plan.steps:
        later.discard(step.label)
        ahead = list_known(step.needs, later)
        if ahead:
            others = ", ".join(ahead)
            yield Mistake.of("later", label=step.label, others=others)


def _normalize_label(label: str) -> str:
    """`#E1` for every way of writing it."""
    digits = "".join(filter(str.isdecimal, label))
    return f"#E{int(digits)}"


def _tidy(thought: str) -> str:
    return " ".join(_FENCE.sub("", thought).split())


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    return text[: _SHOWN - 1] + "…"
