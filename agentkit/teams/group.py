"""The group of three: a researcher, a critic and a writer talk a question over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from agentkit import runs
from agentkit.agents import AssistantAgent, GroupChat, GroupChatManager
from agentkit.conversation import Agent, ChatResult, ConversableAgent, announcing
from agentkit.core.given import coalesce, find_first, list_new_objects
from agentkit.errors import NoEligibleSpeaker
from agentkit.messages import Stored, text_of
from agentkit.options import InputMode, read_choice
from agentkit.reasons import EndReason
from agentkit.teams import findings
from agentkit.teams.conversing import (
    USER,
    as_told,
    converse,
    make_opening,
    recall_talk,
    remember,
)
from agentkit.teams.ending import is_ending
from agentkit.teams.findings import Findings
from agentkit.teams.memory.long_memory import keep_short
from agentkit.teams.roster import CRITIC, RESEARCHER, ROUNDS, WRITER
from agentkit.teams.task import Answer, Task

GROUP = "Group"
ABOUT_USER = "The person who asked. Speaks when only they can say what is meant, wanted or enough."
PASSES = "Go on."
"""What the others hear of a person who has the floor and says nothing."""

TOGETHER = """A researcher, a critic and a writer answer a question about the user's documents \
together; you are the {role}.
Speak for yourself only. Keep passage numbers such as [1] as they are. Answer in the language of \
the question.
"""
ROLES = {
    RESEARCHER: (
        (
            "Looks facts up in the documents. Speaks first, and whenever something has to be"
            " looked up."
        ),
        f"""Look up what the question needs with {findings.SEARCH}, once for each thing that is \
asked, then report in a few
sentences what the passages say, and what they do not say. Never guess, and leave the answer \
itself to the writer.
{findings.CITE}""",
    ),
    CRITIC: (
        "Checks what was found and written: what is missing, unsupported or contradictory.",
        """Check what was found and written so far against the question and the passages. Name at \
most three points that are
missing, unsupported or wrong, each in one sentence; if there are none, say so in one sentence.""",
    ),
    WRITER: (
        "Writes the answer for the user, once enough was found and checked.",
        f"""Write the answer for the user from what the researcher reported, with the critic's \
points heeded, so that it can be
read on its own; do not speak about the group. If something is not in the documents, say so.
{findings.CITE}
Put TERMINATE on the last line when nothing has to be looked up any more.""",
    ),
}


def work(task: Task, method: str) -> Answer:
    """Let the three talk until the writer is done."""
    with task.session.crew(GROUP, task.made_of, partial(_gather, task)) as (members, found):
        found.begin(task)
        return converse(task, partial(_discuss, task, members, method), WRITER, found)


def _gather(task: Task) -> tuple[list[ConversableAgent], Findings]:
    """The three, who know nothing yet, and what the researcher finds."""
    found = Findings(task)
    members: list[ConversableAgent] = [_member(task, name) for name in ROLES]
    researcher = members[0]
    found.offer(researcher, researcher)
    for member in members:
        keep_short(member, task.model)
    return members, found


def _member(task: Task, name: str) -> AssistantAgent:
    description, instructions = ROLES[name]
    return AssistantAgent(
        name,
        TOGETHER.format(role=name.lower()) + instructions,
        task.llm_config,
        is_termination_msg=lambda message: False,  # the group decides when it is over
        description=description,
    )


def _discuss(task: Task, members: list[ConversableAgent], method: str) -> ChatResult:
    talk = recall_talk(task)
    user = _make_user(task.human_input)
    rounds, is_over = (ROUNDS, _is_final)
    if task.human_input != "NEVER":
        rounds, is_over = (2 * ROUNDS, _is_open)
    group = WatchedGroup(
        [*members, user],
        as_told(talk, GROUP, WRITER),
        max_round=rounds,
        speaker_selection_method=partial(_next, method, user),
        allowed_or_disallowed_speaker_transitions=_list_followers(members, user),
        speaker_transitions_type="allowed",
    )
    manager = GroupChatManager(group, GROUP, llm_config=task.llm_config, is_termination_msg=is_over)
    for member in members:
        remember(member, manager, talk, WRITER)
    group.hear = partial(tell_all, group, manager, user)
    result: ChatResult = user.initiate_chat(
        manager, message=make_opening(task), clear_history=False, summary_method=None
    )
    return result


class WatchedGroup(GroupChat):
    """Asks the person who watches the run by the names of the agents, and hears what they say
    meanwhile.
    """

    hear: Callable[[str], None]
    """Tells the members what the person says."""

    def hear_said(self) -> None:
        """Let the members hear what the person has said since the last of them spoke."""
        for text in runs.take_said(len(self.messages)):
            self.hear(text)

    def manual_select_speaker(self, agents: list[Agent] | None = None) -> Agent | None:
        """The agent that the person names; raises NoEligibleSpeaker when they want to hear nobody
        any more.
        """
        candidates = coalesce(agents, self.agents)
        names = [agent.name for agent in candidates]
        options = [*names, "finish"]
        answer = runs.ask_human(GROUP, "Who speaks next?", options=options)
        choice, _ = read_choice(answer)
        if choice == "finish":
            nobody = NoEligibleSpeaker("The person who watches ended the discussion.")
            nobody.end = EndReason("finished")
            raise nobody
        return find_first(candidates, lambda agent: agent.name == choice)


def _make_user(mode: InputMode) -> ConversableAgent:
    """The person, who is asked when they are given the floor, and before it is over."""
    return ConversableAgent(
        USER,
        is_termination_msg=_is_final,
        human_input_mode=mode,
        llm_config=False,
        default_auto_reply=PASSES,
        description=ABOUT_USER,
    )


def _list_followers(members: Sequence[Agent], user: ConversableAgent) -> dict[Agent, list[Agent]]:
    """Who may speak after whom: nobody twice in a row, and the person only if they are always
    asked; that they are given the last word is another matter.
    """
    everybody = [*members, user]
    others = members
    if user.human_input_mode == "ALWAYS":
        others = everybody
    return {one: list_new_objects([one], others) for one in everybody}


def _next(method: str, user: Agent, last_speaker: Agent, group: GroupChat) -> Agent | str:
    """Whoever has looked something up goes on, and the person has the last word; else as the method
    says.
    """
    latest = group.messages[-1]
    if isinstance(group, WatchedGroup):
        group.hear_said()
    if latest.get("role") == "tool":
        return last_speaker
    if _is_final(group.messages[-1]):
        return user
    return method


def tell_all(group: GroupChat, manager: GroupChatManager, user: Agent, text: str) -> None:
    """Let all members hear what the person says, as if it had been said in the group."""
    said: Stored = {"content": text, "role": "user", "name": user.name}
    announcing.announce_spoken(said, user.name, GROUP, silent=False)
    group.append(said, user)
    for member in group.agents:
        manager.send(said, member, request_reply=False, silent=True)


def _is_open(message: Mapping[str, object]) -> bool:
    """Whether a message ends it where the person has the last word: none does."""
    return False


def _is_final(message: Mapping[str, object]) -> bool:
    if message.get("name") != WRITER:
        return False
    said = text_of(message.get("content"))
    return is_ending(said) and not runs.has_said()
