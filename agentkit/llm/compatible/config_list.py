"""Lists of model configurations for OpenAIWrapper: from JSON, .env and key files, filtered and
combined, as in AutoGen.

A configuration is a dict with `model`, `api_key`, `base_url`, `api_type`, `api_version` and
parameters of the chat API.
Keys are read, never written into the environment, except from a .env file.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import product, repeat
from operator import contains
from pathlib import Path
from typing import Any

from agentkit.core.given import coalesce, is_list_of, pick_filled
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import text_or_empty, without_keys

log = logging.getLogger(__name__)

AZURE_VERSION = "2024-02-01"
"""The version of Azure's API where none is named."""
Filter = Mapping[str, Collection[Any]]
Configs = list[dict[str, Any]]

_DOTENV_MODELS = {"gpt-4": "OPENAI_API_KEY", "gpt-3.5-turbo": "OPENAI_API_KEY"}


def filter_config(
    config_list: Iterable[dict[str, Any]], filter_dict: Filter | None, exclude: bool = False
) -> Configs:
    """The configurations that meet every criterion; with `exclude`, those that meet none.

    A criterion names a key and the values that are accepted; of a value that is a list, such as
    `tags`, one is enough.
    A missing or None value meets no criterion.
    """
    criteria = coalesce(filter_dict, {})
    wanted = 0
    if not exclude:
        wanted = len(criteria)
    return [config for config in config_list if _count_met(config, criteria) == wanted]


def _count_met(config: Mapping[str, Any], criteria: Filter) -> int:
    """How many of the criteria a configuration meets."""
    return sum(map(_meets, map(config.get, criteria), criteria.values()))


def config_list_from_json(
    env_or_file: str, file_location: str | None = "", filter_dict: Filter | None = None
) -> Configs:
    """The list in an environment variable (as JSON, or the path of a file), else in the file of
    that name.

    Raises FileNotFoundError when there is neither, WrongArgument for anything but a JSON
    list of objects.
    """
    source, text = _find_json(env_or_file, coalesce(file_location, ""))
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise WrongArgument(
            f"{source} holds no JSON ({error}); it must be a list of configs, or the path of a"
            " file."
        ) from error
    if not is_list_of(loaded, dict):
        raise WrongArgument(f"{source} holds no list of JSON objects; write [{{...}}, ...].")
    return filter_config(loaded, filter_dict)


def _find_json(env_or_file: str, file_location: str) -> tuple[Path, str]:
    """Where the list is, and its text."""
    value = os.environ.get(env_or_file, "").strip()
    if not value:
        source = Path(file_location) / env_or_file
    elif value[0] in "[{" or not Path(value).exists():
        return Path(f"${env_or_file}"), value
    else:
        source = Path(value)
    return source, source.read_text(encoding="utf-8")


def config_list_from_dotenv(
    dotenv_file_path: str | None = None,
    model_api_key_map: Mapping[str, str | Mapping[str, object]] | None = None,
    filter_dict: Filter | None = None,
) -> Configs:
    """One configuration per model, its key from the environment, into which the .env file is read
    first.

    `model_api_key_map` gives the variable with a model's key, or a dict with `api_key_env_var`,
    `base_url`, `api_type` and `api_version`; gpt-4 and gpt-3.5-turbo are added with OPENAI_API_KEY.
    Without a path, the .env of this folder or the nearest above it is read. Models without a key
    are left out, which is logged. Raises WrongType for other entries.
    """
    _read_dotenv(dotenv_file_path)
    given = coalesce(model_api_key_map, {})
    sources = {**given, **without_keys(_DOTENV_MODELS, given)}
    found: Configs = []
    for model, source in sources.items():
        variable, settings = _read_key_source(model, source)
        if key := os.environ.get(variable, "").strip():
            found.append({**get_config(key, **settings), "model": model})
        else:
            log.warning(
                "The model %s is left out: %s is not set; check the path of the .env file.",
                model,
                variable,
            )
    return filter_config(found, filter_dict)


def _read_key_source(model: str, source: object) -> tuple[str, dict[str, Any]]:
    """The variable with the key of a model, and what else its entry says."""
    if isinstance(source, str):
        return source, {}
    if not isinstance(source, Mapping):
        raise WrongType(
            f"model_api_key_map[{model!r}] is {source!r}; it must be the name of a variable, or"
            " a dict."
        )
    settings = dict(source)
    variable = str(settings.pop("api_key_env_var", "OPENAI_API_KEY"))
    if unknown := settings.keys() - {"base_url", "api_type", "api_version"}:
        raise WrongType(
            f"model_api_key_map[{model!r}] has unknown keys: {', '.join(sorted(unknown))}."
        )
    return variable, settings


def config_list_openai_aoai(
    key_file_path: str | None = ".",
    openai_api_key_file: str | None = "key_openai.txt",
    aoai_api_key_file: str | None = "key_aoai.txt",
    openai_api_base_file: str | None = "base_openai.txt",
    aoai_api_base_file: str | None = "base_aoai.txt",
    exclude: str | None = None,
) -> Configs:
    """Configurations for OpenAI and Azure, without models, from files in `key_file_path`, or else
    from the environment.

    The variables are OPENAI_API_KEY, OPENAI_API_BASE, AZURE_OPENAI_API_KEY and
    AZURE_OPENAI_API_BASE; several keys or addresses stand on lines of their own.
    `exclude` is "openai" or "aoai". Raises WrongArgument when the numbers of keys and addresses
    differ.
    """
    read_lines = partial(_read_lines, key_file_path)
    found: Configs = []
    if exclude != "openai":
        keys = read_lines(openai_api_key_file, "OPENAI_API_KEY")
        bases = read_lines(openai_api_base_file, "OPENAI_API_BASE")
        found += get_config_list(keys, bases or None)
    if exclude != "aoai":
        keys = read_lines(aoai_api_key_file, "AZURE_OPENAI_API_KEY")
        bases = read_lines(aoai_api_base_file, "AZURE_OPENAI_API_BASE")
        found += get_config_list(keys, bases or None, "azure", AZURE_VERSION)
    return found


def config_list_from_models(
    key_file_path: str | None = ".",
    openai_api_key_file: str | None = "key_openai.txt",
    aoai_api_key_file: str | None = "key_aoai.txt",
    aoai_api_base_file: str | None = "base_aoai.txt",
    exclude: str | None = None,
    model_list: Sequence[str] | None = None,
) -> Configs:
    """The configurations of `config_list_openai_aoai` for each of the models, all of the first one
    first.
    """
    found = config_list_openai_aoai(
        key_file_path,
        openai_api_key_file,
        aoai_api_key_file,
        aoai_api_base_file=aoai_api_base_file,
        exclude=exclude,
    )
    if not model_list:
        return found
    return [{**config, "model": model} for model, config in product(model_list, found)]


def config_list_gpt4_gpt35(
    key_file_path: str | None = ".",
    openai_api_key_file: str | None = "key_openai.txt",
    aoai_api_key_file: str | None = "key_aoai.txt",
    aoai_api_base_file: str | None = "base_aoai.txt",
    exclude: str | None = None,
) -> Configs:
    """`config_list_from_models` for gpt-4 and gpt-3.5-turbo."""
    models = ["gpt-4", "gpt-3.5-turbo"]
    return config_list_from_models(
        key_file_path,
        openai_api_key_file,
        aoai_api_key_file,
        aoai_api_base_file,
        exclude,
        model_list=models,
    )


def get_config_list(
    api_keys: Sequence[str],
    base_urls: Sequence[str] | None = None,
    api_type: str | None = None,
    api_version: str | None = None,
) -> Configs:
    """One configuration per key that is not blank; raises WrongArgument when there are not as many
    addresses as keys.
    """
    if base_urls is not None and len(base_urls) != len(api_keys):
        raise WrongArgument(
            f"There are {len(api_keys)} api_keys but {len(base_urls)} base_urls; give as many"
            " addresses as keys, in their order."
        )
    urls: Iterable[str | None] = coalesce(base_urls, repeat(None))
    return [
        get_config(key, url, api_type, api_version)
        for key, url in zip(api_keys, urls, strict=False)
        if text_or_empty(key).strip()
    ]


def get_config(
    api_key: str | None,
    base_url: str | None = None,
    api_type: str | None = None,
    api_version: str | None = None,
) -> dict[str, Any]:
    """One configuration; what is empty is left out, except the key."""
    others = {"base_url": base_url, "api_type": api_type, "api_version": api_version}
    return {"api_key": api_key, **pick_filled(others)}


def _meets(value: object, accepted: Collection[object]) -> bool:
    """Whether a value is accepted, or one of a list; None never is."""
    if value is None:
        return False
    choices = [accepted] if isinstance(accepted, str) else accepted
    if isinstance(value, list):
        return any(map(partial(contains, choices), value))
    return value in choices


def _read_lines(folder: str | None, name: str | None, variable: str) -> list[str]:
    """The lines that are not blank in the file, or else in the variable."""
    text, place = os.environ.get(variable, ""), "for it"
    if folder is not None and name is not None:
        path = Path(folder, name)
        place = str(path)
        if path.is_file():
            text = path.read_text(encoding="utf-8")
    lines = list(filter(None, map(str.strip, text.splitlines())))
    if not lines:
        log.info(
            "%s is not set and there is no file %s; give it in the config_list instead.",
            variable,
            place,
        )
    return lines


def _read_dotenv(given: str | None) -> None:
    """Set the variables of a .env file that are not set yet, as python-dotenv reads it; `${OTHER}`
    stays as it is written.
    """
    from dotenv import find_dotenv, load_dotenv

    path = Path(given or find_dotenv(usecwd=True))
    if path.is_file():
        load_dotenv(path, interpolate=False, encoding="utf-8-sig")
    else:
        log.warning(
            "There is no .env file (%s); the environment is used as it is.", given or Path.cwd()
        )
