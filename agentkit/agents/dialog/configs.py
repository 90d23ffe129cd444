"""Models by the name of their configuration, as AgentScope's scripts have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkit.errors import ConfigError

_KINDS = ("openai_chat", "ollama_chat")
_known: dict[str, dict[str, object]] = {}


def init(model_configs: str | Path | Mapping[str, object] | Sequence[Mapping[str, object]] | None = None) -> None:
    """Make model configurations known by their `config_name`: one, several, or a JSON file with them.

    Their keys are AgentScope's: `model_type` (openai_chat or ollama_chat), `model_name`, `api_key`, `client_args` (such as
    `base_url`), `generate_args` (such as `temperature`), `stream`. One of a known name takes its place. Raises ConfigError.
    """
    given = _read(model_configs) if isinstance(model_configs, str | Path) else model_configs
    configs = [given] if isinstance(given, Mapping) else list(given or [])
    made = dict(_made(config) for config in configs)
    _known.update(made)


def llm_config_of(name: str) -> dict[str, object]:
    """The `llm_config` of a known configuration, else of the OpenAI model of that name with the key of the environment."""
    return dict(_known.get(name) or {"config_list": [{"model": name}], "cache_seed": None})


def is_known(name: str) -> bool:
    """Whether there is a configuration of that name."""
    return name in _known


def _read(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} holds no model configurations ({error}); give a JSON file with one or a list of them."
        ) from error


def _made(config: object) -> tuple[str, dict[str, object]]:
    if not isinstance(config, Mapping) or not isinstance(config.get("config_name"), str):
        keys = sorted(config) if isinstance(config, Mapping) else type(config).__name__  # no values: keys may stand in them
        raise ConfigError(f"A model configuration is a dict with a config_name and a model_name; this one is or has: {keys}.")
    name, kind = config["config_name"], config.get("model_type", "openai_chat")
    if kind not in _KINDS:
        raise ConfigError(
            f"The model configuration {name!r} has the model_type {kind!r}; known are {', '.join(_KINDS)}. Most servers speak "
            "OpenAI's API: use openai_chat with client_args={'base_url': ...}."
        )
    entry: dict[str, object] = {"model": config.get("model_name") or name, **(config.get("client_args") or {})}
    if kind == "ollama_chat":
        host = str(config.get("host") or "http://localhost:11434").rstrip("/")
        entry |= {"base_url": f"{host}/v1", "api_key": "ollama"}
    if config.get("api_key"):
        entry["api_key"] = config["api_key"]
    settings = {**(config.get("generate_args") or {}), **({"stream": True} if config.get("stream") else {})}
    return name, {"config_list": [entry], "cache_seed": None, **settings}
