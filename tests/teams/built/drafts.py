"""Documents of teams for tests, one for each way of working together."""

from __future__ import annotations

from typing import Any


def agent(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, **settings}


def single(**settings: Any) -> dict[str, Any]:
    return {
        "name": "One",
        "agents": [agent("Solo", documents={}, **settings)],
        "flow": {"kind": "single", "agent": "Solo"},
    }


def pair(**flow: Any) -> dict[str, Any]:
    asker = agent("Asker", role="person", llm=None, max_consecutive_auto_reply=4)
    return {
        "name": "Two",
        "agents": [asker, agent("Helper", documents={})],
        "flow": {"kind": "two_agents", "starts": "Asker", "answers": "Helper", **flow},
    }


def group(**flow: Any) -> dict[str, Any]:
    return {
        "name": "Three",
        "agents": [agent("Ann"), agent("Bob"), agent("Cid")],
        "flow": {
            "kind": "group",
            "agents": ["Ann", "Bob", "Cid"],
            "writer": "Cid",
            "speaker_selection_method": "round_robin",
            **flow,
        },
    }


def queue() -> dict[str, Any]:
    steps = [
        {"sender": "Lead", "recipient": "Finder", "message": "Find: {question}", "max_turns": 1},
        {"sender": "Lead", "recipient": "Writer", "message": "Write it up.", "max_turns": 1},
    ]
    return {
        "name": "Line",
        "agents": [agent("Lead", llm=None), agent("Finder"), agent("Writer")],
        "flow": {"kind": "queue", "chats": steps},
    }


def retrieve_chat(**flow: Any) -> dict[str, Any]:
    return {
        "name": "RetrieveChat",
        "agents": [agent("Reader")],
        "flow": {"kind": "retrieve_chat", "assistant": "Reader", **flow},
    }


def plan(**flow: Any) -> dict[str, Any]:
    tools = [{"name": "calculate"}]
    return {
        "name": "Plan",
        "agents": [agent("Thinker", documents={}, tools=tools), agent("Teller")],
        "flow": {"kind": "plan", "planner": "Thinker", "solver": "Teller", **flow},
    }


def cited_answer() -> dict[str, Any]:
    return {
        "name": "Answer",
        "agents": [agent("Teller", system_message="Answer from these.")],
        "flow": {"kind": "answer", "agent": "Teller"},
    }


def research() -> dict[str, Any]:
    return {
        "name": "Research",
        "agents": [agent("Finder"), agent("Writer")],
        "flow": {"kind": "research", "researcher": "Finder", "writer": "Writer", "per_part": 1},
    }


def field(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, **settings}


def discussion() -> dict[str, Any]:
    talk = {
        "name": "Talk",
        "fields": [
            field("thought", hint="what you think"),
            field("speak", hint="what you say", heard=True),
            field("agreed", type="yes or no", told=True),
        ],
        "rounds": 3,
        "ends_when": "agreed",
    }
    vote = {
        "name": "Vote",
        "kind": "vote",
        "opening": "Vote now.",
        "fields": [field("thought"), field("vote", heard=True, told=True)],
        "counted": "vote",
    }
    return {
        "name": "Lunch",
        "agents": [agent("Ann"), agent("Bob"), agent("Cid")],
        "flow": {"kind": "dialogue", "agents": ["Ann", "Bob", "Cid"], "stages": [talk, vote]},
    }
