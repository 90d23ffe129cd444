"""How the agents of a team work together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agentkit.teams.built.agents import Count, Ending, ModelChoice, Name, Part, RetrieveConfig

Rounds = Annotated[int, Field(ge=1, le=200)]
Summary = Literal["last_msg", "reflection_with_llm"]


class Single(Part):
    """One agent answers, and looks things up where it can."""

    kind: Literal["single"] = "single"
    agent: Name
    """Who answers."""
    max_turns: Rounds = 12
    """So often it may call tools before it has to answer."""


class TwoAgents(Part):
    """Two agents talk until one of them ends it."""

    kind: Literal["two_agents"] = "two_agents"
    starts: Name
    """Who puts the question."""
    answers: Name
    """Who is asked; what it says last is the answer."""
    max_turns: Rounds = 20
    """Turns of the two at most."""
    nested: list[Queued] = Field(default_factory=list)
    """Conversations that the one who is asked has with others before each reply."""


class Transition(Part):
    """Who may speak after somebody."""

    after: Name
    """Who has spoken."""
    speakers: list[Name]
    """Who may (or may not) speak next."""

    @property
    def names(self) -> list[str]:
        """All agents that it names."""
        return [self.after, *self.speakers]


class Group(Part):
    """Several agents in one conversation."""

    kind: Literal["group"] = "group"
    agents: list[Name] = Field(min_length=1)
    """Who takes part, in their order."""
    writer: Name
    """Whose last word is the answer."""
    speaker_selection_method: Literal["auto", "round_robin", "random", "manual"] = "auto"
    """Who chooses the next speaker: the model, the order, chance, or the person."""
    max_round: Rounds = 16
    """So many messages there may be."""
    allow_repeat_speaker: bool | list[Name] | None = None
    """Whether who spoke may go on, or which agents may."""
    reads_results: bool = False
    """Whether who has called a tool speaks next, to say what it gave."""
    transitions: list[Transition] = Field(default_factory=list)
    """Who may speak after whom; all may when it is empty."""
    speaker_transitions_type: Literal["allowed", "disallowed"] = "allowed"
    """What the transitions say."""
    ends_on: Ending = Ending()
    """Which message of the writer ends it."""
    admin_name: str = "Admin"
    """The agent that speaks after an interruption at the keyboard, in Python."""
    func_call_filter: bool = True
    """After a call only an agent that has the tool may speak."""
    max_retries_for_selecting_speaker: Annotated[int, Field(ge=0, le=10)] = 2
    """So often the model is asked again when it names nobody, or several."""
    enable_clear_history: bool = False
    """Whether CLEAR HISTORY of an agent empties the histories."""
    send_introductions: bool = False
    """Tell everybody at the beginning who takes part."""
    select_speaker_message_template: str = ""
    """What the selecting model is told first, with {roles} and {agentlist}; empty for ours."""
    select_speaker_prompt_template: str = ""
    """What it is asked after the transcript; empty for ours."""
    select_speaker_auto_multiple_template: str = ""
    """What it is told when it names several; empty for ours."""
    select_speaker_auto_none_template: str = ""
    """What it is told when it names nobody; empty for ours."""
    select_speaker_auto_verbose: bool = False
    """Print how each speaker was found, in Python."""
    select_speaker_auto_llm_config: ModelChoice | None = None
    """The model that selects; empty for the chat's."""
    role_for_select_speaker_messages: Literal["system", "user"] = "system"
    """The role under which the templates are sent."""

    @property
    def repeaters(self) -> list[str]:
        """Who may go on after itself, where single agents are named for it."""
        if isinstance(self.allow_repeat_speaker, list):
            return self.allow_repeat_speaker
        return []

    @property
    def followers(self) -> dict[str, list[str]]:
        """Who may (or may not) speak after whom; several transitions of one agent together."""
        found: dict[str, list[str]] = {}
        for one in self.transitions:
            found.setdefault(one.after, []).extend(one.speakers)
        return found


TEMPLATES = (
    "select_speaker_message_template",
    "select_speaker_prompt_template",
    "select_speaker_auto_multiple_template",
    "select_speaker_auto_none_template",
)
"""The fields of a group with what its manager says to the model that chooses who speaks."""


class Queued(Part):
    """One conversation of a queue."""

    sender: Name
    """Who begins it."""
    recipient: Name
    """Who is spoken to."""
    message: str = "{question}"
    """What it begins with; {question} stands for what was asked."""
    carryover: bool = True
    """Whether the summaries of the conversations before are told."""
    max_turns: Rounds = 4
    """Turns of the two at most."""
    summary_method: Summary = "last_msg"
    """What is handed on: the last message, or a summary that the model writes."""
    summary_prompt: str = ""
    """With reflection: what the model is asked; empty for ours."""


class Queue(Part):
    """Conversations one after the other; each knows what came of those before."""

    kind: Literal["queue"] = "queue"
    chats: list[Queued] = Field(min_length=1)
    """The conversations, in their order; what came of the last is the answer."""


class RetrieveChat(Part):
    """One agent looks passages up and asks with them; an assistant answers or asks for others."""

    kind: Literal["retrieve_chat"] = "retrieve_chat"
    proxy: Name = "Documents"
    """Who looks up: RetrieveUserProxyAgent."""
    assistant: Name
    """Who answers."""
    retrieve_config: RetrieveConfig = RetrieveConfig()
    """How passages are found and asked with."""
    max_turns: Rounds = 20
    """Turns of the two at most."""


class Plan(Part):
    """A plan of look-ups and computations first, then all of them, then one answer: ReWOO."""

    kind: Literal["plan"] = "plan"
    planner: Name = "Planner"
    """Who plans; its documents and tools are what the steps may use."""
    solver: Name = "Solver"
    """Who answers from what the steps gave."""
    prompts: Literal["ours", "english", "chinese", "own"] = "ours"
    """Which prompts: those of this app, Lagent's in one of its languages, or your own below."""
    planner_prompt: str = ""
    """With own prompts: how to plan, with {tool_description}."""
    worker_prompt: str = ""
    """With own prompts: how one step is told, with {thought} and {action_resp}."""
    solver_prompt: str = ""
    """With own prompts: how to answer, with {question} and {worker_log}."""
    reformat_prompt: str = ""
    """With own prompts: what is said of a plan that cannot be carried out, with {err_msg}."""
    replan_prompt: str = ""
    """With own prompts: what is said when steps failed, with {worker_log}."""
    max_turn: Annotated[int, Field(ge=1, le=10)] = 2
    """So often a plan that can run is asked for."""
    at_once: Annotated[int, Field(ge=1, le=50)] = 10
    """So many steps run at the same time."""
    timeout_s: Annotated[float, Field(gt=0, le=3_600)] = 120
    """Seconds for each step."""
    retries: Annotated[int, Field(ge=0, le=5)] = 0
    """So often a failed step is tried again."""
    replans: Annotated[int, Field(ge=0, le=5)] = 1
    """So often may be planned anew when steps have failed."""
    most_steps: Annotated[int, Field(ge=1)] | None = None
    """Steps of a plan at most; empty for as many as can be read."""
    most_lookups: Annotated[int, Field(ge=1)] | None = None
    """Steps of a plan that look something up at most; empty for any number."""
    reads_results: bool = True
    """Whether a step may let the model read a value out of what others gave."""


class CitedAnswer(Part):
    """One agent looks the question up once, and answers from the passages."""

    kind: Literal["answer"] = "answer"
    agent: Name = "Assistant"
    """Who answers; its instructions stand before the passages, ours when they are empty."""
    nothing_prompt: str = ""
    """What it is told where no passage was found; empty for ours."""
    rewrite_prompt: str = ""
    """How a follow-up becomes a question that can be looked up by itself; empty for ours."""


class Research(Part):
    """One agent looks each part of the question up, another writes the answer."""

    kind: Literal["research"] = "research"
    researcher: Name = "Researcher"
    """Who splits the question and looks up; its instructions say how to split, else ours do."""
    writer: Name = "Writer"
    """Who answers; its instructions stand before the passages, ours when they are empty."""
    parts: Annotated[int, Field(ge=1, le=20)] = 4
    """Parts of a question at most."""
    per_part: Annotated[int, Field(ge=1, le=200)] = 4
    """Passages for each of several parts."""
    passages: Annotated[int, Field(ge=1, le=200)] = 12
    """Passages in all."""
    nothing_prompt: str = ""
    """What the writer is told where no passage was found; empty for ours."""
    rewrite_prompt: str = ""
    """How a follow-up becomes a question that can be looked up by itself; empty for ours."""


class FieldTable(Part):
    """The same fields are read out of each document, with a citation for every value."""

    kind: Literal["table"] = "table"
    planner: Literal["Planner"] = "Planner"
    """Who reads out of the question which fields are wanted; it is called so."""
    reader: Literal["Extractor"] = "Extractor"
    """Who reads the documents; it is called so."""
    fields: str = ""
    """The fields, as `invoice number, date (date)`; empty for those that the question names."""


class Werewolf(Part):
    """Six players, two of them werewolves, by the rules of the game."""

    kind: Literal["werewolf"] = "werewolf"
    players: Annotated[list[Name], Field(min_length=6, max_length=6)]
    """Who plays; what stands in an agent's instructions is told to it beside the rules."""
    seat: bool = False
    """Whether the person is one of them, by chance."""
    max_days: Annotated[int, Field(ge=1, le=50)] = 6
    """After so many days it is a draw."""
    rules_prompt: str = ""
    """What players are told, with {name}, {others} and {role}; empty for ours."""


class ReplyField(Part):
    """One field of a structured reply."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
    """Its key."""
    hint: str = ""
    """What the model is told to write there."""
    type: Literal["text", "number", "integer", "yes or no", "list"] = "text"
    """What it has to be."""
    required: bool = True
    """Whether a reply without it is asked for again."""
    heard: bool = False
    """Whether the others hear it (content)."""
    remembered: bool = True
    """Whether the agent itself remembers it (memory)."""
    told: bool = False
    """Whether the program is given it (metadata)."""

    @property
    def about(self) -> str:
        """What the model is told of it, its type at least."""
        return self.hint or self.type


class Stage(Part):
    """One stage of a structured dialogue: a talk in turns, or a vote."""

    name: Name
    """What the page calls it."""
    kind: Literal["talk", "vote"] = "talk"
    """Each speaks in turn, round by round; or each answers once and the answers are counted."""
    speakers: list[Name] = Field(default_factory=list)
    """Who takes part; all when it is empty."""
    opening: str = ""
    """What everybody is told when it begins."""
    fields: list[ReplyField] = Field(min_length=1)
    """What a reply consists of."""
    rounds: Annotated[int, Field(ge=1, le=50)] = 3
    """Of a talk: rounds at most."""
    ends_when: str = ""
    """Of a talk: the field that ends it once everybody says yes there."""
    counted: str = ""
    """Of a vote: the field whose values are counted."""

    @property
    def names(self) -> list[str]:
        """All agents that it names."""
        return self.speakers


class Dialogue(Part):
    """Agents that answer in fields, stage by stage; what the last vote gives is the answer."""

    kind: Literal["dialogue"] = "dialogue"
    agents: list[Name] = Field(min_length=1)
    """Who takes part, in their order."""
    stages: list[Stage] = Field(min_length=1)
    """What happens, one after the other."""
    hub: bool = True
    """Whether everybody hears what each says."""
    parser: Literal["json", "tags"] = "json"
    """How replies are written: as a JSON object, or between tags."""
    turns_limit: Count = 200
    """Replies in all at most."""


TwoAgents.model_rebuild()
Flow = Annotated[
    Single
    | TwoAgents
    | Group
    | Queue
    | RetrieveChat
    | Plan
    | Dialogue
    | CitedAnswer
    | Research
    | FieldTable
    | Werewolf,
    Field(discriminator="kind"),
]
TALKING = (Single, TwoAgents, Group, Queue, RetrieveChat)
"""Those in which agents talk freely, and may run code."""
