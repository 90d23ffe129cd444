"""Models by the name of their configuration, as AgentScope's scripts have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, Self

from agentkit.agents.dialog.wrappers import list_model_types, make_model
from agentkit.core.given import to_list
from agentkit.core.lenient import find_below
from agentkit.errors import ConfigError

_Known = Callable[[], dict[str, object]]
"""Gives the `llm_config` of a configuration, or raises ConfigError where it cannot be used."""
_known: dict[str, _Known] = {}
Configs = str | Path | Mapping[str, object] | Sequence[Mapping[str, object]]
"""One configuration, several, or a JSON file with them."""


def know(model_configs: Configs | None) -> None:
    """Make model configurations known by their `config_name`; raises ConfigError, see `init`.

    One with an unknown `model_type` is refused when an agent asks for it, as in AgentScope.
    """
    known: dict[str, _Known] = {}
    for config in read(model_configs, "model configurations"):
        name = _read_name(config)
        known[name] = _make_known(name, config)
    _known.update(known)


def _make_known(name: str, config: Mapping[str, Any]) -> _Known:
    kind = config.get("model_type", "openai_chat")
    if kind in list_model_types():
        entry = {"model": make_model(kind, config)}
        return partial(_make_llm_config, entry, _Common.read(config).settings)
    if kind not in _SERVERS:
        return partial(_refuse, name, kind)
    given = _ServerModel.read(config)
    settings = {**given.generate_args, **given.settings}
    return partial(_make_llm_config, _SERVERS[kind](given), settings)


def _make_llm_config(
    entry: Mapping[str, object], settings: Mapping[str, object]
) -> dict[str, object]:
    return {"config_list": [dict(entry)], "cache_seed": None, **settings}


def _refuse(name: str, kind: object) -> NoReturn:
    """Scripts list more configurations than they use: what cannot be used is refused then."""
    known = ", ".join([*_SERVERS, *list_model_types()])
    raise ConfigError(
        f"The model configuration {name!r} has the model_type {kind!r}; known are {known}. Most"
        " servers speak OpenAI's API: use openai_chat with client_args={'base_url': ...}; a"
        " class of your own is made known by register_model_wrapper_class before init."
    )


def find_llm_config(name: str) -> dict[str, object]:
    """The `llm_config` of a known configuration, else of the OpenAI model of that name with the key
    of the environment.

    Raises ConfigError for a configuration with a `model_type` that is not there.
    """
    of_environment = partial(_make_llm_config, {"model": name}, {})
    find = _known.get(name, of_environment)
    return find()


def is_known(name: str) -> bool:
    """Whether there is a configuration of that name."""
    return name in _known


def read(configs: Configs | None, what: str) -> list[Any]:
    """One configuration, several, none, or those of a JSON file, as a list; raises ConfigError for
    a file, which says `what` was to be in it.
    """
    given: Any = configs
    if isinstance(configs, str | Path):
        try:
            given = json.loads(Path(configs).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{configs} holds no {what} ({error}); give a JSON file with one or a list of them."
            ) from error
    return to_list(given, Mapping)


def _read_name(config: object) -> str:
    name = find_below(config, "config_name")
    if isinstance(name, str):
        return name
    # No values: secret keys may stand in them.
    found = sorted(config) if isinstance(config, Mapping) else type(config).__name__
    raise ConfigError(
        "A model configuration is a dict with a config_name and a model_name; this one is or"
        f" has: {found}."
    )


@dataclass(frozen=True, slots=True)
class _Common:
    """What counts of the configuration of any model; an empty value leaves the default."""

    stream: bool = False

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Self:
        own = map(attrgetter("name"), fields(cls))
        told = {name: config[name] for name in own if config.get(name)}
        return cls(**told)

    @property
    def settings(self) -> dict[str, object]:
        """What is said of every call."""
        if not self.stream:
            return {}
        return {"stream": True}


@dataclass(frozen=True, slots=True)
class _ServerModel(_Common):
    """The same for a model behind OpenAI's API."""

    config_name: str = ""
    model_name: str = ""
    api_key: str = ""
    host: str = "http://localhost:11434"
    client_args: Mapping[str, object] = field(default_factory=dict)
    generate_args: Mapping[str, object] = field(default_factory=dict)


def _describe_openai(given: _ServerModel) -> dict[str, object]:
    """The entry of a `config_list`."""
    entry = {"model": given.model_name or given.config_name, **given.client_args}
    if given.api_key:
        entry["api_key"] = given.api_key
    return entry


def _describe_ollama(given: _ServerModel) -> dict[str, object]:
    host = str(given.host).rstrip("/")
    server = {"base_url": f"{host}/v1", "api_key": given.api_key or "ollama"}
    return _describe_openai(given) | server


_SERVERS: dict[Any, Callable[[_ServerModel], dict[str, object]]] = {
    "openai_chat": _describe_openai,
    "ollama_chat": _describe_ollama,
}
"""The kinds of models that are asked at a server."""
