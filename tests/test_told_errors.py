"""Errors name what was wrong, and what is told of this machine and of models is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentkit import AssistantAgent, CompressibleAgent, OpenAIWrapper, RetrieveUserProxyAgent
from agentkit.agents.retrieve_chat.vectordb.factory import VectorDBFactory
from agentkit.coding import legacy, probe
from agentkit.coding.docker import DockerCommandLineCodeExecutor
from agentkit.errors import AgentkitError, NoIsolation, UnknownModel, WrongArgument, WrongType
from agentkit.llm.tokens.windows import get_max_token_limit
from tests.servers.openai_server import Answer, OpenAIServer

OWN = {"config_list": [{"model": "own-model", "api_key": "k", "base_url": "http://127.0.0.1:9/v1"}]}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer("Hello.")) as running:
        yield running


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            "base_ulr",
            (
                "takes no 'base_ulr', which stands in an entry of the config_list.* Did you mean"
                " 'base_url'"
            ),
        ),
        ("temprature", "takes no 'temprature'.* Did you mean 'temperature'"),
        ("zzz", "takes no 'zzz'.* 'extra_body'"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_unknown_key_of_a_config_list_is_named(
    server: OpenAIServer, key: str, said: str, stream: bool
) -> None:
    entry = {"model": "test-model", "api_key": "k", "base_url": server.base_url, key: "1"}
    wrapper = OpenAIWrapper(config_list=[entry], cache_seed=None, stream=stream)
    with pytest.raises(WrongType, match=said):
        wrapper.create(messages=[{"role": "user", "content": "Hi"}])
    assert not server.requests


def test_what_a_server_of_its_own_takes_can_still_be_said(server: OpenAIServer) -> None:
    entry: dict[str, Any] = {
        "model": "test-model",
        "api_key": "k",
        "base_url": server.base_url,
        "extra_body": {"zzz": 1},
        "top_p": 0.5,
    }
    agent = AssistantAgent("agent", llm_config={"config_list": [entry], "cache_seed": None})
    assert agent.generate_reply(messages=[{"role": "user", "content": "Hi"}]) == "Hello."
    assert (server.chats[0]["zzz"], server.chats[0]["top_p"]) == (1, 0.5)


@pytest.mark.parametrize("kind", ["duckdb", "chroma", "pgvector"])
def test_an_unknown_key_of_a_db_config_is_named(kind: str) -> None:
    with pytest.raises(
        WrongType, match=rf"type '{kind}' takes no 'pfad' \(db_config\); it takes .*metadata"
    ) as caught:
        VectorDBFactory.create_vector_db(kind, pfad="x")
    assert isinstance(caught.value, AgentkitError)


def test_so_is_one_in_the_settings_of_an_agent() -> None:
    config: dict[str, Any] = {
        "task": "qa",
        "vector_db": "duckdb",
        "db_config": {"pfad": "x"},
        "docs_path": [],
    }
    with pytest.raises(WrongType, match="'pfad'"):
        RetrieveUserProxyAgent("u", retrieve_config=config).retrieve_docs("anything")


def test_an_image_needs_docker_though_bubblewrap_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (probe, legacy):
        monkeypatch.setattr(module, "docker_works", lambda: False)
        monkeypatch.setattr(module, "bubblewrap_works", lambda: True)
    monkeypatch.setattr("agentkit.coding.docker.engine", lambda: None)
    legacy.check_can_use_docker_or_throw(True)
    with pytest.raises(
        NoIsolation, match=r"names an image, which needs Docker.*bubblewrap works here"
    ) as caught:
        legacy.check_can_use_docker_or_throw("python:3-slim")
    with pytest.raises(
        NoIsolation, match=r"No Docker \(or podman\) service answers[^.]*\.\nbubblewrap works here"
    ) as container:
        DockerCommandLineCodeExecutor()
    for told in (str(caught.value), str(container.value)):
        assert "neither" not in told
        assert "apt-get" not in told


def test_without_either_both_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (probe, legacy):
        monkeypatch.setattr(module, "docker_works", lambda: False)
        monkeypatch.setattr(module, "bubblewrap_works", lambda: False)
    with pytest.raises(NoIsolation, match=r"neither bubblewrap \(0.7 or newer\) nor Docker"):
        legacy.check_can_use_docker_or_throw(True)


def test_a_model_of_unknown_window_is_told_with_what_sets_it() -> None:
    with pytest.raises(UnknownModel, match=r"register_context_window\('own-model', tokens\)"):
        get_max_token_limit("own-model")


@pytest.mark.parametrize(
    "config",
    [True, {"mode": "COMPRESS"}, {"mode": "CUSTOMIZED", "compress_function": lambda given: given}],
)
def test_so_it_is_by_an_agent_that_compresses(config: Any) -> None:
    with pytest.raises(
        WrongArgument,
        match=r"'own-model' is not known; call .*register_context_window\('own-model', tokens\)",
    ):
        CompressibleAgent("agent", llm_config=OWN, compress_config=config)


@pytest.mark.parametrize(
    "config", [True, {"mode": "CUSTOMIZED", "compress_function": lambda given: given}]
)
def test_an_agent_without_a_model_names_none(config: Any) -> None:
    with pytest.raises(WrongArgument, match=r"there is no model.*give an llm_config") as caught:
        CompressibleAgent("agent", llm_config=False, compress_config=config)
    assert "gpt" not in str(caught.value)
