from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.errors import ConfigError, NotFound
from agentkit.llm import (
    Connection,
    available_models,
    connections,
    delete_connection,
    model_by_id,
    save_connection,
)
from agentkit.llm.connections.config import keep_found, key_for
from agentkit.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a data folder that is not there yet."""
    return Settings(data=tmp_path / "data")


def test_without_anything_the_offline_model_is_the_default(settings: Settings) -> None:
    (model,) = available_models(settings)
    assert (model.id, model.is_language_model, model.provider) == ("offline", False, "offline")
    assert model_by_id(settings).id == "offline"


def test_the_environment_comes_first_and_the_offline_model_stays(settings: Settings) -> None:
    save_connection(
        settings, Connection("Cellar", "http://10.0.0.7:8000", models=("llama", "llama", " qwen "))
    )
    with_key = replace(settings, openai_api_key="sk-1", openai_model="gpt-4o-mini")
    assert [model.id for model in available_models(with_key)] == [
        "OpenAI/gpt-4o-mini",
        "Cellar/llama",
        "Cellar/qwen",
        "offline",
    ]
    assert [model.label for model in available_models(with_key)][:3] == [
        "gpt-4o-mini",
        "llama",
        "qwen",
    ]
    assert model_by_id(with_key).provider == "openai"
    assert model_by_id(with_key, "Cellar/qwen").provider == "10.0.0.7:8000"
    with pytest.raises(NotFound, match=r"'nope'.*Cellar/llama"):
        model_by_id(with_key, "nope")


def test_models_of_one_name_are_told_apart_by_their_connections(settings: Settings) -> None:
    for name in ("Cellar", "Attic"):
        save_connection(
            settings, Connection(name, "http://10.0.0.7:8000", models=("llama", name.lower()))
        )
    labels = {model.id: model.label for model in available_models(settings)}
    assert labels == {
        "Cellar/llama": "llama (Cellar)",
        "Cellar/cellar": "cellar",
        "Attic/llama": "llama (Attic)",
        "Attic/attic": "attic",
        "offline": "Offline (quotes the documents)",
    }


def test_a_server_without_a_model_offers_its_first(settings: Settings) -> None:
    (model, _) = available_models(replace(settings, openai_base_url="http://localhost:11434"))
    assert (model.id, model.name) == ("localhost:11434/default", "")
    assert (
        connections(replace(settings, openai_base_url="http://localhost:11434"))[0].base_url
        == "http://localhost:11434/v1"
    )


def test_saved_connections_come_back_and_go(settings: Settings) -> None:
    saved = save_connection(
        settings, Connection(" My  server ", "localhost:1234", "secret-key", ("a",))
    )
    assert (saved.name, saved.base_url) == ("My server", "http://localhost:1234/v1")
    assert connections(settings) == [saved]
    save_connection(settings, replace(saved, models=("b",)))
    assert [connection.models for connection in connections(settings)] == [("b",)]
    path = settings.data / "connections.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in settings.data.iterdir()] == ["connections.json"]
    delete_connection(settings, "My server")
    assert connections(settings) == []
    with pytest.raises(NotFound, match="My server"):
        delete_connection(settings, "My server")


def test_models_to_embed_and_rerank_with_are_kept(settings: Settings) -> None:
    given = Connection(
        "Ours",
        "localhost:1234",
        models=("a",),
        embedding_models=(" nomic ", "nomic", ""),
        reranker_models=("bge",),
    )
    saved = save_connection(settings, given)
    assert (saved.embedding_models, saved.reranker_models) == (("nomic",), ("bge",))
    assert connections(settings) == [saved]
    path = settings.data / "connections.json"
    path.write_text(
        '[{"name": "Old", "base_url": "http://localhost:1/v1", "models": ["a"]}]'
    )  # as it was written before
    assert connections(settings) == [Connection("Old", "http://localhost:1/v1", models=("a",))]
    assert connections(replace(settings, openai_api_key="sk-1"))[0].embedding_models == (
        "text-embedding-3-small",
    )


SAME = [
    "http://10.0.0.7",
    "HTTP://10.0.0.7:80/v2",
    "http://10.0.0.7:80",
    "http://me:word@10.0.0.7/v1",
    "10.0.0.7",
]
OTHERS = [
    "https://10.0.0.7/v1",
    "http://10.0.0.7:8080/v1",
    "http://10.0.0.8/v1",
    "http://10.0.0.7@evil.example/v1",
    "http://10.0.0.7.evil.example/v1",
    "http://10.0.0.7:0/v1",
]


@pytest.mark.parametrize("address", SAME)
def test_a_key_stays_with_its_server(settings: Settings, address: str) -> None:
    saved = save_connection(settings, Connection("Ours", "http://10.0.0.7/v1", "secret-key"))
    assert key_for(saved, address) == "secret-key"
    assert save_connection(settings, replace(saved, base_url=address)).api_key == "secret-key"


@pytest.mark.parametrize("address", OTHERS)
def test_a_key_does_not_go_along_to_another_server(settings: Settings, address: str) -> None:
    saved = save_connection(settings, Connection("Ours", "http://10.0.0.7/v1", "secret-key"))
    for how in (
        lambda: key_for(saved, address),
        lambda: save_connection(settings, replace(saved, base_url=address)),
        lambda: save_connection(settings, replace(saved, name="A copy", base_url=address)),
    ):
        with pytest.raises(
            ConfigError, match=r"'Ours' was given for http://10\.0\.0\.7/v1; .*enter the key"
        ) as caught:
            how()
        assert "secret" not in str(caught.value)
    assert connections(settings) == [saved]


def test_a_key_that_is_entered_again_or_removed_goes_with_the_address(settings: Settings) -> None:
    saved = save_connection(settings, Connection("Ours", "http://10.0.0.7/v1", "secret-key"))
    there = replace(saved, base_url="https://10.0.0.7/v1")
    assert save_connection(settings, replace(there, api_key="another")).api_key == "another"
    assert save_connection(settings, saved, key_entered=True).base_url == "http://10.0.0.7/v1"
    assert save_connection(settings, there, key_entered=True) == there
    assert (
        save_connection(
            settings, replace(there, base_url="http://elsewhere/v1", api_key="")
        ).api_key
        == ""
    )


def test_a_key_that_two_servers_share_stays_with_both(settings: Settings) -> None:
    first = save_connection(settings, Connection("One", "http://one/v1", "shared"))
    second = save_connection(
        settings, Connection("Two", "http://two/v1", "shared"), key_entered=True
    )
    save_connection(settings, replace(second, models=("a",)))
    save_connection(settings, replace(first, models=("a",)))
    assert [one.api_key for one in connections(settings)] == ["shared", "shared"]


def test_the_key_of_the_environment_does_not_go_along_either(settings: Settings) -> None:
    with_key = replace(settings, openai_api_key="sk-1")
    (given,) = connections(with_key)
    with pytest.raises(ConfigError, match=r"'OpenAI' was given for https://api\.openai\.com/v1"):
        save_connection(
            with_key, replace(given, name="Mine", base_url="https://api.openai.com.evil.example/v1")
        )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://host/v1",
        "http://",
        "https://a b/v1",
        "nonsense://",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://evil.example\\@host/v1",
    ],
)
def test_what_is_no_address_is_refused(settings: Settings, url: str) -> None:
    with pytest.raises(ConfigError, match="not an address of a model server"):
        save_connection(settings, Connection("x", url))


@pytest.mark.parametrize("name", ["", "  ", "a/b", "Offline", "x" * 61, "OpenAI"])
def test_names_that_would_confuse_are_refused(settings: Settings, name: str) -> None:
    with pytest.raises(ConfigError, match=r"named|belongs to"):
        save_connection(
            replace(settings, openai_api_key="sk-1"), Connection(name, "http://localhost:1/v1")
        )


def test_a_damaged_file_is_named(settings: Settings) -> None:
    settings.data.mkdir()
    (settings.data / "connections.json").write_text('[{"name": 1}]')
    with pytest.raises(ConfigError, match=r"connections\.json"):
        connections(settings)


def test_keys_are_not_shown() -> None:
    assert "secret" not in repr(Connection("x", "http://localhost/v1", "secret-key"))


def test_editing_keeps_the_place(settings: Settings) -> None:
    for name in ("One", "Two", "Three"):
        save_connection(settings, Connection(name, "localhost:1", models=("a",)))
    save_connection(settings, Connection("One", "localhost:2", models=("b",)))
    assert [one.name for one in connections(settings)] == ["One", "Two", "Three"]
    assert model_by_id(settings).id == "One/b"


TARGET = (
    "https://ours.openai.azure.com/openai/deployments/chat/chat/completions"
    "?api-version=2025-01-01-preview"
)


def test_azure_is_kept_with_its_endpoint_deployments_and_version(settings: Settings) -> None:
    given = Connection(
        "Azure",
        "ours.openai.azure.com",
        "k-1234",
        ("chat",),
        kind="azure",
        api_version=" 2024-10-21 ",
    )
    saved = save_connection(settings, given)
    assert (saved.base_url, saved.api_version) == ("https://ours.openai.azure.com", "2024-10-21")
    assert connections(settings) == [saved]
    (model, _) = available_models(settings)
    assert (model.id, model.provider) == ("Azure/chat", "azure")
    copied = save_connection(settings, replace(given, base_url=TARGET, api_version=""))
    assert (copied.base_url, copied.api_version) == (
        "https://ours.openai.azure.com",
        "2025-01-01-preview",
    )


@pytest.mark.parametrize(
    ("models", "version", "wanted"),
    [((), "2024-10-21", "no.* named"), (("a",), "latest", "'latest', but Azure needs one")],
)
def test_what_azure_lacks_is_told(
    settings: Settings, models: tuple[str, ...], version: str, wanted: str
) -> None:
    with pytest.raises(ConfigError, match=wanted):
        save_connection(
            settings,
            Connection("A", "https://a.example", models=models, kind="azure", api_version=version),
        )
    assert connections(settings) == []


def test_sizes_that_a_test_showed_are_kept_and_go_to_the_model(settings: Settings) -> None:
    saved = save_connection(
        settings, Connection("Ours", "localhost:1", models=("a",), embedding_models=("e",))
    )
    keep_found(settings, replace(saved, contexts={"a": 4096}, dimensions={"e": 3}))
    (kept,) = connections(settings)
    assert (kept.contexts, kept.dimensions) == ({"a": 4096}, {"e": 3})
    assert available_models(settings)[0].context_window == 4096
    keep_found(settings, replace(saved, models=("b",), contexts={"a": 1}))
    assert connections(settings) == [kept], "it was changed while it was tested"
    assert save_connection(settings, replace(kept, models=("b",))).contexts == {}
    assert save_connection(settings, replace(kept, base_url="localhost:2")).dimensions == {}


def test_what_tests_show_at_the_same_time_is_all_kept(settings: Settings) -> None:
    names = [str(number) for number in range(12)]
    made = [
        save_connection(settings, Connection(name, "localhost:1", models=("a",))) for name in names
    ]
    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(lambda one: keep_found(settings, replace(one, contexts={"a": 4096})), made))
    assert [dict(one.contexts) for one in connections(settings)] == [{"a": 4096}] * len(made)
