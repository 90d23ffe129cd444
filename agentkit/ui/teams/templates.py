"""Teams to begin with: one for each way of working together, ready to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentkit.teams.built.document import read_document
from agentkit.teams.built.ready_made import ready_made
from agentkit.teams.findings import CITE

Json = dict[str, Any]
_LOOK = f"Look into the documents before you answer, as often as you need.\n{CITE}"
_END = "When the answer is complete, end with TERMINATE."


@dataclass(frozen=True, slots=True)
class Template:
    """A way of working together: what it is called, what it is good for, and such a team."""

    name: str
    about: str
    make: Callable[[], Json]
    """The agents and the flow."""


def _agent(name: str, told: str, **more: Any) -> Json:
    return {"name": name, "system_message": told, **more}


def _single() -> Json:
    reader = _agent("Reader", f"You answer questions about documents.\n{_LOOK}", documents={})
    return {"agents": [reader], "flow": {"kind": "single", "agent": "Reader"}}


def _pair() -> Json:
    critic = _agent(
        "Critic",
        "You put a question to Writer, and look for what its answer leaves out or gets wrong."
        " Say in short what to change. When nothing is left to change, say only: good.",
    )
    writer = _agent(
        "Writer",
        f"You answer the question, and improve your answer.\n{_LOOK}\n{_END}",
        documents={},
    )
    flow = {"kind": "two_agents", "starts": "Critic", "answers": "Writer", "max_turns": 6}
    return {"agents": [critic, writer], "flow": flow}


def _group() -> Json:
    agents = [
        _agent(
            "Researcher",
            f"You look up what the question needs and tell what you found.\n{_LOOK}",
            description="Looks things up in the documents.",
            documents={},
        ),
        _agent(
            "Critic",
            "You say what is missing or doubtful in what was found.",
            description="Says what is missing or doubtful.",
        ),
        _agent(
            "Writer",
            f"You write the answer from what was found.\n{CITE}\n{_END}",
            description="Writes the answer once enough was found.",
        ),
    ]
    names = [agent["name"] for agent in agents]
    flow = {"kind": "group", "agents": names, "writer": "Writer", "max_round": 10}
    return {"agents": agents, "flow": flow}


def _queue() -> Json:
    agents = [
        _agent("Lead", "You hand on what is to be done.", llm=None),
        _agent("Finder", f"You list what the documents say about it.\n{_LOOK}", documents={}),
        _agent("Writer", f"You write a short answer from what was found.\n{CITE}"),
    ]
    chats = [
        {"sender": "Lead", "recipient": "Finder", "message": "{question}", "max_turns": 1},
        {"sender": "Lead", "recipient": "Writer", "message": "Answer: {question}", "max_turns": 1},
    ]
    return {"agents": agents, "flow": {"kind": "queue", "chats": chats}}


def _retrieve_chat() -> Json:
    told = f"You answer from the passages that come with the question.\n{CITE}"
    flow = {
        "kind": "retrieve_chat",
        "assistant": "Assistant",
        "retrieve_config": {"task": "qa", "update_context": True},
    }
    return {"agents": [_agent("Assistant", told)], "flow": flow}


def _discussion() -> Json:
    told = "You discuss the question with the others, from your point of view: {}."
    views = {"Ann": "what is safe", "Bob": "what is quick", "Cid": "what is cheap"}
    thought = {"name": "thought", "hint": "what you think, for yourself"}
    talk = {
        "name": "Talk",
        "fields": [
            thought,
            {"name": "speak", "hint": "what you say to the others", "heard": True},
            {
                "name": "agreed",
                "hint": "whether you all agree by now",
                "type": "yes or no",
                "told": True,
            },
        ],
        "rounds": 3,
        "ends_when": "agreed",
    }
    vote = {
        "name": "Vote",
        "kind": "vote",
        "opening": "Now vote: in a few words, what is your answer?",
        "fields": [thought, {"name": "vote", "hint": "your answer", "heard": True, "told": True}],
        "counted": "vote",
    }
    agents = [_agent(name, told.format(view)) for name, view in views.items()]
    flow = {"kind": "dialogue", "agents": list(views), "stages": [talk, vote]}
    return {"agents": agents, "flow": flow}


def _plan() -> Json:
    agents = [
        _agent("Planner", "", documents={}),
        _agent("Solver", ""),
    ]
    return {"agents": agents, "flow": {"kind": "plan"}}


def _ready(team_id: str) -> Json:
    """The agents and the flow of a team that comes with agentkit."""
    made = ready_made(team_id).to_json()
    return {"agents": made["agents"], "flow": made["flow"]}


TEMPLATES: Mapping[str, Template] = {
    "single": Template("One agent", "One agent answers, and looks things up.", _single),
    "two_agents": Template("Two agents", "One asks and criticises, the other answers.", _pair),
    "group": Template("Group", "Several agents in one conversation.", _group),
    "queue": Template("Queue", "Conversations one after the other; each hands on.", _queue),
    "retrieve_chat": Template(
        "RetrieveChat",
        "Passages go with the question; UPDATE CONTEXT brings others.",
        _retrieve_chat,
    ),
    "dialogue": Template(
        "Structured discussion", "Agents answer in fields, and vote at the end.", _discussion
    ),
    "plan": Template("Plan first", "A plan of look-ups first, then one answer.", _plan),
    "answer": Template(
        "Answer from passages", "The question is looked up once.", partial(_ready, "answer")
    ),
    "research": Template(
        "Research", "Each part of the question is looked up.", partial(_ready, "research")
    ),
    "table": Template(
        "Table", "The same fields are read out of each document.", partial(_ready, "table")
    ),
    "werewolf": Template(
        "Werewolf", "Six players, two of them werewolves.", partial(_ready, "werewolf")
    ),
}
"""By the kind of their flow."""


def begin(kind: str, name: str) -> Json:
    """The document of a new team; every key that is not set has its default."""
    template = TEMPLATES[kind]
    made = {"name": name, "description": template.about, **template.make()}
    return read_document(made).to_json()
