"""`ask`: a question to a team, the answer with its citations and what it took."""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.fallback import fallback_fields, note_fallback
from agentkit.cli.output import dollars, note, plain, put, put_json
from agentkit.cli.store import chosen_collection, opened, stopped_by_interrupt
from agentkit.cli.words import CUT, OPTIONS, ended, retry
from agentkit.core.unseen import reveal
from agentkit.events import (
    Fallback,
    HumanInputRequested,
    MessageSent,
    ModelReplied,
    Retrieved,
    Thinking,
    TokenDelta,
)
from agentkit.options import key_of
from agentkit.reasons import ANSWERED, NO_EVIDENCE, STOPPED

if TYPE_CHECKING:
    from agentkit.ledger.queries import Totals
    from agentkit.llm.support import Checked
    from agentkit.runs import Run
    from agentkit.teams import Answer, Citation, Team
    from agentkit.workspace import Workspace

_EXCERPT = 60  # characters of an answer before a doubtful marker
_BRACKETS = re.compile(r"\[\d[\d,\s]*\]")


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    collection: Annotated[
        str | None, typer.Option(help='Where to look; by default "Documents", or the only one.')
    ] = None,
    team: Annotated[
        str,
        typer.Option(
            help="Who answers: answer, research, plan, table, assistant, tools, group, or werewolf."
        ),
    ] = "answer",
    model: Annotated[
        str, typer.Option(help="Which model; by default the first that is configured.")
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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
) -> None:
    """Ask a question about the documents; the answer cites its passages."""
    from agentkit.teams import Question
    from agentkit.teams import team as chosen_team

    with opened(context) as workspace:
        owner = workspace.settings.owner
        before = (
            workspace.ledger.chat(owner, chat).collection
            if chat and collection is None
            else collection
        )
        searched = chosen_collection(workspace, before)
        asked = Question(question, searched, team, model, chat, max_tokens=max_tokens)
        run = workspace.ask(owner, asked)
        with stopped_by_interrupt(run):
            _follow(run, chosen_team(team), silent=as_json)
            answer = run.result()
        took = _taken(workspace, run)
    if as_json:
        put_json(_object(answer, took, run))
    else:
        _show_end(answer, took, run)
    if answer.end == STOPPED:
        raise typer.Exit(130)


def _follow(run: Run[Answer], team: Team, silent: bool) -> None:
    """Write the answer, and what the agents say among themselves to stderr."""
    written = _Written(team)
    told: Fallback | None = None
    for recorded in run:
        match recorded.event:
            case HumanInputRequested() as request:
                written.end_line()
                _answer(run, request)
            case Retrieved(fallback=Fallback() as fallback) if fallback != told:
                written.end_line()
                note_fallback(fallback)
                told = fallback
            case ModelReplied(retry_in_s=float() as seconds, model=model, error_type=kind):
                written.end_line()
                note(f"{model}: {retry(kind, seconds)}")
            case TokenDelta() as delta if not silent:
                written.add(delta)
            case MessageSent(role="assistant") as said if not (silent or said.extra.get("silent")):
                written.close(said)


class _Written:
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

    def close(self, said: MessageSent) -> None:
        """Write what is not written yet of a message."""
        if not said.extra.get("inner"):
            self._finish(said.content)
        elif not (self._text and said.sender == self._speaker):
            self.end_line()
            if said.content:
                note(f"{said.sender}: {said.content}")

    def end_line(self) -> None:
        """What comes now has nothing to do with what stands there."""
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


def _answer(run: Run[Answer], request: HumanInputRequested) -> None:
    answer = asked(request)
    if answer is not None:
        run.answer(answer, request.request_id)
    else:
        note("There is nobody to ask (the input is at its end), so the run is stopped.")
        run.stop()


def _taken(workspace: Workspace, run: Run[Answer]) -> Totals:
    from agentkit.ledger.queries import Totals

    took = workspace.figures.of_messages(workspace.settings.owner, [run.message_id])
    return took.get(run.message_id, Totals())


def _object(answer: Answer, took: Totals, run: Run[Answer]) -> dict[str, Any]:
    usage = {
        name: getattr(took, name)
        for name in (
            "prompt_tokens",
            "completion_tokens",
            "cost",
            "unpriced",
            "estimated",
            "seconds",
            "calls",
        )
    }
    return {
        "answer": answer.text,
        "citations": [_citation(citation) for citation in answer.citations],
        "checks": [one.to_json() for one in answer.checks],
        "usage": {**usage, "total_tokens": took.prompt_tokens + took.completion_tokens},
        "stopped_because": ended(answer.end),
        "end": answer.end.to_json(),
        "cut": answer.cut,
        "fallback": fallback_fields(_fallback(run)),
        "thinking": dataclasses.asdict(answer.thinking) if answer.thinking else None,
        "chat": run.chat_id,
        "run": run.id,
    }


def _fallback(run: Run[Answer]) -> Fallback | None:
    searches = [one.event for one in run.events() if isinstance(one.event, Retrieved)]
    return next((search.fallback for search in searches if search.fallback), None)


def _thought(thinking: Thinking) -> str:
    """What stands for the thinking, which may be far longer than the answer; `--json` has it."""
    how_long = "" if thinking.seconds is None else f" for {thinking.seconds:.1f} s"
    about = "about " if thinking.estimated else ""
    return f"Thought{how_long} ({about}{thinking.tokens:,} tokens)."


def _show_doubts(answer: Answer) -> None:
    """The markers that are not borne out by their passages, each with the words that it stands
    behind.
    """
    doubtful = [one for one in answer.checks if one.verdict in ("doubtful", "missing")]
    if doubtful:
        put("\nCheck before you rely on it:")
    for one in doubtful:
        put(f"{_words_before(answer.text, one.at)} [{one.marker}?] {_doubt(one)}")


def _words_before(text: str, at: int) -> str:
    words = " ".join(_BRACKETS.sub(" ", text[:at]).split())
    return words if len(words) <= _EXCERPT else f"… {words[-_EXCERPT:].partition(' ')[2]}"


def _doubt(one: Checked) -> str:
    if one.verdict == "missing":
        return "names no passage"
    if one.kind == "negation":
        return f'and this differ in "{one.what}"'
    return (
        "does not seem to be about this" if one.kind == "passage" else f'does not say "{one.what}"'
    )


def _citation(citation: Citation) -> dict[str, Any]:
    fields = dataclasses.asdict(citation)
    chunk, span = fields.pop("chunk_id"), [fields.pop("start"), fields.pop("end")]
    return {**fields, "chunk": chunk, "span": span}


def _show_end(answer: Answer, took: Totals, run: Run[Answer]) -> None:
    if answer.citations:
        put("")
    sure = {one.marker for one in answer.checks if one.verdict in ("supported", "unchecked")}
    for citation in answer.citations:
        sign = "?" if answer.checks and citation.marker not in sure else ""
        place = f"p. {citation.page}" if citation.page else citation.place
        put(
            f"[{citation.marker}{sign}] "
            + ", ".join(part for part in (citation.document, place, citation.heading) if part)
        )
    _show_doubts(answer)
    if answer.thinking:
        note(f"\n{_thought(answer.thinking)}")
    if answer.cut:
        note(f"\nThe answer is not whole: {CUT[answer.cut]}.")
    if answer.end not in (ANSWERED, NO_EVIDENCE, STOPPED):
        note(f"\nEnded: {ended(answer.end)}.")
    tokens = (
        f"{took.prompt_tokens + took.completion_tokens:,}"
        f" tokens{' (estimated)' if took.estimated else ''}"
    )
    what = (
        f"{tokens}, {dollars(took.cost, took.unpriced)}, {took.seconds:.1f} s"
        if took.calls
        else "No model was asked"
    )
    note(f"\n{what}. Go on with --chat {run.chat_id}")


def asked(request: HumanInputRequested) -> str | None:
    """The person's answer, in the form that the request describes; None when nobody is there (end
    of input).
    """
    note(f"\n{request.agent} asks: {request.prompt}")
    if request.draft:
        _show(request.draft)
    # To edit needs more than a line; who wants to change something rejects with a reason.
    options = [option for option in request.options if key_of(option) != "edit"]
    if not options:
        return _line("> ")
    for number, option in enumerate(options, 1):
        note(f"  {number}: {OPTIONS.get(key_of(option), option)}")
    while (text := _line(f"1 to {len(options)}, and a reason behind it if you like: ")) is not None:
        chosen, _, rest = text.strip().partition(" ")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return f"{options[int(chosen) - 1]}\n{rest}" if rest else options[int(chosen) - 1]
        note(f"{text!r} does not begin with a number from 1 to {len(options)}.")
    return None


def _show(draft: str) -> None:
    """What is to run, with its number of lines: the first may have left the screen."""
    found = reveal(draft)
    note("\n".join(f"    {line}" for line in found.text.rstrip("\n").split("\n")))
    note(f"  {found.lines:,} line{'' if found.lines == 1 else 's'}")
    if found.unseen:
        note(
            f"  It contains {found.unseen:,} invisible character{'' if found.unseen == 1 else 's'},"
            " shown by their numbers, like ⟨U+202E⟩. They can make code look like something else"
            " than what runs."
        )


def _line(prompt: str) -> str | None:
    sys.stderr.write(plain(prompt))
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None
