"""What an installation keeps of servers of tools, and what agents may call of it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.core.tools import Origin, effects_of, name_permission, origin_of
from agentkit.errors import ConfigError, NotFound, ToolServerError
from agentkit.mcp.connecting import CALL_S, Connection, open_connection, start
from agentkit.mcp.servers import (
    AllowedTool,
    ListedTool,
    Marked,
    ToolServer,
    ToolServers,
    parse_command,
    parse_pairs,
)
from agentkit.mcp.serving import ServedTools


@pytest.fixture
def servers(tmp_path: Path) -> ToolServers:
    return ToolServers(tmp_path / "data")


@pytest.fixture
def served(servers: ToolServers) -> Iterator[ServedTools]:
    made = ServedTools(servers)
    yield made
    made.close()


def allow(
    servers: ToolServers, server: ToolServer, *names: str, marked: Marked = "dangerous"
) -> None:
    servers.save(server)
    with open_connection(server) as opened:
        tools = [one for one in opened.list_tools() if one.name in names]
    servers.allow(
        server.name,
        [AllowedTool(one.name, one.description, one.parameters, marked) for one in tools],
    )


def test_servers_are_kept_with_what_is_allowed(servers: ToolServers) -> None:
    server = ToolServer("shop", ("npx", "shop", "--all"), {"KEY": "secret"})
    assert servers.all() == []
    servers.save(server)
    assert not servers.find("shop").may_start
    servers.confirm("shop", server.digest)
    servers.allow("shop", [AllowedTool("stock", "How many.", {"type": "object"}, "harmless")])
    kept = servers.find("shop")
    assert kept.may_start
    assert kept.tools["stock"].marked == "harmless"
    assert kept.where == "npx shop --all"
    assert "secret" not in repr(kept)
    [file] = servers.data.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    servers.save(replace(kept, command=("npx", "other")))
    assert not servers.find("shop").may_start
    with pytest.raises(ConfigError, match="changed meanwhile"):
        servers.confirm("shop", server.digest)
    servers.remove("shop")
    with pytest.raises(NotFound, match="shop"):
        servers.find("shop")
    file.write_text("[]")
    with pytest.raises(ConfigError, match="correct or remove it"):
        servers.all()


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (ToolServer("a/b", ("x",)), "not a name for a server"),
        (ToolServer("a"), "either a command"),
        (ToolServer("a", ("x",), url="http://x/mcp"), "either a command"),
        (ToolServer("a", url="file:///etc/passwd"), "not a web address"),
        (ToolServer("a", url="http://[x"), "not a web address"),
    ],
)
def test_what_is_no_server_is_refused(servers: ToolServers, server: ToolServer, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        servers.save(server)


@pytest.mark.parametrize(
    "tool",
    [
        AllowedTool("a b", "", {}),
        AllowedTool("a", "x" * 4_001, {}),
        AllowedTool("a", "", {"description": "x" * 20_000}),
        AllowedTool("a", "", {"type": "array"}),
        AllowedTool("a", "", {"properties": None}),
        AllowedTool("a", "", {"properties": [1]}),
        AllowedTool("a", "", {"required": None}),
        AllowedTool("a", "", {"required": [{}], "properties": {}}),
    ],
)
def test_tools_that_are_too_much_or_no_tools_cannot_be_allowed(
    servers: ToolServers, tool: AllowedTool
) -> None:
    servers.save(ToolServer("a", ("x",)))
    with pytest.raises(ConfigError, match="cannot be allowed"):
        servers.allow("a", [tool])


def test_commands_and_pairs_are_read() -> None:
    assert parse_command("npx -y 'my server' --at=/tmp") == ("npx", "-y", "my server", "--at=/tmp")
    assert parse_pairs("A=b=c\n\n D = e", "=") == {"A": "b=c", "D": "e"}
    with pytest.raises(ConfigError, match="cannot be read"):
        parse_command("'open")
    with pytest.raises(ConfigError, match="has no '='"):
        parse_pairs("A", "=")


def test_the_digest_is_of_all_that_a_server_says() -> None:
    one = ListedTool("a", "b", {"type": "object", "x": 1})
    same = ListedTool("a", "b", {"x": 1, "type": "object"})
    others = [replace(one, name="c"), replace(one, description="c"), replace(one, parameters={})]
    assert one.digest == same.digest
    assert one.digest not in {other.digest for other in others}


def test_only_what_is_allowed_can_be_called(
    servers: ToolServers, served: ServedTools, program: ToolServer, folder: Path
) -> None:
    allow(servers, program, "stock", "sleep")
    (folder / "started").unlink()
    assert served.names() == ["shop/stock", "shop/sleep"]
    assert served.find("shop/fail") is None
    assert served.find("other/stock") is None
    tool = served.find("shop/stock")
    assert tool is not None
    assert (tool.__name__, effects_of(tool)) == ("shop__stock", "some")
    assert name_permission(tool, "stock").startswith("shop/stock (")
    assert origin_of(tool, "shop__stock") == Origin("stock", "shop")
    assert not (folder / "started").exists()  # nothing starts before it is called
    assert tool(product="tea") == "7 tea in Vienna"
    assert tool(product="milk", city="Linz") == "7 milk in Linz"
    servers.save(replace(program, confirmed=""))
    again = ServedTools(servers)
    assert again.find("shop/stock") is None


def test_a_server_that_dies_is_started_anew_for_the_next_call(
    servers: ToolServers, served: ServedTools, program: ToolServer
) -> None:
    allow(servers, program, "stock", "die", marked="harmless")
    die, stock = served.find("shop/die"), served.find("shop/stock")
    assert die is not None
    assert stock is not None
    assert effects_of(stock) == "none"
    with pytest.raises(ToolServerError, match="did not answer die"):
        die()
    assert stock(product="tea") == "7 tea in Vienna"


def test_a_tool_that_says_something_else_is_not_called(
    servers: ToolServers, served: ServedTools, program: ToolServer, folder: Path
) -> None:
    allow(servers, program, "warmth", "stock")
    (folder / "changed").touch()
    warmth, stock = served.find("shop/warmth"), served.find("shop/stock")
    assert warmth is not None
    assert stock is not None
    with pytest.raises(ToolServerError, match="something else of warmth"):
        warmth()
    assert stock(product="tea") == "7 tea in Vienna"


def test_long_results_are_cut(
    servers: ToolServers, served: ServedTools, program: ToolServer
) -> None:
    allow(servers, program, "flood")
    flood = served.find("shop/flood")
    assert flood is not None
    assert flood(count=100_000).endswith("[cut: it gave 100,000 characters]")


def test_100_mb_are_not_taken_and_the_next_call_finds_a_server(
    servers: ToolServers, program: ToolServer
) -> None:
    allow(servers, program, "flood", "stock", marked="harmless")
    limits = iter([1.0])  # seconds, for the first start alone

    def start_soon(server: ToolServer) -> Connection:
        return start(server, call_s=next(limits, CALL_S))

    served = ServedTools(servers, start_soon)
    flood, stock = served.find("shop/flood"), served.find("shop/stock")
    assert flood is not None
    assert stock is not None
    try:
        with pytest.raises(ToolServerError, match=r"within 1 s|characters, more than"):
            flood(count=100_000_000)
        assert stock(product="tea") == "7 tea in Vienna"
    finally:
        served.close()
