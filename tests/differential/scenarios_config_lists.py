"""Lists of model configs: read from files and the environment, built from keys, filtered."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.differential.kit import Kit, scenario

CONFIGS: list[dict[str, Any]] = [
    {"model": "small", "tags": ["cheap", "fast"]},
    {"model": "large", "api_type": "azure"},
    {
        "model": "local",
        "base_url": "http://localhost:1/v1",
        "api_type": "openai",
        "tags": ["cheap"],
    },
    {"model": "large"},
]


@contextlib.contextmanager
def workplace(**variables: str) -> Iterator[Path]:
    """A folder and an environment of its own, without keys but these."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as path:
        for name in [n for n in os.environ if "OPENAI" in n or "OAI" in n]:
            del os.environ[name]
        os.environ.update(variables)
        try:
            yield Path(path)
        finally:
            os.environ.clear()
            os.environ.update(before)


def names(configs: list[dict[str, Any]]) -> list[Any]:
    return [config.get("model") for config in configs]


@scenario
def filter_by_one_key(kit: Kit) -> Any:
    wanted: list[dict[str, Any]] = [
        {"model": ["large"]},
        {"model": ["small", "local"]},
        {"model": ["none"]},
        {"model": []},
        {},
    ]
    return [names(kit.filter_config(CONFIGS, w)) for w in wanted]


@scenario
def filter_by_lists_and_absent_keys(kit: Kit) -> Any:
    wanted: list[dict[str, Any]] = [
        {"tags": ["cheap"]},
        {"tags": ["fast", "slow"]},
        {"api_type": ["azure", None]},
        {"api_type": [None]},
        {"nowhere": ["x"]},
        {"nowhere": [None]},
    ]
    return [kit.filter_config(CONFIGS, w) for w in wanted]


@scenario
def filter_by_several_keys(kit: Kit) -> Any:
    wanted: list[dict[str, Any]] = [
        {"model": ["large"], "api_type": ["azure"]},
        {"tags": ["cheap"], "api_type": ["openai"]},
        {"model": {"large"}},
    ]
    return [kit.filter_config(CONFIGS, w) for w in wanted]


@scenario
def filter_the_other_way_round(kit: Kit) -> Any:
    wanted: list[dict[str, Any]] = [
        {"model": ["large"]},
        {"tags": ["cheap"]},
        {"model": ["large"], "api_type": ["azure"]},
        {},
    ]
    return [names(kit.filter_config(CONFIGS, w, exclude=True)) for w in wanted]


@scenario
def filter_by_none(kit: Kit) -> Any:
    return kit.filter_config(CONFIGS, None) == CONFIGS


@scenario
def configs_from_a_json_file(kit: Kit) -> Any:
    with workplace() as folder:
        (folder / "LIST.json").write_text(json.dumps(CONFIGS))
        read = kit.config_list_from_json("LIST.json", file_location=str(folder))
        some = kit.config_list_from_json(
            "LIST.json", file_location=str(folder), filter_dict={"model": ["large"]}
        )
        missing = kit.raised(kit.config_list_from_json, "NOT_THERE.json", file_location=str(folder))
        (folder / "BAD.json").write_text("[{]")
        bad = (
            kit.raised(kit.config_list_from_json, "BAD.json", file_location=str(folder)) is not None
        )
        return [read == CONFIGS, some, missing, bad]


@scenario
def configs_from_a_variable(kit: Kit) -> Any:
    with workplace(OAI_CONFIG_LIST=json.dumps(CONFIGS)):
        read = kit.config_list_from_json("OAI_CONFIG_LIST")
        some = kit.config_list_from_json("OAI_CONFIG_LIST", filter_dict={"tags": ["fast"]})
    with workplace() as folder:
        (folder / "configs").write_text(json.dumps(CONFIGS[:1]))
        os.environ["OAI_CONFIG_LIST"] = str(folder / "configs")
        by_path = kit.config_list_from_json("OAI_CONFIG_LIST")
    return [read == CONFIGS, some, by_path]


@scenario
def configs_of_keys(kit: Kit) -> Any:
    return [
        kit.get_config_list(["k1", "k2"]),
        kit.get_config_list(
            ["k1", "k2"], base_urls=["u1", "u2"], api_type="azure", api_version="v"
        ),
        kit.get_config_list(["k1", " ", "k3"], base_urls=["u1", "u2", "u3"]),
        kit.get_config_list([]),
        kit.raised(kit.get_config_list, ["k1", "k2"], base_urls=["u1"]),
    ]


@scenario
def configs_of_key_files(kit: Kit) -> Any:
    with workplace() as folder:
        (folder / "key_openai.txt").write_text("sk-open\n")
        (folder / "key_aoai.txt").write_text("azure-1\nazure-2")
        (folder / "base_aoai.txt").write_text("https://one\nhttps://two")
        found = kit.config_list_openai_aoai(key_file_path=str(folder))
        without = [
            kit.config_list_openai_aoai(key_file_path=str(folder), exclude=kind)
            for kind in ("aoai", "openai")
        ]
        kinds = [
            sorted(
                (c.get("api_type"), c.get("api_key"), c.get("base_url")) for c in cs if c["api_key"]
            )
            for cs in without
        ]
        return [
            sorted([c.get("api_key"), c.get("base_url"), c.get("api_type")] for c in found),
            kinds,
        ]


@scenario
def configs_of_an_env_file(kit: Kit) -> Any:
    with workplace() as folder:
        file = folder / "keys.env"
        file.write_text("OPENAI_API_KEY=sk-one\nOTHER_KEY='sk two'\n# a comment\n")
        models: dict[str, Any] = {
            "gpt-4": "OPENAI_API_KEY",
            "other": {
                "api_key_env_var": "OTHER_KEY",
                "base_url": "http://localhost:1",
                "api_type": "openai",
            },
        }
        read = kit.config_list_from_dotenv(dotenv_file_path=str(file), model_api_key_map=models)
        some = kit.config_list_from_dotenv(
            dotenv_file_path=str(file), model_api_key_map=models, filter_dict={"model": ["other"]}
        )
        return [read, names(some)]


@scenario
def configs_of_an_env_file_without_the_key(kit: Kit) -> Any:
    with workplace() as folder:
        (folder / "keys.env").write_text("SOMETHING=else\n")
        models = {"gpt-4": "OPENAI_API_KEY"}
        return kit.config_list_from_dotenv(
            dotenv_file_path=str(folder / "keys.env"), model_api_key_map=models
        )
