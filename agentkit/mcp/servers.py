"""The servers of tools of an installation, and what is allowed of each: a file in its data
folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from agentkit import private
from agentkit.errors import ConfigError, NotFound

NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,80}")
LONGEST_DESCRIPTION, LONGEST_SCHEMA = 4_000, 20_000
_CHANGING = threading.Lock()
Marked = Literal["harmless", "dangerous"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server tells it; what it says of itself binds nobody."""

    name: str
    description: str
    parameters: Json
    """The JSON schema of its arguments."""

    @property
    def digest(self) -> str:
        """Another one whenever the server says anything else of the tool."""
        told = json.dumps([self.name, self.description, self.parameters], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def problem(self) -> str:
        """Why it cannot be allowed; empty when it can."""
        schema = json.dumps(self.parameters)
        long_text = f"its description has more than {LONGEST_DESCRIPTION:,} characters"
        problems = {
            "its name is not one that models can call": not _TOOL.fullmatch(self.name),
            long_text: len(self.description) > LONGEST_DESCRIPTION,
            f"its schema has more than {LONGEST_SCHEMA:,} characters": len(schema) > LONGEST_SCHEMA,
            "its schema does not describe an object": not _is_of_object(self.parameters),
        }
        return next((told for told, is_so in problems.items() if is_so), "")


def _is_of_object(schema: Json) -> bool:
    """Whether a schema says which arguments there are, in the form that it has to have."""
    needed = schema.get("required", [])
    if schema.get("type", "object") != "object" or not isinstance(needed, list):
        return False
    return isinstance(schema.get("properties", {}), dict) and all(
        isinstance(one, str) for one in needed
    )


@dataclass(frozen=True, slots=True)
class AllowedTool:
    """A tool that teams may be given, as it was when it was allowed."""

    name: str
    description: str
    parameters: Json
    marked: Marked = "dangerous"

    @property
    def listed(self) -> ListedTool:
        """As its server told it then."""
        return ListedTool(self.name, self.description, self.parameters)


@dataclass(frozen=True, slots=True)
class ToolServer:
    """A program that is started and spoken to, or a server at an address."""

    name: str
    command: tuple[str, ...] = ()
    """The program with its arguments; empty for a server at an address."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the program gets beside those that every program needs."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What is sent to the address with each request, such as `Authorization`."""
    confirmed: str = ""
    """What was confirmed to be started: a `digest`; empty before that."""
    tools: Mapping[str, AllowedTool] = field(default_factory=dict)
    """Those that are allowed, by name."""

    @property
    def is_program(self) -> bool:
        """Whether it is started here."""
        return bool(self.command)

    @property
    def digest(self) -> str:
        """Another one whenever another program would be started, or with other variables."""
        told = json.dumps([list(self.command), sorted(self.environment.items())])
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def may_start(self) -> bool:
        """Whether it may be spoken to: a program once exactly it was confirmed."""
        return not self.is_program or self.confirmed == self.digest

    @property
    def where(self) -> str:
        """The whole command, as a shell would read it, or the address."""
        return shlex.join(self.command) or self.url


def confirmed(server: ToolServer) -> ToolServer:
    """The server of a script, whose person has read what it starts."""
    return replace(server, confirmed=server.digest)


class ServerList:
    """Servers that stand in a script."""

    def __init__(self, servers: Sequence[ToolServer]) -> None:
        self._servers = {one.name: one for one in servers}

    def all(self) -> list[ToolServer]:
        """All of them."""
        return list(self._servers.values())

    def find(self, name: str) -> ToolServer:
        """The server of that name; raises NotFound."""
        return _choose(self._servers, name)


class ToolServers:
    """The servers in `tool-servers.json`; read anew each time, as several runs and pages use it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._file = data / "tool-servers.json"

    def all(self) -> list[ToolServer]:
        """All of them, by name; raises ConfigError when the file cannot be read."""
        return list(self._read().values())

    def find(self, name: str) -> ToolServer:
        """The server of that name; raises NotFound."""
        return _choose(self._read(), name)

    def _read(self) -> dict[str, ToolServer]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            return {name: _read_server(name, one) for name, one in sorted(stored.items())}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            told = f"{self._file} cannot be read ({error}); correct or remove it."
            raise ConfigError(told) from error

    def save(self, server: ToolServer) -> ToolServer:
        """Keep a server, in the place of one of that name; raises ConfigError when it cannot be
        one.

        What was confirmed stays so as long as the same program is started.
        """
        kept = check_server(server)
        with _CHANGING:
            self._write({**self._read(), kept.name: kept})
        return kept

    def remove(self, name: str) -> None:
        """Forget a server, and what was allowed of it."""
        with _CHANGING:
            known = self._read()
            known.pop(name, None)
            self._write(known)

    def confirm(self, name: str, digest: str) -> None:
        """Let the program be started that was shown: the one with this `digest`; raises
        ConfigError when it has changed meanwhile.
        """
        server = self.find(name)
        if server.digest != digest:
            raise ConfigError(f"The command of {name} has changed meanwhile; look at it again.")
        self.save(replace(server, confirmed=digest))

    def allow(self, name: str, tools: Sequence[AllowedTool]) -> None:
        """Let teams be given these tools of a server, and no others; raises ConfigError."""
        for one in tools:
            if problem := one.listed.problem:
                raise ConfigError(f"{one.name} of {name} cannot be allowed: {problem}.")
        server = self.find(name)
        self.save(replace(server, tools={one.name: one for one in tools}))

    def _write(self, servers: Mapping[str, ToolServer]) -> None:
        told = dict(zip(servers, map(_write_server, servers.values()), strict=True))
        text = json.dumps(told, ensure_ascii=False, indent=1)
        private.make_folder(self.data)
        try:
            private.write_text(self._file, text)
        except OSError as error:
            told_why = f"{self._file} cannot be written ({error.strerror})"
            raise ConfigError(f"{told_why}; check the permissions and the free space.") from error


def _choose(servers: Mapping[str, ToolServer], name: str) -> ToolServer:
    if name not in servers:
        raise NotFound(
            f"There is no server of tools {name!r}; the Settings page and `mcp list` name those"
            " there are."
        )
    return servers[name]


def check_server(server: ToolServer) -> ToolServer:
    """The server; raises ConfigError that says what is wrong with it."""
    if not NAME.fullmatch(server.name):
        raise ConfigError(
            f"{server.name!r} is not a name for a server; use 1 to 40 letters, digits, - and _."
        )
    if bool(server.command) == bool(server.url):
        raise ConfigError("Give either a command to start, or an address.")
    if server.url:
        _check_address(server.url)
    return server


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"{url!r} is not a web address ({error}); mend it.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{url!r} is not a web address; give one like https://example.com/mcp.")


def parse_command(text: str) -> tuple[str, ...]:
    """The program and its arguments, as a shell would read them; no shell runs. Raises
    ConfigError.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"The command cannot be read: {error}.") from error


def parse_pairs(text: str, between: str) -> dict[str, str]:
    """Names and values, a pair in each line; raises ConfigError."""
    pairs: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        name, found, value = line.partition(between)
        if not found:
            raise ConfigError(f"{line.strip()!r} has no {between!r}: write NAME{between}value.")
        pairs[name.strip()] = value.strip()
    return pairs


def _write_server(server: ToolServer) -> Json:
    told = asdict(server)
    del told["name"]
    return told


def _read_server(name: str, stored: Mapping[str, Any]) -> ToolServer:
    tools = {tool: AllowedTool(**one) for tool, one in dict(stored["tools"]).items()}
    given = {**stored, "command": tuple(stored["command"]), "tools": tools}
    return ToolServer(name, **given)
