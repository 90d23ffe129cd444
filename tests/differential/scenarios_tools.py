"""Tools: how functions are registered and described to the model, and how their signatures are
changed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

from tests.differential.actors import config_for, scripted_model
from tests.differential.kit import Kit, scenario
from tests.differential.toolbox import Described, asking, call_of, tools_of, unwarned

# --- registration


@scenario
def register_for_llm_as_a_tool(kit: Kit) -> Any:
    it = Described(kit)

    def twice(x: Annotated[int, "a number"], times: Annotated[float, "how often"] = 1.5) -> str:
        return str(x * times)

    it.agent.register_for_llm(description="Doubles a number")(twice)
    return [it.tools(), it.functions(), it.agent.function_map == {}]


@scenario
def register_for_llm_as_a_function(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    it = Described(kit)
    it.agent.register_for_llm(name="twice", description="Doubles", api_style="function")(double)
    return [it.tools(), it.functions()]


@scenario
def register_for_llm_types_of_parameters(kit: Kit) -> Any:
    it = Described(kit)

    def many(
        a: str,
        b: list[int],
        c: dict[str, float],
        d: Literal["one", "two"],
        e: Optional[bool] = None,  # noqa: UP045 (scripts write it so)
        f: Annotated[int | None, "maybe"] = 3,
    ) -> list[str]:
        return []

    it.agent.register_for_llm(description="Many kinds")(many)
    return it.tools()


PAIR = {
    "type": "array",
    "prefixItems": [{"type": "integer"}, {"type": "string"}],
    "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "minItems": 2,
    "maxItems": 2,
    "default": [1, "x"],
    "description": "g",
}


@scenario(better="servers refuse an array that does not say what its items are", expected=PAIR)
def register_for_llm_of_a_tuple(kit: Kit) -> Any:
    it = Described(kit)

    def pair(g: tuple[int, str] = (1, "x")) -> str:
        return ""

    it.agent.register_for_llm(description="A pair")(pair)
    return it.tools()[0]["function"]["parameters"]["properties"]["g"]


@scenario
def register_for_llm_of_a_coroutine(kit: Kit) -> Any:
    _, slow_double = tools_of(kit)
    it = Described(kit)
    it.agent.register_for_llm(description="Slowly")(slow_double)
    return it.tools()


@scenario(
    better="a method can be a tool; the oracle raised AttributeError", expected=["run", ["x"], "3"]
)
def register_for_llm_of_a_method(kit: Kit) -> Any:
    class Tool:
        def run(self, x: int) -> str:
            return str(x)

    it, runner = Described(kit), kit.agent("runner")
    kit.register_function(Tool().run, caller=it.agent, executor=runner, description="A method")
    described = it.tools()[0]["function"]
    return [
        described["name"],
        list(described["parameters"]["properties"]),
        runner.function_map["run"](3),
    ]


@scenario
def a_name_is_remembered_for_the_next_registration(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    one, two = Described(kit), Described(kit)
    one.agent.register_for_llm(name="twice", description="Doubles")(double)
    two.agent.register_for_llm(description="Doubles too")(double)
    return [[tool["function"]["name"] for tool in it.tools()] for it in (one, two)]


@scenario
def register_for_llm_errors(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    it = Described(kit)

    def untyped(x):  # type: ignore[no-untyped-def]
        return x

    bare = kit.agent("bare")
    return [
        kit.raised(lambda: it.agent.register_for_llm()(double)),
        kit.raised(lambda: it.agent.register_for_llm(description="x", api_style="other")(double)),
        kit.raised(lambda: it.agent.register_for_llm(description="x")(untyped)),
        kit.raised(lambda: bare.register_for_llm(description="x")(double)),
        it.tools(),
    ]


@scenario
def stacked_decorators_share_name_and_description(kit: Kit) -> Any:
    one, two, runner = Described(kit), Described(kit), kit.agent("runner")

    @runner.register_for_execution()  # type: ignore[untyped-decorator]
    @two.agent.register_for_llm()  # type: ignore[untyped-decorator]
    @one.agent.register_for_llm(name="thrice", description="Three times")  # type: ignore[untyped-decorator]
    def triple(x: int) -> int:
        return 3 * x

    return [one.tools(), two.tools() == one.tools(), sorted(runner.function_map)]


@scenario
def stacked_decorators_outer_name_wins(kit: Kit) -> Any:
    one, two, runner = Described(kit), Described(kit), kit.agent("runner")

    @runner.register_for_execution(name="run_it")  # type: ignore[untyped-decorator]
    @two.agent.register_for_llm(name="second", description="other")  # type: ignore[untyped-decorator]
    @one.agent.register_for_llm(name="first", description="one")  # type: ignore[untyped-decorator]
    def triple(x: int) -> int:
        return 3 * x

    names = [
        [t["function"]["name"], t["function"]["description"]]
        for it in (one, two)
        for t in it.tools()
    ]
    return [names, sorted(runner.function_map)]


@scenario
def decorated_function_still_works(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    runner, it = kit.agent("runner"), Described(kit)
    made = runner.register_for_execution()(it.agent.register_for_llm(description="x")(double))
    call = getattr(made, "func", made)
    return [
        call(4),
        getattr(made, "name", getattr(made, "__name__", None)),
        runner.function_map["double"](5),
    ]


@scenario(both=True)
def register_for_execution_text_results(kit: Kit) -> Any:
    double, slow_double = tools_of(kit)
    runner = kit.agent("runner")
    runner.register_for_execution()(double)
    runner.register_for_execution(name="slow")(slow_double)
    results = [runner.function_map["double"](3)]
    message = asking(call_of("double"), call_of("slow", '{"x": 5}', "2"))
    reply = kit.call(runner, "generate_reply", messages=[message], sender=kit.agent("caller"))
    return [results, reply, sorted(runner.function_map)]


@scenario
def module_register_function(kit: Kit) -> Any:
    double, slow_double = tools_of(kit)
    it, runner = Described(kit), kit.agent("runner")
    kit.register_function(
        double, caller=it.agent, executor=runner, name="twice", description="Doubles"
    )
    kit.register_function(slow_double, caller=it.agent, executor=runner, description="Slowly")
    return [it.tools(), sorted(runner.function_map), sorted(it.agent.function_map)]


@scenario
@unwarned
def registering_a_name_again_replaces_it(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    it, runner = Described(kit), kit.agent("runner")
    kit.register_function(double, caller=it.agent, executor=runner, name="f", description="first")
    kit.register_function(
        lambda: "second", caller=it.agent, executor=runner, name="f", description="second"
    )
    return [it.tools(), runner.function_map["f"]()]


@scenario
def register_function_names_and_none(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    runner = kit.agent("runner")
    runner.register_function({"a": double, "b": double})
    runner.register_function({"a": None})
    wrong = ["two words", "", "x" * 65, "dotted.name"]
    raised = [kit.raised(lambda n=n: runner.register_function({n: double})) for n in wrong]
    return [sorted(runner.function_map), raised, sorted(runner._function_map)]


@scenario
def can_execute_function_of_one_and_several(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    runner = kit.agent("runner", function_map={"a": double, "b": double})
    return [runner.can_execute_function(n) for n in ("a", "c", ["a", "b"], ["a", "c"], [])]


@scenario
def function_map_at_construction(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    given = {"a": double}
    return sorted(kit.agent("runner", function_map=given).function_map)


# --- signatures


def _signature(name: str, text: str = "text") -> dict[str, Any]:
    return {"name": name, "description": text, "parameters": {"type": "object", "properties": {}}}


@scenario
@unwarned
def tool_signatures_added_replaced_removed(kit: Kit) -> Any:
    it = Described(kit)
    steps = []
    for name, text in (("a", "one"), ("b", "two"), ("a", "three")):
        it.agent.update_tool_signature(
            {"type": "function", "function": _signature(name, text)}, is_remove=False
        )
        steps.append([[t["function"]["name"], t["function"]["description"]] for t in it.tools()])
    it.agent.update_tool_signature("a", is_remove=True)
    steps.append([t["function"]["name"] for t in it.tools()])
    it.agent.update_tool_signature(
        {"type": "function", "function": _signature("b")}, is_remove=True
    )
    return [steps, it.tools()]


@scenario
@unwarned
def function_signatures_added_replaced_removed(kit: Kit) -> Any:
    it = Described(kit)
    steps = []
    for name, text in (("a", "one"), ("b", "two"), ("a", "three")):
        it.agent.update_function_signature(_signature(name, text), is_remove=False)
        steps.append([[f["name"], f["description"]] for f in it.functions()])
    it.agent.update_function_signature("a", is_remove=True)
    steps.append([f["name"] for f in it.functions()])
    it.agent.update_function_signature(_signature("b"), is_remove=True)
    return [steps, it.functions()]


@scenario
def signature_errors(kit: Kit) -> Any:
    it, bare = Described(kit), kit.agent("bare")
    tool = {"type": "function", "function": _signature("a")}
    return [
        kit.raised(lambda: bare.update_tool_signature(tool, is_remove=False)),
        kit.raised(lambda: bare.update_function_signature(_signature("a"), is_remove=False)),
        kit.raised(lambda: it.agent.update_tool_signature("a", is_remove=True)),
        kit.raised(lambda: it.agent.update_function_signature("a", is_remove=True)),
        kit.raised(lambda: it.agent.update_tool_signature("a", is_remove=False)),
        kit.raised(lambda: it.agent.update_function_signature("a", is_remove=False)),
        kit.raised(
            lambda: it.agent.update_function_signature({"description": "no name"}, is_remove=False)
        )
        is not None,
        kit.raised(
            lambda: it.agent.update_function_signature(_signature("two words"), is_remove=False)
        ),
    ]


@scenario
def signatures_leave_the_given_config_alone(kit: Kit) -> Any:
    given = config_for()
    one, two = Described(kit, llm_config=given), Described(kit, llm_config=given)
    one.agent.update_tool_signature(
        {"type": "function", "function": _signature("a")}, is_remove=False
    )
    return ["tools" in given, one.agent.llm_config is given, "tools" in two.agent.llm_config]


@scenario(both=True)
def the_model_is_told_of_the_tools(kit: Kit) -> Any:
    double, _ = tools_of(kit)
    seen: list[Any] = []
    it = Described(kit)
    it.agent.register_for_llm(name="twice", description="Doubles")(double)
    it.agent.register_model_client(model_client_cls=scripted_model(["hello"], seen))
    reply = kit.call(
        it.agent,
        "generate_reply",
        messages=[{"role": "user", "content": "hi"}],
        sender=kit.agent("caller"),
    )
    return [reply, [tool["function"]["name"] for tool in seen[0]["tools"]]]
