"""What a document says of one agent: who it is, which model speaks for it, and what it may do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentkit.options import InputMode

Share = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\s][^\n\r\t]*$")]
ToolName = Annotated[str, Field(min_length=1, max_length=130, pattern=r"^[^\s][^\n\r\t]*$")]
Policy = Literal["never", "first", "always"]
Mark = Literal["as_declared", "harmless", "dangerous"]


class Part(BaseModel):
    """A part of a document: every key is known, and nothing changes once it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ModelChoice(Part):
    """Which model speaks for an agent, and how it is asked."""

    model: str = ""
    """The id of a connected model; empty for the one that the chat asks."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 for the same answer each time, higher for more variety; empty for the server's own."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens that one reply may have at most."""
    seed: int | None = None
    """The same seed gives the same reply, where the server keeps to it."""
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    """How long a model that reasons may think."""
    response_format: Literal["text", "json_object"] | None = None
    """The form of the reply, where the server knows forms."""
    tool_choice: Literal["auto", "required", "none"] | None = None
    """Whether it may, must not or must call tools."""

    def to_parameters(self) -> dict[str, Any]:
        """What is sent beside the messages."""
        chosen = self.model_dump(exclude={"model"}, exclude_none=True)
        if self.response_format:
            chosen["response_format"] = {"type": self.response_format}
        return chosen


class Ending(Part):
    """Which message that comes in ends the chat, or lets the person be asked."""

    text: str = "TERMINATE"
    """What stands in such a message; empty for no message at all."""
    where: Literal["is", "ends", "holds"] = "ends"
    """Whether it is the whole message, its end, or anywhere in it."""


class Code(Part):
    """How code that stands in messages is run: in isolation, once the person has approved it."""

    last_n_messages: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    """In so many newest messages code is looked for; "auto": since the agent itself last spoke."""
    timeout: Annotated[float, Field(gt=0, le=600)] = 60
    """Seconds for a block."""


class ToolUse(Part):
    """A tool that an agent may call."""

    name: ToolName
    """Its name: of a built-in tool, of a function of the team or of AGENTKIT_TOOLS, or
    `server/tool` of an MCP server.
    """
    approval: Policy = "always"
    """When the person is asked before a dangerous tool runs: never, before its first call in a
    chat, or always.
    """
    marked: Mark = "as_declared"
    """Harmless tools run unasked; `as_declared` is what the tool says of itself, dangerous where
    it says nothing.
    """


class WrittenFunction(Part):
    """A Python function that stands in the team: it runs in the kernel of the chat."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
    """What it is called; agents are given it by this name."""
    code: Annotated[str, Field(max_length=20_000)]
    """Its code, with what it imports; the docstring and the types tell the model how to call it."""
    marked: Literal["harmless", "dangerous"] = "dangerous"
    """Whether it runs unasked where an agent's tool says nothing else."""


class Documents(Part):
    """What an agent can look up."""

    collection: str = ""
    """The name of a collection; empty for the one that the chat is about."""
    exact: bool = True
    """Whether it can also look for exact words."""


class CompressConfig(Part):
    """What happens when the history of an agent fills its model's window."""

    mode: Literal["TERMINATE", "COMPRESS", "CUSTOMIZED"] = "TERMINATE"
    """End the chat, let the model write a summary, or shorten by the strategy below."""
    strategy: Literal["SlidingWindow", "ModelSummary", "Extraction", "ToolOutput"] = "SlidingWindow"
    """With CUSTOMIZED: the newest messages, a summary, sentences as they are, old results."""
    trigger_count: Share = 0.7
    """From how much on: a share of the window up to 1, or tokens."""
    leave_last_n: Count = 0
    """So many newest messages stay as they are."""
    broadcast: bool = True
    """Whether the others get the shorter history, too."""
    in_background: Annotated[bool, Field(alias="async")] = False
    """In async chats the event loop goes on meanwhile."""
    verbose: bool = False
    """Print what is shortened, in Python."""

    @property
    def trigger(self) -> float | int:
        """A share of the window, or whole tokens."""
        if self.trigger_count > 1:
            return int(self.trigger_count)
        return self.trigger_count

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True
    )


class RetrieveConfig(Part):
    """How a RetrieveChat agent finds passages and asks with them: AutoGen's `retrieve_config`."""

    task: Literal["default", "code", "qa"] = "default"
    """Which prompt asks: for code, for questions, or one that lets the model decide."""
    vector_db: Literal["collection", "duckdb", "chroma", "pgvector"] = "collection"
    """Where passages come from: the chat's collection, or a store of its own, filled from
    `docs_path`.
    """
    db_config: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the store."""
    docs_path: list[str] = Field(default_factory=list)
    """Files, folders and addresses that fill a store of its own. The app asks before it opens one,
    and opens none where it serves other machines.
    """
    extra_docs: bool = False
    """Number documents behind those that are there."""
    new_docs: bool = True
    """Put in only chunks that are not there yet."""
    model: str = ""
    """Name of the model that says how tokens are counted; empty for the one that answers."""
    chunk_token_size: Annotated[int, Field(ge=1)] | None = None
    """Tokens of a chunk in a store of its own."""
    context_max_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens of the passages in one prompt; empty for 0.8 of the model's window."""
    chunk_mode: Literal["multi_lines", "one_line"] = "multi_lines"
    """How a store of its own is cut."""
    must_break_at_empty_line: bool = True
    """With multi_lines: end chunks at empty lines."""
    embedding_model: str = "all-MiniLM-L6-v2"
    """The model of a store of its own."""
    customized_prompt: str = ""
    """A prompt of your own, with {input_question} and {input_context}."""
    customized_answer_prefix: str = ""
    """An answer without this beginning counts as UPDATE CONTEXT."""
    update_context: bool = True
    """Look up other passages when the assistant asks for them."""
    collection_name: str = "autogen-docs"
    """Name of the collection in a store of its own."""
    get_or_create: bool | None = None
    """Whether such a collection may be there already."""
    overwrite: bool = False
    """Make it anew."""
    custom_text_types: list[str] = Field(default_factory=list)
    """Endings of the files that are taken from folders; empty for the usual ones."""
    recursive: bool = True
    """Read folders with the folders in them."""
    distance_threshold: float = -1
    """Leave out passages at this distance or farther; below 0 for none."""
    n_results: Annotated[int, Field(ge=1, le=200)] = 20
    """Passages that are looked up at once."""

    @property
    def has_own_store(self) -> bool:
        """Whether passages come from elsewhere than the chat's collection."""
        return self.vector_db != "collection"


class Dialog(Part):
    """What is set of an agent that answers in fields."""

    use_memory: bool = True
    """Whether it remembers what it heard and said."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 3
    """So often it is asked again after a reply that cannot be read."""


class AgentDocument(Part):
    """One agent of a team."""

    name: Name
    """What it is called; the model is told it, too."""
    role: Literal["assistant", "person", "runner"] = "assistant"
    """An assistant thinks; a person asks and is asked; a runner does what others call for."""
    system_message: str = ""
    """What its model is told before every conversation; {code} stands for what there is to know of
    code, where the team runs some.
    """
    description: str = ""
    """What others are told of it, such as who chooses the next speaker."""
    llm: ModelChoice | None = ModelChoice()
    """The model that speaks for it; none for an agent that only runs code and tools."""
    documents: Documents | None = None
    """What it can look up; nothing when empty."""
    tools: list[ToolUse] = Field(default_factory=list)
    """What it may call."""
    own_tools: bool = False
    """Whether it may call all functions of AGENTKIT_TOOLS, too, asked about as they declare."""
    code: Code | None = None
    """Whether it runs code that others send."""
    human_input_mode: InputMode = "NEVER"
    """Whether a person is asked before each of its replies, before the end, or never; then persons
    and runners ask as the chat is set.
    """
    is_termination_msg: Ending = Ending()
    """Which message that it gets ends the chat."""
    max_consecutive_auto_reply: Annotated[int, Field(ge=0, le=1_000)] | None = None
    """So many replies in a row go without a person."""
    default_auto_reply: str = ""
    """What it says when nothing else gives a reply."""
    compress_config: CompressConfig | None = None
    """How its history is kept short; empty for the app's own way."""
    dialog: Dialog = Dialog()
    """For structured dialogue."""
    context_variables: dict[str, Any] = Field(default_factory=dict)
    """Values that its tools share."""
    silent: bool = False
    """Whether its messages are left out of the console, in Python."""

    @property
    def may_call(self) -> bool:
        """Whether there is anything that it may call."""
        return bool(self.tools or self.documents or self.own_tools)

    @property
    def thinks(self) -> bool:
        """Whether it answers by itself in a talk, where those who run code do nothing else."""
        return self.llm is not None and self.code is None

    @property
    def choice(self) -> ModelChoice:
        """How the model is asked that speaks for it; the chat's where none is chosen."""
        return self.llm or ModelChoice()
