"""Models by the name of their configuration, as AgentScope's scripts have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkit.agents.dialog.wrappers import list_model_types, make_model
from agentkit.errors import ConfigError

_KINDS = ("openai_chat", "ollama_chat")
_known: dict[str, dict[str, object]] = {}
_of_other_kinds: dict[str, str] = {}
"""What cannot be used: the `model_type` of each by its name. Scripts list more configurations than
they use.
"""
Configs = str | Path | Mapping[str, object] | Sequence[Mapping[str, object]]
"""One configuration, several, or a JSON file with them."""


def know(model_configs: Configs | None) -> None:
    """Make model configurations known by their `config_name`; raises ConfigError, see `init`.

    One with an unknown `model_type` is refused when an agent asks for it, as in AgentScope.
    """
    named = {_read_name(config): config for config in read(model_configs, "model configurations")}
    kinds = _list_kinds()
    others = {
        name: str(_read_kind(config))
        for name, config in named.items()
        if _read_kind(config) not in kinds
    }
    made = {name: _to_llm_config(named[name]) for name in named if name not in others}
    for name in named:
        _known.pop(name, None)
        _of_other_kinds.pop(name, None)
    _known.update(made)
    _of_other_kinds.update(others)


def _list_kinds() -> list[str]:
    """All model types that can be used."""
    return [*_KINDS, *list_model_types()]


def find_llm_config(name: str) -> dict[str, object]:
    """The `llm_config` of a known configuration, else of the OpenAI model of that name with the key
    of the environment.

    Raises ConfigError for a configuration with a `model_type` that is not there.
    """
    if kind := _of_other_kinds.get(name):
        known = ", ".join(_list_kinds())
        raise ConfigError(
            f"The model configuration {name!r} has the model_type {kind!r}; known are {known}. Most"
            " servers speak OpenAI's API: use openai_chat with client_args={'base_url': ...}; a"
            " class of your own is made known by register_model_wrapper_class before init."
        )
    return dict(_known.get(name) or {"config_list": [{"model": name}], "cache_seed": None})


def is_known(name: str) -> bool:
    """Whether there is a configuration of that name."""
    return name in _known or name in _of_other_kinds


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
    return [given] if isinstance(given, Mapping) else list(given or [])


def _read_name(config: object) -> str:
    if isinstance(config, Mapping) and isinstance(config.get("config_name"), str):
        return str(config["config_name"])
    # No values: secret keys may stand in them.
    found = sorted(config) if isinstance(config, Mapping) else type(config).__name__
    raise ConfigError(
        "A model configuration is a dict with a config_name and a model_name; this one is or"
        f" has: {found}."
    )


def _read_kind(config: Mapping[str, Any]) -> Any:
    return config.get("model_type", "openai_chat")


def _to_llm_config(config: Mapping[str, Any]) -> dict[str, object]:
    """The `llm_config` of a configuration."""
    kind, settings = _read_kind(config), dict(config.get("generate_args") or {})
    entry = _to_entry(kind, config)
    if kind in list_model_types():
        entry, settings = {"model": make_model(kind, config)}, {}
    if config.get("stream"):
        settings["stream"] = True
    return {"config_list": [entry], "cache_seed": None, **settings}


def _to_entry(kind: str, config: Mapping[str, Any]) -> dict[str, object]:
    """The entry of a `config_list` for a model behind OpenAI's API."""
    entry: dict[str, object] = {"model": config.get("model_name") or config["config_name"]}
    entry.update(config.get("client_args") or {})
    if kind == "ollama_chat":
        host = str(config.get("host") or "http://localhost:11434").rstrip("/")
        entry |= {"base_url": f"{host}/v1", "api_key": "ollama"}
    if config.get("api_key"):
        entry["api_key"] = config["api_key"]
    return entry
