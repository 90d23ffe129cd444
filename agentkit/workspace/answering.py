"""What surrounds a team at work on a question: its documents, the turns before, what the chat has
used, how a failure is told.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from agentkit.core import bus
from agentkit.core.given import find_first, list_known, list_missing, pick_kind
from agentkit.documents import DocumentText
from agentkit.errors import LimitReached, NotFound, ReplayDiffers, Stopped, explain
from agentkit.events import (
    Compressed,
    LimitTold,
    MessageSent,
    MessageStatus,
    ParameterRefused,
    events_of,
)
from agentkit.ledger import Chat, Ledger, StoredMessage, queries
from agentkit.ledger.kept_teams import PREFIX
from agentkit.llm.calls.budgets import to_end
from agentkit.llm.calls.limits import Used, in_words
from agentkit.llm.calls.wishes import NOTHING, Wishes, recall_refusals
from agentkit.messages import Message, call_fields, message, new_id
from agentkit.retrieval import Collection as Searched
from agentkit.retrieval import Hit, Library
from agentkit.retrieval.several import retrieve_each
from agentkit.retrieval.types import Scope
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer, Question, Task, Team
from agentkit.teams.citing import Citation
from agentkit.teams.drafts import find_citations, read_unfinished
from agentkit.teams.live import Said
from agentkit.teams.question import EVERYTHING
from agentkit.teams.task import LOOK_UP_TOKENS, Readable, Work
from agentkit.workspace import intake
from agentkit.workspace.agreeing import allow_tools, recall_agreements
from agentkit.workspace.resuming import BrokenOff, LookUp, serve_recorded

_INSTEAD = {"chat": "Begin a new chat"}
"""What can be done without raising a limit, by its scope."""
_OPTIONS = {"AGENTKIT_RUN_TOKENS": " (or --max-tokens of the command `ask`)"}
"""Options of the command line that do the same as a setting."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A document in the store, read when somebody wants it."""

    id: str
    name: str
    library: Library
    owner: str
    scope: Scope

    def read(self) -> DocumentText:
        """Its text and sections; raises DocumentError, and NotFound when it was deleted
        meanwhile.
        """
        return self.library.reading(self.owner, self.id, self.scope)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question to a chat, and what answers it."""

    chat: Chat
    question: Question
    team: Team
    work: Callable[[Task], Answer]
    thread: Sequence[StoredMessage]
    """What was said before it."""
    attach: Callable[[], None]
    facts: Mapping[str, object]
    """What travels with it when it is asked once more."""
    goes_on_with: BrokenOff | None = None
    """The answer that broke off and is gone on with."""
    kernel: str | None = None
    """What models are told of the chat's kernel, where that is to be as it was; else as it is."""


def make_lookups(
    library: Library, chat: Chat, question: Question
) -> tuple[LookUp, LookUp, Callable[[], list[Readable]]]:
    """By meaning and words, and word for word; and the documents: of the collections and what is
    attached by then. A run that goes on with another one is given what that had found.
    """
    owner, scope = chat.owner, question.scope

    def places() -> tuple[list[list[str]], Scope]:
        attached = intake.find_attachments(library, chat)
        first, *others = question.collections
        groups = [[first, *attached], *([name] for name in others)]
        if scope.document_ids is None:
            return groups, scope
        files = [one.id for name in attached for one in library.documents(owner, name)]
        within = replace(scope, document_ids=[*scope.document_ids, *files])
        return groups, within

    def look_up(query: str) -> list[Hit]:
        groups, within = places()
        return retrieve_each(library, owner, groups, query, within)

    def find(text: str) -> list[Hit]:
        groups, within = places()
        return library.find_passages(owner, [*chain(*groups)], text, scope=within)

    def documents() -> list[Readable]:
        groups, within = places()
        found = library.documents_within(owner, [*chain(*groups)], within)
        return [Stored(one.id, one.name, library, owner, within) for one in found]

    return serve_recorded(look_up), serve_recorded(find, exact=True), documents


def look_elsewhere(library: Library, owner: str, name: str) -> tuple[LookUp, LookUp]:
    """The ways to look into another collection than the chat's: by meaning and words, and word for
    word; raises NotFound.
    """
    library.collection(owner, name)
    look_up = partial(library.retrieve, owner, [name])
    find = partial(library.find_passages, owner, [name])
    return serve_recorded(look_up), serve_recorded(find, exact=True)


def list_documents(library: Library, owner: str, name: str) -> list[Readable]:
    """The documents of a collection, each read when somebody wants it."""
    found = library.documents_within(owner, [name], EVERYTHING)
    return [Stored(one.id, one.name, library, owner, EVERYTHING) for one in found]


def estimate_look_up(library: Library, collection: Searched, question: Question) -> int:
    """About how many tokens a look-up in the collection gives, where the person is to see that."""
    planning = question.planning
    is_seen = planning is not None and planning.seen_first
    if not is_seen:
        return LOOK_UP_TOKENS
    return estimate_passages(library, collection.owner, collection.name) or LOOK_UP_TOKENS


def estimate_passages(library: Library, owner: str, name: str) -> int:
    """How many tokens a look-up in a collection gives at most; 0 where it has nothing yet."""
    try:
        listed, options = library.versions.listed(owner, name), library.options(owner, name)
    except NotFound:
        return 0
    active = find_first([one.version for one in listed], attrgetter("active"))
    if active is None:
        return 0
    return active.max_tokens * options.top_k


def work_on(
    asking: Asking, task: Task, run: Run[Any], ledger: Ledger, settings: Settings
) -> Answer:
    """The team's answer; what ends it early is kept in the chat, with what there is of it."""
    if asking.team.calls_tools:
        allow_tools(task, settings)
        recall_agreements(task, ledger, asking.chat, asking.thread)
    try:
        asking.team.check(task.model)
        asking.attach()
        answer = asking.work(task)
    except ReplayDiffers:
        run.flush()
        ledger.take_back(run.key, asking.chat.head_id)
        raise
    except Exception as error:
        told = add_advice(error, run)
        say_end(run, task, asking.team, told)
        if told is error:
            raise
        raise told from error
    if run.recording is not None:
        run.recording.go_live()
    return answer


def sum_usage(ledger: Ledger, chat: Chat) -> Used:
    """What the language models have taken in a chat, in all its branches."""
    took = queries.totals(ledger, queries.CallFilter(chat.owner, purpose="chat", chat=chat.id))
    tokens = took.prompt_tokens + took.completion_tokens
    if took.unpriced:
        return Used(tokens, None)
    return Used(tokens, took.cost or 0.0)


def add_advice(error: Exception, run: Run[Any]) -> Exception:
    """The error; of a limit that was reached, with where it can be raised."""
    told = pick_kind(events_of(run.events()), LimitTold)
    limit = find_first(reversed(told), attrgetter("reached"))
    if limit is None or not isinstance(error, LimitReached):
        return error
    if limit.budget:
        return _explain_budget(limit)
    setting = f"AGENTKIT_{limit.scope}_{limit.unit}".upper()
    setting += _OPTIONS.get(setting, "")
    return LimitReached(
        f"{in_words(limit)} {_INSTEAD.get(limit.scope, 'Ask for less')}, or set {setting} higher: "
        "at once on the Settings page, or in the environment and start again."
    )


def _explain_budget(told: LimitTold) -> LimitReached:
    """The error of a budget that is used up, with where it can be raised."""
    explained = LimitReached(
        f"{in_words(told)} Raise it below this answer in the app, or under Budgets on the Settings"
        " page."
    )
    explained.end = to_end(told)
    return explained


def say_question(
    question: Question, thread: Sequence[StoredMessage], facts: Mapping[str, object]
) -> str:
    """The person says it, after the thread; gives the message's id."""
    asked, before = new_id(), None
    if thread:
        before = thread[-1].id
    extra = {**question.to_json(), **facts}
    del extra["text"]  # it is what the message says
    bus.emit(MessageSent(asked, before, "user", "team", "user", question.text, extra=extra))
    return asked


def say_end(run: Run[Any], task: Task, asked: Team, error: Exception) -> None:
    """The chat keeps what there is of an answer, and why there is no more."""
    events = events_of(run.events())
    text = read_unfinished(events, asked)
    extra: dict[str, Any] = {"model": task.model.id}
    if text:
        extra["citations"] = [citation.to_json() for citation in find_citations(text, events)]
    status: MessageStatus = "stopped"
    if not isinstance(error, Stopped):
        status = "failed"
        extra["error"] = explain(error)
        extra["error_type"] = type(error).__name__
        if isinstance(error, LimitReached) and error.end is not None:
            extra["end"] = error.end.to_json()
    task.say(asked.agents[-1], "user", text, status=status, final=True, extra=extra)


def to_history(thread: Sequence[StoredMessage]) -> list[Message]:
    """The turns of a chat as a model is told them: what was asked and finally answered, not what
    agents said among themselves.
    """
    return list(map(_to_message, filter(is_turn, thread)))


def _to_message(turn: StoredMessage) -> Message:
    if turn.role == "user":
        return message("user", turn.content)
    return message("assistant", turn.content)


def is_turn(said: StoredMessage) -> bool:
    """Whether it is a question or an answer, and no word between agents."""
    return bool(said.content) and not said.extra.get("inner")


def find_work(
    thread: Sequence[StoredMessage], kind: str, known: MutableMapping[str, Work]
) -> list[Work]:
    """What teams of this kind said among themselves for the questions of a branch, oldest first.

    What is `known`, by the ids of the answers, is taken from there, and the rest is added.
    """
    found: list[Work] = []
    place, team_id = -1, ""
    inner: list[Said] = []
    for said in thread:
        if not is_turn(said):
            inner += _read_inner(said)
            continue
        place += 1
        if said.role == "user":
            inner, team_id = [], str(said.extra.get("team_id", ""))
            continue
        if inner and team_id.partition(":")[0] == kind:
            work = known.get(said.id) or _make_work(place - 1, inner, said)
            found.append(work)
            known[said.id] = work
        inner, team_id = [], ""
    return found


def _read_inner(said: StoredMessage) -> list[Said]:
    """What an agent said to others aloud; nothing of any other message."""
    if not said.extra.get("inner") or said.extra.get("silent"):
        return []
    return [Said(said.sender, said.role, said.content, call_fields(said.extra))]


def _make_work(place: int, inner: Sequence[Said], answer: StoredMessage) -> Work:
    citations = map(Citation.from_json, answer.extra.get("citations", ()))
    return Work(place, inner, {one.marker: one for one in citations}, answer.id)


def find_places(thread: Sequence[StoredMessage], ids: Collection[str]) -> frozenset[int]:
    """Where the messages of these ids stand among the turns."""
    places = set()
    for place, turn in enumerate(filter(is_turn, thread)):
        if turn.id in ids:
            places.add(place)
    return frozenset(places)


def make_wishes(
    ledger: Ledger, owner: str, thread: Sequence[StoredMessage], task: Task, agents: Sequence[str]
) -> Wishes:
    """What is wished of the replies of these agents; what the chat was told of refusals is known
    again.
    """
    asked = task.asked
    runs = [turn.run_id for turn in thread if turn.run_id]
    known: set[tuple[str, str]] = set()
    is_checked = asked.parameters != NOTHING or asked.team_id.startswith(PREFIX)
    if is_checked:
        recorded = queries.told(ledger, owner, list(dict.fromkeys(runs)), ParameterRefused)
        told = [event for _, event in recorded]
        known = recall_refusals(told, task.model)
        known.update((one.model_id, one.parameter) for one in told)
    return Wishes(frozenset(agents), asked.instructions, asked.parameters, known)


def find_shortenings(
    ledger: Ledger, owner: str, thread: Sequence[StoredMessage], whole: set[str]
) -> Iterator[tuple[int, Compressed]]:
    """What was told of shortening this branch of a chat, newest first, each with how many turns
    there were before the question.

    Only runs count that a message of the branch is from: what they knew are the messages before,
    which never change. Those that shortened nothing are not asked again: they are kept in `whole`.
    """
    begins: dict[str, int] = {}
    for place, turn in enumerate(thread):
        begins.setdefault(turn.run_id or "", place)
    unknown = list_missing(begins, whole)
    if not unknown:
        return
    telling = queries.find_telling(ledger, owner, unknown, Compressed)
    whole.update(list_missing(unknown, telling))
    told_in = list_known(unknown, telling)
    for run_id, event in queries.told(ledger, owner, told_in, Compressed):
        yield len(to_history(thread[: begins[run_id]])), event
