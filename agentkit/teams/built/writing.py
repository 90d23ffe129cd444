"""Pieces of Python in scripts of teams: variables, models, calls, dicts, and a team that plans
first.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from agentkit.core.given import list_missing
from agentkit.errors import ConfigError
from agentkit.teams.built.agents import AgentDocument, Documents, ModelChoice
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import Plan
from agentkit.teams.findings import FIND, SEARCH

_IMPORTS: Sequence[tuple[str, str]] = (
    ("agentkit", "ActionExecutor"),
    ("agentkit", "CompressibleAgent"),
    ("agentkit", "ConversableAgent"),
    ("agentkit", "DictDialogAgent"),
    ("agentkit", "GroupChat"),
    ("agentkit", "GroupChatManager"),
    ("agentkit", "MarkdownJsonDictParser"),
    ("agentkit", "Msg"),
    ("agentkit", "MultiTaggedContentParser"),
    ("agentkit", "ReWOO"),
    ("agentkit", "RetrieveUserProxyAgent"),
    ("agentkit", "TaggedContent"),
    ("agentkit", "Workspace"),
    ("agentkit", "initiate_chats"),
    ("agentkit", "load_settings"),
    ("agentkit", "msghub"),
    ("agentkit", "register_function"),
    ("agentkit.llm", "Model"),
    ("agentkit.llm.calls.openai_client", "OpenAIClient"),
    ("agentkit.messages", "has_calls"),
    ("agentkit.messages", "text_of"),
    ("agentkit.mcp.servers", "AllowedTool"),
    ("agentkit.mcp.servers", "ServerList"),
    ("agentkit.mcp.servers", "ToolServer"),
    ("agentkit.mcp.servers", "confirmed"),
    ("agentkit.mcp.serving", "ServedTools"),
    ("agentkit.retrieval.types", "Scope"),
    ("agentkit.retrieval.web.fetching", "read_page"),
    ("agentkit.teams", "Question"),
    ("agentkit.teams", "Task"),
    ("agentkit.teams.built.agents", "Ending"),
    ("agentkit.teams.built.flows", "Plan"),
    ("agentkit.teams.built.document", "read_document"),
    ("agentkit.teams.built.agents", "CompressConfig"),
    ("agentkit.teams.built.members", "LoneRunner"),
    ("agentkit.teams.built.members", "ends_with"),
    ("agentkit.teams.built.members", "make_shortener"),
    ("agentkit.teams.built.offers.reading", "make_fetcher"),
    ("agentkit.teams.built.offers.reading", "make_reader"),
    ("agentkit.teams.built.offers.running", "run_isolated"),
    ("agentkit.teams.built.offers.tables", "make_querier"),
    ("agentkit.teams.built.planning", "Speakers"),
    ("agentkit.teams.built.planning", "choose_prompts"),
    ("agentkit.teams.built.planning", "make_actions"),
    ("agentkit.teams.built.planning", "merge_limits"),
    ("agentkit.teams.built.planning", "to_settings"),
    ("agentkit.teams.built.talking", "CollectionProxy"),
    ("agentkit.teams.built.talking", "choose_speaker"),
    ("agentkit.teams.built.team", "build_team"),
    ("agentkit.teams.built.tools", "BUILT_IN"),
    ("agentkit.teams.built.tools", "name_call"),
    ("agentkit.teams.built.tools", "offer_tool"),
    ("agentkit.teams.findings", "Findings"),
    ("agentkit.teams.own_tools", "load_tools"),
    ("agentkit.teams.planning", "Material"),
    ("agentkit.teams.planning", "PlanProtocol"),
    ("agentkit.teams.planning", "Setup"),
    ("agentkit.workspace.answering", "Stored"),
    ("agentkit.workspace.answering", "look_elsewhere"),
    ("functools", "partial"),
    ("inspect", "getdoc"),
)
_NAMING = ("id", "arg", "name", "asname", "rest")
"""The fields of nodes that hold a name which the code binds or uses."""


def stand_in(names: Sequence[str]) -> Mapping[str, str]:
    """Variables for a draft of the script, by the agents' names; `name_variables` gives none that
    begins so.
    """
    return {name: f"_{number}" for number, name in enumerate(names)}


def find_taken(draft: str) -> Set[str]:
    """What no agent's variable may be called: all names in the draft, those that scripts may
    import, and Python's built-in ones. Raises ConfigError for a draft that Python cannot read.
    """
    try:
        tree = ast.parse(draft)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(
            f"The team cannot be written as a script: Python would not read it ({error})."
            " Simplify values of settings that lie deep in one another, or export JSON."
        ) from error
    imported = [name for _, name in _IMPORTS]
    return {*_find_names(tree), *imported, *dir(builtins)}


def _find_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in _NAMING:
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name.partition(".")[0]


def name_variables(names: Iterable[str], taken: Set[str]) -> Mapping[str, str]:
    """A Python name for each agent, all different, and none that is taken."""
    variables: dict[str, str] = {}
    for name in names:
        variables[name] = _find_variable(name, {*taken, *variables.values()})
    return variables


def _find_variable(name: str, taken: Set[str]) -> str:
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII)
    base = plain.strip("_").lower() or "agent"
    is_no_name = base[0].isdigit() or keyword.iskeyword(base)
    if is_no_name:
        base = f"agent_{base}"
    variable, number = base, 2
    while variable in taken:
        variable = f"{base}_{number}"
        number += 1
    return variable


def list_imports(body: str) -> Iterator[str]:
    """Those that the script needs, a line each."""
    for module, name in sorted(_IMPORTS):
        if re.search(rf"\b{name}\b", body):
            yield f"from {module} import {name}"


def write_model(choice: ModelChoice | None, may_call: bool) -> str:
    """The `llm_config` of a choice; servers refuse `tool_choice` where there are no tools."""
    if choice is None:
        return "False"
    given = ["**LLM"]
    if choice.model:
        given.append(f"'config_list': [{{**MODEL, 'model': {choice.model!r}}}]")
    parameters = choice.to_parameters()
    if not may_call:
        parameters.pop("tool_choice", None)
    if parameters or choice.model:
        given.append(f"**{parameters!r}")
    return f"{{{', '.join(given)}}}"


def write_shelf(documents: Documents) -> str:
    """Where an agent looks things up."""
    shelf = "found"
    if documents.collection:
        ways = f"look_elsewhere(workspace.library, 'local', {documents.collection!r})"
        shelf = f"found.elsewhere(*{ways})"
    if documents.exact:
        return shelf
    return f"{shelf}.without_exact()"


def write_call(name: str, arguments: Mapping[str, str], before: str = "") -> str:
    """A call with an argument in each line; `before` are those without a name."""
    lines = [f"{name}("]
    if before:
        lines.append(f"    {before},")
    lines += [f"    {key}={value}," for key, value in arguments.items()]
    lines.append(")")
    return "\n".join(lines)


def write_dict(values: Mapping[str, str]) -> str:
    """A dict with a value in each line."""
    inner = "".join(f"        {name!r}: {value},\n" for name, value in values.items())
    return f"{{\n{inner}    }}"


def write_plan(flow: Plan, planner: AgentDocument, solver: AgentDocument) -> Iterator[str]:
    """Lines that make planner, tools and solver, and ask them."""
    configs = {one.name: write_model(one.choice, False) for one in (planner, solver)}
    yield f"models = Speakers({write_dict(configs)})"
    yield write_call("flow = Plan", _to_changed(flow))
    yield "prompts = choose_prompts(flow, question)"
    yield f"material = {write_call('Material', _to_material(flow, planner))}"
    brought = (SEARCH, FIND) if planner.documents else ()
    named = list_missing([use.name for use in planner.tools], brought)
    used = "".join(f"name_call({name!r}): tools[{name!r}], " for name in named)
    own = ", **{tool.__name__: tool for tool in own}" if planner.own_tools else ""
    used = used.removesuffix(", ") + own
    yield f"actions = make_actions(material, {{{used.removeprefix(', ')}}})"
    yield "setup = Setup(prompts, merge_limits(flow, None), actions, **to_settings(flow))"
    arguments = {
        "llm": "models",
        "action_executor": "ActionExecutor(actions)",
        "protocol": "PlanProtocol(setup, question)",
        "max_turn": "setup.max_turn",
        "at_once": "setup.at_once",
        "timeout_s": "setup.timeout_s",
        "retries": "setup.retries",
        "replans": "setup.planning.replans",
        "names": "{'planner': setup.planner, 'solver': setup.solver}",
    }
    yield f"planner = {write_call('ReWOO', arguments)}"
    yield "print(planner.answer(question).response)"


def _to_changed(flow: Plan) -> dict[str, str]:
    """The settings that are not as they are by default."""
    given = flow.model_dump(exclude={"kind"}, exclude_defaults=True)
    return {name: repr(value) for name, value in given.items()}


def _to_material(flow: Plan, planner: AgentDocument) -> dict[str, str]:
    arguments = {"prompts": "prompts"}
    if planner.documents:
        arguments |= {
            "found": write_shelf(planner.documents),
            "exact": repr(planner.documents.exact),
        }
    if flow.reads_results:
        arguments["read_out"] = f"models.read_out({flow.planner!r})"
    return arguments


def write_whole(document: TeamDocument) -> Iterator[str]:
    """Lines that ask a team whose agents follow a fixed order: its document is the script."""
    yield f"team = build_team(read_document({document.to_json()!r}), 'script')"
    yield _MODELS
    arguments = {
        "asked": "Question(question)",
        "model": "make_model(MODEL['model'])",
        "retrieve": "retrieve",
        "find": "find",
        "models": "make_model",
        "look_ups": "partial(look_elsewhere, workspace.library, 'local')",
        "documents": "lambda: documents",
    }
    yield f"task = {write_call('Task', arguments)}"
    yield "print(team.work(task).text)"


_MODELS = """client = OpenAIClient(MODEL["base_url"], MODEL["api_key"])
documents = [
    Stored(one.id, one.name, workspace.library, "local", Scope())
    for one in workspace.library.documents_within("local", [COLLECTION], Scope())
]


def make_model(name):
    return Model(name, name, client, name, MODEL["base_url"])

"""
