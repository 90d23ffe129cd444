"""Hubs: who hears what; pipelines: who comes next."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Kit, better, each, scenario


def three(kit: Kit) -> list[Any]:
    """Ann, Bob and Cid, who answer without a model."""
    return [kit.listener(name) for name in ("Ann", "Bob", "Cid")]


def all_heard(kit: Kit, agents: list[Any]) -> list[Any]:
    return [[content for _, content in kit.heard(agent)] for agent in agents]


# --- hubs


@scenario
def hub_hears_replies(kit: Kit) -> Any:
    ann, bob, _ = agents = three(kit)
    with kit.msghub(agents):
        ann(kit.msg("user", "hi"))
        bob()
    return [kit.heard(agent) for agent in agents]


@scenario
def hub_announcement(kit: Kit) -> Any:
    agents = three(kit)
    announcement = kit.msg("host", "welcome")
    with kit.msghub(agents[:2], announcement) as hub:
        inside = all_heard(kit, agents)
    return [inside, hub.announcement is announcement, [agent.name for agent in hub.participants]]


@scenario
def hub_announcement_of_several_messages(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(
        participants=agents, announcement=[kit.msg("host", "one"), kit.msg("host", "two")]
    ):
        return all_heard(kit, agents)


@scenario
def hub_does_not_begin_before_it_is_entered(kit: Kit) -> Any:
    agents = three(kit)
    kit.msghub(agents, kit.msg("host", "welcome"))
    agents[0]()
    return all_heard(kit, agents)


@scenario
def hub_after_leaving(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents):
        agents[0]()
    agents[1]()
    return [all_heard(kit, agents), [agent._audience for agent in agents]]


@scenario
def hub_audience_inside(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents):
        return [[other.name for other in agent._audience if other is not agent] for agent in agents]


@scenario
def hub_add(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann, bob]) as hub:
        ann()
        hub.add(cid)
        bob()
        cid()
        names = [agent.name for agent in hub.participants]
    return [all_heard(kit, agents), names, cid._audience]


@scenario
def hub_add_several(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann]) as hub:
        hub.add([bob, cid])
        ann()
    return all_heard(kit, agents)


@scenario
def hub_add_whoever_is_there(kit: Kit) -> Any:
    ann, bob, _ = three(kit)
    with kit.msghub([ann, bob]) as hub:
        hub.add(ann)
        bob()
        return [[agent.name for agent in hub.participants], all_heard(kit, [ann, bob])]


@scenario
def hub_delete(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann, bob, cid]) as hub:
        ann()
        hub.delete(cid)
        bob()
        cid()
        names = [agent.name for agent in hub.participants]
    return [all_heard(kit, agents), names, cid._audience]


@scenario
def hub_delete_several(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann, bob, cid]) as hub:
        hub.delete([bob, cid])
        ann()
        hub.broadcast(kit.msg("host", "still there?"))
    return all_heard(kit, agents)


@scenario
def hub_delete_whoever_is_not_there(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann, bob]) as hub:
        hub.delete(cid)
        ann()
        return [all_heard(kit, agents), len(hub.participants)]


@scenario
def hub_delete_and_add_again(kit: Kit) -> Any:
    ann, bob, _ = agents = three(kit)
    with kit.msghub([ann, bob]) as hub:
        hub.delete(bob)
        ann()
        hub.add(bob)
        ann()
    return all_heard(kit, agents)


@scenario
def hub_broadcast(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents) as hub:
        hub.broadcast(kit.msg("host", "one"))
        hub.broadcast([kit.msg("host", "two"), kit.msg("host", "three")])
    return all_heard(kit, agents)


@scenario
def hub_broadcast_of_a_reply_is_heard_once(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents) as hub:
        said = agents[0]()
        hub.broadcast(said)
    return all_heard(kit, agents)


@scenario
def hub_left_by_an_exception(kit: Kit) -> Any:
    agents = three(kit)

    def play() -> None:
        with kit.msghub(agents):
            agents[0]()
            raise KeyError("on purpose")

    raised = kit.raised(play)
    agents[1]()
    return [raised, all_heard(kit, agents), [agent._audience for agent in agents]]


@scenario
def hub_one_after_the_other(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub([ann, bob]):
        ann()
    with kit.msghub([bob, cid]):
        bob()
    return all_heard(kit, agents)


@better(
    "after the inner hub the outer one goes on; in the oracle it was gone",
    [["Bob: nothing"], ["Ann: nothing"], ["Ann: nothing"]],
)
def hub_in_a_hub(kit: Kit) -> Any:
    ann, bob, _ = agents = three(kit)
    with kit.msghub(agents):
        with kit.msghub([ann, bob]):
            bob()
        ann()
    return all_heard(kit, agents)


@better("the caller's list is the caller's", 2)
def hub_leaves_the_callers_list(kit: Kit) -> Any:
    ann, bob, cid = three(kit)
    given = [ann, bob]
    with kit.msghub(given) as hub:
        hub.add(cid)
    return len(given)


@better("any sequence, as its annotation promises", [["Bob: nothing"], [], ["Bob: nothing"]])
def hub_of_a_tuple(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    with kit.msghub((ann, bob)) as hub:
        hub.add(cid)
        bob()
    return all_heard(kit, agents)


@scenario
def hub_of_an_agent_without_a_memory(kit: Kit) -> Any:
    ann, bob, _ = three(kit)
    bob.memory = None
    with kit.msghub([ann, bob], kit.msg("host", "welcome")):
        ann()
        bob()
    return kit.heard(ann)


@scenario
def hub_metadata_is_heard_too(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents) as hub:
        hub.broadcast(kit.msg("host", "one", {"a": 1}))
    return [agent.memory.get_memory()[0].metadata for agent in agents]


# --- audiences by hand


@scenario
def audience_by_hand(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    ann.reset_audience(agents)
    ann()
    ann.rm_audience(bob)
    ann()
    ann.rm_audience([cid])
    ann()
    ann.clear_audience()
    ann()
    return [all_heard(kit, agents), ann._audience]


@scenario
def audience_remove_whoever_is_not_there(kit: Kit) -> Any:
    ann, bob, cid = agents = three(kit)
    ann.reset_audience([bob])
    ann.rm_audience(cid)
    ann()
    return all_heard(kit, agents)


@scenario
def audience_remove_without_one(kit: Kit) -> Any:
    ann, bob, _ = three(kit)
    return [kit.raised(ann.rm_audience, bob), ann._audience]


@scenario
def observe_one_several_none(kit: Kit) -> Any:
    ann = kit.listener("Ann")
    ann.observe(kit.msg("user", "one"))
    ann.observe([kit.msg("user", "two"), kit.msg("user", "three")])
    ann.observe(None)
    return kit.heard(ann)


# --- pipelines


@scenario
def pipeline_of_agents(kit: Kit) -> Any:
    last = kit.sequential_pipeline(three(kit), kit.msg("user", "hi"))
    return [last.name, last.content]


@scenario
def pipeline_without_a_message(kit: Kit) -> Any:
    return [
        kit.sequential_pipeline(three(kit)).content,
        kit.sequential_pipeline(operators=three(kit)[:1], x=None).content,
    ]


@scenario
def pipeline_without_operators(kit: Kit) -> Any:
    return [kit.raised(kit.sequential_pipeline, []), kit.raised(kit.SequentialPipeline([]), None)]


@scenario
def pipeline_of_functions(kit: Kit) -> Any:
    return kit.sequential_pipeline(
        [lambda x: x + 1, lambda x: x * 10, lambda x: None, lambda x: [x]], 1
    )


@scenario
def pipeline_as_a_class(kit: Kit) -> Any:
    agents = three(kit)
    pipeline = kit.SequentialPipeline(agents)
    said = [pipeline(kit.msg("user", text)).content for text in ("one", "two")]
    return [said, [agent.name for agent in pipeline.participants], pipeline.operators == agents]


@scenario
def pipeline_in_a_pipeline(kit: Kit) -> Any:
    ann, bob, cid = three(kit)
    return kit.sequential_pipeline(
        [kit.SequentialPipeline([ann, bob]), cid], kit.msg("user", "hi")
    ).content


@scenario
def pipeline_in_a_hub(kit: Kit) -> Any:
    agents = three(kit)
    with kit.msghub(agents):
        kit.sequential_pipeline(agents, kit.msg("user", "hi"))
    return all_heard(kit, agents)


@scenario
def pipeline_ends_with_an_exception(kit: Kit) -> Any:
    called: list[Any] = []

    def fail(x: Any) -> None:
        raise KeyError("on purpose")

    return [kit.raised(kit.sequential_pipeline, [called.append, fail, called.append], 1), called]


@each(one=1, five=5)
def pipeline_calls_each_once(kit: Kit, count: int) -> Any:
    called: list[int] = []
    operators = [lambda x, n=n: called.append(n) for n in range(count)]
    kit.sequential_pipeline(operators, None)
    return called
