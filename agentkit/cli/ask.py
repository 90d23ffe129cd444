"""`ask`: a question to a team, the answer with its citations and what it took."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import filterfalse
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.asking import ask_person
from agentkit.cli.fallback import fallback_fields, note_fallback
from agentkit.cli.output import describe_place, dollars, note, put, put_json
from agentkit.cli.store import choose_collection, follow, open_workspace
from agentkit.cli.words import CUT, describe_end, describe_retry
from agentkit.core.given import pick_given, pick_kind
from agentkit.errors import NotFound
from agentkit.events import (
    Fallback,
    HumanInputRequested,
    MessageSent,
    ModelReplied,
    ParameterRefused,
    Retrieved,
    Thinking,
    TokenDelta,
    events_of,
)
from agentkit.options import Effort, InputMode
from agentkit.reasons import ANSWERED, NO_EVIDENCE, STOPPED, EndReason
from agentkit.retrieval import StoredDocument

if TYPE_CHECKING:
    from agentkit.ledger.queries import Totals
    from agentkit.llm.calls.pictures import Picture
    from agentkit.llm.support import Checked
    from agentkit.retrieval.types import Scope
    from agentkit.runs import Run
    from agentkit.teams import Answer, Citation, Team
    from agentkit.workspace import Workspace
    from agentkit.workspace.chat_settings import ChatSettings

_EXCERPT = 60  # characters of an answer before a doubtful marker
_BRACKETS = re.compile(r"\[\d[\d,\s]*\]")
_USAGE = (
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "unpriced",
    "estimated",
    "seconds",
    "calls",
)
_WITHOUT_DOUBT = ("supported", "unchecked")
_DOUBTS = {
    None: "names no passage",
    "negation": 'and this differ in "{what}"',
    "passage": "does not seem to be about this",
}
"""What is wrong with a citation, by the kind of doubt; the others are about something it lacks."""
_WITHOUT = ": it is asked without it."
_LACKS = 'does not say "{what}"'


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                'Where to look; by default "Documents", or the only one. Given several times, each'
                " is searched by its own settings."
            )
        ),
    ] = None,
    team: Annotated[
        str,
        typer.Option(
            help="Who answers: answer, research, plan, table, assistant, tools, group, or werewolf."
        ),
    ] = "answer",
    model: Annotated[
        str, typer.Option(help="Which model; else the default one, or the first there is.")
    ] = "",
    chat: Annotated[str | None, typer.Option(help="The id of a chat to go on with.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=(
                "Most tokens that the models may take; by default AGENTKIT_RUN_TOKENS, or any"
                " number."
            ),
        ),
    ] = None,
    human_input: Annotated[
        InputMode,
        typer.Option(
            case_sensitive=False,
            help=(
                "When you are asked while the teams assistant, tools and group work: before they"
                " end (terminate), at each turn (always), or never."
            ),
        ),
    ] = "NEVER",
    instructions: Annotated[
        str | None, typer.Option(help="What every agent of the team is told beside its task.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(help="From 0, nearly the same answer each time, to 2.")
    ] = None,
    reply_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of each reply of the model.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Where the model's chance begins.")] = None,
    reasoning_effort: Annotated[
        Effort | None, typer.Option(help="How much a model that thinks is to think.")
    ] = None,
    document: Annotated[
        list[str] | None,
        typer.Option(help="Look only into the document of this name; may be given several times."),
    ] = None,
    picture: Annotated[
        list[Path] | None,
        typer.Option(
            help="A picture that the model is shown (PNG, JPEG, WebP or GIF); may be given several"
            " times."
        ),
    ] = None,
    see_plan: Annotated[
        bool,
        typer.Option(
            "--see-plan/--unseen",
            help="Whether the team plan shows you each plan before it runs.",
        ),
    ] = False,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Most steps of a plan; by default any number.")
    ] = None,
    max_lookups: Annotated[
        int | None,
        typer.Option(min=1, help="Most steps of a plan that look something up; by default any."),
    ] = None,
    replans: Annotated[
        int, typer.Option(min=0, max=5, help="How often it is planned again when steps failed.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
) -> None:
    """Ask a question about the documents; the answer cites its passages.

    Instructions, collections and what the model is asked with stay with the chat: `--chat` goes on
    with them.
    """
    from agentkit.teams import Question
    from agentkit.teams.planning_settings import Planning
    from agentkit.workspace import chat_settings

    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        wished = {
            "temperature": temperature,
            "max_tokens": reply_tokens,
            "seed": seed,
            "reasoning_effort": reasoning_effort,
        }
        before = _read_settings(workspace, chat)
        searched = _find_collections(workspace, chat, collection, before.also)
        settings = _change_settings(before, instructions, wished)
        if collection:
            settings = replace(settings, also=tuple(searched[1:]))
        asked = Question(
            question,
            searched[0],
            team,
            model,
            chat,
            max_tokens=max_tokens,
            human_input=human_input,
            planning=Planning(see_plan, max_steps, max_lookups, replans),
            pictures=_prepare(workspace, picture or []),
        )
        asked = replace(asked, scope=_find_scope(workspace, searched, document))
        asked = replace(settings, also=tuple(searched[1:])).ask(asked)
        if chat and settings != before:
            chat_settings.keep(workspace.ledger, owner, chat, settings)
        run = workspace.ask(owner, asked)
        end = tell_answer(workspace, run, team, as_json=as_json)
    if end == STOPPED:
        raise typer.Exit(130)


def tell_answer(
    workspace: Workspace, run: Run[Answer], team_id: str, *, as_json: bool
) -> EndReason:
    """Tell of a run until it ends, then its answer and what it took; why it ended."""
    at_work = workspace.team(workspace.settings.owner, team_id)
    answer = _Following(run, at_work, silent=as_json).follow()
    usage = _find_usage(workspace, run)
    if as_json:
        put_json(_to_json(answer, usage, run))
    else:
        _show_end(answer, usage, run)
    return answer.end


def _find_collections(
    workspace: Workspace, chat: str | None, given: list[str] | None, also: Sequence[str]
) -> list[str]:
    """The collections that are looked into: those given, else the chat's, of whose further ones
    (`also`) those that are still there; raises NotFound.
    """
    if given:
        return [choose_collection(workspace, name) for name in given]
    if not chat:
        return [choose_collection(workspace, None)]
    owner = workspace.settings.owner
    first = choose_collection(workspace, workspace.ledger.chat(owner, chat).collection)
    there = {one.name for one in workspace.library.collections(owner)}
    if gone := [name for name in also if name not in there]:
        note(f"No longer there, and not looked into: {', '.join(gone)}.")
    return [first, *(name for name in also if name in there)]


def _read_settings(workspace: Workspace, chat: str | None) -> ChatSettings:
    """The chat's; a new chat has none."""
    from agentkit.workspace import chat_settings

    if not chat:
        return chat_settings.UNSET
    return chat_settings.read(workspace.ledger, workspace.settings.owner, chat)


def _change_settings(
    before: ChatSettings, instructions: str | None, wished: dict[str, Any]
) -> ChatSettings:
    """The chat's, with what is given now."""
    from agentkit.llm.calls.wishes import check_instructions

    parameters = replace(before.parameters, **pick_given(wished))
    if instructions is None:
        return replace(before, parameters=parameters)
    return replace(before, parameters=parameters, instructions=check_instructions(instructions))


def _prepare(workspace: Workspace, files: list[Path]) -> tuple[Picture, ...]:
    """The pictures in these files; raises a DocumentError for any other file."""
    from agentkit.workspace import pictures

    return tuple(pictures.prepare(workspace.settings, file, file.name) for file in files)


def _find_scope(workspace: Workspace, collections: list[str], names: list[str] | None) -> Scope:
    """Only the documents of these names; raises NotFound for one that is not there."""
    from agentkit.retrieval.types import Scope

    if not names:
        return Scope()
    there: list[StoredDocument] = []
    for collection in collections:
        there += workspace.library.documents(workspace.settings.owner, collection)
    named = [one for one in there if one.name in names]
    missing = set(names) - {one.name for one in named}
    if missing:
        raise NotFound(
            f"There is no document {', '.join(map(repr, sorted(missing)))} in"
            f" {', '.join(collections)}; `python -m agentkit search` shows what they are called."
        )
    return Scope(document_ids=[one.id for one in named])


class _Following:
    """A run while it goes on: the answer on stdout, what else is to be told on stderr."""

    def __init__(self, run: Run[Answer], team: Team, *, silent: bool) -> None:
        self._run = run
        self._screen = _Screen(team)
        self._told: Fallback | None = None
        self._listeners: dict[type, Callable[[Any], None]] = {
            HumanInputRequested: self._ask,
            Retrieved: self._note_fallback,
            ModelReplied: self._note_retry,
            ParameterRefused: self._note_refusal,
        }
        if not silent:
            self._listeners |= {TokenDelta: self._screen.add, MessageSent: self._show_message}

    def follow(self) -> Answer:
        """Tell of the run until it ends, and return its answer."""
        return follow(self._run, self._listeners)

    def _ask(self, request: HumanInputRequested) -> None:
        self._screen.end_line()
        answer = ask_person(request)
        if answer is None:
            note("There is nobody to ask (the input is at its end), so the run is stopped.")
            self._run.stop()
        else:
            self._give(answer, request)

    def _give(self, answer: str, request: HumanInputRequested) -> None:
        try:
            self._run.answer(answer, request.request_id)
        except NotFound:  # the time for it has passed
            note("That came too late: it went on without you.")

    def _note_fallback(self, search: Retrieved) -> None:
        if search.fallback and search.fallback != self._told:
            self._screen.end_line()
            note_fallback(search.fallback)
            self._told = search.fallback

    def _note_retry(self, reply: ModelReplied) -> None:
        if reply.retry_in_s is not None:
            self._screen.end_line()
            note(describe_retry(reply.model, reply.error_type, reply.retry_in_s))

    def _note_refusal(self, told: ParameterRefused) -> None:
        self._screen.end_line()
        if told.parameter == "pictures":
            note(
                f"The model {told.model} does not see pictures, so it was told {told.wished} only."
            )
            return
        note(f"The model {told.model} refuses {told.parameter} {told.value}".rstrip() + _WITHOUT)

    def _show_message(self, message: MessageSent) -> None:
        if message.role == "assistant" and not message.extra.get("silent"):
            self._screen.close(message)


class _Screen:
    """The answer on stdout, once: as it comes where that is sure, or where a person looks on.

    What an agent's model writes before it calls a tool is for the other agents. Nobody knows that
    before the call comes, so a pipe gets the answers of teams that talk when they are there.
    """

    def __init__(self, team: Team) -> None:
        self._speaker = team.agents[-1]
        self._is_live = team.answers_at_once or sys.stdout.isatty()
        self._call_id = ""
        self._text = ""
        """What was written of the latest call."""
        self._is_open = False
        """Whether its line goes on."""

    def add(self, delta: TokenDelta) -> None:
        """Write the next piece of what the one who answers is writing."""
        if not self._is_live or delta.agent != self._speaker:
            return
        if delta.call_id != self._call_id:
            self.end_line()
            self._call_id, self._text = delta.call_id, ""
        put(delta.text, end="")
        self._text += delta.text
        self._is_open = True

    def close(self, message: MessageSent) -> None:
        """Write what is not written yet of a message; those among agents go to stderr."""
        if not message.extra.get("inner"):
            self._finish(message.content)
        elif not (self._text and message.sender == self._speaker):
            self.end_line()
            if message.content:
                note(f"{message.sender}: {message.content}")

    def end_line(self) -> None:
        """End the line that is being written, as what comes now does not belong to it."""
        if self._is_open:
            put("")
        self._is_open = False

    def _finish(self, answer: str) -> None:
        if self._text and self._text.startswith(answer):  # and the word that ends a chat
            self.end_line()
        elif self._is_open and answer.startswith(self._text):
            put(answer.removeprefix(self._text))
        else:
            self.end_line()
            put(answer)


def _find_usage(workspace: Workspace, run: Run[Answer]) -> Totals:
    """What the calls of the run took."""
    from agentkit.ledger.queries import Totals

    found = workspace.figures.of_messages(workspace.settings.owner, [run.message_id])
    return found.get(run.message_id, Totals())


def _to_json(answer: Answer, usage: Totals, run: Run[Answer]) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "citations": list(map(_citation_to_json, answer.citations)),
        "checks": list(map(methodcaller("to_json"), answer.checks)),
        "usage": {
            **{name: getattr(usage, name) for name in _USAGE},
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        },
        "stopped_because": describe_end(answer.end),
        "end": answer.end.to_json(),
        "cut": answer.cut,
        "fallback": fallback_fields(_find_fallback(run)),
        "thinking": answer.thinking,
        "chat": run.chat_id,
        "run": run.id,
    }


def _citation_to_json(citation: Citation) -> dict[str, Any]:
    fields = dataclasses.asdict(citation)
    chunk, span = fields.pop("chunk_id"), [fields.pop("start"), fields.pop("end")]
    return {**fields, "chunk": chunk, "span": span}


def _find_fallback(run: Run[Answer]) -> Fallback | None:
    """The first, where a search of the run went by words alone."""
    searches = pick_kind(events_of(run.events()), Retrieved)
    return next(filter(None, map(attrgetter("fallback"), searches)), None)


def _show_end(answer: Answer, usage: Totals, run: Run[Answer]) -> None:
    _show_citations(answer)
    _show_doubts(answer)
    if answer.thinking:
        note(f"\n{_describe_thinking(answer.thinking)}")
    if answer.cut:
        note(f"\nThe answer is not whole: {CUT[answer.cut]}.")
    if answer.end not in (ANSWERED, NO_EVIDENCE, STOPPED):
        note(f"\nEnded: {describe_end(answer.end)}.")
    note(f"\n{_describe_usage(usage)}. Go on with --chat {run.chat_id}")


def _show_citations(answer: Answer) -> None:
    """The passages, those with a question mark that no sentence of the answer is sure of."""
    markers = set(map(attrgetter("marker"), answer.citations))
    sure = set(map(attrgetter("marker"), filter(_is_sure, answer.checks)))
    doubtful = markers - sure if answer.checks else set()
    if markers:
        put("")
    for citation in answer.citations:
        sign = "?" * (citation.marker in doubtful)
        place = ""
        if citation.collection:
            place = f"{citation.collection}: "
        put(f"[{citation.marker}{sign}] {place}{describe_place(citation)}")


def _is_sure(check: Checked) -> bool:
    return check.verdict in _WITHOUT_DOUBT


def _show_doubts(answer: Answer) -> None:
    """The markers that their passages do not bear out, each with the words before it."""
    doubtful = list(filterfalse(_is_sure, answer.checks))
    if doubtful:
        put("\nCheck before you rely on it:")
    for check in doubtful:
        doubt = _DOUBTS.get(check.kind, _LACKS).format(what=check.what)
        put(f"{_find_words_before(answer.text, check.at)} [{check.marker}?] {doubt}")


def _find_words_before(text: str, at: int) -> str:
    words = " ".join(_BRACKETS.sub(" ", text[:at]).split())
    if len(words) <= _EXCERPT:
        return words
    return f"… {words[-_EXCERPT:].partition(' ')[2]}"


def _describe_thinking(thinking: Thinking) -> str:
    """What stands for the thinking, which may be far longer than the answer; `--json` has it."""
    duration = ""
    if thinking.seconds is not None:
        duration = f" for {thinking.seconds:.1f} s"
    about = ""
    if thinking.estimated:
        about = "about "
    return f"Thought{duration} ({about}{thinking.tokens:,} tokens)."


def _describe_usage(usage: Totals) -> str:
    if not usage.calls:
        return "No model was asked"
    tokens = f"{usage.prompt_tokens + usage.completion_tokens:,} tokens"
    estimated = ""
    if usage.estimated:
        estimated = " (estimated)"
    return f"{tokens}{estimated}, {dollars(usage.cost, usage.unpriced)}, {usage.seconds:.1f} s"
