"""Group chats: how they end, are summed up, forget, are resumed and are nested."""

from __future__ import annotations

import json
from typing import Any

from tests.differential.actors import (
    config_for,
    group_of,
    said,
    scripted_model,
    speaker,
    talk,
    three,
)
from tests.differential.kit import Kit, scenario

ROUND: dict[str, Any] = {"speaker_selection_method": "round_robin"}

# --- ends


@scenario(both=True)
def termination_by_the_manager(kit: Kit) -> Any:
    manager = {"is_termination_msg": lambda m: "enough" in (m.get("content") or "")}
    return talk(kit, three(kit, "that is enough"), manager, **ROUND, max_round=9)


@scenario(both=True)
def termination_of_an_agent_ends_nothing_for_others(kit: Kit) -> Any:
    agents = [speaker(kit, "Ann"), speaker(kit, "Bob", "TERMINATE"), speaker(kit, "Cid")]
    return talk(kit, agents, **ROUND, max_round=5)


@scenario(both=True)
def the_first_message_can_end_it(kit: Kit) -> Any:
    return talk(kit, three(kit), {"is_termination_msg": lambda m: m["content"] == "start"}, **ROUND)


@scenario(both=True)
def max_round_counts_the_first_message_and_not_the_introduction(kit: Kit) -> Any:
    return [
        [m[0] for m in talk(kit, three(kit), **ROUND, max_round=n, send_introductions=i)][-n:]
        for n in (1, 2, 3)
        for i in (0, 1)
    ]


def _interrupted(kit: Kit, admin: str) -> Any:
    agents = three(kit)

    def interrupt(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> Any:
        raise KeyboardInterrupt

    agents[1].register_reply([kit.Agent, None], interrupt, position=0)
    return talk(kit, agents, **ROUND, admin_name=admin)


@scenario(both=True)
def the_admin_speaks_after_an_interruption(kit: Kit) -> Any:
    return _interrupted(kit, "Cid")


@scenario
def an_interruption_without_an_admin(kit: Kit) -> Any:
    try:
        return _interrupted(kit, "Admin")
    except KeyboardInterrupt:
        return "KeyboardInterrupt"


@scenario(both=True)
def a_second_chat_with_the_same_group(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND, max_round=3)
    kit.call(agents[0], "initiate_chat", chair, message="one", silent=True)
    kit.call(agents[0], "initiate_chat", chair, message="two", silent=True, clear_history=False)
    kept = said(group.messages), said(agents[1].chat_messages[chair])
    kit.call(agents[2], "initiate_chat", chair, message="three", silent=True)
    return [kept, said(group.messages), said(agents[1].chat_messages[chair])]


@scenario(both=True)
def summaries_of_a_group(kit: Kit) -> Any:
    agents = three(kit)
    seen: list[Any] = []
    _, chair = group_of(kit, agents, {"llm_config": config_for()}, **ROUND, max_round=3)
    chair.register_model_client(model_client_cls=scripted_model(["short"], seen))
    last = kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    args = {"summary_prompt": "SUM UP"}
    told = kit.call(
        agents[0],
        "initiate_chat",
        chair,
        message="start",
        silent=True,
        summary_method="reflection_with_llm",
        summary_args=args,
    )
    read = [[m.get("role"), m.get("name"), m.get("content")] for m in seen[0]["messages"]]
    return [last.summary, told.summary, read, said(chair.chat_messages_for_summary(agents[0]))]


@scenario(both=True)
def the_manager_as_recipient_without_a_reply(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND)
    kit.call(agents[1], "send", "just so you know", chair, request_reply=False, silent=True)
    return [
        said(group.messages),
        said(chair.chat_messages[agents[1]]),
        said(agents[0].chat_messages[chair]),
    ]


@scenario(both=True)
def the_manager_as_sender(kit: Kit) -> Any:
    agents = three(kit)
    _, chair = group_of(kit, agents, **ROUND)
    kit.call(chair, "send", "a word with you", agents[1], request_reply=False, silent=True)
    return [said(agents[1].chat_messages[chair]), said(chair.chat_messages[agents[1]])]


@scenario(
    both=True,
    better="last_speaker is known in both faces; the oracle's async face never set it",
    expected=[None, [["Bob", "Ann"], ["Cid", "Bob"]], "Ann"],
)
def last_speaker_as_a_listener_sees_it(kit: Kit) -> Any:
    heard: list[Any] = []
    agents = [speaker(kit, "Ann"), kit.agent("Bob"), kit.agent("Cid")]

    def listen(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str]:
        heard.append([recipient.name, sender.last_speaker.name])
        return True, f"{recipient.name} heard"

    for agent in agents[1:]:
        agent.register_reply([kit.Agent, None], listen)
    _, chair = group_of(kit, agents, **ROUND)
    before = chair.last_speaker
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [before, heard, chair.last_speaker.name]


# --- cleared histories


def _cleared(kit: Kit, request: Any, **options: Any) -> Any:
    """What the group and each agent keep after Cid's request, two rounds later."""
    agents = [speaker(kit, "Ann"), speaker(kit, "Bob"), speaker(kit, "Cid", request)]
    group, chair = group_of(
        kit, agents, **{**ROUND, "enable_clear_history": True, "max_round": 5, **options}
    )
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [said(group.messages), *[said(agent.chat_messages[chair]) for agent in agents]]


@scenario
def clear_history_of_all(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "Let us CLEAR HISTORY and go on."})


@scenario
def clear_history_of_one(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "CLEAR HISTORY Bob please"})


@scenario
def clear_history_but_the_last(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "clear history Bob 1 and go on"})


@scenario
def clear_history_of_all_but_the_last_two(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "clear history 2"})


@scenario
def clear_history_of_a_stranger(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "clear history Zoe"})


@scenario
def clear_history_is_off_by_default(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "CLEAR HISTORY"}, enable_clear_history=False)


@scenario(
    both=True,
    better="histories are cleared on request in both faces; the oracle's async face never did",
    expected=[[["Cid", "Let us and go on."], ["Ann", "Ann speaks"], ["Bob", "Bob speaks"]]] * 4,
)
def clear_history_in_both_faces(kit: Kit) -> Any:
    return _cleared(kit, {"role": "user", "content": "Let us CLEAR HISTORY and go on."})


@scenario
def clear_history_asked_by_an_agents_plain_text(kit: Kit) -> Any:
    return _cleared(kit, "CLEAR HISTORY")


# --- resumption

PAST = [
    {"content": "start", "role": "user", "name": "Ann"},
    {"content": "Bob was here", "role": "user", "name": "Bob"},
]


_RESUMED = [
    ["Ann", "start"],
    ["Bob", "Bob was here"],
    ["Cid", "Cid speaks"],
    ["Ann", "Ann speaks"],
    ["Bob", "Bob speaks"],
]


@scenario
def resume_from_a_list(kit: Kit) -> Any:
    return _resumed(kit)


@scenario(
    both=True,
    better=(
        "a group resumed by the async face tells its agents the past; in the oracle they heard"
        " nothing of it"
    ),
    expected=["Bob", PAST[1], [[["Ann", "start"]], [[["Ann", "start"]]] * 3], _RESUMED, _RESUMED],
)
def resume_from_a_list_in_both_faces(kit: Kit) -> Any:
    return _resumed(kit)


def _resumed(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND)
    last, message = kit.call(chair, "resume", messages=[dict(m) for m in PAST])
    before = [said(group.messages), [said(agent.chat_messages[chair]) for agent in agents]]
    kit.call(last, "initiate_chat", chair, message=message, clear_history=False, silent=True)
    return [last.name, message, before, said(group.messages), said(agents[2].chat_messages[chair])]


@scenario(both=True)
def resume_from_a_string(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND)
    last, message = kit.call(chair, "resume", messages=json.dumps(PAST))
    return [last.name, message, said(group.messages)]


@scenario(both=True)
def resume_ended_by_a_termination_message(kit: Kit) -> Any:
    ends = []
    past = [PAST[0], {**PAST[1], "content": "Bob is done. TERMINATE"}]
    removals: list[Any] = [None, "TERMINATE", lambda text: text.replace(" TERMINATE", "")]
    for removal in removals:
        _, chair = group_of(
            kit,
            three(kit),
            {"is_termination_msg": lambda m: "TERMINATE" in (m["content"] or "")},
            **ROUND,
        )
        options = {"messages": [dict(m) for m in past], "remove_termination_string": removal}
        ends.append(kit.raised(lambda c=chair, o=options: kit.call(c, "resume", **o)))
        if ends[-1] is None:
            ends[-1] = kit.call(
                chair, "resume", **{**options, "messages": [dict(m) for m in past]}
            )[1]
    return ends


@scenario(both=True)
def resume_from_nothing_usable(kit: Kit) -> Any:
    unknown = [{"content": "hi", "role": "user", "name": "Zoe"}, dict(PAST[0])]
    wrong: list[Any] = [[], "", "not json", unknown, None]
    ends = []
    for messages in wrong:
        _, chair = group_of(kit, three(kit), **ROUND)
        ends.append(
            kit.raised(lambda c=chair, m=messages: kit.call(c, "resume", messages=m)) is not None
        )
    return ends


@scenario(both=True)
def resume_with_a_message_of_the_manager_last(kit: Kit) -> Any:
    group, chair = group_of(kit, three(kit), **ROUND)
    past = [dict(PAST[0]), {"content": "from the chair", "role": "user", "name": "chat_manager"}]
    last, message = kit.call(chair, "resume", messages=past)
    return [last.name, message, said(group.messages)]


@scenario
def messages_to_and_from_a_string(kit: Kit) -> Any:
    _, chair = group_of(kit, three(kit))
    text = chair.messages_to_string(PAST)
    return [
        text,
        chair.messages_from_string(text),
        kit.raised(lambda: chair.messages_from_string("{")) is not None,
    ]


# --- nesting


@scenario(
    both=True,
    better=(
        "a group inside a group answers with its last message; the oracle's answered nothing, which"
        " ended the outer one"
    ),
    expected=[
        [
            ["Ann", "start"],
            ["inner_chair", "Jon speaks"],
            ["Cid", "Cid speaks"],
            ["Ann", "Ann speaks"],
        ],
        [["chat_manager", "start"], ["Ida", "Ida speaks"], ["Jon", "Jon speaks"]],
    ],
)
def a_group_inside_a_group(kit: Kit) -> Any:
    inner, inner_chair = group_of(
        kit,
        [speaker(kit, "Ida"), speaker(kit, "Jon")],
        {"name": "inner_chair"},
        **ROUND,
        max_round=3,
    )
    ann = speaker(kit, "Ann")
    outer, outer_chair = group_of(kit, [ann, inner_chair, speaker(kit, "Cid")], **ROUND)
    kit.call(ann, "initiate_chat", outer_chair, message="start", silent=True)
    return [said(outer.messages), said(inner.messages)]


@scenario(both=True)
def a_group_as_a_nested_chat(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND)
    asker, front = speaker(kit, "Zoe"), kit.agent("Front")
    chats = [
        {
            "recipient": chair,
            "sender": agents[0],
            "message": "look into it",
            "summary_method": "last_msg",
            "chat_id": 1,
        }
    ]
    front.register_nested_chats(chats, trigger=asker, use_async=kit.is_async)
    result = kit.call(asker, "initiate_chat", front, message="please", max_turns=1, silent=True)
    return [result.summary, said(group.messages)]


@scenario(both=True)
def generate_reply_of_the_manager(kit: Kit) -> Any:
    agents = three(kit)
    group, chair = group_of(kit, agents, **ROUND)
    message = {"content": "start", "role": "user", "name": "Ann"}
    reply = kit.call(chair, "generate_reply", messages=[message], sender=agents[0])
    return [reply, said(group.messages)]


@scenario(both=True)
def a_person_in_a_group(kit: Kit) -> Any:
    agents = three(kit)
    person = kit.UserProxyAgent("Per", human_input_mode="ALWAYS", code_execution_config=False)
    asked = kit.human(person, ["my word", "exit"])
    return [talk(kit, [*agents[:2], person], **ROUND, max_round=12), asked]
