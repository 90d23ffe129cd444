"""`init`, with which AgentScope's scripts begin: models by name, and agents from their
configurations.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from agentkit.agents.dialog.agents import DialogAgent, DictDialogAgent, UserAgent
from agentkit.agents.dialog.base import AgentBase
from agentkit.agents.dialog.configs import Configs, know, read
from agentkit.errors import ConfigError

_CLASSES: dict[Any, type[AgentBase]] = {
    "AgentBase": AgentBase,
    "DialogAgent": DialogAgent,
    "DictDialogAgent": DictDialogAgent,
    "UserAgent": UserAgent,
}


def init(
    model_configs: Configs | None = None,
    project: str | None = None,
    name: str | None = None,
    disable_saving: bool = False,
    save_dir: str = "./runs",
    save_log: bool = True,
    save_code: bool = True,
    save_api_invoke: bool = False,
    cache_dir: str | None = None,
    use_monitor: bool = True,
    logger_level: str = "INFO",
    runtime_id: str | None = None,
    agent_configs: Configs | None = None,
    studio_url: str | None = None,
) -> list[AgentBase]:
    """Make models known by their `config_name`, and give the agents of `agent_configs`.

    The keys of a model are AgentScope's: `model_type` (openai_chat, ollama_chat, or that of a
    registered class), `model_name`, `api_key`, `client_args` (such as `base_url`), `generate_args`
    (such as `temperature`), `stream`. One of a known name takes its place. An agent is `{"class":
    "DialogAgent", "args": {...}}`.

    The other arguments are AgentScope's and change nothing: no files are written here,
    `agentkit.record` keeps what is said and what it takes. Asking for a studio, or for saved calls,
    is warned of. Raises ConfigError.
    """
    unsupported = {
        "studio_url": studio_url,
        "save_api_invoke": save_api_invoke and not disable_saving,
    }
    for argument, value in unsupported.items():
        if value:
            told = (
                f"init({argument}={value!r}) has no effect here; record(...) keeps all calls, and"
                " the app shows them."
            )
            warnings.warn(told, UserWarning, stacklevel=2)
    know(model_configs)
    return [_make_agent(config) for config in read(agent_configs, "agents")]


def _make_agent(config: object) -> AgentBase:
    if not isinstance(config, Mapping) or not isinstance(config.get("args", {}), Mapping):
        raise ConfigError(
            f"An agent's configuration is a dict with class and args, not {type(config).__name__}."
        )
    name, arguments = config.get("class"), config.get("args", {})
    make = _CLASSES.get(name)
    if make is None:
        raise ConfigError(f"There is no agent class {name!r}; known are {', '.join(_CLASSES)}.")
    try:
        return make(**arguments)
    except TypeError as error:
        raise ConfigError(f"The args of the {name} do not fit: {error}.") from error
