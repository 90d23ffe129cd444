"""Models by the name of their configuration, as AgentScope's scripts have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkit.agents.dialog.wrappers import registered, wrapped_model
from agentkit.errors import ConfigError

_KINDS = ("openai_chat", "ollama_chat")
_known: dict[str, dict[str, object]] = {}
_of_other_kinds: dict[str, str] = {}
"""What cannot be used: the `model_type` of each by its name. Scripts list more configurations than
they use.
"""


def know(
    model_configs: str | Path | Mapping[str, object] | Sequence[Mapping[str, object]] | None,
) -> None:
    """Make model configurations known by their `config_name`; raises ConfigError, see `init`.

    One with an unknown `model_type` is refused when an agent asks for it, as in AgentScope.
    """
    given = (
        read(model_configs, "model configurations")
        if isinstance(model_configs, str | Path)
        else model_configs
    )
    configs = [given] if isinstance(given, Mapping) else list(given or [])
    named = {_name(config): config for config in configs}
    others = {
        name: str(_kind(config))
        for name, config in named.items()
        if _kind(config) not in (*_KINDS, *registered())
    }
    made = {name: _made(name, config) for name, config in named.items() if name not in others}
    for name in named:
        _known.pop(name, None)
        _of_other_kinds.pop(name, None)
    _known.update(made)
    _of_other_kinds.update(others)


def llm_config_of(name: str) -> dict[str, object]:
    """The `llm_config` of a known configuration, else of the OpenAI model of that name with the key
    of the environment.

    Raises ConfigError for a configuration with a `model_type` that is not there.
    """
    if kind := _of_other_kinds.get(name):
        known = ", ".join([*_KINDS, *registered()])
        raise ConfigError(
            f"The model configuration {name!r} has the model_type {kind!r}; known are {known}. Most"
            " servers speak OpenAI's API: use openai_chat with client_args={'base_url': ...}; a"
            " class of your own is made known by register_model_wrapper_class before init."
        )
    return dict(_known.get(name) or {"config_list": [{"model": name}], "cache_seed": None})


def is_known(name: str) -> bool:
    """Whether there is a configuration of that name."""
    return name in _known or name in _of_other_kinds


def read(path: str | Path, what: str) -> Any:
    """The value in a JSON file; raises ConfigError, which says `what` was to be in it."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} holds no {what} ({error}); give a JSON file with one or a list of them."
        ) from error


def _name(config: object) -> str:
    if not isinstance(config, Mapping) or not isinstance(config.get("config_name"), str):
        keys = (
            sorted(config) if isinstance(config, Mapping) else type(config).__name__
        )  # no values: keys may stand in them
        raise ConfigError(
            "A model configuration is a dict with a config_name and a model_name; this one is or"
            f" has: {keys}."
        )
    return str(config["config_name"])


def _kind(config: Mapping[str, Any]) -> Any:
    return config.get("model_type", "openai_chat")


def _made(name: str, config: Mapping[str, Any]) -> dict[str, object]:
    """The `llm_config` of a configuration."""
    kind = _kind(config)
    if kind in registered():
        return {
            "config_list": [{"model": wrapped_model(kind, config)}],
            "cache_seed": None,
            **_streams(config),
        }
    entry: dict[str, object] = {
        "model": config.get("model_name") or name,
        **(config.get("client_args") or {}),
    }
    if kind == "ollama_chat":
        host = str(config.get("host") or "http://localhost:11434").rstrip("/")
        entry |= {"base_url": f"{host}/v1", "api_key": "ollama"}
    if config.get("api_key"):
        entry["api_key"] = config["api_key"]
    settings = {**(config.get("generate_args") or {}), **_streams(config)}
    return {"config_list": [entry], "cache_seed": None, **settings}


def _streams(config: Mapping[str, Any]) -> dict[str, object]:
    return {"stream": True} if config.get("stream") else {}
