"""GroupChat: who takes part in a shared conversation, what was said, and how the next speaker is
chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.agents.group import selection
from agentkit.agents.group.auto import ask_model
from agentkit.agents.group.members import Group
from agentkit.agents.group.settings import check_settings
from agentkit.agents.group.transitions import build_transitions
from agentkit.conversation import announcing
from agentkit.conversation.agent import Agent
from agentkit.core.given import coalesce, list_missing
from agentkit.core.twin import Mode, faces
from agentkit.errors import AgentNameConflict
from agentkit.messages import AnyMessage, Stored, copy_message


@dataclass
class GroupChat(Group):
    """The agents of a group, their common transcript, and the rules by which they take turns. Names
    and defaults: AutoGen 0.2.

    `messages` holds what was said, oldest first, as text with the speaker's name. A
    `speaker_selection_method` may be a sync or async callable over (last speaker, group chat) that
    gives an agent, the name of a method, or None to end the chat.
    Raises WrongArgument or WrongType for settings that cannot be.
    """

    def __post_init__(self) -> None:
        self.last_choice: selection.Choice | None = None
        for name, value in check_settings(self).items():
            setattr(self, name, value)
        self.allowed_speaker_transitions_dict = build_transitions(
            self.agents,
            self.allow_repeat_speaker or (),
            self.allowed_or_disallowed_speaker_transitions,
            self.speaker_transitions_type,
        )

    def reset(self) -> None:
        """Forget what was said."""
        self.messages.clear()

    def append(self, message: AnyMessage, speaker: Agent) -> None:
        """Add what the speaker said to the transcript, as text; the message given is not
        changed.
        """
        self.messages.append(
            {**sign(message, speaker), "content": announcing.display_text(message)}
        )

    def agent_by_name(
        self, name: str, recursive: bool = False, raise_on_name_conflict: bool = False
    ) -> Agent | None:
        """The agent of this name, None when there is none; `recursive` looks into groups within the
        group too.

        Raises AgentNameConflict, if wanted, when several have the name.
        """
        agents = self.agents
        if recursive:
            agents = self.nested_agents()
        found = [agent for agent in agents if agent.name == name]
        is_ambiguous = len(found) > 1
        if is_ambiguous and raise_on_name_conflict:
            raise AgentNameConflict(
                f"{len(found)} agents of the group are called {name!r}; give each a name of its"
                " own."
            )
        return next(iter(found), None)

    def nested_agents(self) -> list[Agent]:
        """The agents of the group, then those of the groups that its members manage, each once."""
        found = list(self.agents)
        for agent in found:  # grows on the way
            inner = getattr(agent, "groupchat", None)
            if isinstance(inner, GroupChat):
                found += list_missing(inner.agents, found)
        return found

    async def _select_speaker(
        self, mode: Mode, last_speaker: Agent, selector: Agent | None
    ) -> Agent:
        """Who speaks next; `selector` is the agent whose model chooses with `auto`, usually the
        manager.

        Raises NoEligibleSpeaker when nobody may, WrongArgument when the group or a callable's
        answer cannot be.
        """
        self.last_choice = await selection.choose(mode, self, last_speaker, selector)
        return self.last_choice.speaker

    select_speaker, a_select_speaker = faces(_select_speaker)

    async def _ask_for_speaker(
        self,
        mode: Mode,
        last_speaker: Agent,
        selector: Agent | None,
        messages: list[Stored] | None = None,
        agents: list[Agent] | None = None,
    ) -> Agent:
        """Whom a model names as the next speaker, after these messages (by default the group's) and
        among these agents (by default all); who comes next in the order of the group where it names
        none.
        """
        candidates = coalesce(agents, self.agents)
        chosen = await ask_model(mode, self, candidates, selector, messages)
        if chosen is None:
            return self.next_agent(last_speaker, candidates)
        return chosen

    _auto_select_speaker, a_auto_select_speaker = faces(_ask_for_speaker)


def sign(message: AnyMessage, speaker: Agent) -> Stored:
    """A copy of the message with the speaker's name; the result of a function keeps the
    function's.
    """
    signed = copy_message(message)
    if signed.get("role") != "function":
        signed["name"] = speaker.name
    return signed
