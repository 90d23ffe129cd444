from __future__ import annotations

import pytest

from agentkit.events import Usage
from agentkit.llm.prices import price


def test_a_known_price_is_what_the_list_says() -> None:
    # 600 fresh at 0.15, 400 cached at 0.075 and 500 out at 0.60 dollars a million.
    assert price(
        "gpt-4o-mini", "openai", Usage(input=600, cache_read=400, output=300, reasoning=200)
    ) == pytest.approx(0.00042)


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("no-such-model", "openai"),
        ("llama3.1", "localhost.example:11434"),
        ("gpt-4o-mini", "10.0.0.7:8000"),
    ],
)
def test_an_unknown_price_is_unknown_and_not_nothing(model: str, provider: str) -> None:
    assert price(model, provider, Usage(input=10, output=10)) is None


def test_the_host_of_a_server_finds_its_list() -> None:
    assert (
        price("mistral-small-latest", "api.mistral.ai", Usage(input=1000, output=1000)) is not None
    )


@pytest.mark.parametrize(
    "provider",
    [
        "offline",
        "local",
        "scripted",
        "localhost:11434",
        "localhost",
        "127.0.0.1:8000",
        "127.1.2.3",
        "::1",
        "[::1]:1234",
        "::1:80",
        "models.localhost:8080",
    ],
)
def test_what_runs_here_costs_nothing(provider: str) -> None:
    assert price("anything", provider, Usage(input=10)) == 0.0
