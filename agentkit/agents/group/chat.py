"""GroupChat: who takes part in a shared conversation, what was said, and how the next speaker is chosen."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agentkit.agents.group import selection, templates
from agentkit.agents.group.settings import checked
from agentkit.agents.group.transitions import Transitions, allowed_transitions
from agentkit.conversation import telling
from agentkit.conversation.agent import Agent
from agentkit.core.twin import Mode, faces
from agentkit.errors import AgentNameConflict, UndefinedNextAgent
from agentkit.messages import AnyMessage, Stored, copied

SelectionMethod = Literal["auto", "manual", "random", "round_robin"] | Callable[..., Any]


@dataclass
class GroupChat:
    """The agents of a group, their common transcript, and the rules by which they take turns. Names and defaults: AutoGen 0.2.

    `messages` holds what was said, oldest first, as text with the speaker's name. A `speaker_selection_method` may be a sync or
    async callable over (last speaker, group chat) that gives an agent, the name of a method, or None to end the chat.
    Raises WrongArgument or WrongType for settings that cannot be.
    """

    DEFAULT_INTRO_MSG: ClassVar[str] = templates.INTRODUCTION

    agents: list[Agent]
    messages: list[Stored]
    max_round: int = 10
    admin_name: str = "Admin"
    func_call_filter: bool = True
    speaker_selection_method: SelectionMethod = "auto"
    max_retries_for_selecting_speaker: int = 2
    allow_repeat_speaker: bool | list[Agent] | None = None
    allowed_or_disallowed_speaker_transitions: dict[Agent, list[Agent]] | None = None
    speaker_transitions_type: Literal["allowed", "disallowed"] | None = None
    enable_clear_history: bool = False
    send_introductions: bool = False
    select_speaker_message_template: str = templates.MESSAGE
    select_speaker_prompt_template: str | None = templates.PROMPT
    select_speaker_auto_multiple_template: str = templates.SEVERAL_NAMES
    select_speaker_auto_none_template: str = templates.NO_NAME
    select_speaker_transform_messages: Any | None = None
    select_speaker_auto_verbose: bool | None = False
    select_speaker_auto_model_client_cls: Any | None = None
    select_speaker_auto_llm_config: dict[str, Any] | Literal[False] | None = None
    role_for_select_speaker_messages: str | None = "system"
    allowed_speaker_transitions_dict: Transitions = field(init=False)

    def __post_init__(self) -> None:
        self.last_choice: selection.Choice | None = None
        for name, value in checked(self).items():
            setattr(self, name, value)
        self.allowed_speaker_transitions_dict = allowed_transitions(
            self.agents,
            True if self.allow_repeat_speaker is None else self.allow_repeat_speaker,
            self.allowed_or_disallowed_speaker_transitions,
            self.speaker_transitions_type,
        )

    @property
    def agent_names(self) -> list[str]:
        """The names of the agents, in their order."""
        return [agent.name for agent in self.agents]

    def reset(self) -> None:
        """Forget what was said."""
        self.messages.clear()

    def append(self, message: AnyMessage, speaker: Agent) -> None:
        """Add what the speaker said to the transcript, as text; the message given is not changed."""
        self.messages.append({**signed(message, speaker), "content": telling.shown(message)})

    def agent_by_name(self, name: str, recursive: bool = False, raise_on_name_conflict: bool = False) -> Agent | None:
        """The agent of this name, None when there is none; `recursive` looks into groups within the group too.

        Raises AgentNameConflict, if wanted, when several have the name.
        """
        found = [agent for agent in (self.nested_agents() if recursive else self.agents) if agent.name == name]
        if raise_on_name_conflict and len(found) > 1:
            raise AgentNameConflict(f"{len(found)} agents of the group are called {name!r}; give each a name of its own.")
        return found[0] if found else None

    def nested_agents(self) -> list[Agent]:
        """The agents of the group, then those of the groups that its members manage, each once."""
        found = list(self.agents)
        for agent in found:  # grows on the way
            inner = getattr(agent, "groupchat", None)
            if isinstance(inner, GroupChat):
                found += [member for member in inner.agents if member not in found]
        return found

    def next_agent(self, agent: Agent, agents: list[Agent] | None = None) -> Agent:
        """The first after `agent`, in the order of the group, who is among `agents` (by default all).

        Raises UndefinedNextAgent when nobody is.
        """
        after = self.agents.index(agent) + 1 if agent in self.agents else 0
        wanted = self.agents if agents is None else agents
        for candidate in self.agents[after:] + self.agents[:after]:
            if candidate in wanted:
                return candidate
        raise UndefinedNextAgent(f"None of {[each.name for each in wanted]} is in the group {self.agent_names}.")

    def select_speaker_msg(self, agents: list[Agent] | None = None) -> str:
        """The system message of the model that chooses among these agents (by default all)."""
        return templates.filled(self.select_speaker_message_template, self.agents if agents is None else agents)

    def select_speaker_prompt(self, agents: list[Agent] | None = None) -> str | None:
        """What that model is asked behind the transcript; None without a template."""
        if self.select_speaker_prompt_template is None:
            return None
        return templates.filled(self.select_speaker_prompt_template, self.agents if agents is None else agents)

    def introductions_msg(self, agents: list[Agent] | None = None) -> str:
        """What everybody is told first when `send_introductions` is set."""
        return f"{self.DEFAULT_INTRO_MSG}\n\n{templates.roles_of(self.agents if agents is None else agents)}"

    def manual_select_speaker(self, agents: list[Agent] | None = None) -> Agent | None:
        """Let a person choose by number; None when nobody is chosen, or after three wrong answers."""
        return selection.asked_person(self.agents if agents is None else agents)

    def random_select_speaker(self, agents: list[Agent] | None = None) -> Agent | None:
        """One of the agents (by default of all) by chance; raises UndefinedNextAgent for an empty list."""
        candidates = self.agents if agents is None else agents
        if not candidates:
            raise UndefinedNextAgent("There is no agent to choose from.")
        return random.choice(candidates)

    async def _select_speaker(self, mode: Mode, last_speaker: Agent, selector: Any) -> Agent:
        """Who speaks next; `selector` is the agent whose model chooses with `auto`, usually the manager.

        Raises NoEligibleSpeaker when nobody may, WrongArgument when the group or a callable's answer cannot be.
        """
        self.last_choice = await selection.choose(mode, self, last_speaker, selector)
        return self.last_choice.speaker

    select_speaker, a_select_speaker = faces(_select_speaker)


def signed(message: AnyMessage, speaker: Agent) -> Stored:
    """A copy of the message with the speaker's name; the result of a function keeps the function's."""
    return copied(message if message.get("role") == "function" else {**message, "name": speaker.name})
