"""The settings and members of a group chat, and what follows from them alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ClassVar, Literal

from agentkit.agents.group import templates
from agentkit.agents.group.transitions import Transitions
from agentkit.conversation.agent import Agent
from agentkit.conversation.human import ask
from agentkit.conversation.transforms.base import TransformMessages
from agentkit.core import replay
from agentkit.core.given import coalesce, find_first
from agentkit.core.lenient import read_whole
from agentkit.errors import UndefinedNextAgent
from agentkit.messages import Stored

SelectionMethod = Literal["auto", "manual", "random", "round_robin"] | Callable[..., object]


@dataclass
class Group:
    """The fields of a GroupChat, as those who choose its next speaker see it."""

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
    select_speaker_transform_messages: TransformMessages | None = None
    select_speaker_auto_verbose: bool | None = False
    select_speaker_auto_model_client_cls: type | list[type] | None = None
    select_speaker_auto_llm_config: dict[str, Any] | Literal[False] | None = None
    role_for_select_speaker_messages: str | None = "system"
    allowed_speaker_transitions_dict: Transitions = field(init=False)

    @property
    def agent_names(self) -> list[str]:
        """The names of the agents, in their order."""
        return list(map(attrgetter("name"), self.agents))

    def next_agent(self, agent: Agent, agents: list[Agent] | None = None) -> Agent:
        """The first after `agent`, in the order of the group, who is among `agents` (by default
        all).

        Raises UndefinedNextAgent when nobody is.
        """
        in_turn = list(self.agents)
        if agent in in_turn:
            after = in_turn.index(agent) + 1
            in_turn = in_turn[after:] + in_turn[:after]
        wanted = coalesce(agents, self.agents)
        following = find_first(in_turn, lambda each: each in wanted)
        if following is None:
            names = list(map(attrgetter("name"), wanted))
            raise UndefinedNextAgent(f"None of {names} is in the group {self.agent_names}.")
        return following

    def select_speaker_msg(self, agents: list[Agent] | None = None) -> str:
        """The system message of the model that chooses among these agents (by default all)."""
        return templates.fill(self.select_speaker_message_template, coalesce(agents, self.agents))

    def select_speaker_prompt(self, agents: list[Agent] | None = None) -> str | None:
        """What that model is asked behind the transcript; None without a template."""
        if self.select_speaker_prompt_template is None:
            return None
        return templates.fill(self.select_speaker_prompt_template, coalesce(agents, self.agents))

    def introductions_msg(self, agents: list[Agent] | None = None) -> str:
        """What everybody is told first when `send_introductions` is set."""
        return f"{self.DEFAULT_INTRO_MSG}\n\n{templates.list_roles(coalesce(agents, self.agents))}"

    def manual_select_speaker(self, agents: list[Agent] | None = None) -> Agent | None:
        """Let a person choose by number; None when nobody is chosen, or after three wrong
        answers.
        """
        return ask_person(coalesce(agents, self.agents))

    def random_select_speaker(self, agents: list[Agent] | None = None) -> Agent | None:
        """One of the agents (by default of all) by chance; raises UndefinedNextAgent for an empty
        list.
        """
        candidates = coalesce(agents, self.agents)
        if not candidates:
            raise UndefinedNextAgent("There is no agent to choose from.")
        return replay.chance().choice(candidates)


_TRIES = 3


def ask_person(agents: list[Agent]) -> Agent | None:
    """The agent whose number a person gives; None for an empty answer or `q`, and after three wrong
    ones.
    """
    by_number = dict(enumerate(agents, 1))
    listed = [f"{number}: {agent.name}" for number, agent in by_number.items()]
    question = "\n".join(["Who speaks next?", *listed])
    question += (
        f"\nNumber of the next speaker (1 to {len(agents)}; nothing or q: the next in line): "
    )
    wrong = ""
    for _ in range(_TRIES):
        answer = ask("the group chat", wrong + question).strip()
        if answer in ("", "q"):
            return None
        chosen = by_number.get(read_whole(answer) or 0)
        if chosen is not None:
            return chosen
        wrong = f"{answer!r} is not a number from 1 to {len(agents)}. "
    return None
