"""Models: the wrapper's failover, filters, templates, caches and sums, and how an agent asks its
model.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.differential.actors import Typist, config_for, scripted_model
from tests.differential.kit import Kit, scenario

HI = [{"role": "user", "content": "hi"}]
SCRIPTED = {"model": "scripted", "model_client_cls": "ScriptedModel"}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that is the current one."""
    with tempfile.TemporaryDirectory() as path, contextlib.chdir(path):
        yield Path(path)


def wrapper(
    kit: Kit, *answers: list[Any], price: float = 0.0, **base: Any
) -> tuple[Any, list[Any]]:
    """A wrapper over one scripted model for each list of answers (named one, two, ...), and the
    requests they get.
    """
    names = ["one", "two", "three"][: len(answers)]
    seen: list[Any] = []
    configs = [{**SCRIPTED, "model": name, "tags": [name]} for name in names]
    made = kit.OpenAIWrapper(config_list=configs, **{"cache_seed": None, **base})
    for texts in answers:
        made.register_model_client(scripted_model(texts, seen, price))
    return made, seen


def text_of(made: Any, response: Any) -> Any:
    """The texts of a response."""
    return made.extract_text_or_completion_object(response)


# --- failover and filters


@scenario
def the_first_model_answers(kit: Kit) -> Any:
    made, seen = wrapper(kit, ["from one"], ["from two"])
    response = made.create(messages=HI)
    return [
        text_of(made, response),
        response.config_id,
        response.pass_filter,
        response.cost,
        [p["model"] for p in seen],
    ]


@scenario
def the_next_model_answers_after_a_failure(kit: Kit) -> Any:
    made, seen = wrapper(kit, [TimeoutError("slow")], ["from two"])
    failed = kit.raised(made.create, messages=HI)
    return [failed, [p["model"] for p in seen]]


@scenario
def the_last_models_failure_is_raised(kit: Kit) -> Any:
    made, _ = wrapper(kit, [KeyError("a")])
    return kit.raised(made.create, messages=HI)


@scenario
def a_filter_passes_over_answers(kit: Kit) -> Any:
    made, seen = wrapper(kit, ["no"], ["yes"], ["not asked"])

    def accept(context: Any, response: Any) -> bool:
        return context["wanted"] in text_of(made, response)

    response = made.create(messages=HI, filter_func=accept, context={"wanted": "yes"})
    return [
        text_of(made, response),
        response.config_id,
        response.pass_filter,
        [p["model"] for p in seen],
    ]


@scenario
def a_filter_that_nothing_passes(kit: Kit) -> Any:
    made, seen = wrapper(kit, ["no"], ["nor this"])
    response = made.create(messages=HI, filter_func=lambda context, response: False)
    return [text_of(made, response), response.config_id, response.pass_filter, len(seen)]


@scenario
def requests_carry_the_keys_of_the_config(kit: Kit) -> Any:
    made, seen = wrapper(kit, ["a", "b"], temperature=0.5)
    made.create(messages=HI)
    made.create(messages=HI, temperature=0.1, top_p=0.9)
    return [
        {key: p.get(key) for key in ("model", "temperature", "top_p", "messages")} for p in seen
    ]


# --- custom clients


@scenario
def clients_that_are_not_registered(kit: Kit) -> Any:
    made = kit.OpenAIWrapper(
        config_list=[SCRIPTED, {**SCRIPTED, "model": "other"}], cache_seed=None
    )
    before = kit.raised(made.create, messages=HI)
    made.register_model_client(scripted_model(["ok"], []))
    half = kit.raised(made.create, messages=HI)
    made.register_model_client(scripted_model(["ok"], []))
    third = kit.raised(made.register_model_client, scripted_model(["ok"], []))
    return [before, half, third, text_of(made, made.create(messages=HI))]


@scenario
def a_client_of_a_name_in_no_config(kit: Kit) -> Any:
    made = kit.OpenAIWrapper(
        config_list=[{**SCRIPTED, "model_client_cls": "Another"}], cache_seed=None
    )
    return kit.raised(made.register_model_client, scripted_model(["ok"], []))


@scenario
def a_client_gets_its_config_and_arguments(kit: Kit) -> Any:
    got: list[Any] = []
    base = scripted_model(["ok"], [])

    class ScriptedModel(base):  # type: ignore[misc,valid-type]
        def __init__(self, config: dict[str, Any], **options: Any) -> None:
            got.append([{k: config[k] for k in ("model", "device", "model_client_cls")}, options])
            super().__init__(config)

    made = kit.OpenAIWrapper(config_list=[{**SCRIPTED, "device": "cpu"}], cache_seed=None)
    made.register_model_client(ScriptedModel, extra=3)
    return [got, text_of(made, made.create(messages=HI))]


@scenario
def an_agent_registers_a_client(kit: Kit) -> Any:
    bare, thinker = kit.agent("bare"), kit.agent("thinker", llm_config=config_for())
    thinker.register_model_client(scripted_model(["hello"], []))
    return [
        kit.raised(bare.register_model_client, scripted_model([], [])) is not None,
        thinker.generate_reply(messages=HI),
    ]


# --- templates


@scenario
def templates_are_filled_from_the_context(kit: Kit) -> Any:
    made, seen = wrapper(kit, ["a"] * 4)
    context = {"name": "Ann", "topic": "stars"}
    callable_content = [{"role": "user", "content": lambda c: f"Dear {c['name']}"}]
    made.create(messages=callable_content, context=context)
    template = [{"role": "user", "content": "{name} asks about {topic}"}]
    made.create(messages=template, context=context)
    made.create(messages=template, context=context, allow_format_str_template=True)
    made.create(messages=template, allow_format_str_template=True)
    return [[m["content"] for m in p["messages"]] for p in seen]


@scenario
def instantiate_by_itself(kit: Kit) -> Any:
    fill = kit.OpenAIWrapper.instantiate
    return [
        fill(None, {"a": 1}),
        fill("{a}", {"a": 1}),
        fill("{a}", {"a": 1}, True),
        fill(lambda c: c["a"] + 1, {"a": 1}),
        fill("{a}", None, True),
        fill("{a}", {}, True),
    ]


@scenario
def a_callable_content_uses_the_latest_context(kit: Kit) -> Any:
    seen: list[Any] = []
    thinker = kit.agent("thinker", llm_config=config_for(), is_termination_msg=lambda m: False)
    thinker.register_model_client(scripted_model(["one", "two"], seen))
    asker = kit.agent("asker")
    asker.send(
        {"content": lambda c: f"Use {c['tool']}.", "context": {"tool": "X"}},
        thinker,
        request_reply=False,
        silent=True,
    )
    histories = thinker.chat_messages[asker]
    return [callable(histories[0]["content"]), histories[0].get("context", {}).get("tool")]


# --- sums


@scenario
def sums_of_calls(kit: Kit) -> Any:
    made, _ = wrapper(kit, ["a", "b"], price=0.25)
    before = [made.actual_usage_summary, made.total_usage_summary]
    made.create(messages=HI)
    made.create(messages=HI)
    after = [made.actual_usage_summary, made.total_usage_summary]
    made.clear_usage_summary()
    return [before, after, made.actual_usage_summary, made.total_usage_summary]


@scenario
def sums_of_two_models(kit: Kit) -> Any:
    made, _ = wrapper(kit, ["no"], ["yes"], price=0.5)
    made.create(
        messages=HI, filter_func=lambda context, response: text_of(made, response) == ["yes"]
    )
    return made.actual_usage_summary


@scenario
def sums_of_cached_calls(kit: Kit) -> Any:
    with (
        folder() as path,
        kit.Cache.disk(cache_seed=7, cache_path_root=str(path / "cache")) as cache,
    ):
        made, seen = wrapper(kit, ["a", "b"], price=0.5)
        texts = [text_of(made, made.create(messages=HI, cache=cache)) for _ in range(3)]
        return [texts, len(seen), made.actual_usage_summary, made.total_usage_summary]


@scenario(both=True)
def sums_of_an_agent(kit: Kit) -> Any:
    thinker = kit.agent("thinker", llm_config=config_for())
    thinker.register_model_client(scripted_model(["a", "b"], [], price=0.1))
    asker = kit.agent("asker", default_auto_reply="go on")
    result = kit.call(asker, "initiate_chat", thinker, message="start", max_turns=2, silent=True)
    sums = [
        thinker.get_actual_usage(),
        thinker.get_total_usage(),
        asker.get_actual_usage(),
        asker.get_total_usage(),
    ]
    return [sums, result.cost, kit.gather_usage_summary([thinker, asker])]


@scenario
def printed_sums(kit: Kit) -> Any:
    """Which figures are printed, not in which words."""
    thinker = kit.agent("thinker", llm_config=config_for())
    thinker.register_model_client(scripted_model(["a"], [], price=0.125))
    counts = []
    for mode in ("actual", "total", ["actual", "total"]):
        typist = Typist()
        with kit.IOStream.set_default(typist):
            thinker.print_usage_summary(mode=mode)
        counts.append(any("0.125" in line for line in typist.lines))
    thinker.generate_reply(messages=HI)
    for mode in ("actual", "total", ["actual", "total"]):
        typist = Typist()
        with kit.IOStream.set_default(typist):
            thinker.print_usage_summary(mode=mode)
        counts.append(any("0.125" in line and "scripted" in line for line in typist.lines))
    return [counts, kit.raised(thinker.print_usage_summary, mode="neither")]


# --- caches


@scenario
def a_cache_tells_requests_apart(kit: Kit) -> Any:
    with (
        folder() as path,
        kit.Cache.disk(cache_seed=7, cache_path_root=str(path / "cache")) as cache,
    ):
        made, seen = wrapper(kit, ["a", "b", "c", "d"])
        requests: list[dict[str, Any]] = [
            {},
            {"temperature": 0.5},
            {},
            {"messages": [*HI, *HI]},
            {"temperature": 0.5},
        ]
        texts = [
            text_of(made, made.create(**{"messages": HI, "cache": cache, **more}))
            for more in requests
        ]
        return [texts, len(seen)]


@scenario
def a_cache_outlives_the_wrapper(kit: Kit) -> Any:
    with folder() as path:
        texts: list[Any] = []
        for seed in (7, 7, 8):
            with kit.Cache.disk(cache_seed=seed, cache_path_root=str(path / "cache")) as cache:
                made, _ = wrapper(kit, [f"by {len(texts)}"])
                texts.append(text_of(made, made.create(messages=HI, cache=cache)))
        return texts


@scenario
def a_cache_seed_in_the_config(kit: Kit) -> Any:
    with folder():
        texts: list[Any] = []
        for seed in (7, 7, 8, None, None):
            made, _ = wrapper(kit, [f"by {len(texts)}"], cache_seed=seed)
            texts.append(text_of(made, made.create(messages=HI)))
        return texts


@scenario
def a_cached_answer_still_meets_the_filter(kit: Kit) -> Any:
    with (
        folder() as path,
        kit.Cache.disk(cache_seed=7, cache_path_root=str(path / "cache")) as cache,
    ):
        made, seen = wrapper(kit, ["no"], ["yes"])
        options: dict[str, Any] = {"messages": HI, "cache": cache}
        options["filter_func"] = lambda context, response: text_of(made, response) == ["yes"]
        texts = [text_of(made, made.create(**options)) for _ in range(2)]
        return [texts, len(seen)]


@scenario(both=True)
def a_cache_of_a_chat(kit: Kit) -> Any:
    with (
        folder() as path,
        kit.Cache.disk(cache_seed=7, cache_path_root=str(path / "cache")) as cache,
    ):
        seen: list[Any] = []
        thinker = kit.agent("thinker", llm_config=config_for())
        thinker.register_model_client(scripted_model(["first", "second"], seen))
        asker = kit.agent("asker")
        options: dict[str, Any] = {"message": "start", "max_turns": 1, "silent": True}
        results = [
            kit.call(asker, "initiate_chat", thinker, **options, cache=cache).summary
            for _ in range(2)
        ]
        results.append(kit.call(asker, "initiate_chat", thinker, **options).summary)
        return [results, len(seen), thinker.client_cache, asker.client_cache]


@scenario
def a_cache_by_itself(kit: Kit) -> Any:
    with (
        folder() as path,
        kit.Cache.disk(cache_seed=7, cache_path_root=str(path / "cache")) as cache,
    ):
        before = [cache.get("k"), cache.get("k", "none")]
        cache.set("k", {"a": [1, 2]})
        return [before, cache.get("k"), kit.raised(kit.Cache, {"unknown": 1})]


# --- the reply of an agent's model


@scenario(both=True)
def replies_of_a_model(kit: Kit) -> Any:
    call = {"id": "1", "type": "function", "function": {"name": "double", "arguments": '{"x": 1}'}}
    answers: list[Any] = [
        "text",
        {"role": "assistant", "content": "as a dict"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    answers.append(
        {"role": "assistant", "content": "", "function_call": {"name": "double", "arguments": "{}"}}
    )
    thinker = kit.agent("thinker", llm_config=kit.llm_config())
    kit.scripted(thinker, answers)
    return [kit.call(thinker, "generate_oai_reply", messages=HI) for _ in answers]


@scenario(both=True)
def without_a_model_there_is_no_reply(kit: Kit) -> Any:
    silent = kit.agent("silent", llm_config=False)
    return [
        kit.call(silent, "generate_oai_reply", messages=HI),
        silent.client is None,
        silent.llm_config,
    ]


@scenario(both=True)
def what_the_model_reads(kit: Kit) -> Any:
    thinker = kit.agent("thinker", llm_config=kit.llm_config(), system_message="Be brief.")
    seen = kit.scripted(thinker, ["ok", "ok"])
    results = [{"tool_call_id": str(i), "role": "tool", "content": f"r{i}"} for i in (1, 2)]
    history = [*HI, {"role": "tool", "content": "r1\n\nr2", "tool_responses": results}]
    kit.call(thinker, "generate_oai_reply", messages=history)
    thinker.update_system_message("")
    kit.call(thinker, "generate_oai_reply", messages=HI)
    return seen


@scenario
def llm_configs_of_wrong_kinds(kit: Kit) -> Any:
    wrong: list[Any] = [{}, {"config_list": []}, "a-model", 3]
    return [kit.raised(kit.agent, "thinker", llm_config=config) for config in wrong]


@scenario(both=True)
def a_model_that_fails_in_a_chat(kit: Kit) -> Any:
    thinker = kit.agent("thinker", llm_config=kit.llm_config())
    kit.scripted(thinker, [KeyError("no answer")])
    asker = kit.agent("asker")
    failed = kit.raised(kit.call, asker, "initiate_chat", thinker, message="start", silent=True)
    return [failed, kit.transcript(asker, thinker)]
