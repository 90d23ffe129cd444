"""Group chats: who speaks next, by a fixed order, a person, a model or a function."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.differential.actors import (
    Typist,
    config_for,
    group_of,
    said,
    scripted_model,
    speaker,
    talk,
    three,
)
from tests.differential.kit import Kit, scenario

TEMPLATES: dict[str, Any] = {
    "select_speaker_message_template": "ROLES {roles} OF {agentlist}",
    "select_speaker_prompt_template": "WHO OF {agentlist}",
    "select_speaker_auto_multiple_template": "ONLY ONE OF {agentlist}",
    "select_speaker_auto_none_template": "NAME ONE OF {agentlist}",
}


def choosing(answers: list[str], seen: list[Any]) -> dict[str, Any]:
    """Options of a group whose speakers a model chooses."""
    return {
        "speaker_selection_method": "auto",
        "select_speaker_auto_model_client_cls": scripted_model(answers, seen),
        "select_speaker_auto_llm_config": config_for(),
        **TEMPLATES,
    }


def _texts(requests: list[Any]) -> list[Any]:
    return [
        [[m.get("role"), m.get("content")] for m in request["messages"]] for request in requests
    ]


# --- fixed orders


@scenario(both=True)
def round_robin(kit: Kit) -> Any:
    return talk(kit, three(kit), speaker_selection_method="round_robin", max_round=7)


@scenario(both=True)
def round_robin_case_of_the_method_does_not_matter(kit: Kit) -> Any:
    return talk(kit, three(kit), speaker_selection_method="Round_Robin")


@scenario(both=True)
def round_robin_stored_messages_of_each(kit: Kit) -> Any:
    agents = three(kit)
    _, chair = group_of(kit, agents, speaker_selection_method="round_robin")
    result = kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    forms = [
        [[m.get("role"), m.get("name"), m.get("content")] for m in agent.chat_messages[chair]]
        for agent in agents
    ]
    mine = [
        [[m.get("role"), m.get("name"), m.get("content")] for m in chair.chat_messages[agent]]
        for agent in agents
    ]
    return [forms, mine, said(result.chat_history), result.summary]


@scenario(both=True)
def max_round_of_one_is_the_first_message_only(kit: Kit) -> Any:
    return talk(kit, three(kit), speaker_selection_method="round_robin", max_round=1)


@scenario(both=True)
def a_speaker_without_a_reply_ends_the_group(kit: Kit) -> Any:
    return talk(kit, three(kit, None), speaker_selection_method="round_robin")


@scenario(both=True)
def a_dict_reply_keeps_its_fields(kit: Kit) -> Any:
    agents = three(kit, {"content": "from Bob", "role": "user", "extra": 1})
    group, chair = group_of(kit, agents, speaker_selection_method="round_robin", max_round=3)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [group.messages, agents[2].chat_messages[chair]]


@scenario(both=True)
def random_speakers_never_repeat_when_told_so(kit: Kit) -> Any:
    names = [
        m[0]
        for m in talk(
            kit,
            three(kit),
            speaker_selection_method="random",
            allow_repeat_speaker=False,
            max_round=30,
        )
    ]
    return [len(names), sorted(set(names)), any(a == b for a, b in pairwise(names))]


@scenario(both=True)
def random_among_one_is_that_one(kit: Kit) -> Any:
    agents = three(kit)
    return talk(
        kit,
        agents,
        speaker_selection_method="random",
        allow_repeat_speaker=[agents[0]],
        max_round=2,
    )[0]


@scenario
def random_select_speaker_by_itself(kit: Kit) -> Any:
    agents = three(kit)
    group, _ = group_of(kit, agents)
    return [
        sorted({group.random_select_speaker().name for _ in range(100)}),
        sorted({group.random_select_speaker(agents[:2]).name for _ in range(100)}),
    ]


# --- a person chooses


def _by_hand(kit: Kit, *answers: str, **options: Any) -> Any:
    typist = Typist(*answers)
    with kit.IOStream.set_default(typist):
        spoken = talk(kit, three(kit), speaker_selection_method="manual", **options)
    return [spoken, typist.asked]


@scenario(both=True)
def manual_by_number(kit: Kit) -> Any:
    return _by_hand(kit, "3", "2", "2")


@scenario(
    better="a person has the three tries that they are told of; the oracle gave two",
    expected=[[["Ann", "start"], ["Cid", "Cid speaks"]], 3],
)
def manual_after_wrong_numbers(kit: Kit) -> Any:
    return _by_hand(kit, "0", "x", "3", max_round=2)


def _manually(kit: Kit, *answers: str) -> Any:
    """Whom the person chooses, and how often they were asked."""
    group, _ = group_of(kit, three(kit))
    typist = Typist(*answers)
    with kit.IOStream.set_default(typist):
        agent = group.manual_select_speaker()
    return [agent.name if agent else None, typist.asked]


@scenario
def manual_select_speaker_by_itself(kit: Kit) -> Any:
    group, _ = group_of(kit, three(kit))
    with kit.IOStream.set_default(Typist("1")):
        among = group.manual_select_speaker(group.agents[1:]).name
    return [
        _manually(kit, "2"),
        _manually(kit, "q"),
        _manually(kit, ""),
        _manually(kit, "x", "2"),
        among,
    ]


@scenario(
    better="three wrong answers leave the choice open; the oracle asked twice only",
    expected=[None, 3],
)
def manual_select_speaker_given_up(kit: Kit) -> Any:
    return _manually(kit, "9", "-1", "Bob", "2")


@scenario(both=True)
def manual_q_takes_the_next_in_line(kit: Kit) -> Any:
    seen: list[Any] = []
    options = {**choosing(["Cid"], seen), "max_round": 2}
    typist = Typist("q")
    with kit.IOStream.set_default(typist):
        spoken = talk(kit, three(kit), **{**options, "speaker_selection_method": "manual"})
    return [spoken, typist.asked, len(seen)]


# --- a model chooses


def _by_model(kit: Kit, *answers: str, agents: list[Any] | None = None, **options: Any) -> Any:
    """Who speaks second, and the requests that the model got."""
    seen: list[Any] = []
    spoken = talk(
        kit, agents or three(kit), **{"max_round": 2, **choosing(list(answers), seen), **options}
    )
    return [spoken[-1][0], len(seen), _texts(seen)]


@scenario(both=True)
def auto_one_name(kit: Kit) -> Any:
    return _by_model(kit, "Cid")


@scenario(both=True)
def auto_name_in_a_sentence(kit: Kit) -> Any:
    return _by_model(kit, "The next one should be Cid, I think.")


@scenario(both=True)
def auto_same_name_twice(kit: Kit) -> Any:
    return _by_model(kit, "Cid. Yes, Cid!")


@scenario(both=True)
def auto_several_names_then_one(kit: Kit) -> Any:
    return _by_model(kit, "Bob or Cid", "Cid")


@scenario(both=True)
def auto_no_name_then_one(kit: Kit) -> Any:
    return _by_model(kit, "nobody", "Cid")


@scenario(both=True)
def auto_no_name_several_then_one(kit: Kit) -> Any:
    return _by_model(kit, "nobody", "Ann and Cid", "Cid")


@scenario(both=True)
def auto_retries_exhausted_takes_the_next_in_line(kit: Kit) -> Any:
    return _by_model(kit, "nobody", "Ann and Cid", "somebody", "not asked any more")


@scenario(both=True)
def auto_without_retries(kit: Kit) -> Any:
    return _by_model(kit, "nobody", "not asked", max_retries_for_selecting_speaker=0)


@scenario(both=True)
def auto_name_is_part_of_another_word(kit: Kit) -> Any:
    return _by_model(kit, "Bobby", "Anna", "Cidre", max_retries_for_selecting_speaker=2)


@scenario(both=True)
def auto_wrong_case(kit: Kit) -> Any:
    return _by_model(kit, "cid", "CID", "Cid")


@scenario(both=True)
def auto_names_with_underscores(kit: Kit) -> Any:
    def people() -> list[Any]:
        return [speaker(kit, "Ann"), speaker(kit, "story_writer"), speaker(kit, "art_critic")]

    texts = [
        "story_writer",
        "story writer",
        r"story\_writer",
        r"art\_critic",
        "Ann's friend the art critic",
    ]
    return [_by_model(kit, text, "art_critic", agents=people())[:2] for text in texts]


@scenario(
    both=True,
    better=(
        "a custom model client of the group also serves when the manager's llm_config names it; the"
        " oracle registered none"
    ),
    expected=[[["Ann", "start"], ["Cid", "Cid speaks"]], 1],
)
def auto_uses_the_config_of_the_manager(kit: Kit) -> Any:
    seen: list[Any] = []
    client = scripted_model(["Cid"], seen)
    agents = three(kit)
    group = kit.GroupChat(
        agents=agents,
        messages=[],
        max_round=2,
        select_speaker_auto_model_client_cls=client,
        **TEMPLATES,
    )
    chair = kit.GroupChatManager(groupchat=group, llm_config=config_for(), silent=True)
    chair.register_model_client(model_client_cls=client)
    kit.call(agents[0], "initiate_chat", chair, message="start", silent=True)
    return [said(group.messages), len(seen)]


@scenario(both=True)
def auto_without_a_model_takes_the_next_in_line(kit: Kit) -> Any:
    return talk(kit, three(kit), speaker_selection_method="auto")


@scenario(
    both=True,
    better=(
        "without a prompt of its own the last message is the prompt, told once; the oracle told it"
        " twice"
    ),
    expected=[
        ["user", "start"],
        ["assistant", "both Bob and Cid"],
        ["user", "ONLY ONE OF ['Ann', 'Bob', 'Cid']"],
    ],
)
def auto_role_and_no_prompt(kit: Kit) -> Any:
    options: dict[str, Any] = {
        "select_speaker_prompt_template": None,
        "role_for_select_speaker_messages": "user",
    }
    return _by_model(kit, "both Bob and Cid", "Cid", **options)[2][1][1:]


@scenario(both=True)
def auto_with_one_candidate_asks_nobody(kit: Kit) -> Any:
    return _by_model(
        kit, agents=[speaker(kit, "Ann"), speaker(kit, "Bob")], allow_repeat_speaker=False
    )


@scenario(both=True)
def auto_candidates_without_the_last_speaker(kit: Kit) -> Any:
    return _by_model(kit, "Ann", "Bob", "Cid", allow_repeat_speaker=False, max_round=3)


@scenario(both=True)
def auto_sees_transformed_messages(kit: Kit) -> Any:
    transforms = kit.TransformMessages(
        transforms=[kit.MessageHistoryLimiter(max_messages=1)], verbose=False
    )
    return _by_model(kit, "Bob", "Cid", max_round=3, select_speaker_transform_messages=transforms)


@scenario
def texts_for_the_model(kit: Kit) -> Any:
    agents = [
        speaker(kit, "Ann", description="finds things"),
        speaker(kit, "Bob", description="one\ntwo"),
        speaker(kit, "Cid"),
    ]
    agents[2].description = ""
    group, _ = group_of(kit, agents, **TEMPLATES)
    return [
        group.select_speaker_msg(),
        group.select_speaker_msg(agents[:1]),
        group.select_speaker_prompt(agents[1:]),
    ]


# --- a function chooses


def _chosen(kit: Kit, *choices: Any) -> Any:
    """The talk when a function chooses these (an agent by its place) in turn, and what the function
    saw.
    """
    calls: list[Any] = []

    def choose(last: Any, group: Any) -> Any:
        calls.append([last.name, len(group.messages)])
        choice = choices[len(calls) - 1]
        return group.agents[choice] if isinstance(choice, int) else choice

    return [
        talk(kit, three(kit), speaker_selection_method=choose, max_round=len(choices) + 1),
        calls,
    ]


@scenario(both=True)
def callable_returning_agents_and_methods(kit: Kit) -> Any:
    return _chosen(kit, 2, "round_robin", 1, 1)


@scenario(
    both=True,
    better=(
        "a function that chooses nobody ends the group in both faces; the oracle's async face"
        " raised NoEligibleSpeaker"
    ),
    expected=[[["Ann", "start"], ["Cid", "Cid speaks"]], [["Ann", 1], ["Cid", 2]]],
)
def callable_returning_none(kit: Kit) -> Any:
    return _chosen(kit, 2, None, 1)


@scenario(both=True)
def callable_returning_a_name_of_no_method(kit: Kit) -> Any:
    return kit.raised(
        lambda: talk(kit, three(kit), speaker_selection_method=lambda last, group: "Cid")
    )


@scenario(both=True)
def callable_returning_something_else(kit: Kit) -> Any:
    return kit.raised(lambda: talk(kit, three(kit), speaker_selection_method=lambda last, group: 3))


@scenario(both=True)
def callable_returning_a_stranger(kit: Kit) -> Any:
    stranger = speaker(kit, "Zoe", "hello from outside")
    return kit.raised(
        lambda: talk(
            kit, three(kit), speaker_selection_method=lambda last, group: stranger, max_round=3
        )
    )


@scenario(both=True)
def callable_that_raises(kit: Kit) -> Any:
    def choose(last: Any, group: Any) -> Any:
        raise KeyError("no idea")

    return kit.raised(lambda: talk(kit, three(kit), speaker_selection_method=choose))
