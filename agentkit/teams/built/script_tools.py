"""The tools of a team in its script: functions as they are written, servers by their definition."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import attrgetter

from agentkit.mcp.servers import AllowedTool, ToolServer
from agentkit.teams.built.agents import WrittenFunction
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.offers.catalog import FETCH, QUERY, READ, RUN
from agentkit.teams.built.script_names import write_apart
from agentkit.teams.built.writing import write_call
from agentkit.teams.findings import FIND, SEARCH

_OWN = """# Tools of your own are the functions of the files that AGENTKIT_TOOLS names.
own = load_tools(os.environ.get("AGENTKIT_TOOLS", ""))
tools = {**BUILT_IN, **{tool.__name__: tool for tool in own}}"""
DOCUMENTS = """documents = [
    Stored(one.id, one.name, workspace.library, "local", Scope())
    for one in workspace.library.documents_within("local", [COLLECTION], Scope())
]"""
_LINES: Mapping[str, str] = {
    SEARCH: f'tools["{SEARCH}"] = found.search_documents',
    FIND: f'tools["{FIND}"] = found.find_exact',
    READ: f'tools["{READ}"] = make_reader(lambda: documents)',
    QUERY: f'tools["{QUERY}"] = make_querier(lambda: documents)',
    FETCH: f'tools["{FETCH}"] = make_fetcher(partial(read_page, settings=load_settings()))',
    RUN: f'tools["{RUN}"] = run_isolated',
}
"""How a script makes the built-in tools that need something."""
_SECRET = "{0!r}: os.environ.get({0!r}, '')"
_FROM_DOCUMENTS = frozenset([SEARCH, FIND, READ, QUERY])


def list_names(document: TeamDocument) -> list[str]:
    """The tools that the agents name, each once."""
    uses = chain.from_iterable(map(attrgetter("tools"), document.agents))
    return list(dict.fromkeys(map(attrgetter("name"), uses)))


def needs_documents(document: TeamDocument) -> bool:
    """Whether a tool looks into documents."""
    return not _FROM_DOCUMENTS.isdisjoint(list_names(document))


def write_tools(
    document: TeamDocument, servers: Sequence[ToolServer], apart: Set[str]
) -> Iterator[str]:
    """The lines that make `tools`, and what stands in it; nothing where no agent has any.
    `apart`: the functions that get names of their own.
    """
    names = list_names(document)
    has_own = any(agent.own_tools for agent in document.agents)
    if not names and not has_own:
        return
    yield f"\n{_OWN}"
    reads_documents = not {READ, QUERY}.isdisjoint(names)
    if reads_documents:
        yield DOCUMENTS
    yield from filter(None, map(_LINES.get, names))
    for function in document.functions:
        write = write_apart if function.name in apart else _write_function
        yield from write(function)
    wanted = list(filter(_is_served, names))
    if wanted:
        yield from _write_served(wanted, servers)


def write_future(functions: Sequence[WrittenFunction]) -> Iterator[str]:
    """What the code of functions imports from `__future__`, which must be a script's first line."""
    taken = chain.from_iterable(_take_future(one.code)[0] for one in functions)
    names = ", ".join(dict.fromkeys(taken))
    if names:
        yield f"from __future__ import {names}"


def _take_future(code: str) -> tuple[list[str], str]:
    """What code imports from `__future__`, and the code without that."""
    names: list[str] = []
    lines = code.encode().splitlines(keepends=True)
    for node in reversed(ast.parse(code).body):
        match node:
            case ast.ImportFrom(module="__future__", end_lineno=int(last), end_col_offset=end):
                names[:0] = map(ast.unparse, node.names)
                before = lines[node.lineno - 1][: node.col_offset]
                lines[node.lineno - 1 : last] = [before + lines[last - 1][end:].lstrip(b"; ")]
    return names, b"".join(lines).decode()


def _is_served(name: str) -> bool:
    return "/" in name


def _write_function(function: WrittenFunction) -> tuple[str, str]:
    """Its code as it stands but for `__future__`, and the line that makes it a tool."""
    _, code = _take_future(function.code)
    return f"\n\n{code.strip()}\n\n", f'tools["{function.name}"] = {function.name}'


def _write_served(wanted: Sequence[str], servers: Sequence[ToolServer]) -> Iterator[str]:
    """The servers whose tools are named, as far as they are known here."""
    known = dict(zip(map(attrgetter("name"), servers), servers, strict=True))
    named = dict.fromkeys(name.partition("/")[0] for name in wanted)
    yield "\n# Servers of tools; their variables and headers are those of your environment."
    yield "servers = ["
    for name in named:
        if name in known:
            yield f"    {_write_server(known[name], wanted)},"
    yield "]"
    yield "served = ServedTools(ServerList(servers))"
    yield f"tools |= {{name: served.find(name) for name in {wanted!r}}}"


def _write_server(server: ToolServer, wanted: Sequence[str]) -> str:
    """The definition without secrets, with the tools that the team uses."""
    used = [one for name, one in server.tools.items() if f"{server.name}/{name}" in wanted]
    arguments = {
        "name": repr(server.name),
        "command": repr(server.command),
        "environment": _write_secrets(server.environment),
        "url": repr(server.url),
        "headers": _write_secrets(server.headers),
        "tools": f"{{{', '.join(map(_write_allowed, used))}}}",
    }
    return f"confirmed({write_call('ToolServer', arguments)})"


def _write_secrets(pairs: Mapping[str, str]) -> str:
    """Values that are looked up in the environment when the script runs."""
    return f"{{{', '.join(map(_SECRET.format, pairs))}}}"


def _write_allowed(tool: AllowedTool) -> str:
    given = f"{tool.name!r}, {tool.description!r}, {tool.parameters!r}, {tool.marked!r}"
    return f"{tool.name!r}: AllowedTool({given})"
