"""OpenAIWrapper with caches, and with the clients of scripts and of the app."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from agentkit.errors import (
    ClientNotRegistered,
    WrongArgument,
)
from agentkit.events import Event, ModelCalled, ModelReplied
from agentkit.llm import ModelClient
from agentkit.llm.cache import Cache
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from tests.llm.wrapper_kit import ASK, COST, KEY, PRICE, Console, by_model, config, texts, wrapper
from tests.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.usefixtures("console")


# -- caches --


class Remembering:
    """A cache of a script's own."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return self.kept.get(key, default)

    def set(self, key: str, value: Any) -> None:
        self.kept[key] = value

    def close(self) -> None:
        raise AssertionError("whoever opened it closes it")

    __enter__ = __exit__ = close


def test_a_cached_call_is_a_row_that_costs_nothing(
    server: OpenAIServer, heard: list[Event]
) -> None:
    asked = wrapper(server, "m", cache_seed=42, price=PRICE)
    first, second = (asked.create(messages=ASK) for _ in range(2))
    assert len(server.chats) == 1
    assert (texts(second), second.cost, second.config_id) == (texts(first), first.cost, 0)
    rows = [event for event in heard if isinstance(event, ModelReplied)]
    assert [(row.status, row.text, row.usage.total) for row in rows] == [
        ("ok", "from m", 127),
        ("cached", "from m", 0),
    ]
    assert [row.cost for row in rows] == [pytest.approx(COST), 0]
    assert sum(isinstance(event, ModelCalled) for event in heard) == 2
    assert len({row.call_id for row in rows}) == 2
    other = wrapper(server, "m", cache_seed=42, price=PRICE)
    other.create(messages=ASK)
    assert other.actual_usage_summary is None
    assert other.total_usage_summary is not None


def test_calls_survive_the_cache_on_disk(server: OpenAIServer) -> None:
    asked = wrapper(server, "calling", cache_seed=42)
    kept = [texts(asked.create(messages=ASK))[0].model_dump()["tool_calls"] for _ in range(2)]
    assert kept[0] == kept[1]
    assert len(server.chats) == 1


def test_autogens_default_seed_is_used_and_none_is_none(
    server: OpenAIServer, tmp_path: Path
) -> None:
    OpenAIWrapper(**config(server, "m")).create(messages=ASK)
    assert [path.name for path in (tmp_path / ".cache").iterdir()] == ["41"]
    wrapper(server, "m").create(messages=ASK)
    assert len(server.chats) == 2


def test_a_model_of_the_app_is_not_cached_unless_asked(tmp_path: Path) -> None:
    asked = OpenAIWrapper(config_list=[{"model": scripted_model(["one", "two", "three"])}])
    assert [texts(asked.create(messages=ASK)) for _ in range(2)] == [["one"], ["two"]]
    assert not list(tmp_path.iterdir())
    with Cache.memory() as cache:
        assert [texts(asked.create(messages=ASK, cache=cache)) for _ in range(2)] == [
            ["three"],
            ["three"],
        ]


def test_the_key_parts_models_servers_and_parameters_and_holds_no_secret(
    server: OpenAIServer,
) -> None:
    mine = Remembering()
    with OpenAIServer(by_model) as second:
        for place, model, more in [
            (server, "m1", {}),
            (server, "m2", {}),
            (second, "m1", {}),
            (server, "m1", {"top_p": 1}),
        ]:
            wrapper(place, model).create(
                messages=ASK, cache=mine, extra_headers={"x-secret": KEY}, **more
            )
        assert len(mine.kept) == len(server.chats) + len(second.chats) == 4
    address = server.base_url.replace("http://", f"http://me:{KEY}@")
    OpenAIWrapper(**{**config(server, "m1"), "base_url": address}).create(messages=ASK, cache=mine)
    assert len(mine.kept) == 4
    assert KEY not in "".join(mine.kept)


def test_a_filter_judges_cached_answers_too_and_the_cached_object_stays_clean(
    server: OpenAIServer,
) -> None:
    mine = Remembering()
    wrapper(server, "m1").create(messages=ASK, cache=mine)
    kept = copy.copy(next(iter(mine.kept.values())))
    asked = wrapper(server, "m1", "m2")
    response = asked.create(
        messages=ASK, cache=mine, filter_func=lambda context, response: response.model == "m2"
    )
    assert (response.config_id, response.pass_filter) == (1, True)
    assert next(iter(mine.kept.values())).pass_filter == kept.pass_filter is True


# -- clients of scripts --


class Mine:
    """As AutoGen's documentation shows it."""

    made: ClassVar[list[dict[str, Any]]] = []
    asked: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, config: dict[str, Any], **kwargs: Any) -> None:
        self.config = config
        self.made.append({**config, **kwargs})

    def create(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        choice = SimpleNamespace(message=SimpleNamespace(content="mine", function_call=None))
        return SimpleNamespace(choices=[choice], model=self.config["model"])

    def message_retrieval(self, response: Any) -> list[Any]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        return 0.25

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {
            "prompt_tokens": 1,
            "completion_tokens": 2,
            "total_tokens": 3,
            "cost": response.cost,
            "model": response.model,
        }


LOCAL = {"model": "loc", "model_client_cls": "Mine", "device": "cpu"}


def test_a_registered_client_gets_its_config_and_all_parameters(heard: list[Event]) -> None:
    asked = OpenAIWrapper(config_list=[LOCAL], cache_seed=3)
    with pytest.raises(ClientNotRegistered, match="'Mine'"):
        asked.create(messages=ASK)
    asked.register_model_client(Mine, tail=3)
    assert Mine.made[-1] == {**LOCAL, "tail": 3}
    for _ in range(2):
        response = asked.create(messages=ASK, top_p=2, context={"a": 1}, agent="Bob")
    assert Mine.asked == [{**LOCAL, "messages": ASK, "top_p": 2}]
    assert (texts(response), response.cost, response.model) == (["mine"], 0.25, "loc")
    counted = {"cost": 0.25, "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert asked.actual_usage_summary == {"total_cost": 0.25, "loc": counted}
    rows = [event for event in heard if isinstance(event, ModelReplied)]
    assert [(row.provider, row.model, row.status, row.cost) for row in rows] == [
        ("custom", "loc", "ok", 0.25),
        ("custom", "loc", "cached", 0.0),
    ]


def test_two_servers_of_a_scripts_client_share_no_cached_answer() -> None:
    mine = Remembering()
    for server in ("http://one/v1", "http://two/v1"):
        asked = OpenAIWrapper(config_list=[{**LOCAL, "base_url": server}], cache=mine)
        asked.register_model_client(Mine)
        asked.create(messages=ASK)
    assert len(mine.kept) == 2


def test_clients_are_registered_in_the_order_of_their_entries() -> None:
    asked = OpenAIWrapper(config_list=[LOCAL, {**LOCAL, "model": "second"}], cache_seed=None)
    for _ in range(2):
        asked.register_model_client(Mine)
    assert [made["model"] for made in Mine.made[-2:]] == ["loc", "second"]
    asked.register_model_client(Mine)  # once more, as in a notebook: nothing changes
    assert [made["model"] for made in Mine.made[-2:]] == ["loc", "second"]
    with pytest.raises(WrongArgument, match="is registered for all its entries"):
        asked.register_model_client(type("Mine", (Mine,), {}))
    with pytest.raises(WrongArgument, match='add "model_client_cls": "Console"'):
        asked.register_model_client(Console)


def test_a_clients_own_error_goes_on_and_comes_out_at_last(
    server: OpenAIServer, heard: list[Event]
) -> None:
    class Bad(Mine):
        def create(self, params: dict[str, Any]) -> Any:
            raise ZeroDivisionError("mine broke")

    bad = {"model": "loc", "model_client_cls": "Bad"}
    asked = OpenAIWrapper(config_list=[bad, config(server, "good")], cache_seed=None)
    asked.register_model_client(Bad)
    assert asked.create(messages=ASK).config_id == 1
    alone = OpenAIWrapper(config_list=[bad], cache_seed=None)
    alone.register_model_client(Bad)
    with pytest.raises(ZeroDivisionError, match="mine broke"):
        alone.create(messages=ASK)
    assert [event.error_type for event in heard if isinstance(event, ModelReplied)] == [
        "ZeroDivisionError",
        "",
        "ZeroDivisionError",
    ]


def test_a_client_that_counts_nothing_is_in_no_sum() -> None:
    class Silent(Mine):
        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            return {}

    asked = OpenAIWrapper(
        config_list=[{"model": "loc", "model_client_cls": "Silent"}], cache_seed=None
    )
    asked.register_model_client(Silent)
    assert asked.create(messages=ASK).cost == 0.25
    assert asked.actual_usage_summary is None


def test_a_model_of_the_app_speaks(heard: list[Event]) -> None:
    model = scripted_model(
        ["hi", {"content": None, "function_call": {"name": "f", "arguments": "{}"}}]
    )
    entry = copy.deepcopy({"model": model})
    assert entry["model"] is model
    asked = OpenAIWrapper(config_list=[entry], temperature=0)
    assert texts(asked.create(messages=ASK)) == ["hi"]
    assert texts(asked.create(messages=ASK))[0].model_dump()["function_call"]["name"] == "f"
    # A ScriptedClient.
    assert model.client.requests[0]["temperature"] == 0  # type: ignore[attr-defined]
    assert [(event.provider, event.cost) for event in heard if isinstance(event, ModelReplied)] == [
        ("scripted", 0.0)
    ] * 2


def test_autogens_names_for_the_types_of_clients_are_there() -> None:
    class Client:
        def __init__(self, config: Any) -> None:
            self.config = config

        def create(self, params: Any) -> ModelClient.ModelClientResponseProtocol:
            message = SimpleNamespace(content="Hello")
            return SimpleNamespace(
                choices=[SimpleNamespace(message=message)], model=params["model"]
            )

        def message_retrieval(
            self, response: Any
        ) -> list[ModelClient.ModelClientResponseProtocol.Choice.Message]:
            return [choice.message.content for choice in response.choices]

        def cost(self, response: Any) -> float:
            return 0.0

        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            return dict.fromkeys(ModelClient.RESPONSE_USAGE_KEYS, 0)

    assert ModelClient.RESPONSE_USAGE_KEYS == [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cost",
        "model",
    ]
    asking = OpenAIWrapper(
        config_list=[{"model": "own", "model_client_cls": "Client"}], cache_seed=None
    )
    asking.register_model_client(Client)
    response = asking.create(messages=[{"role": "user", "content": "Hi"}])
    assert asking.extract_text_or_completion_object(response) == ["Hello"]


def test_keys_of_azures_client_are_known() -> None:
    assert (
        {"azure_endpoint", "api_version", "azure_ad_token"}
        <= OpenAIWrapper.aopenai_kwargs
        <= OpenAIWrapper.openai_kwargs
    )


def test_a_configuration_may_tell_the_window_of_its_model() -> None:
    wrapper = OpenAIWrapper(
        config_list=[{"model": "at-home", "api_key": "k", "context_window": 5_000}]
    )
    assert [model.context_window for model in wrapper.models if model] == [5_000]
    with pytest.raises(WrongArgument, match="context_window is 0; it must be a number of tokens"):
        OpenAIWrapper(config_list=[{"model": "at-home", "api_key": "k", "context_window": 0}])
