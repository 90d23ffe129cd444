"""Group chats: construction, members, introductions, transitions, and who runs a tool."""

from __future__ import annotations

from typing import Any

from tests.differential.actors import group_of, said, speaker, talk, three
from tests.differential.kit import Kit, scenario

ROUND: dict[str, Any] = {"speaker_selection_method": "round_robin"}

# --- construction


@scenario
def group_defaults(kit: Kit) -> Any:
    group, chair = group_of(kit, three(kit))
    names = [
        "admin_name",
        "func_call_filter",
        "speaker_selection_method",
        "max_retries_for_selecting_speaker",
    ]
    names += [
        "allow_repeat_speaker",
        "enable_clear_history",
        "send_introductions",
        "speaker_transitions_type",
    ]
    names += [
        "role_for_select_speaker_messages",
        "select_speaker_auto_verbose",
        "allowed_or_disallowed_speaker_transitions",
    ]
    fields = [getattr(group, name) for name in names]
    fresh = kit.GroupChat(agents=[], messages=[])
    shape = [
        chair.name,
        chair.description,
        chair.system_message,
        chair.human_input_mode,
        chair.groupchat is group,
    ]
    return [
        fields,
        fresh.max_round,
        shape,
        chair.max_consecutive_auto_reply() > 10**6,
        group.agent_names,
    ]


@scenario
def group_wrong_arguments(kit: Kit) -> Any:
    agents = three(kit)
    graph = {agents[0]: [agents[1]]}
    allowed = {"speaker_transitions_type": "allowed"}
    wrong: list[dict[str, Any]] = [
        {"select_speaker_message_template": ""},
        {"role_for_select_speaker_messages": None},
        {"max_retries_for_selecting_speaker": -1},
        {"max_retries_for_selecting_speaker": "two"},
        {"select_speaker_auto_verbose": "loud"},
        {"select_speaker_auto_multiple_template": ""},
        {"select_speaker_auto_none_template": ""},
        {"allowed_or_disallowed_speaker_transitions": graph},
        {"allowed_or_disallowed_speaker_transitions": graph, "speaker_transitions_type": "maybe"},
        {
            "allowed_or_disallowed_speaker_transitions": graph,
            **allowed,
            "allow_repeat_speaker": True,
        },
        {"allowed_or_disallowed_speaker_transitions": {agents[0]: agents[1]}, **allowed},
        {"allowed_or_disallowed_speaker_transitions": "Ann to Bob", **allowed},
        {"allow_repeat_speaker": "Ann"},
    ]
    return [kit.raised(lambda w=w: kit.GroupChat(agents=agents, messages=[], **w)) for w in wrong]


@scenario(
    better=(
        "what cannot work is refused where it is given; the oracle failed in the first round, or"
        " with a KeyError"
    ),
    expected=["ValueError"] * 3,
)
def group_wrong_arguments_found_late(kit: Kit) -> Any:
    agents, stranger = three(kit), speaker(kit, "Zoe")
    wrong = [
        {"speaker_selection_method": "loudest"},
        {"speaker_selection_method": None},
        {"allow_repeat_speaker": [stranger]},
    ]
    return [kit.raised(lambda w=w: kit.GroupChat(agents=agents, messages=[], **w)) for w in wrong]


@scenario(both=True)
def select_speaker_among_too_few(kit: Kit) -> Any:
    return [
        kit.raised(lambda: talk(kit, [speaker(kit, "Ann")])),
        talk(kit, three(kit)[:2]),
        kit.raised(
            lambda: talk(kit, [speaker(kit, "Ann")], speaker_selection_method="round_robin")
        ),
    ]


@scenario
def group_small_functions(kit: Kit) -> Any:
    agents = three(kit)
    group, _ = group_of(kit, agents)
    group.append({"content": "hi", "role": "assistant"}, agents[1])
    group.append({"content": {"a": 1}, "role": "function", "name": "f"}, agents[1])
    group.append({"content": "result", "role": "tool", "tool_call_id": "1"}, agents[1])
    kept = [dict(m) for m in group.messages]
    following = [group.next_agent(agent).name for agent in agents]
    partly = [
        group.next_agent(agents[0], [agents[0], agents[2]]).name,
        group.next_agent(agents[1], [agents[0]]).name,
    ]
    found = [group.agent_by_name(name) for name in ("Bob", "Nobody")]
    group.reset()
    return [kept, following, partly, found[0] is agents[1], found[1], group.messages]


@scenario
def next_agent_errors(kit: Kit) -> Any:
    agents = three(kit)
    group, _ = group_of(kit, agents)
    stranger = speaker(kit, "Zoe")
    return [
        kit.raised(lambda: group.next_agent(stranger)),
        kit.raised(lambda: group.next_agent(agents[0], [])),
        kit.raised(lambda: group.next_agent(agents[0], [stranger])),
        group.next_agent(stranger, agents[1:]).name,
    ]


@scenario
def agents_of_the_same_name(kit: Kit) -> Any:
    twins = [speaker(kit, "Ann"), speaker(kit, "Ann"), speaker(kit, "Bob")]
    group, _ = group_of(kit, twins)
    return [
        group.agent_names,
        group.agent_by_name("Ann") is twins[0],
        kit.raised(lambda: group.agent_by_name("Ann", raise_on_name_conflict=True)),
        group.agent_by_name("Bob", raise_on_name_conflict=True) is twins[2],
    ]


@scenario
def agents_of_nested_groups(kit: Kit) -> Any:
    _, inner_chair = group_of(
        kit, [speaker(kit, "Ida"), speaker(kit, "Jon")], {"name": "inner_chair"}
    )
    outer, outer_chair = group_of(kit, [speaker(kit, "Ann"), inner_chair])
    again, _ = group_of(kit, [outer_chair, speaker(kit, "Jon")])
    return [
        [agent.name for agent in outer.nested_agents()],
        sorted({agent.name for agent in again.nested_agents()}),
        outer.agent_by_name("Ida"),
        outer.agent_by_name("Ida", recursive=True).name,
        kit.raised(lambda: again.agent_by_name("Jon", recursive=True, raise_on_name_conflict=True)),
        outer.agent_by_name("Zoe", recursive=True, raise_on_name_conflict=True),
    ]


@scenario(
    better=(
        "an agent deep in nested groups is found once and is in no conflict with itself; the oracle"
        " listed it twice"
    ),
    expected=["Ida", ["Ann", "Ida", "chat_manager", "inner_chair"]],
)
def agents_of_deeply_nested_groups(kit: Kit) -> Any:
    _, inner_chair = group_of(kit, [speaker(kit, "Ida")], {"name": "inner_chair"})
    _, outer_chair = group_of(kit, [speaker(kit, "Ann"), inner_chair])
    outermost, _ = group_of(kit, [outer_chair])
    found = sorted(agent.name for agent in outermost.nested_agents())
    return [outermost.agent_by_name("Ida", recursive=True, raise_on_name_conflict=True).name, found]


@scenario
def introductions_name_everybody(kit: Kit) -> Any:
    people = [
        speaker(kit, "Ann", description="finds things"),
        speaker(kit, "Bob", description="writes"),
    ]
    group, _ = group_of(kit, people)
    text = group.introductions_msg()
    first, _, rest = text.partition("\n\n")
    return [bool(first), rest, group.introductions_msg(people[1:]).partition("\n\n")[2]]


@scenario(both=True)
def introductions_reach_everybody_once(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND, send_introductions=True)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    heard = [
        [[m.get("role"), m.get("name")] for m in agent.chat_messages[chair]] for agent in agents
    ]
    same = {
        agent.chat_messages[chair][0]["content"] == group.introductions_msg() for agent in agents
    }
    return [heard, sorted(same), said(group.messages)[-3:], len(group.messages)]


# --- transitions


@scenario(both=True)
def allowed_transitions(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    graph = {ann: [cid], cid: [cid, bob], bob: [ann]}
    options: dict[str, Any] = {
        "allowed_or_disallowed_speaker_transitions": graph,
        "speaker_transitions_type": "allowed",
        "max_round": 8,
    }
    return [
        talk(kit, agents, **ROUND, **options),
        {k.name: [a.name for a in v] for k, v in graph.items()},
    ]


@scenario(both=True)
def disallowed_transitions(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    graph = {ann: [bob, ann], bob: [cid]}
    options: dict[str, Any] = {
        "allowed_or_disallowed_speaker_transitions": graph,
        "speaker_transitions_type": "disallowed",
        "max_round": 8,
    }
    return talk(kit, agents, **ROUND, **options)


@scenario
def disallowed_transitions_as_allowed_ones(kit: Kit) -> Any:
    ann, bob, _ = agents = three(kit)
    graph = {ann: [bob, ann], bob: []}
    group = kit.GroupChat(
        agents=agents,
        messages=[],
        allowed_or_disallowed_speaker_transitions=graph,
        speaker_transitions_type="disallowed",
    )
    return {
        key.name: sorted(a.name for a in value)
        for key, value in group.allowed_speaker_transitions_dict.items()
    }


@scenario
def repeats_as_allowed_transitions(kit: Kit) -> Any:
    agents = three(kit)
    groups = [
        kit.GroupChat(agents=agents, messages=[], allow_repeat_speaker=r)
        for r in (None, True, False, agents[:1])
    ]
    return [
        {k.name: sorted(a.name for a in v) for k, v in g.allowed_speaker_transitions_dict.items()}
        for g in groups
    ]


def _dead_end(kit: Kit, method: str, **more: Any) -> Any:
    """What is said when Bob may hand over to nobody; `more` adds an entry to the graph."""
    ann, bob, cid = agents = three(kit)
    graph = {ann: [bob], cid: [ann], **({bob: []} if more.get("listed") else {})}
    options: dict[str, Any] = {
        "allowed_or_disallowed_speaker_transitions": graph,
        "speaker_transitions_type": "allowed",
    }
    return talk(kit, agents, speaker_selection_method=method, **options, max_round=8)


@scenario
def a_dead_end_ends_the_group(kit: Kit) -> Any:
    return [_dead_end(kit, method) for method in ("round_robin", "random", "auto")]


@scenario(
    both=True,
    better=(
        "a dead end ends the group in both faces; the oracle's async face raised NoEligibleSpeaker"
    ),
    expected=[[["Ann", "start"], ["Bob", "Bob speaks"]]] * 3,
)
def a_dead_end_ends_the_group_in_both_faces(kit: Kit) -> Any:
    return [_dead_end(kit, method) for method in ("round_robin", "random", "auto")]


@scenario(
    both=True,
    better=(
        "who may hand over to nobody (an empty list) ends the group; the oracle let everybody"
        " follow"
    ),
    expected=[["Ann", "start"], ["Bob", "Bob speaks"]],
)
def a_dead_end_given_as_an_empty_list(kit: Kit) -> Any:
    return _dead_end(kit, "round_robin", listed=True)


# --- tools


def _tool_call(name: str, call_id: str = "1") -> dict[str, Any]:
    function = {"name": name, "arguments": '{"x": 2}'}
    return {
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def _doubling(kit: Kit, name: str, tool: str = "double") -> Any:
    agent = kit.agent(name, default_auto_reply=f"{name} speaks")
    agent.register_function({tool: lambda x: f"{name}: {x * 2}"})
    return agent


@scenario(both=True)
def tool_calls_go_to_who_can_run_them(kit: Kit) -> Any:
    call = {**_tool_call("double"), "content": "doubling"}
    agents = [
        speaker(kit, "Ann"),
        speaker(kit, "Bob", call),
        speaker(kit, "Cid"),
        _doubling(kit, "Dot"),
    ]
    group, chair = group_of(kit, agents, **ROUND, max_round=5)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [group.messages, agents[0].chat_messages[chair][1:3]]


@scenario(
    both=True,
    better=(
        "a tool call without a text stays without one; the oracle told everybody the text 'None'"
    ),
    expected=[False, False],
)
def a_tool_call_without_content_in_a_group(kit: Kit) -> Any:
    agents = [speaker(kit, "Ann"), speaker(kit, "Bob", _tool_call("double")), _doubling(kit, "Dot")]
    group, chair = group_of(kit, agents, **ROUND, max_round=3)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [
        message["content"] == "None"
        for message in (group.messages[1], agents[0].chat_messages[chair][1])
    ]


@scenario(both=True)
def function_calls_go_to_who_can_run_them(kit: Kit) -> Any:
    call = {"content": "", "function_call": {"name": "double", "arguments": '{"x": 3}'}}
    agents = [
        speaker(kit, "Ann"),
        speaker(kit, "Bob", call),
        speaker(kit, "Cid"),
        _doubling(kit, "Dot"),
    ]
    group, chair = group_of(kit, agents, **ROUND, max_round=5)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return group.messages


@scenario(both=True)
def a_tool_call_that_nobody_can_run(kit: Kit) -> Any:
    def start(*more: Any) -> Any:
        return [
            m[0]
            for m in talk(
                kit, [*three(kit, {**_tool_call("treble"), "content": "?"}), *more], **ROUND
            )
        ]

    one, two = [_doubling(kit, "Dot")], [_doubling(kit, "Dot"), _doubling(kit, "Eve")]
    return [kit.raised(start), start(*one), start(*two)]


@scenario(both=True)
def a_tool_call_without_the_filter(kit: Kit) -> Any:
    call = {**_tool_call("double"), "content": "doubling"}
    agents = [
        speaker(kit, "Ann"),
        speaker(kit, "Bob", call),
        speaker(kit, "Cid"),
        _doubling(kit, "Dot"),
    ]
    return talk(kit, agents, **ROUND, max_round=5, func_call_filter=False)


@scenario(both=True)
def several_who_can_run_a_tool(kit: Kit) -> Any:
    call = {**_tool_call("double"), "content": "doubling"}
    agents = [
        speaker(kit, "Ann", None),
        _doubling(kit, "Cal"),
        speaker(kit, "Bob", call),
        _doubling(kit, "Dot"),
    ]
    return talk(kit, agents, **ROUND, max_round=6)
