"""The public face of ConversableAgent, AutoGen's agent that talks; its parts do the work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agentkit.coding import legacy
from agentkit.coding.base import CodeExecutor
from agentkit.conversation import announcing, code, nested, tooling
from agentkit.conversation.agent import Agent, LLMAgent
from agentkit.conversation.chats import (
    Chat,
    ChatResult,
    a_initiate_chats,
    announce_beginning,
    check_chat,
    check_chats,
    gather_usage_summary,
    initiate_chats,
)
from agentkit.conversation.checks import (
    check_agent,
    check_agent_name,
    check_all,
    check_count,
    check_flag,
    check_kind,
    check_text,
)
from agentkit.conversation.code import CodeConfig, Coder
from agentkit.conversation.ends import stop_reason
from agentkit.conversation.engine import Engine, check_faces, lend_cache, part, why_ended
from agentkit.conversation.history import History, snapshot
from agentkit.conversation.hooks import Hooks
from agentkit.conversation.human import Human
from agentkit.conversation.model import Binding, LLMConfig, list_tools, model_reply, note_cuts
from agentkit.conversation.replies import Entry, ReplyTable, Trigger, Verdict, asks_model
from agentkit.conversation.summary import (
    DEFAULT_PROMPT,
    SummaryMethod,
    reflect,
    summarize,
    with_carryover,
)
from agentkit.conversation.tooling import Signatures, Toolbox, conversation
from agentkit.core import stopping, tools
from agentkit.core.given import coalesce
from agentkit.core.io import IOStream, quietly
from agentkit.core.twin import Mode, faces, run_in_thread
from agentkit.errors import LimitReached, NoModelConfig, UnknownName, WrongArgument, WrongType
from agentkit.events import ChatEnded
from agentkit.llm.calls.limits import end_of
from agentkit.messages import AnyMessage, Stored, as_dict
from agentkit.options import InputMode
from agentkit.reasons import EndReason

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache

F = TypeVar("F", bound=Callable[..., object])
Reply = str | AnyMessage | None


class ConversableAgent(LLMAgent):
    """An agent that replies to every message it gets, until a message ends the chat: by code,
    functions, a model or a person.

    Subclasses change single abilities by overriding `generate_reply`, `get_human_input`,
    `execute_code_blocks`, `run_code` or `execute_function`, sync or async (the `a_` methods).
    Source of names, defaults and behaviour: AutoGen 0.2 / AG2 0.6.
    """

    DEFAULT_CONFIG: LLMConfig = False
    """The `llm_config` of agents that are given none."""
    MAX_CONSECUTIVE_AUTO_REPLY = 100
    """How many replies in a row go without a person, unless told otherwise."""
    DEFAULT_SUMMARY_PROMPT = DEFAULT_PROMPT
    DEFAULT_SUMMARY_METHOD = "last_msg"

    llm_config: LLMConfig = part("binding.config")
    client: Any = part("binding.client")
    client_cache: AbstractCache | None = part("binding.cache")
    human_input_mode: InputMode = part("human.input_mode")
    hook_lists: dict[str, list[Callable[..., object]]] = part("hooks.lists")
    _oai_messages: dict[Agent, list[Stored]] = part("history.messages")
    _reply_func_list: list[Entry] = part("replies.entries")
    _function_map: dict[str, Callable[..., object]] = part("tools.functions")
    _human_input: list[str] = part("human.inputs")
    _is_termination_msg: Callable[..., bool] = part("human.is_termination_msg")
    _max_consecutive_auto_reply: int = part("human.limit")
    _max_consecutive_auto_reply_dict: dict[Agent | None, int] = part("human.limits")
    _consecutive_auto_reply_counter: dict[Agent | None, int] = part("human.counters")
    _code_execution_config: CodeConfig = part("coder.config")
    _code_executor: CodeExecutor | None = part("coder.executor")

    def __init__(
        self,
        name: str,
        system_message: str | list[Any] | None = "You are a helpful AI Assistant.",
        is_termination_msg: Callable[..., bool] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: InputMode = "TERMINATE",
        function_map: dict[str, Callable[..., object]] | None = None,
        code_execution_config: CodeConfig | None = False,
        llm_config: LLMConfig | None = None,
        default_auto_reply: str | AnyMessage | None = "",
        description: str | None = None,
        chat_messages: Mapping[Agent, Sequence[AnyMessage]] | None = None,
        silent: bool | None = None,
        context_variables: dict[str, Any] | None = None,
    ) -> None:
        """The arguments are AutoGen's. Raises WrongType and WrongArgument for what cannot be."""
        self._name = check_agent_name(name)
        check_kind(name, "system_message", system_message, str | list | None, "a text")
        check_kind(
            name, "default_auto_reply", default_auto_reply, str | dict | None, "a text or a message"
        )
        check_text(name, "description", description)
        check_kind(name, "context_variables", context_variables, dict | None, "a dict")
        check_flag(name, "silent", silent)
        self._engine = Engine(
            History(name, chat_messages),
            ReplyTable(name),
            Hooks(name),
            Human(
                name,
                human_input_mode,
                coalesce(max_consecutive_auto_reply, self.MAX_CONSECUTIVE_AUTO_REPLY),
                is_termination_msg or _is_terminate,
            ),
            Toolbox(name, function_map),
            Binding(name, coalesce(llm_config, self.DEFAULT_CONFIG)),
            Coder(name, code_execution_config),
        )
        self._oai_system_message: list[Stored] = [{"content": system_message, "role": "system"}]
        self._description = coalesce(description, system_message)
        self._default_auto_reply = default_auto_reply
        self._context_variables = coalesce(context_variables, {})
        self.silent = silent
        self.reply_at_receive: dict[Agent, bool] = _Flags()
        self._register_stock_replies()

    def _register_stock_replies(self) -> None:
        """Last registered, first asked: termination and person, function, tools, code, model."""
        kind = ConversableAgent
        stock: list[Callable[..., object]] = [kind.generate_oai_reply, kind.a_generate_oai_reply]
        if self._engine.coder.config is not False:
            stock.append(kind.generate_code_execution_reply)
        stock += [
            kind.generate_tool_calls_reply,
            kind.a_generate_tool_calls_reply,
            kind.generate_function_call_reply,
            kind.a_generate_function_call_reply,
            kind.check_termination_and_human_reply,
            kind.a_check_termination_and_human_reply,
        ]
        for reply_func in stock:
            self.register_reply([Agent, None], reply_func, ignore_async_in_sync_chat=True)

    # Who the agent is

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def name(self) -> str:
        """The agent's name."""
        return self._name

    @property
    def description(self) -> str:
        """What the agent is good for; the first system message unless given."""
        # A system message may be a list or None.
        return self._description  # type: ignore[return-value]

    @description.setter
    def description(self, description: str) -> None:
        """Describe the agent otherwise."""
        check_text(self.name, "description", description)
        self._description = description

    @property
    def system_message(self) -> str:
        """What the model is told about its role."""
        return self._oai_system_message[0]["content"]  # type: ignore[no-any-return]

    def update_system_message(self, system_message: str) -> None:
        """Tell the model another role from now on; the description stays."""
        check_kind(self.name, "system_message", system_message, str | list | None, "a text")
        self._oai_system_message[0]["content"] = system_message

    @property
    def code_executor(self) -> CodeExecutor | None:
        """What runs code for this agent; None when it runs none, or by the older settings."""
        return self._engine.coder.executor

    @property
    def use_docker(self) -> bool | str | None:
        """Whether code runs in Docker, or in which image; None when no code is run."""
        return self._engine.coder.use_docker

    # Reply functions

    def register_reply(
        self,
        trigger: Trigger,
        reply_func: Callable[..., object],
        position: int = 0,
        config: object = None,
        reset_config: Callable[..., object] | None = None,
        *,
        ignore_async_in_sync_chat: bool = False,
        remove_other_reply_funcs: bool = False,
    ) -> None:
        """Add a function `(recipient, messages, sender, config) -> (final, reply)`, asked first
        unless `position` says otherwise.

        `trigger` is an agent class, a name, an agent, a callable on the sender, None (no sender),
        or a list of these.
        """
        self._engine.replies.register(
            trigger,
            reply_func,
            position,
            config,
            reset_config,
            ignore_async=ignore_async_in_sync_chat,
            remove_others=remove_other_reply_funcs,
        )

    def replace_reply_func(
        self, old_reply_func: Callable[..., object], new_reply_func: Callable[..., object]
    ) -> None:
        """Exchange a reply function wherever it is registered."""
        self._engine.replies.replace(old_reply_func, new_reply_func)

    def register_nested_chats(
        self,
        chat_queue: list[Chat],
        trigger: Trigger,
        reply_func_from_nested_chats: str | Callable[..., object] = nested.DEFAULT,
        position: int = 2,
        use_async: bool | None = None,
        **kwargs: Any,
    ) -> None:
        """Reply to the trigger with the last summary of a queue of inner chats; `use_async` runs
        them by `a_initiate_chats`.
        """
        reply_func = nested.reply_function(
            self.name, chat_queue, reply_func_from_nested_chats, use_async
        )
        self.register_reply(
            trigger,
            reply_func,
            position,
            kwargs.pop("config", None),
            kwargs.pop("reset_config", None),
            **kwargs,
        )

    async def _generate_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        **kwargs: Any,
    ) -> Reply:
        """The first final reply of the registered reply functions, else the default auto reply.

        Either messages or sender is needed; `exclude` is a list of reply functions to leave out.
        None means no reply.
        """
        if messages is None and sender is None:
            raise WrongArgument(f"{self.name}: generate_reply needs messages or a sender.")
        stopping.check()
        asked = conversation(self, messages, sender)
        asked = await self._engine.hooks.before_reply(mode, self, asked)
        exclude: Collection[Callable[..., object]] = kwargs.get("exclude") or ()
        if exclude:
            check_kind(self.name, "exclude", exclude, Collection, "a list of reply functions")
        final, reply = await self._engine.replies.answer(mode, self, asked, sender, exclude)
        return reply if final else self._default_auto_reply

    generate_reply, a_generate_reply = faces(_generate_reply)

    async def _check_termination_and_human_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> Verdict:
        """Reply function: whether the chat ends here, and what the person says, asked as
        `human_input_mode` wants it.
        """
        messages = conversation(self, messages, sender)
        if not messages:
            return False, None
        return await self._engine.human.check(mode, self, messages[-1], sender)

    check_termination_and_human_reply, a_check_termination_and_human_reply = faces(
        _check_termination_and_human_reply
    )

    async def _generate_function_call_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> Verdict:
        """Reply function: execute the `function_call`, an older form, of the last message."""
        messages = conversation(self, messages, sender)
        if not messages:
            return False, None
        return await tooling.function_call_reply(mode, self, messages[-1])

    generate_function_call_reply, a_generate_function_call_reply = faces(
        _generate_function_call_reply
    )

    async def _generate_tool_calls_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> Verdict:
        """Reply function: execute the last message's `tool_calls`, side by side if async."""
        messages = conversation(self, messages, sender)
        if not messages:
            return False, None
        return await tooling.tool_calls_reply(mode, self, messages[-1])

    generate_tool_calls_reply, a_generate_tool_calls_reply = faces(_generate_tool_calls_reply)

    async def _generate_code_execution_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: CodeConfig | None = None,
    ) -> Verdict:
        """Reply function: run the code in the newest messages; tell exit code and output."""
        return await code.code_reply(
            mode, self, self._engine.coder, conversation(self, messages, sender), config
        )

    generate_code_execution_reply = faces(_generate_code_execution_reply)[0]

    @asks_model
    async def _generate_oai_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> Verdict:
        """Reply function: ask the model, or the client that `config` is, with system message."""
        client = coalesce(config, self.client)
        if client is None:
            return False, None
        asked = self._oai_system_message + conversation(self, messages, sender)
        reply = await mode.block(
            model_reply, client, asked, self.client_cache, self, list_tools(self.llm_config)
        )
        return (False, None) if reply is None else (True, reply)

    generate_oai_reply, a_generate_oai_reply = faces(_generate_oai_reply)

    # Messages

    async def _send(
        self,
        mode: Mode,
        /,
        message: AnyMessage | str,
        recipient: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Send a message to another agent, who replies if `request_reply` or its own setting says
        so.

        A `content` may be a callable over the `context` of the latest messages. Raises WrongType
        for anything but an agent and a message, WrongArgument (a ValueError) for a message with
        neither content nor a call.
        """
        if not isinstance(recipient, ConversableAgent) and not isinstance(recipient, Agent):
            raise WrongType(f"{self.name}: the recipient must be an agent, not {recipient!r}.")
        check_flag(self.name, "request_reply", request_reply)
        check_flag(self.name, "silent", silent)
        is_silent = bool(self._is_silent(self, silent))
        hooks = self._engine.hooks
        if hooks.lists["process_message_before_send"]:
            message = await hooks.before_send(mode, self, message, recipient, is_silent)
        if not self._append_oai_message(message, "assistant", recipient, is_sending=True):
            raise _no_message(self.name, message, recipient.name)
        return mode.tail(  # type: ignore[no-any-return]
            recipient, "receive", message, self, request_reply, silent
        )

    send, a_send = faces(_send)

    async def _receive(
        self,
        mode: Mode,
        /,
        message: AnyMessage | str,
        sender: Agent,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        """Take a message from another agent and, when a reply is wanted and there is one, send it.

        Raises WrongType for anything but a message, WrongArgument (a ValueError) for one with
        neither content nor a call.
        """
        check_agent(self.name, "sender", sender, needed=True)
        check_flag(self.name, "request_reply", request_reply)
        check_flag(self.name, "silent", silent)
        self._process_received_message(message, sender, silent)
        if request_reply is False or (request_reply is None and not self.reply_at_receive[sender]):
            return None
        with quietly(bool(self._is_silent(self, silent))):
            reply = await mode.peer(
                self, "generate_reply", messages=self._oai_messages[sender], sender=sender
            )
        if reply is not None:
            return mode.tail(  # type: ignore[no-any-return]
                self, "send", reply, sender, silent=silent
            )
        self._engine.human.reasons.setdefault(sender, EndReason("silent", self.name))
        return None

    receive, a_receive = faces(_receive)

    def _append_oai_message(
        self, message: AnyMessage | str, role: str, conversation_id: Agent, is_sending: bool = True
    ) -> bool:
        """Store a message of a conversation; False when it was not a message, and is not stored."""
        return self._engine.history.add(
            message, role, conversation_id, self.name if is_sending else conversation_id.name
        )

    def _process_received_message(
        self, message: AnyMessage | str, sender: Agent, silent: bool | None
    ) -> None:
        """Store and tell a message that came in."""
        if not self._append_oai_message(message, "user", sender, is_sending=False):
            raise _no_message(self.name, message, sender.name)
        said = message if isinstance(message, dict) else {"content": message}
        is_silent = bool(self._is_silent(sender, silent))
        announcing.announce_message(said, sender, self, is_silent)
        if not is_silent:
            self._print_received_message(said, sender)

    def _print_received_message(self, message: AnyMessage | str, sender: Agent) -> None:
        """Show a message that came in on the console; AutoGen's user interfaces override this."""
        announcing.print_message(as_dict(self.name, message), sender, self)

    @staticmethod
    def _is_silent(agent: Agent, silent: bool | None = False) -> bool | None:
        own: bool | None = getattr(agent, "silent", None)
        if own is None:
            return silent
        return own

    @property
    def chat_messages(self) -> dict[Agent, list[Stored]]:
        """The conversations, by the other agent; live lists of stored messages."""
        return self._engine.history.messages

    def chat_messages_for_summary(self, agent: Agent) -> list[Stored]:
        """The conversation with an agent as it is summarised."""
        check_agent(self.name, "agent", agent, needed=True)
        return self._oai_messages[agent]

    def last_message(self, agent: Agent | None = None) -> Stored | None:
        """The newest message with the agent, by default of the only conversation; None when there
        is none.

        Raises WrongArgument (a ValueError) when several conversations are possible, UnknownName (a
        KeyError) for a stranger.
        """
        check_agent(self.name, "agent", agent)
        return self._engine.history.last(agent)

    def clear_history(
        self, recipient: Agent | None = None, nr_messages_to_preserve: int | None = None
    ) -> None:
        """Forget the conversation with one agent or with all, but for the newest messages to
        preserve.
        """
        check_agent(self.name, "recipient", recipient)
        check_count(
            self.name,
            "nr_messages_to_preserve",
            coalesce(nr_messages_to_preserve, 0),
        )
        self._engine.history.clear(
            recipient, nr_messages_to_preserve, lambda text: announcing.note(self.name, text)
        )

    # Chats

    async def _initiate_chat(
        self,
        mode: Mode,
        /,
        recipient: ConversableAgent,
        clear_history: bool = True,
        silent: bool | None = False,
        cache: AbstractCache | None = None,
        max_turns: int | None = None,
        summary_method: SummaryMethod = DEFAULT_SUMMARY_METHOD,
        summary_args: Mapping[str, object] | None = {},
        message: AnyMessage | str | Callable[..., object] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Chat with the recipient until somebody ends it or `max_turns` round trips are over; gives
        a snapshot of the chat.

        `message` is the first one: a text, a dict, or a callable over (sender, recipient, context);
        None asks the person. `carryover` in the keyword arguments goes behind it, `verbose` tells
        both. `summary_method` is `last_msg`, `reflection_with_llm` or a callable over (sender,
        recipient, summary_args). Raises AsyncReplyInSyncChat (a RuntimeError) when a reply function
        is async.
        """
        check_chat(
            {
                "recipient": recipient,
                "clear_history": clear_history,
                "silent": silent,
                "cache": cache,
                "max_turns": max_turns,
                "summary_method": summary_method,
                "summary_args": summary_args,
                "message": message,
                **kwargs,
            },
            self,
        )
        pair = _select_conversable(self, recipient)
        check_faces(mode, pair)
        announce_beginning(
            self.name, recipient.name, message, kwargs, bool(self._is_silent(self, silent))
        )
        with note_cuts() as cut, lend_cache(pair, cache):
            self._prepare_chat(recipient, clear_history, reply_at_receive=max_turns is None)
            try:
                end = await self._converse(mode, recipient, max_turns, message, silent, kwargs)
            except LimitReached as error:
                end = end_of(error)
            summary = await self._make_summary(
                mode, recipient, summary_method, coalesce(summary_args, {}), cache
            )
        history = self._oai_messages[recipient]
        is_silent, reason = bool(self._is_silent(self, silent)), stop_reason(end)
        event = ChatEnded(self.name, recipient.name, reason, len(history), is_silent, end)
        announcing.announce(
            event, f"{self.name} and {recipient.name} are done: {reason}.", is_silent
        )
        return ChatResult(
            kwargs.get("chat_id"),
            snapshot(history),
            summary,
            gather_usage_summary(pair),
            list(self._human_input),
            reason,
            list(cut),
            end,
        )

    initiate_chat, a_initiate_chat = faces(_initiate_chat)

    async def _converse(
        self,
        mode: Mode,
        recipient: ConversableAgent,
        max_turns: int | None,
        message: object,
        silent: bool | None,
        kwargs: Mapping[str, object],
    ) -> EndReason:
        """Say the first message, with `max_turns` the next ones too; why the chat ended."""
        if callable(message):
            opening = await mode.invoke(message, self, recipient, kwargs)
        else:
            opening = await mode.peer(self, "generate_init_message", message, **kwargs)
        if max_turns is None:
            await mode.peer(self, "send", opening, recipient, silent=silent)
            return self._find_end(recipient)
        for turn in range(max_turns):
            if turn > 0:
                if (end := why_ended(recipient, self)) and end.is_final:
                    return end
                with quietly(bool(self._is_silent(self, silent))):
                    opening = await mode.peer(
                        self,
                        "generate_reply",
                        messages=self._oai_messages[recipient],
                        sender=recipient,
                    )
            if opening is None:
                return why_ended(self, recipient) or EndReason("silent", self.name)
            await mode.peer(self, "send", opening, recipient, True, silent)
        return EndReason("turns", limit=max_turns)

    async def _make_summary(
        self,
        mode: Mode,
        recipient: ConversableAgent,
        method: SummaryMethod,
        args: Mapping[str, object],
        cache: AbstractCache | None,
    ) -> Any:
        """The summary of the chat; empty when a limit forbids the call that would make it."""
        try:
            summary = await mode.block(summarize, self, method, args, recipient, cache)
            # An async summary_method gave something to wait for.
            return await mode.invoke(lambda: summary)
        except LimitReached as error:
            announcing.note(self.name, f"no summary, {stop_reason(end_of(error))}")
            return ""

    def _find_end(self, recipient: Agent) -> EndReason:
        return (
            why_ended(self, recipient)
            or why_ended(recipient, self)
            or EndReason("silent", recipient.name)
        )

    def _prepare_chat(
        self,
        recipient: Agent,
        clear_history: bool,
        prepare_recipient: bool = True,
        reply_at_receive: bool = True,
    ) -> None:
        """Begin with fresh counters and, if wanted, an empty history, on both sides."""
        self.reset_consecutive_auto_reply_counter(recipient)
        self.reply_at_receive[recipient] = reply_at_receive
        self._engine.human.reasons.pop(recipient, None)
        if clear_history:
            self.clear_history(recipient)
            self._human_input = []
        if prepare_recipient and isinstance(recipient, ConversableAgent):
            recipient._prepare_chat(self, clear_history, False, reply_at_receive)

    async def _generate_init_message(
        self, mode: Mode, /, message: AnyMessage | str | None, **kwargs: Any
    ) -> Any:
        """The first message of a chat with its `carryover`; None asks the person for one."""
        if message is None:
            message = await mode.peer(self, "get_human_input", ">")
        return with_carryover(self.name, message, kwargs.get("carryover"))

    generate_init_message, a_generate_init_message = faces(_generate_init_message)

    def initiate_chats(self, chat_queue: list[Chat]) -> list[ChatResult]:
        """Run chats one after the other, each with the summaries of those before as carryover; this
        agent begins them.
        """
        finished = initiate_chats(self._with_sender(chat_queue))
        self._finished_chats: Any = finished
        return finished

    async def a_initiate_chats(self, chat_queue: list[Chat]) -> dict[Any, ChatResult]:
        """(async) Run chats side by side by their `prerequisites`; results by `chat_id`."""
        finished = await a_initiate_chats(self._with_sender(chat_queue))
        self._finished_chats = finished
        return finished

    def _with_sender(self, chat_queue: Sequence[Chat]) -> list[Chat]:
        check_chats(self.name, chat_queue)
        return [
            chat if chat.get("sender") is not None else {**chat, "sender": self}
            for chat in chat_queue
        ]

    def get_chat_results(self, chat_index: int | None = None) -> Any:
        """Results of the last queue of chats, or that of an index (async: of a `chat_id`)."""
        finished = getattr(self, "_finished_chats", [])
        if chat_index is None:
            return finished
        try:
            return finished[chat_index]
        except (LookupError, TypeError):
            known = list(finished) if isinstance(finished, dict) else list(range(len(finished)))
            raise UnknownName(
                f"{self.name}: chat_index {chat_index!r} is not a finished chat; there are {known}."
            ) from None

    def reset(self) -> None:
        """Forget conversations, counters and usage; configs of replies as registered."""
        self.clear_history()
        self.reset_consecutive_auto_reply_counter()
        self.stop_reply_at_receive()
        if self.client is not None:
            self.client.clear_usage_summary()
        self._engine.replies.reset()

    def stop_reply_at_receive(self, sender: Agent | None = None) -> None:
        """Reply no longer on its own, to one sender or to all."""
        check_agent(self.name, "sender", sender)
        if sender is None:
            self.reply_at_receive.clear()
        else:
            self.reply_at_receive[sender] = False

    # The person

    def update_max_consecutive_auto_reply(self, value: int, sender: Agent | None = None) -> None:
        """Allow so many replies in a row without a person, to one sender or to all."""
        check_count(self.name, "value", value)
        check_agent(self.name, "sender", sender)
        self._engine.human.set_limit(value, sender)

    def max_consecutive_auto_reply(self, sender: Agent | None = None) -> int:
        """How many replies in a row go without a person."""
        check_agent(self.name, "sender", sender)
        human = self._engine.human
        return human.limit if sender is None else human.limits[sender]

    def reset_consecutive_auto_reply_counter(self, sender: Agent | None = None) -> None:
        """Count replies from 0 again, for one sender or for all."""
        check_agent(self.name, "sender", sender)
        self._engine.human.reset_counter(sender)

    def get_human_input(self, prompt: str) -> str:
        """Ask the person; override it to ask in another way."""
        check_kind(self.name, "prompt", prompt, str, "a text")
        return self._engine.human.read(self.name, prompt)

    a_get_human_input = run_in_thread(get_human_input)

    # Code and functions

    def run_code(self, code: str, **kwargs: Any) -> tuple[int, str, str | None]:
        """Run one piece of code by the older settings: exit code, output, and the Docker image
        used; override it to run it in another way.
        """
        check_kind(self.name, "code", code, str, "a text")
        return legacy.execute_code(code, **kwargs)

    def execute_code_blocks(self, code_blocks: list[tuple[str, str]]) -> tuple[int, str]:
        """Run (language, code) by the older settings until one fails: exit code and output."""
        check_all(
            self.name, "code_blocks", code_blocks, tuple | list, "a pair of language and code"
        )
        return self._engine.coder.run_blocks(self, code_blocks)

    async def _execute_function(
        self, mode: Mode, /, func_call: Mapping[str, Any], verbose: bool = False
    ) -> tuple[bool, dict[str, Any]]:
        """Execute a call with `name` and `arguments`: whether it went well, and the result as a
        message of role function.
        """
        check_kind(self.name, "func_call", func_call, Mapping, "a dict with name and arguments")
        return await self._engine.tools.execute(mode, func_call, verbose)

    execute_function, _execute_function_async = faces(_execute_function)

    async def a_execute_function(self, func_call: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """(async) Execute a call with `name` and `arguments`; async functions are awaited."""
        return await self._execute_function_async(func_call)

    def register_function(self, function_map: dict[str, Callable[..., object] | None]) -> None:
        """Add or replace functions; a name with None is removed."""
        self._engine.tools.register(function_map)

    def can_execute_function(self, name: list[str] | str) -> bool:
        """Whether the agent has the function, or all of them."""
        check_kind(self.name, "name", name, str | list | tuple, "a name or a list of names")
        return self._engine.tools.can_execute(name)

    @property
    def function_map(self) -> dict[str, Callable[..., object]]:
        """The functions that the agent executes, by name."""
        return self._function_map

    def update_function_signature(
        self, func_sig: str | dict[str, Any], is_remove: bool | None
    ) -> None:
        """Tell the model about a function in the older form, or (by name) no longer."""
        Signatures(self.name, self._engine.binding.config).update("functions", func_sig, is_remove)

    def update_tool_signature(self, tool_sig: str | dict[str, Any], is_remove: bool) -> None:
        """Tell the model about a tool, or (by name) no longer."""
        Signatures(self.name, self._engine.binding.config).update("tools", tool_sig, is_remove)

    def register_for_llm(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        api_style: Literal["function", "tool"] = "tool",
    ) -> Callable[[F], F]:
        """Decorator: tell the model about the function, its schema taken from the type hints.

        The first decorator of a function must describe it. Raises NoModelConfig (a RuntimeError)
        without an llm_config.
        """
        if api_style not in ("function", "tool"):
            raise WrongArgument(
                f"{self.name}: api_style must be 'tool' or 'function', not {api_style!r}."
            )
        check_text(self.name, "name", name)
        check_text(self.name, "description", description)

        def decorate(function: F) -> F:
            check_kind(self.name, "the decorated function", function, Callable, "callable")
            own, text = tooling.describe(function, name, description)
            schema = tools.function_schema(function, name=own, description=text)
            if api_style == "tool":
                self.update_tool_signature(schema, is_remove=False)
            else:
                self.update_function_signature(schema["function"], is_remove=False)
            return function

        return decorate

    def register_for_execution(self, name: str | None = None) -> Callable[[F], F]:
        """Decorator: let this agent execute the function; arguments are read from JSON."""
        check_text(self.name, "name", name)

        def decorate(function: F) -> F:
            check_kind(self.name, "the decorated function", function, Callable, "callable")
            own = tooling.name_of(function, name)
            tooling.remember(function, own)
            self.register_function({own: tooling.wrap(function)})
            return function

        return decorate

    # Models

    def register_model_client(self, model_client_cls: Any, **kwargs: Any) -> None:
        """Use a client class of one's own for the configs that name it in `model_client_cls`.

        Raises NoModelConfig (a RuntimeError) without an llm_config.
        """
        if self.client is None:
            raise NoModelConfig(
                f"{self.name} has no llm_config; a model client needs a config that names it."
            )
        check_kind(self.name, "model_client_cls", model_client_cls, type, "a class")
        self.client.register_model_client(model_client_cls, **kwargs)

    def _generate_oai_reply_from_client(
        self, llm_client: Any, messages: Sequence[AnyMessage], cache: AbstractCache | None
    ) -> str | AnyMessage | None:
        """What a client replies to the messages."""
        return model_reply(llm_client, messages, cache, self, list_tools(self.llm_config))

    def _reflection_with_llm(
        self,
        prompt: str,
        messages: Sequence[AnyMessage],
        llm_agent: Agent | None = None,
        cache: AbstractCache | None = None,
        role: str | None = None,
    ) -> Any:
        """What a model makes of the messages, asked by the prompt."""
        return reflect(self, prompt, messages, llm_agent, cache, role)

    # AutoGen's default.
    def print_usage_summary(
        self,
        mode: str | list[str] = ["actual", "total"],  # noqa: B006
    ) -> None:
        """Print what the model calls took and cost, without (`actual`) and with (`total`) those
        that a cache answered.
        """
        modes = mode if isinstance(mode, list | tuple) else [mode]
        if not all(each in ("actual", "total") for each in modes):
            raise WrongArgument(
                f"{self.name}: mode must be 'actual', 'total' or a list of these, not"
                f" {mode!r:.200}."
            )
        stream = IOStream.get_default()
        if self.client is None:
            stream.print(f"No cost incurred from agent '{self.name}'.")
            return
        stream.print(f"Agent '{self.name}':")
        self.client.print_usage_summary(mode)

    def get_actual_usage(self) -> dict[str, Any] | None:
        """What the model calls took that no cache answered; None when there were none."""
        return None if self.client is None else self.client.actual_usage_summary

    def get_total_usage(self) -> dict[str, Any] | None:
        """What all model calls took; None when there were none."""
        return None if self.client is None else self.client.total_usage_summary

    # Hooks and context

    def register_hook(self, hookable_method: str, hook: Callable[..., object]) -> None:
        """Hang a function into `process_last_received_message`,
        `process_all_messages_before_reply`, `process_message_before_send` or `update_agent_state`.
        """
        self._engine.hooks.register(hookable_method, hook)

    async def _update_agent_state_before_reply(self, mode: Mode, /, messages: list[Stored]) -> None:
        """Let the hooks look at the messages, usually to set context variables."""
        await self._engine.hooks.update_state(mode, self, messages)

    update_agent_state_before_reply = faces(_update_agent_state_before_reply)[0]

    async def _process_all_messages_before_reply(
        self, mode: Mode, /, messages: list[Stored]
    ) -> list[Stored]:
        """The messages as the hooks want them replied to; those that are stored do not change."""
        return await self._engine.hooks.all_messages(mode, messages)

    process_all_messages_before_reply = faces(_process_all_messages_before_reply)[0]

    async def _process_last_received_message(
        self, mode: Mode, /, messages: list[Stored]
    ) -> list[Stored]:
        """The messages with the text of the last one as the hooks want it; calls and `exit` are
        left alone.
        """
        return await self._engine.hooks.last_message(mode, messages)

    process_last_received_message = faces(_process_last_received_message)[0]

    def get_context(self, key: str, default: Any = None) -> Any:
        """A context variable."""
        return self._context_variables.get(key, default)

    def set_context(self, key: str, value: object) -> None:
        """Set a context variable."""
        check_kind(self.name, "key", key, str, "a text")
        self._context_variables[key] = value

    def update_context(self, context_variables: dict[str, Any]) -> None:
        """Set several context variables."""
        check_kind(self.name, "context_variables", context_variables, Mapping, "a dict")
        self._context_variables.update(context_variables)

    def pop_context(self, key: str, default: Any = None) -> Any:
        """Remove a context variable and give its value."""
        return self._context_variables.pop(key, default)


class _Flags(dict[Agent, bool]):
    """False for agents that nothing was said about."""

    def __missing__(self, key: Agent) -> bool:
        return False


def register_function(
    f: Callable[..., object],
    *,
    caller: ConversableAgent,
    executor: ConversableAgent,
    name: str | None = None,
    description: str,
) -> None:
    """Let the model of `caller` ask for the function and `executor` execute it."""
    for role, agent in (("caller", caller), ("executor", executor)):
        check_kind("register_function", role, agent, ConversableAgent, "a ConversableAgent")
    check_kind(caller.name, "f", f, Callable, "callable")
    own = tooling.name_of(f, name)
    caller.register_for_llm(name=own, description=description)(f)
    executor.register_for_execution(name=own)(f)


def _select_conversable(*agents: Agent) -> list[ConversableAgent]:
    """Those of the agents that have an engine; others only have an agent's methods."""
    return [agent for agent in agents if isinstance(agent, ConversableAgent)]


def _is_terminate(message: AnyMessage) -> bool:
    return announcing.display_text(message) == "TERMINATE"


def _no_message(owner: str, message: object, peer: str) -> WrongArgument:
    return WrongArgument(
        f"{owner}: this cannot be a message to or from {peer}: {message!r:.200}. It needs content,"
        " function_call or tool_calls."
    )
