"""How what happens in a run looks: `draw(step)` for live and for stored runs alike, and a whole turn of a chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from agentkit.core.unseen import reveal
from agentkit.events import (
    ChatEnded,
    CodeRan,
    Compressed,
    DocumentDone,
    DocumentProgress,
    Fallback,
    LimitTold,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Noted,
    PlanMade,
    ReplyParsed,
    Retrieved,
    SpeakerSelected,
    Thinking,
    Unknown,
)
from agentkit.llm.calls.limits import in_words
from agentkit.llm.calls.room import STRATEGY
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import functions_of
from agentkit.teams.approval import ALWAYS, APPROVE, APPROVE_ALL, EDIT, REJECT
from agentkit.teams.werewolf.game import MODERATOR
from agentkit.ui.shared import filters
from agentkit.ui.steps import plan, request
from agentkit.ui.steps.turns import Asked, Planned, Said, Step, ToolUse, Turn, lately
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_runnable, draw_text, named
from agentkit.workspace import scope_of

Level = Literal["answer", "calls", "everything"]
"""How much is shown above an answer: nothing, what was done, or also who told whom what and every model call."""

PERSON, AGENT = ":material/person:", ":material/auto_stories:"
STAGES = {
    "waiting": "waiting",
    "parse": "being read",
    "split": "being split",
    "embed": "being embedded",
    "commit": "being stored",
    "index": "being indexed",
}
CHOSEN = {
    "auto": "chosen by the model",
    "round_robin": "in turn",
    "random": "by chance",
    "manual": "chosen by you",
    "function": "to run what was asked for",
    "custom": "to go on with what was found",
    "transition": "the only one who may",
}
"""How a group gave the floor, in words."""
CUT: dict[str, str] = {
    "token_limit": "it reached the limit of tokens for one reply",
    "filtered": "a filter of the provider stopped it",
    "broken_off": "the server ended it without saying that this was all",
    "too_long": "it was longer than any reply may be",
}
"""Why there is no more of a reply, in words."""
END = {"stopped": "stopped", "failed": "broke off", "interrupted": "the app was closed meanwhile"}
"""What ended a message before it was whole, in words."""
DECIDED = {
    APPROVE: "yes",
    APPROVE_ALL: "yes, and all of this kind",
    ALWAYS: "yes, and always",
    EDIT: "yes, with changes",
    REJECT: "no",
}
"""What the person said about what was to run."""
_SHOWN = 300  # characters of a message between agents, or of a passage
_SHORT = 60  # characters of a message that stands beside who said it: a vote, a yes
_PHASE = re.compile(r"((Night|Day) \d+) begins\. (.*)", re.DOTALL)  # as the moderator of a game says it
_CODE_BLOCK = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)


def draw(step: Step, level: Level = "calls") -> None:
    """One step as one small line, tools and code to unfold, an inner message as a quotation; what is no step draws nothing."""
    match step:
        case MessageSent():
            _draw_message(step, whole=level == "everything")
        case ToolUse():
            _draw_tool(step)
        case Planned():
            plan.draw_plan(step, _draw_result)
        case CodeRan():
            _draw_code(step)
        case ReplyParsed(ok=True):
            _draw_fields(step)
        case ReplyParsed() if level == "everything":
            st.caption(f"{describe(step)}: {markdown.literal(step.error)}")
        case Asked() if step.request.draft and _rejected(step):
            _draw_rejected(step)
        case Compressed() | ModelReplied() if _unfolds(step):
            _draw_unfolding(step)
        case _ if line := describe(step):
            st.caption(line)


def describe(step: Step) -> str:
    """The line for a step, in Markdown; empty for what is no step."""
    match step:
        case Retrieved(mode="earlier"):
            found = figures.count(len(step.hits), "passage")
            return f":material/history: Goes on with what had been found before: {found}"
        case Retrieved():
            return _search_line(step)
        case ModelCalled():
            return f":material/edit_note: {markdown.literal(step.agent or 'The team')} asks {markdown.literal(step.model)}"
        case ModelReplied():
            return _reply_line(step)
        case DocumentProgress():
            share = f", {step.done / step.total:.0%}" if step.total else ""
            doing = STAGES.get(step.stage, "being taken in")
            return f":material/attach_file: {markdown.literal(step.document)} is {doing}{share}"
        case DocumentDone():
            return _document_line(step)
        case Compressed():
            return _shortened_line(step)
        case LimitTold():
            icon = ":material/block:" if step.reached else ":material/data_usage:"
            return f"{icon} {markdown.literal(in_words(step))}"
        case _:
            return _talk_line(step)


def why_words(fallback: Fallback) -> str:
    """What is said of a search that went by words alone."""
    return f"Passages were looked up by their words alone, not by meaning: {fallback.error}"


def _search_line(event: Retrieved) -> str:
    looked = "Looked for exactly" if event.mode == "exact" else "Looked up"
    found = figures.count(len(event.hits), "passage")
    took = figures.seconds(event.seconds) if event.seconds >= 0.1 else figures.milliseconds(event.seconds)
    weak, alike = event.left_out.get("weak", 0), event.left_out.get("duplicate", 0)
    left = [f"{figures.count(weak)} weak" if weak else "", figures.count(alike, "duplicate") if alike else ""]
    without = f"; {' and '.join(part for part in left if part)} left out" if weak or alike else ""
    away = f"; by words alone, as {markdown.literal(event.fallback.embedder)} is out of reach" if event.fallback else ""
    return f":material/search: {looked} “{markdown.literal(event.query)}”: {found}, {took}{without}{away}"


def _shortened_line(event: Compressed) -> str:
    spent = f"; {figures.count(event.tokens_spent, 'token')} spent" if event.tokens_spent else ""
    if not event.ok:
        return f":material/error: The chat was not shortened: {markdown.literal(_cut(event.error))}{spent}"
    messages = f"{figures.count(event.messages_before, 'message')} to {figures.count(event.messages_after)}"
    about = "about " if event.estimated else ""
    tokens = f"{about}{figures.count(event.tokens_before)} to {figures.count(event.tokens_after, 'token')}"
    cut = event.results_shortened
    results = f", {figures.count(cut, 'long result')} cut in the middle" if cut else ""
    what = "Sent less, to fit the model's window" if event.strategy == STRATEGY else "Shortened the chat"
    return f":material/compress: {what}: {messages}, {tokens}{results}{spent}"


def _talk_line(step: Step) -> str:
    """The line for what agents and the person do with one another."""
    match step:
        case Asked():
            return _asked_line(step)
        case SpeakerSelected():
            how = CHOSEN.get(step.method, f"by {markdown.literal(step.method)}")
            return f":material/record_voice_over: **{markdown.literal(step.speaker)}** speaks, {how} · message {step.round}"
        case ChatEnded():
            pair = f"{markdown.literal(step.sender)} and {markdown.literal(step.recipient)}"
            return f":material/flag: {pair} are done: {markdown.literal(step.reason)}"
        case ReplyParsed():
            return f":material/rule: {markdown.literal(step.agent)}: reply {step.attempt} could not be read"
        case PlanMade():
            return f":material/undo: {markdown.literal(step.agent)}'s plan was sent back: {markdown.literal(_cut(step.error))}"
        case Noted():
            first, _, _ = step.text.partition("\n")
            return f":material/info: {markdown.literal(step.agent)}: {markdown.literal(first)}"
        case Unknown():
            name = markdown.literal(step.name)
            return f":material/update: Something of a newer version of agentkit that this one cannot show: {name}"
        case _:
            return ""


def draw_turn(turn: Turn, answer: Callable[[], None]) -> None:
    """A question, and below it whatever `answer` draws as the agents' side."""
    if turn.question:
        with st.chat_message("You", avatar=PERSON):  # by another name than "user": its grey ground fits no theme
            st.markdown(markdown.prose(turn.question.content))
            _draw_attachments(turn.question)
            if within := filters.in_words(scope_of(turn.question)):
                st.caption(f":material/filter_alt: Only: {within}")
    with st.chat_message("assistant", avatar=AGENT):
        answer()


def _unfolds(step: Compressed | ModelReplied) -> bool:
    return bool(step.summary if isinstance(step, Compressed) else step.thinking)


def _draw_unfolding(step: Compressed | ModelReplied) -> None:
    with st.expander(describe(step), type="compact"):
        if isinstance(step, Compressed):
            draw_text(step.summary)
        elif step.thinking:
            st.caption(_thought(step.thinking))
            st.markdown(markdown.prose(step.thinking.text))


def draw_thinking(thinking: Thinking) -> None:
    """What a model thought, folded under how long it took."""
    folded = st.expander(_thought(thinking), type="compact", icon=":material/psychology:")
    with folded, st.container(border=True):
        st.markdown(markdown.prose(thinking.text))


def _thought(thinking: Thinking) -> str:
    about = "about " if thinking.estimated else ""
    tokens = f"{about}{figures.count(thinking.tokens, 'token')}"
    how_long = "" if thinking.seconds is None else f" for {figures.seconds(thinking.seconds)}"
    return f"Thought{how_long} · {tokens}"


def draw_growing_thinking(text: str, *, unfolded: bool) -> None:
    """The end of what a model is thinking, or has just thought."""
    hidden, shown = lately(text)
    icon, label = ":material/psychology:", "Thinking" if unfolded else "Thought"
    folded = st.expander(label, type="compact", icon=icon, expanded=unfolded)
    with folded, st.container(border=True):
        if hidden:
            st.caption(f":material/more_horiz: {figures.count(hidden, 'character')} before this")
        st.markdown(markdown.prose(shown))


def draw_steps(steps: Sequence[Step], level: Level = "calls") -> None:
    """All steps of a turn that this level shows."""
    shown = [step for step in steps if level == "everything" or not _is_small_print(step)]
    with st.container(border=True, gap="xsmall"):
        if not shown:
            st.caption("Nothing was done yet.")
        for step in shown:
            draw(step, level)
            if level == "everything" and isinstance(step, ModelCalled | ModelReplied):
                request.draw_folded(step)


def _is_small_print(step: Step) -> bool:
    match step:
        case ModelCalled() | ChatEnded() | ReplyParsed(ok=True):
            return True
        case SpeakerSelected():
            return step.method in ("function", "custom")  # the same one goes on
        case ModelReplied():
            return step.status != "failed" and step.end not in CUT
        case MessageSent():
            return not excerpt(step)
        case _:
            return False


def _draw_message(said: MessageSent, *, whole: bool) -> None:
    if said.sender == MODERATOR and (begins := _PHASE.fullmatch(said.content)):
        _draw_phase(*begins.groups())
        return
    text = markdown.prose(said.content) if whole else excerpt(said)
    beside = len(text) <= _SHORT and "\n" not in text
    with st.container(horizontal=beside, vertical_alignment="center", gap="xsmall" if beside else None):
        who = f"**{markdown.literal(said.sender)}** to {markdown.literal(said.recipient)}"
        who += f" · {END[said.status]}" if said.status in END else ""
        st.markdown(f":small[:material/forum: {who}]", width="content" if beside else "stretch")
        if text:
            st.caption(text, width="content" if beside else "stretch")
        for call in functions_of(said.extra) if whole else ():
            st.caption(f"asks for `{_call(call['name'], call['arguments'])}`")


def _draw_phase(name: str, kind: str, text: str) -> None:
    """A night or a day begins: a heading above what happens in it."""
    icon = ":material/bedtime:" if kind == "Night" else ":material/light_mode:"
    st.markdown(f"###### {icon} {markdown.literal(name)}")
    st.caption(markdown.prose(text))


def excerpt(said: MessageSent) -> str:
    """The message without its code, which is shown where it runs; cut when it is long."""
    text = _CODE_BLOCK.sub("", said.content).strip()
    return markdown.prose(text) if len(text) <= _SHOWN else markdown.literal(_cut(text))


def _draw_fields(parsed: ReplyParsed) -> None:
    """What an agent keeps to itself, or tells only the program: the fields of its reply that the others do not hear."""
    fields = parsed.fields if isinstance(parsed.fields, dict) else {}
    words = {name: _in_words(value) for name, value in fields.items()}
    unheard = {name: text for name, text in words.items() if text.strip() and text != parsed.content}
    if unheard:
        with st.container(gap=None):
            st.markdown(f":small[:material/psychology: **{markdown.literal(parsed.agent)}**, unheard by the others]")
            for name, text in unheard.items():
                st.caption(f"{markdown.literal(name)}: {markdown.literal(text)}")


def _in_words(value: object) -> str:
    """A value of a reply in one line, without the signs of JSON."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{name}: {_in_words(inner)}" for name, inner in value.items() if inner not in ("", None))
        case list():
            return "; ".join(map(_in_words, value))
        case _:
            return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN].rsplit(" ", 1)[0] + " …"


def _draw_tool(use: ToolUse) -> None:
    called, returned = use.called, use.returned
    icon = ":material/build:" if returned is None or returned.ok else ":material/error:"
    state = "running" if returned is None else figures.seconds(returned.seconds) + ("" if returned.ok else ", failed")
    with st.expander(f"`{_call(called.name, called.arguments)}` · {state}", type="compact", icon=icon):
        st.caption("Arguments")
        draw_runnable(called.arguments, "json")
        if returned is None:
            return
        st.caption("Result")
        _draw_result(returned.content)


def _draw_result(text: str) -> None:
    """What a tool gave: passages with where they stand, anything else as it is."""
    passages = parse_passages(text)
    for passage in passages:
        source = markdown.literal(f"[{passage.marker}] {passage.source}")
        st.caption(f"**{source}** {markdown.literal(_cut(passage.text))}")
    if not passages:
        _draw_output(text)


def _draw_code(ran: CodeRan) -> None:
    icon = ":material/terminal:" if ran.exit_code == 0 else ":material/error:"
    end = f"exit code {ran.exit_code}"
    if ran.stopped:
        icon, end = ":material/stop_circle:", "stopped, with its output so far"
    label = f"Ran {markdown.literal(named(ran.language))} · {end} · {figures.seconds(ran.seconds)}"
    with st.expander(label, type="compact", icon=icon):
        draw_runnable(ran.code, ran.language)
        st.caption("Output")
        _draw_output(ran.output)


def _draw_rejected(asked: Asked) -> None:
    """What did not run is shown nowhere else."""
    with st.expander(_asked_line(asked), type="compact"):
        draw_runnable(asked.request.draft, asked.request.language)


def _rejected(asked: Asked) -> bool:
    return asked.answered is not None and asked.answered.text.partition("\n")[0] not in (APPROVE, APPROVE_ALL, ALWAYS, EDIT)


def _draw_output(text: str) -> None:
    if text.strip():
        draw_text(text.strip("\n"))
    else:
        st.caption("There was none.")


def _call(name: str, arguments: str) -> str:
    """A call in one short line, to stand between backticks."""
    inside = " ".join(reveal(arguments).text.replace("`", "'").split())
    inside = inside.removeprefix("{").removesuffix("}").strip()
    return f"{name}({inside if len(inside) <= 60 else inside[:59] + '…'})"


def _asked_line(asked: Asked) -> str:
    question = f":material/contact_support: {markdown.literal(asked.request.agent)} asked: {markdown.prose(asked.request.prompt)}"
    if asked.answered is None:
        return question
    choice, _, rest = asked.answered.text.partition("\n")
    if asked.request.draft:
        choice = DECIDED.get(choice, choice)
    said = f"{choice}: {rest}" if rest and choice != DECIDED[EDIT] else choice
    return f"{question} **You:** {markdown.literal(said or 'nothing')}"


def _draw_attachments(question: Said) -> None:
    names = question.extra.get("attachments", [])
    if names:
        where = "kept in the collection" if question.extra.get("kept") else "for this chat only"
        st.caption(f":material/attach_file: {', '.join(markdown.literal(name) for name in names)} ({where})")
    if gone := question.extra.get("missing"):
        listed = ", ".join(markdown.literal(name) for name in gone)
        verb = "is" if len(gone) == 1 else "are"
        st.warning(f"{listed} {verb} no longer there: the answer does not know what it said. "
                   "Attach it once more if it matters.", icon=":material/attach_file_off:")


def _reply_line(event: ModelReplied) -> str:
    who = f":material/edit_note: {markdown.literal(event.agent or 'The team')}, {markdown.literal(event.model)}"
    if event.status == "failed":
        return f"{who}: no reply at attempt {event.attempt}. {markdown.literal(_cut(event.error))}"
    usage = event.usage
    about = "about " if usage.estimated else ""
    tokens = f"{about}{figures.count(usage.prompt)} tokens in, {figures.count(usage.completion)} out"
    end = " (stopped)" if event.status == "stopped" else f" (cut: {CUT[event.end]})" if event.end in CUT else ""
    return f"{who}: {tokens}, {figures.seconds(event.seconds)}{end}"


def _document_line(event: DocumentDone) -> str:
    name = markdown.literal(event.document)
    if event.status in ("failed", "stopped"):
        return f":material/error: {name} was not taken in. {markdown.literal(event.error)}"
    return f":material/attach_file: {name}: {figures.count(event.chunks, 'chunk')}, {figures.seconds(event.seconds)}"


def _after(asked: Asked) -> str:
    """What goes on once the person has answered; a tool says itself that it runs."""
    runs_code = asked.request.draft and asked.request.language != "json" and not _rejected(asked)
    return "Running the code" if runs_code else "Working on it"


def doing(step: Step) -> str:
    """What is going on while this is the latest step, in a few words that do not change at every tick."""
    match step:
        case DocumentProgress():
            return f"Reading {step.document}"
        case DocumentDone():
            return "Looking up passages"
        case Asked():
            return _after(step) if step.answered else "Waiting for you"
        case Planned():
            return "Carrying out the plan"
        case PlanMade():
            return "Planning again"
        case ToolUse(returned=None):
            return f"Running {step.called.name}"
        case ModelCalled():
            return f"{step.agent or 'The team'} is thinking"
        case _:
            return "Working on the answer"
