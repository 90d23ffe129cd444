"""Agents as they are made: defaults, attributes, what is refused, context variables; what their
models have cost.
"""

from __future__ import annotations

from typing import Any

from tests.differential.kit import Kit, scenario


@scenario
def defaults_of_an_agent(kit: Kit) -> Any:
    agent = kit.ConversableAgent("a")
    return {
        "name": agent.name,
        "system_message": agent.system_message,
        "description": agent.description,
        "mode": agent.human_input_mode,
        "max": agent.max_consecutive_auto_reply(),
        "class": [
            agent.MAX_CONSECUTIVE_AUTO_REPLY,
            agent.DEFAULT_CONFIG,
            agent.DEFAULT_SUMMARY_METHOD,
        ],
        "llm_config": agent.llm_config,
        "client": agent.client,
        "client_cache": agent.client_cache,
        "code": [agent._code_execution_config, agent.code_executor, agent.use_docker],
        "functions": [agent.function_map, agent._function_map],
        "auto_reply": agent._default_auto_reply,
        "messages": [dict(agent.chat_messages), dict(agent._oai_messages)],
        "silent": agent.silent,
        "context": agent._context_variables,
        "reply_at_receive": dict(agent.reply_at_receive),
    }


@scenario
def defaults_of_the_two_kinds(kit: Kit) -> Any:
    assistant, user = (
        kit.AssistantAgent("assistant"),
        kit.UserProxyAgent("user", code_execution_config=False),
    )
    return [
        [
            one.human_input_mode,
            one.max_consecutive_auto_reply(),
            one.llm_config,
            one._default_auto_reply,
            one.code_executor is None,
        ]
        for one in (assistant, user)
    ] + [
        user.system_message,
        user.description == kit.UserProxyAgent.DEFAULT_USER_PROXY_AGENT_DESCRIPTIONS["ALWAYS"],
    ]


@scenario
def names_of_agents(kit: Kit) -> Any:
    names = ["a", "with space", "tab\there", "Ümläut", "a-b.c"]
    return [kit.raised(kit.agent, name) for name in names]


@scenario(
    better="an agent needs a name; the oracle takes the empty one, which nobody can select",
    expected="ValueError",
)
def an_empty_name(kit: Kit) -> Any:
    return kit.raised(kit.agent, "")


@scenario
def a_name_with_a_space_and_a_model(kit: Kit) -> Any:
    config = kit.llm_config()
    return [
        kit.raised(kit.agent, name, llm_config=config)
        for name in ("with space", "tab\there", "fine")
    ]


@scenario
def wrong_arguments_of_an_agent(kit: Kit) -> Any:
    cases: list[dict[str, Any]] = [
        {"llm_config": "gpt-4"},
        {"llm_config": {}},
        {"llm_config": {"config_list": []}},
        {"llm_config": {"config_list": [{"model": ""}]}},
        {"function_map": {"bad name": print}},
        {"code_execution_config": "docker"},
        {"is_termination_msg": None},
        {"chat_messages": None},
    ]
    return [kit.raised(kit.agent, "a", **options) for options in cases]


@scenario
def system_message_and_description(kit: Kit) -> Any:
    agent = kit.agent("a", system_message="one")
    found = [agent.system_message, agent.description]
    agent.update_system_message("two")
    found += [agent.system_message, agent.description]
    agent.description = "about"
    other = kit.agent("b", system_message="s", description="d")
    return [
        *found,
        agent.description,
        other.system_message,
        other.description,
        agent._oai_system_message,
    ]


@scenario
def a_system_message_as_a_list(kit: Kit) -> Any:
    return kit.agent("a", system_message=["one", "two"])._oai_system_message


@scenario
def the_callers_llm_config_is_not_shared(kit: Kit) -> Any:
    config = kit.llm_config(temperature=0)
    agent = kit.agent("a", llm_config=config)
    config["temperature"] = 1
    config["config_list"].append({"model": "other"})
    return [agent.llm_config["temperature"], len(agent.llm_config["config_list"])]


@scenario
def the_context_variables_are_shared(kit: Kit) -> Any:
    shared = {"a": 1}
    agent = kit.agent("a", context_variables=shared)
    agent.set_context("b", 2)
    return [shared, kit.agent("b")._context_variables]


@scenario
def context_variables(kit: Kit) -> Any:
    agent = kit.agent("a")
    agent.set_context("a", 1)
    agent.update_context({"a": 2, "b": None})
    found = [
        agent.get_context("a"),
        agent.get_context("b", "default"),
        agent.get_context("c"),
        agent.get_context("c", 3),
    ]
    found += [agent.pop_context("a"), agent.pop_context("a"), agent.pop_context("a", "gone")]
    return [*found, agent._context_variables]


@scenario
def which_agents_count_as_agents(kit: Kit) -> Any:
    agent = kit.agent("a")
    return [
        isinstance(agent, kit.Agent),
        isinstance(kit.AssistantAgent("b"), kit.ConversableAgent),
        isinstance("a", kit.Agent),
    ]


@scenario
def an_agent_can_be_a_key(kit: Kit) -> Any:
    a, b = kit.agent("same"), kit.agent("same")
    return [a == b, len({a, b}), {a: 1}[a]]


@scenario(both=True)
def usage_of_an_agent(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", llm_config=kit.llm_config())
    kit.scripted(b, ["r", "s"], cost=0.5)
    found = [b.get_actual_usage(), b.get_total_usage(), a.get_actual_usage()]
    for text in ("1", "2"):
        kit.call(a, "send", text, b, request_reply=True)
    return [*found, b.get_actual_usage(), b.get_total_usage()]


@scenario
def usage_of_several_agents(kit: Kit) -> Any:
    agents = [kit.agent("a"), *(kit.agent(name, llm_config=kit.llm_config()) for name in "bc")]
    for agent in agents[1:]:
        kit.scripted(agent, ["r"], cost=0.25)
        agents[0].send("m", agent, request_reply=True)
    return [kit.gather_usage_summary(agents), kit.gather_usage_summary(agents[:1])]
