"""CompressibleAgent: an assistant that ends the chat or shortens its history when the model's
window is used up.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from agentkit.agents.assistant import SYSTEM_MESSAGE
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.conversation.compression import settings as settings_of
from agentkit.conversation.compression.attempt import Attempt, assemble, describe_failure
from agentkit.conversation.compression.capability import before_the_model
from agentkit.conversation.compression.meter import Meter, model_asked_by, model_of, no_window
from agentkit.conversation.compression.model_summary import ModelSummary
from agentkit.conversation.compression.recall import Conversations, Failure, goes_on
from agentkit.conversation.compression.rendering import written
from agentkit.conversation.compression.shape import Messages, divide, is_summary
from agentkit.conversation.compression.sharing import broadcast, keep
from agentkit.conversation.conversable import ConversableAgent, Reply
from agentkit.conversation.ends import stop_reason
from agentkit.conversation.engine import ended
from agentkit.conversation.model import list_tools
from agentkit.conversation.replies import Continued, Verdict
from agentkit.conversation.tooling import conversation
from agentkit.core.given import coalesce
from agentkit.core.io import IOStream, is_quiet
from agentkit.core.twin import Mode, faces
from agentkit.errors import Stopped, WrongArgument
from agentkit.messages import AnyMessage, Stored
from agentkit.options import InputMode
from agentkit.reasons import EndReason

_STRATEGIES = {"COMPRESS": ModelSummary.name, "CUSTOMIZED": "compress_function"}


class CompressibleAgent(ConversableAgent):
    """An AssistantAgent that looks at the tokens of what its model would be sent before it asks.

    `compress_config` is False (or empty) to do nothing, True for the defaults, or a dict with any
    of these keys:
    `mode` ("TERMINATE": end the chat when the model's window is full; "COMPRESS": let the model
    shorten the history from `trigger_count` on; "CUSTOMIZED": let `compress_function` do it, which
    takes the messages and gives `(success, messages)`), `trigger_count` (share of the window, or
    tokens; later where the first message alone takes more than half of it), `async` (in async chats
    the event loop goes on meanwhile), `broadcast` (the other agent, in a group chat everybody, gets
    the shorter history, too), `verbose` (print what is shortened and what comes of it) and
    `leave_last_n` (so many newest messages are not shortened; the one that is to be answered never
    is).

    A failure is told by the event Compressed and leaves the history whole; a model that failed is
    asked again when the history is a quarter longer, or fills the window. `compress_client` is the
    OpenAIWrapper that writes the summaries, by default the agent's own client. Raises WrongArgument
    (a ValueError) and WrongType for settings that cannot be.
    Names and defaults: AutoGen 0.2.
    """

    DEFAULT_SYSTEM_MESSAGE = SYSTEM_MESSAGE
    DEFAULT_COMPRESS_CONFIG: ClassVar[dict[str, Any]] = settings_of.DEFAULT

    def __init__(
        self,
        name: str,
        system_message: str | None = SYSTEM_MESSAGE,
        is_termination_msg: Callable[[Stored], bool] | None = None,
        max_consecutive_auto_reply: int | None = None,
        human_input_mode: InputMode = "NEVER",
        function_map: dict[str, Callable[..., Any]] | None = None,
        code_execution_config: dict[str, Any] | Literal[False] | None = False,
        llm_config: dict[str, Any] | Literal[False] | None = None,
        default_auto_reply: str | Stored | None = "",
        compress_config: dict[str, Any] | bool | None = False,
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        """The arguments of ConversableAgent, and how the history is kept short."""
        super().__init__(
            name,
            system_message,
            is_termination_msg,
            max_consecutive_auto_reply,
            human_input_mode,
            function_map,
            code_execution_config,
            llm_config,
            default_auto_reply,
            description,
            **kwargs,
        )
        self.compress_client: Any = self.client
        self._meters: dict[str, Meter] = {}
        self._failures: Conversations[Failure | None] = Conversations()
        self._originals: Conversations[tuple[Messages, Messages]] = (
            Conversations()
        )  # shortened, and as it was said
        self.compress_config = self._check_config(compress_config)
        limits = CompressibleAgent.on_oai_token_limit, CompressibleAgent.a_on_oai_token_limit
        for reply_func in limits:
            self.register_reply(
                [Agent, None], reply_func, before_the_model(self), ignore_async_in_sync_chat=True
            )

    def _check_config(self, given: Any) -> dict[str, Any] | Literal[False]:
        """The whole config with the trigger in tokens; False when nothing is to be done."""
        if not given:
            return False
        config = settings_of.complete(self.name, given)
        model, window = model_of(self)
        why = no_window(self.client, model)
        mode = config["mode"]
        if mode == "COMPRESS" and self.client is None:
            raise WrongArgument(
                f"{self.name}: compress_config with mode COMPRESS needs an llm_config; or use"
                " CUSTOMIZED."
            )
        if mode == "TERMINATE" and window is None:
            raise WrongArgument(
                f"{self.name}: mode TERMINATE ends the chat when a window is full, and {why}."
            )
        config["trigger_count"] = trigger = settings_of.count_trigger_tokens(
            self.name, config["trigger_count"], window, why
        )
        least = self._make_attempt("").fixed
        if mode != "TERMINATE" and trigger < least:
            raise WrongArgument(
                f"{self.name}: trigger_count={trigger} is below the {least} tokens of the system"
                " message and the functions; raise it."
            )
        return config

    # AutoGen names `exclude` here, and takes nothing else.
    async def _generate_reply(  # type: ignore[override]
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        exclude: list[Callable[..., Any]] | None = None,
    ) -> Reply:
        """The reply to the conversation with the sender as it is stored, also when other messages
        are given.

        Given messages count without a sender, or when there is no conversation yet.
        """
        stored = self._get_stored(sender)
        if stored and messages is not None:
            messages = stored
        return await super()._generate_reply(mode, messages, sender, exclude=exclude)

    generate_reply, a_generate_reply = faces(_generate_reply)  # type: ignore[assignment]

    async def _on_oai_token_limit(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: Any | None = None,
    ) -> Verdict:
        """Reply function: end the chat, or shorten the history, when the tokens reach what
        `compress_config` says.

        Final only when it ends the chat. The functions asked after it, the model's among them, get
        the shortened history.
        `config` may be another llm_config whose model counts.
        """
        if self.compress_config is False:
            return False, None
        stored = list(self._get_stored(sender))
        before = list(conversation(self, messages, sender))
        mode_of_config = self.compress_config["mode"]
        if mode_of_config == "TERMINATE":
            return self._end_when_full(before, sender, config)
        trigger = self.compress_config["trigger_count"]
        attempt = self._make_attempt(_STRATEGIES[mode_of_config], trigger, config)
        due = attempt.due_at(min(trigger, attempt.limit), before)
        tokens = attempt.tokens(before)
        is_short = not before or tokens < due
        if is_short or self._is_to_rest(sender, before, tokens):
            return False, None
        made = await attempt.run(before, lambda: self._shorten(mode, before))
        if made is None:
            failure = Failure(before, tokens)
            self._failures.put(self, sender, failure)
            return False, None
        self._failures.put(self, sender, None)
        self._store(sender, stored, before, made)
        return Continued(made)

    def _get_stored(self, sender: Agent | None) -> list[Stored]:
        """The conversation as it is stored; nothing without a sender."""
        if sender is None:
            return []
        return self._oai_messages.get(sender, [])

    def _is_to_rest(self, sender: Agent | None, messages: Messages, tokens: int) -> bool:
        """Whether the model failed to shorten this history a short while ago."""
        assert self.compress_config is not False
        if self.compress_config["mode"] != "COMPRESS":
            return False
        failed = self._failures.get(self, sender)
        if failed is None:
            return False
        _, window = model_of(self)
        return failed.rests(messages, tokens, window)

    on_oai_token_limit, a_on_oai_token_limit = faces(_on_oai_token_limit)

    def original_messages(self, agent: Agent) -> list[Stored]:
        """The conversation with an agent as it was said, also where its beginning was shortened
        since.
        """
        stored = self._get_stored(agent)
        made, said = coalesce(self._originals.get(self, agent), ([], []))
        if not goes_on(stored, made):
            return list(stored)
        return [*said, *stored[len(made) :]]

    def compress_messages(
        self, messages: list[Stored] | None = None, config: Any | None = None
    ) -> tuple[bool, list[Stored] | None]:
        """Let the model write one message for all but the first and the last `leave_last_n`:
        `(True, messages)`.

        `config` may be another OpenAIWrapper to ask. `(False, None)` when there is nothing to
        shorten or it failed; why, is told.
        """
        settings = self.compress_config or self.DEFAULT_COMPRESS_CONFIG
        client = coalesce(config, self.compress_client)
        try:
            made = self._summarize(coalesce(messages, []), client, settings)
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 (clients of scripts raise anything)
            failed = settings_of.Failed(describe_failure(error))
            text = f"the history was not shortened: {failed.reason}"
            announcing.note(self.name, text, is_quiet())
            return failed
        return True, made

    def _summarize(self, messages: Messages, client: Any, settings: Mapping[str, Any]) -> Messages:
        parts = divide(messages, settings["leave_last_n"])
        attempt = self._make_attempt(ModelSummary.name)
        trigger = attempt.tokens(messages)
        if self.compress_config:
            trigger = settings["trigger_count"]
        room_below = attempt.due_at(min(trigger, attempt.limit), messages)
        if settings["verbose"]:
            _print_lines("To be shortened:", written(parts[1]))
        made = assemble(parts, [ModelSummary()], attempt, room_below, client, self)
        if settings["verbose"]:
            new = filter(is_summary, made[len(parts[0]) :])
            _print_lines("Shortened to:", (each["content"] for each in new))
        return made

    async def _shorten(self, mode: Mode, messages: Messages) -> Messages:
        """What the agent's own or the custom function makes of the messages; raises AgentkitError
        when it says that it failed.
        """
        assert self.compress_config is not False
        given, last = copy.deepcopy(messages), list[Any]()
        function = self.compress_config["compress_function"]
        if self.compress_config["mode"] != "CUSTOMIZED":
            function = self.compress_messages
            if not self.compress_config["leave_last_n"]:
                # The message that is to be answered is never shortened.
                head, middle, last = divide(given, 1)
                given = head + middle

        if self.compress_config["async"] and not inspect.iscoroutinefunction(function):
            result = await mode.block(function, given)
            result = await mode.invoke(lambda: result)  # a callable may give something to wait for
        else:
            result = await mode.invoke(function, given)
        return settings_of.read_result(function, result) + last

    def _end_when_full(self, messages: Messages, sender: Agent | None, config: Any) -> Verdict:
        """Whether the window of the model is full; then there is no reply, and the chat ends."""
        attempt = self._make_attempt("", config=config)
        if (used := attempt.tokens(messages)) < attempt.limit:
            return False, None
        end = EndReason("window", self.name, attempt.limit, used=used, model=attempt.meter.model)
        announcing.note(self.name, stop_reason(end), is_quiet())
        if sender is not None:
            ended(self, sender, end)
        return True, None

    def _store(
        self, sender: Agent | None, stored: Messages, before: Messages, made: Messages
    ) -> None:
        if sender is None:
            return
        said = self.original_messages(sender) or before
        is_new = not stored and not self._get_stored(sender)
        if is_new:
            self._oai_messages[sender] = made
        if is_new or keep(self, sender, stored, before, made):
            self._originals.put(self, sender, (list(self._oai_messages[sender]), said))
            self._broadcast(sender, before)

    def _broadcast(self, sender: Agent, before: Messages) -> None:
        """Let others know the shorter history, if they are to."""
        assert self.compress_config is not False
        if self.compress_config["broadcast"]:
            broadcast(self, sender, before)

    def _make_attempt(self, strategy: str, limit: int = sys.maxsize, config: Any = None) -> Attempt:
        """What holds for this agent; `limit` counts where the window of the model is not known."""
        client, (model, window) = self.client, model_of(self)
        if config is not None:
            client, (model, window) = None, model_asked_by(None, config)
        if model not in self._meters:
            self._meters[model] = Meter(model, client)
        meter = self._meters[model]
        fixed = meter.count_fixed(self._oai_system_message, list_tools(self.llm_config))
        return Attempt(self.name, strategy, meter, fixed, window or limit)


def _print_lines(title: str, lines: Iterable[object]) -> None:
    IOStream.get_default().print(title, *lines, sep="\n", flush=True)
