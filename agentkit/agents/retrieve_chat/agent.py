"""RetrieveUserProxyAgent: sends a question together with passages that it looks up, and looks up
others when asked to.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat import filling, querying
from agentkit.agents.retrieve_chat.config import RetrieveConfig, find_window
from agentkit.agents.retrieve_chat.context import Context, find_first, to_query_results
from agentkit.agents.retrieve_chat.prompts import ASK_AGAIN, ASKS_AGAIN, PROMPTS, fill_prompt
from agentkit.agents.user_proxy import UserProxyAgent
from agentkit.coding import legacy
from agentkit.conversation import announcing, engine
from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_count, check_kind
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.ends import stop_reason
from agentkit.conversation.replies import Verdict
from agentkit.conversation.tooling import conversation
from agentkit.core import bus, stopping
from agentkit.core.given import coalesce
from agentkit.core.io import is_quiet
from agentkit.core.twin import Mode, faces, finish, takes_long
from agentkit.errors import WrongArgument
from agentkit.events import Retrieved
from agentkit.messages import AnyMessage, has_calls, read_given, text_of
from agentkit.options import InputMode
from agentkit.reasons import EndReason

if TYPE_CHECKING:
    from agentkit.agents.retrieve_chat.vectordb.base import QueryResults, VectorDB

END = "TERMINATE"
_PYTHONS = ("python", "py")
_REFUSED = (
    "Not run: shell commands and installations are not allowed here. Every package that is needed"
    " is installed."
)


def _alias(path: str, read: str = "") -> Any:
    """An attribute that lies in a part of the agent, under AutoGen's name for it; `read` is where
    what counts is read.
    """
    owner, name = path.split(".")
    return property(
        attrgetter(read or path), lambda agent, value: setattr(getattr(agent, owner), name, value)
    )


class RetrieveUserProxyAgent(UserProxyAgent):
    """A user proxy that knows documents: `initiate_chat(assistant, message=proxy.message_generator,
    problem="...")`.

    It looks up passages for the problem and sends them with it. When the assistant replies UPDATE
    CONTEXT, or leaves out the `customized_answer_prefix`, the conversation begins anew with other
    passages; when there are none left the chat ends.

    Change where passages come from with `vector_db`, or override `query_vector_db` or
    `retrieve_docs`, which sets `_results`.
    `retrieve_config` has AutoGen's keys; the default of `vector_db` is ours, `duckdb`, which needs
    no other package.
    """

    customized_prompt: str | None = _alias("_config.customized_prompt")
    customized_answer_prefix: str = _alias("_config.customized_answer_prefix")
    custom_token_count_function: Callable[[str, str], int] = _alias(
        "_config.custom_token_count_function"
    )
    custom_text_split_function: Any = _alias("_config.custom_text_split_function")
    _task: str = _alias("_config.task")
    _model: str = _alias("_config.model")
    _docs_path: Any = _alias("_config.docs_path")
    _collection_name: str | None = _alias("_config.collection_name")
    _client: Any = _alias("_config.client")
    _new_docs: bool = _alias("_config.new_docs")
    _get_or_create: bool = _alias("_config.get_or_create", "_config.may_exist")
    _overwrite: bool = _alias("_config.overwrite")
    _extra_docs: bool = _alias("_config.extra_docs")
    _db_config: Any = _alias("_config.db_config")
    _recursive: bool = _alias("_config.recursive")
    _custom_text_types: Any = _alias("_config.custom_text_types")
    _embedding_model: str = _alias("_config.embedding_model")
    _embedding_function: Any = _alias("_config.embedding_function")
    _chunk_mode: str = _alias("_config.chunk_mode")
    _must_break_at_empty_line: bool = _alias("_config.must_break_at_empty_line")
    _chunk_token_size: int = _alias("_config.chunk_token_size", "_config.chunk_tokens")
    _context_max_tokens: float = _alias("_config.context_max_tokens", "_config.context_tokens")
    _max_tokens: int = _alias("_config.max_tokens")
    _distance_threshold: float = _alias("_config.distance_threshold")
    _results: Any = _alias("_context.results")
    _doc_idx: int = _alias("_context.index")
    _doc_contents: list[str] = _alias("_context.contents")
    _doc_ids: list[Any] = _alias("_context.ids")
    _current_docs_in_context: list[str] = _alias("_context.sources")

    def __init__(
        self,
        name: str = "RetrieveChatAgent",
        human_input_mode: InputMode = "ALWAYS",
        is_termination_msg: Callable[..., bool] | None = None,
        retrieve_config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """`kwargs` are those of UserProxyAgent. Raises WrongType, WrongArgument, and ConfigError
        where a package is missing.

        By default every message ends the chat that has no Python code and does not ask for other
        passages.
        """
        ends = is_termination_msg or self._is_termination_msg_retrievechat
        super().__init__(name, ends, human_input_mode=human_input_mode, **kwargs)
        self._config = RetrieveConfig.of(name, retrieve_config)
        self._retrieve_config = coalesce(retrieve_config, {})
        if (tokens := self.get_max_tokens(self._model)) != find_window(self._model):  # overridden
            self._max_tokens = tokens
        self._config.hear(self.client)
        self._vector_db: VectorDB | None = None
        if self._config.vector_db is not None:
            self._database()
        self._collection = not self._config.docs_path
        self._told = False
        self._forget()
        self.register_reply(Agent, RetrieveUserProxyAgent._generate_retrieve_user_reply, position=2)
        self.register_hook("process_message_before_send", self._check_update_context_before_send)

    @property
    def update_context(self) -> Any:
        """Whether passages are looked up again when the assistant asks, which can be set; called,
        it sets context variables.
        """
        return _Switch(super().update_context, self._config)

    @update_context.setter
    def update_context(self, on: bool) -> None:  # AutoGen has a flag and a method of this name
        """Look up passages again from now on, or no longer."""
        self._config.update_context = on

    # What is found

    @staticmethod
    def get_max_tokens(model: str = "gpt-3.5-turbo") -> int:
        """Tokens that are allowed for a model of this name; override it to allow others."""
        return find_window(model)

    def query_vector_db(
        self, query_texts: list[str], n_results: int = 10, search_string: str = "", **kwargs: Any
    ) -> Any:
        """For each text the nearest documents as (document, distance), all of which contain the
        search string.

        Override it to ask a database of your own; Chroma's dict of `ids`, `documents`, `metadatas`
        will do as a result, too.
        The collection is filled from `docs_path` at the first query; `kwargs` go to the database's
        `retrieve_docs`.
        """
        self._init_db()
        return querying.query(
            self._database(), self._config, query_texts, n_results, search_string, kwargs
        )

    def retrieve_docs(self, problem: str, n_results: int = 20, search_string: str = "") -> None:
        """Look up documents for the problem, all of which contain the search string, and keep them
        as `_results`.

        An override may be async. Emits Retrieved.
        """
        check_kind(self.name, "problem", problem, str, "a text")
        check_count(self.name, "n_results", n_results)
        if n_results == 0:
            raise WrongArgument(f"{self.name}: n_results must be 1 or more.")
        began = time.monotonic()
        found = self.query_vector_db(
            query_texts=[problem], n_results=n_results, search_string=search_string
        )
        self._results = to_query_results(self.name, finish(found))
        self._search_string = search_string
        self._announce(problem, began)

    def _look_up(self, problem: str, n_results: int, search_string: str) -> QueryResults:
        """Retrieve, by whatever the user made of `retrieve_docs`; told as an event in any case."""
        self._told, began = False, time.monotonic()
        retrieve: Callable[..., Any] = self.retrieve_docs
        finish(retrieve(problem, n_results, search_string))
        self._results = to_query_results(self.name, self._results)
        if not self._told:
            self._announce(problem, began)
        return self._results  # type: ignore[no-any-return]  # just made so

    def _announce(self, problem: str, began: float) -> None:
        self._told = True
        place = coalesce(self._collection_name, "")
        seconds, now = time.monotonic() - began, time.time()
        hits = querying.to_hits(self._results)
        bus.emit(Retrieved(problem, place, "dense", hits, seconds, began=now - seconds))

    def _database(self) -> VectorDB:
        """The database; the one behind `client` is made when it is first needed."""
        if self._vector_db is None:
            self._vector_db = querying.open_database(self.name, self._config)
        return self._vector_db

    def _init_db(self) -> None:
        """Fill the collection, once."""
        if not self._collection:
            filling.fill(self._database(), self._config)
            self._collection = True

    def reset(self) -> None:
        """Forget all chats, and what was looked up for them."""
        super().reset()
        self._forget()

    def _forget(self) -> None:
        """Know of no question: the next chat may have another."""
        self.problem = self._search_string = ""
        self.n_results: int | None = None
        self._prompts: list[str] = []
        """Those that were made for the problem."""
        self._reset()

    def _forget_other(self, first: AnyMessage) -> None:
        """Forget the question of an earlier chat in one that began without `message_generator`."""
        said = _read_text(first)
        if self._prompts and not any(prompt in said for prompt in self._prompts):
            self._forget()

    def _reset(self, intermediate: bool = False) -> None:
        """Forget what was found; unless `intermediate` also what has been in prompts."""
        if intermediate:
            self._results, self._doc_idx = [], -1
            return
        self._context = Context()
        self._intermediate_answers: set[str] = set()
        self._exhausted = self._repeated = False

    def _get_context(self, results: Any) -> str:
        """The next passages that fit into a prompt, each on lines of its own."""
        config, given = self._config, to_query_results(self.name, results)
        return self._context.choose_next(
            given, self.n_results, config.context_tokens, config.count, self._note
        )

    def _note(self, text: str) -> None:
        announcing.note(self.name, text, is_quiet())

    # What is said

    @staticmethod
    @takes_long
    def message_generator(
        sender: RetrieveUserProxyAgent, recipient: Agent | None, context: dict[str, Any]
    ) -> str:
        """The first message: the `problem` of the context with passages for it, of at most
        `n_results` (20).

        All contain the `search_string`, if there is one. For `initiate_chat(message=...)`.
        TERMINATE when there are none.
        """
        sender._forget()
        problem, search_string = context.get("problem", ""), context.get("search_string", "")
        sender.problem, sender.n_results = problem, context.get("n_results", 20)
        sender._search_string = search_string
        sender._config.hear(getattr(recipient, "client", None))
        results = sender._look_up(problem, sender.n_results, search_string)
        return sender._generate_message(sender._get_context(results), sender._task)

    def _generate_message(self, doc_contents: str, task: str = "default") -> str:
        """The prompt with the problem and these passages; TERMINATE, noted once, when there are
        none.
        """
        made = self._write_prompt(doc_contents, task) if doc_contents else self._tell_exhausted()
        self._prompts.append(made)
        return made

    def _write_prompt(self, doc_contents: str, task: str) -> str:
        prompt = self.customized_prompt or PROMPTS.get(task.lower())
        if prompt is None:
            raise WrongArgument(
                f"{self.name}: the task must be one of {', '.join(PROMPTS)}, not {task!r}."
            )
        return fill_prompt(prompt, self.problem, doc_contents, self._current_docs_in_context)

    def _tell_exhausted(self) -> str:
        """TERMINATE; that there are no more passages is noted once."""
        if not self._exhausted:
            reason = stop_reason(self._explain_lack())
            self._note(f"no more context: {reason}")
        self._exhausted = True
        return END

    def _explain_lack(self) -> EndReason:
        """Why there are no passages to send."""
        if self._doc_contents:
            return EndReason("passages", self.name)
        if not find_first(coalesce(self._results, [])):
            return EndReason("no passages", self.name)
        most = int(min(self._config.context_tokens, sys.maxsize))
        return EndReason("long passages", self.name, most)

    def _find_lack(self, recipient: Agent) -> EndReason | None:
        """Why the chat had no passages to go on with, where that was its last word."""
        if not self._exhausted:
            return None
        lacking, end = self._explain_lack(), engine.why_ended(self, recipient)
        if getattr(end, "kind", None) == lacking.kind:
            return lacking
        said = self._oai_messages[recipient]
        if not said:
            return None
        last = said[-1]
        is_end = (last.get("role"), last.get("content")) == ("assistant", END)
        if is_end:
            return lacking
        return None

    async def _converse(self, mode: Mode, recipient: ConversableAgent, *args: Any) -> EndReason:
        """As the others do; a chat that lacked passages ends because of that."""
        end = await super()._converse(mode, recipient, *args)
        return self._find_lack(recipient) or end

    async def _make_summary(
        self, mode: Mode, recipient: ConversableAgent, method: Any, *args: Any
    ) -> Any:
        """The summary; where passages were lacking it says so, since there is nothing to
        summarise.
        """
        lacking = self._find_lack(recipient)
        if lacking and isinstance(method, str):
            return stop_reason(lacking)
        return await super()._make_summary(mode, recipient, method, *args)

    def _check_update_context(self, message: Any) -> tuple[bool, bool]:
        """Whether a message asks for other passages, and whether it lacks the prefix of an
        answer.
        """
        text = _read_text(message).upper()
        prefix = self.customized_answer_prefix.upper()
        return ASKS_AGAIN.search(text) is not None, prefix not in text

    def _is_termination_msg_retrievechat(self, message: Any) -> bool:
        """Whether a message is an answer: no Python to run, no call, and nothing that other
        passages are looked up for.
        """
        if read_given(message) is None or has_calls(message):
            return False
        blocks = legacy.extract_code(_read_text(message))
        languages = {language.lower() for language, _ in blocks}
        if not languages.isdisjoint(_PYTHONS):
            return False
        if not self._config.update_context:
            return True
        return not any(self._check_update_context(message))

    async def _retrieve_user_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: Any | None = None,
    ) -> Verdict:
        """Reply function: begin the conversation anew with other passages when the last message
        makes it necessary.
        """
        messages = conversation(self, messages, sender)
        if not self._needs_other_passages(messages):
            return False, None
        first, last = messages[0], messages[-1]
        if sender is not None:
            self._forget_other(first)
        asked, _ = self._check_update_context(last)
        was_exhausted = self._exhausted
        # Without a problem, the chat began without message_generator.
        self.problem = self.problem or _read_text(first)
        contents = await mode.block(self._find_other_passages, _read_text(last), asked)
        if was_exhausted and not contents and sender is not None:
            engine.ended(self, sender, self._explain_lack())
            return True, None
        self._begin_anew(sender)
        return True, self._generate_message(contents, self._task)

    def _needs_other_passages(self, messages: Sequence[AnyMessage]) -> bool:
        """Whether the last message asks for other passages, or is an answer without its prefix."""
        if not self._config.update_context or not messages:
            return False
        last = messages[-1]
        if has_calls(last):
            return False
        return any(self._check_update_context(last))

    def _begin_anew(self, sender: Agent | None) -> None:
        """Forget what was said in the chat with the sender."""
        if sender is None:
            return
        self._note("other passages are looked up; the conversation begins anew")
        self.clear_history(sender)
        if isinstance(sender, ConversableAgent):
            sender.clear_history(self)

    _generate_retrieve_user_reply = faces(_retrieve_user_reply)[0]

    def _find_other_passages(self, text: str, asked: bool) -> str:
        """Passages for the problem that were in no prompt yet; or, for an answer that is
        incomplete, for that answer, and all that were in prompts before. An incomplete answer
        without new passages is asked for once more. "" when there are none.
        """
        self._intermediate_answers.add(text)
        wanted = coalesce(self.n_results, 20)
        if asked:
            rest = self._get_context(self._results)
            return rest or self._search_further(self.problem, 3 * wanted)
        has_new = bool(self._search_further(text, wanted))
        if self._repeated and not has_new:
            return ""
        self._repeated = not has_new
        return "\n".join(self._doc_contents)

    def _search_further(self, problem: str, n_results: int) -> str:
        """Passages for the problem that were in no prompt yet, however many results that takes; ""
        when there are no others.
        """
        while True:
            stopping.check()
            self._reset(intermediate=True)
            results = self._look_up(problem, n_results, self._search_string)
            contents = self._get_context(results)
            if contents or len(find_first(results)) < n_results:
                return contents
            n_results *= 2

    @takes_long
    def _check_update_context_before_send(
        self, sender: Agent, message: Any, recipient: Agent, silent: bool
    ) -> Any:
        """Hook: what the person sends is `UPDATE CONTEXT`, so other passages go out in its
        place.
        """
        is_request = ASKS_AGAIN.fullmatch(_read_text(message).strip())
        if is_request and (said := self.chat_messages[recipient]):
            self._forget_other(said[0])
        if not all((is_request, self.problem, self._config.update_context)):
            return message
        passages = self._find_other_passages(ASK_AGAIN, asked=True)
        reply = self._generate_message(passages, self._task)
        if isinstance(message, dict):
            return {**message, "content": reply}
        return reply

    def run_code(self, code: str, **kwargs: Any) -> tuple[int, str, str | None]:
        """Run Python as a UserProxyAgent does; shell commands and installations are refused, which
        counts as failed.
        """
        language = coalesce(kwargs.get("lang"), "python")
        is_python = language.lower() in _PYTHONS
        is_command = code.startswith(("!", "%pip", "pip "))
        if is_command or not is_python:
            return 1, _REFUSED, None
        return super().run_code(code, **kwargs)


class _Switch:
    """What AutoGen has by the name `update_context`: read, a flag; called, a method."""

    def __init__(self, method: Callable[[dict[str, Any]], None], config: RetrieveConfig) -> None:
        self._method, self._config = method, config

    def __call__(self, context_variables: dict[str, Any]) -> None:
        self._method(context_variables)

    def __bool__(self) -> bool:
        return bool(self._config.update_context)

    def __eq__(self, other: object) -> bool:
        return bool(self) == other

    def __hash__(self) -> int:
        return hash(bool(self))


def _read_text(message: Any) -> str:
    return text_of(read_given(message))
