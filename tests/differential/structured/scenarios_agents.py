"""DialogAgent and DictDialogAgent: what they reply, remember and ask their models."""

from __future__ import annotations

import json
import re
from typing import Any

import pydantic

from tests.differential.structured.kit import INSTRUCTION, Better, Kit, better, each, said, scenario

DIALOG, DICT = "DialogAgent", "DictDialogAgent"
ROLE = "Be brief."


def reply_of(**fields: Any) -> str:
    return f"```json\n{json.dumps(fields)}\n```"


def thinker(kit: Kit, replies: list[str], *, parser: Any = None, **options: Any) -> Any:
    """An agent that remembers thought and say, says `say` and signals `done`, unless it has another
    parser.
    """
    own = kit.MarkdownJsonDictParser(
        {"thought": "what you think", "say": "what you say", "done": "true or false"},
        keys_to_memory=["thought", "say"],
        keys_to_content="say",
        keys_to_metadata=["done"],
    )
    return kit.speaker(DICT, "Tom", replies, parser or own, **options)


def told(message: Any) -> list[Any]:
    """A message as [name, role, content, metadata]."""
    return [message.name, message.role, message.content, message.metadata]


def asked(agent: Any, *words: str) -> list[list[str]]:
    """Which of these words (and the role and the instruction) each request had, in their order, as
    often as they came.
    """
    found = re.compile("|".join(map(re.escape, (*words, ROLE, INSTRUCTION))))
    return [found.findall("\n".join(str(text) for _, text in request)) for request in agent.asked]


# --- DialogAgent


@scenario
def dialog_reply(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["fine"])
    return told(agent(kit.msg("user", "how are you?")))


@scenario
def dialog_memory(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["fine", "yes"])
    agent(kit.msg("user", "how are you?"))
    agent(kit.msg("user", "really?"))
    return kit.heard(agent)


@scenario
def dialog_asks_for_all_that_is_remembered(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["three", "five"])
    agent.observe([kit.msg("user", "one"), kit.msg("user", "two")])
    agent()
    agent(kit.msg("user", "four"))
    return asked(agent, "one", "two", "three", "four")


@better(
    "servers take one system message at the head, and a model's own words as its own; others say"
    " who they are",
    [
        [["system", ROLE], ["user", "hi\n\nBob: no"]],
        [["system", ROLE], ["user", "hi\n\nBob: no"], ["assistant", "yes"], ["user", "why?"]],
    ],
)
def dialog_roles_in_the_request(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["yes", "so"])
    agent.observe([kit.msg("user", "hi"), kit.Msg("Bob", "no", "assistant")])
    agent()
    agent(kit.msg("user", "why?"))
    return agent.asked


@scenario
def dialog_without_a_role(kit: Kit) -> Any:
    agents = [kit.speaker(DIALOG, "Ann", ["fine"], sys_prompt=prompt) for prompt in ("", None)]
    for agent in agents:
        agent(kit.msg("user", "hi"))
    return [agent.asked for agent in agents]


@scenario
def dialog_without_a_memory(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["two", "four"], use_memory=False)
    made = [agent(kit.msg("user", "one")).content, agent(kit.msg("user", "three")).content]
    return [made, agent.memory, asked(agent, "one", "two", "three")]


@scenario
def dialog_of_several_messages(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["fine"])
    agent([kit.msg("user", "one"), kit.msg("user", "two")])
    return [kit.heard(agent), asked(agent, "one", "two")]


@scenario
def dialog_of_the_same_message_twice(kit: Kit) -> Any:
    agent, message = kit.speaker(DIALOG, "Ann", ["fine", "fine"]), kit.msg("user", "one")
    agent(message)
    agent(message)
    return [kit.heard(agent), asked(agent, "one")]


@scenario
def dialog_attributes(kit: Kit) -> Any:
    agents = [kit.speaker(DIALOG, "Ann", []), kit.speaker(DIALOG, "Bob", [], use_memory=False)]
    return [
        [a.name, a.sys_prompt, a.memory is None, a._audience, isinstance(a, kit.AgentBase)]
        for a in agents
    ]


@scenario
def dialog_what_is_replied_is_what_is_remembered(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", ["fine"])
    said_by_it = agent(kit.msg("user", "one"))
    return agent.memory.get_memory()[-1].id == said_by_it.id


@scenario
def dialog_two_agents(kit: Kit) -> Any:
    ann, bob = kit.speaker(DIALOG, "Ann", ["a1", "a2"]), kit.speaker(DIALOG, "Bob", ["b1", "b2"])
    x = kit.msg("user", "go")
    for _ in range(2):
        x = bob(ann(x))
    return [
        kit.heard(ann),
        kit.heard(bob),
        asked(ann, "go", "a1", "b1"),
        asked(bob, "a1", "b1", "a2"),
    ]


@scenario
def dialog_in_a_hub(kit: Kit) -> Any:
    agents = [kit.speaker(DIALOG, name, [f"I am {name}"]) for name in ("Ann", "Bob", "Cid")]
    with kit.msghub(agents, kit.msg("host", "who are you?")):
        for agent in agents:
            agent()
    return [kit.heard(agent) for agent in agents]


@scenario
def dialog_in_a_pipeline(kit: Kit) -> Any:
    agents = [kit.speaker(DIALOG, name, [f"I am {name}"]) for name in ("Ann", "Bob")]
    last = kit.sequential_pipeline(agents, kit.msg("user", "hi"))
    return [told(last), [kit.heard(agent) for agent in agents]]


@scenario
def dialog_hears_what_it_observes_without_a_reply(kit: Kit) -> Any:
    agent = kit.speaker(DIALOG, "Ann", [])
    agent.observe(kit.msg("user", "one"))
    return [kit.heard(agent), agent.asked]


@scenario
def a_reply_of_ones_own(kit: Kit) -> Any:
    class Echo(kit.AgentBase):  # type: ignore[misc, name-defined]
        def reply(self, x: Any = None) -> Any:
            self.memory.add(x)
            return kit.Msg(self.name, x.content.upper(), "assistant", {"length": len(x.content)})

    agent = Echo("Eve")
    return [told(agent(kit.msg("user", "hi"))), kit.heard(agent)]


@better(
    "an agent that has neither a model nor a reply of its own says what it needs", "NoModelConfig"
)
def an_agent_without_a_reply(kit: Kit) -> Any:
    return kit.raised(kit.AgentBase("Ann"), kit.msg("user", "hi"))


# --- DictDialogAgent


@scenario
def dict_reply(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="hm", say="hello", done=False)])
    return told(agent(kit.msg("user", "hi")))


@scenario
def dict_asks_with_the_instruction_at_the_end(kit: Kit) -> Any:
    agent = thinker(
        kit,
        [reply_of(thought="t1", say="s1", done=False), reply_of(thought="t2", say="s2", done=True)],
    )
    agent(kit.msg("user", "one"))
    agent(kit.msg("user", "two"))
    return asked(agent, "one", "two", "t1", "s1")


@scenario
def dict_asks_without_a_message(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say="s", done=False)])
    return [agent().content, asked(agent)]


@better(
    "the instruction stands in the last message: many servers take no system message there",
    [[["system", ROLE], ["user", f"hi\n\n{INSTRUCTION}"]]],
)
def dict_roles_in_the_request(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say="s", done=False)])
    agent(kit.msg("user", "hi"))
    return agent.asked


@scenario
def dict_remembers_one_field(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_memory="say", keys_to_content="say")
    agent = thinker(kit, [reply_of(thought="hm", say="hello")], parser=parser)
    agent(kit.msg("user", "hi"))
    return kit.heard(agent)


@better(
    "fields are remembered and said as JSON, which models read, not as Python's repr",
    ['{"thought": "hm", "say": "é"}', '{"say": "é"}'],
)
def dict_remembers_and_says_several_fields(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_memory=["thought", "say"], keys_to_content=["say"])
    agent = thinker(kit, [reply_of(thought="hm", say="é")], parser=parser)
    heard = agent(kit.msg("user", "hi")).content
    return [kit.heard(agent)[-1][1], heard]


@better("nothing to remember is not remembered; the oracle kept an empty message", [["user", "hi"]])
def dict_remembers_nothing(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_memory=False, keys_to_content="say")
    agent = thinker(kit, [reply_of(thought="hm", say="hello")], parser=parser)
    agent(kit.msg("user", "hi"))
    return kit.heard(agent)


@better(
    "no content is an empty text, which servers take", ["Tom", "assistant", "", {"say": "hello"}]
)
def dict_says_nothing(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_content=False, keys_to_metadata=True)
    return told(thinker(kit, [reply_of(say="hello")], parser=parser)(kit.msg("user", "hi")))


@each(
    nothing=False,
    one="vote",
    several=["vote", "say"],
    all=True,
)
def dict_metadata(kit: Kit, keys: Any) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_content="say", keys_to_metadata=keys)
    return thinker(kit, [reply_of(say="hello", vote={"for": ["Ann"]})], parser=parser)(
        kit.msg("user", "hi")
    ).metadata


@scenario
def dict_content_that_is_a_number(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(keys_to_content="vote")
    return thinker(kit, [reply_of(vote=3)], parser=parser)(kit.msg("user", "hi")).content


@scenario
def dict_changes_its_parser(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say="s", done=True), reply_of(vote="Ann")])
    first = told(agent(kit.msg("user", "discuss")))
    agent.set_parser(
        kit.MarkdownJsonDictParser(
            {"vote": "a name"}, keys_to_memory="vote", keys_to_content="vote"
        )
    )
    second = told(agent(kit.msg("user", "decide")))
    return [
        first,
        second,
        [name for name, _ in kit.heard(agent)],
        asked(agent, "discuss", "decide"),
    ]


@scenario
def dict_loop_of_a_discussion(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say=f"s{n}", done=n == 3) for n in (1, 2, 3, 4)])
    x, rounds = kit.msg("user", "discuss"), 0
    while rounds < 9:
        x, rounds = agent(x), rounds + 1
        if x.metadata["done"]:
            break
    return [rounds, x.content]


@scenario
def dict_in_a_hub_only_the_content_is_heard(kit: Kit) -> Any:
    agent, ann = (
        thinker(kit, [reply_of(thought="Ann lies", say="hello", done=True)]),
        kit.listener("Ann"),
    )
    with kit.msghub([agent, ann]):
        agent(kit.msg("user", "speak"))
    return [kit.heard(ann), ann.memory.get_memory()[0].metadata]


@scenario
def dict_without_a_memory(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say="s", done=True)], use_memory=False)
    return [told(agent(kit.msg("user", "one"))), agent.memory, asked(agent, "one")]


@scenario
def dict_attributes(kit: Kit) -> Any:
    agents = [
        kit.speaker(DICT, "Ann", []),
        kit.speaker(DICT, "Bob", [], max_retries=7, use_memory=False),
    ]
    return [[a.name, a.sys_prompt, a.max_retries, a.parser, a.memory is None] for a in agents]


@scenario
def dict_set_parser(kit: Kit) -> Any:
    agent, parser = kit.speaker(DICT, "Ann", []), kit.MarkdownJsonDictParser()
    return [agent.set_parser(parser), agent.parser is parser]


@scenario
def dict_with_tags(kit: Kit) -> Any:
    parser = kit.MultiTaggedContentParser(
        kit.TaggedContent("thought", "[T]", "think", "[/T]"),
        kit.TaggedContent("votes", "[V]", "a list", "[/V]", parse_json=True),
        keys_to_memory="thought",
        keys_to_content="thought",
        keys_to_metadata="votes",
    )
    agent = thinker(kit, ['Well: [T]hm[/T][V]["Ann", "Bob"][/V]'], parser=parser)
    return [told(agent(kit.msg("user", "hi"))), kit.heard(agent), asked(agent, "hi")]


@scenario
def dict_with_a_pattern(kit: Kit) -> Any:
    parser = kit.RegexTaggedContentParser(
        format_instruction="Write <name>value</name>.", keys_to_content="say"
    )
    agent = thinker(kit, ["<say>hello</say><n>3</n>"], parser=parser)
    return [agent(kit.msg("user", "hi")).content, asked(agent, "hi")]


@scenario
def dict_with_a_pydantic_class(kit: Kit) -> Any:
    vote = pydantic.create_model("Vote", say=(str, ...), votes=(int, 1))
    parser = kit.MarkdownJsonDictParser(
        content_hint=vote, keys_to_content="say", keys_to_metadata=["votes"]
    )
    return told(thinker(kit, [reply_of(say="s")], parser=parser)(kit.msg("user", "hi")))


@scenario
def dict_that_cannot_be_read_by_a_single_try(kit: Kit) -> Any:
    agent = thinker(kit, ["no JSON here"], max_retries=0)
    return [kit.raised(agent, kit.msg("user", "hi")), kit.heard(agent)]


@each(
    prose=Better(
        "Hello, how are you?",
        "the model is told what was wrong and asked again",
        ["s", 2, ["user", "Tom"]],
    ),
    no_object=Better(
        "```json\n[1]\n```",
        "the model is told what was wrong and asked again",
        ["s", 2, ["user", "Tom"]],
    ),
    field_missing=Better(
        reply_of(thought="t"),
        "the model is told what was wrong and asked again",
        ["s", 2, ["user", "Tom"]],
    ),
)
def dict_asks_again_after(kit: Kit, first: str) -> Any:
    agent = thinker(kit, [first, reply_of(thought="t", say="s", done=True)])
    said_by_it = agent(kit.msg("user", "hi")).content
    return [said_by_it, len(agent.asked), [name for name, _ in kit.heard(agent)]]


@better(
    "a reply is asked for max_retries more times; what could not be read is not remembered",
    ["JsonParsingError", 3, [["user", "hi"]]],
)
def dict_gives_up(kit: Kit) -> Any:
    agent = thinker(kit, ["no", "no", "no", "no"], max_retries=2)
    return [kit.raised(agent, kit.msg("user", "hi")), len(agent.asked), kit.heard(agent)]


@scenario
def dict_field_that_its_filter_wants_is_missing(kit: Kit) -> Any:
    agent = thinker(kit, [reply_of(thought="t", say="s")], max_retries=0)
    return kit.raised(agent, kit.msg("user", "hi"))


@better(
    "an agent without a parser says so; the oracle failed with an attribute of None", "ValueError"
)
def dict_without_a_parser(kit: Kit) -> Any:
    return kit.raised(kit.speaker(DICT, "Ann", ["x"]), kit.msg("user", "hi"))


@scenario
def dict_two_agents_vote(kit: Kit) -> Any:
    parser = kit.MarkdownJsonDictParser(
        required_keys=["vote"], keys_to_memory=False, keys_to_content="vote", keys_to_metadata=True
    )
    voters = [
        kit.speaker(DICT, name, [reply_of(vote=vote)], parser)
        for name, vote in (("Ann", "Bob"), ("Bob", "Ann"))
    ]
    return [told(voter(kit.msg("host", "vote"))) for voter in voters]


@scenario
def what_is_said_has_a_name_for_each(kit: Kit) -> Any:
    agents = [
        kit.speaker(DIALOG, "Ann", ["a"]),
        thinker(kit, [reply_of(thought="t", say="s", done=True)]),
    ]
    return said([agent(kit.msg("user", "hi")) for agent in agents])
