"""Settings: the environment wins over the secrets file, and a bad value is named."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agentkit.errors import ConfigError
from agentkit.settings import Settings, load_settings

NOWHERE = Path("no/such/secrets.toml")


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    return tmp_path / "secrets.toml"


def test_defaults() -> None:
    assert load_settings({}, NOWHERE) == Settings()
    assert load_settings({"AGENTKIT_OWNER": ""}, NOWHERE).owner == "local"


def test_every_field_is_read_from_the_environment() -> None:
    wanted = Settings(
        Path("/elsewhere"), "me", 7, 8, 9, 1.5, 10, True, 2.5, True, "key", "http://127.0.0.1:1/v1", "small", "/a:/b", "/c",
        "/t.py", 11, 0.5, 12, 1.5,
    )  # fmt: skip
    environ = {f"AGENTKIT_{field.name.upper()}": str(getattr(wanted, field.name)) for field in dataclasses.fields(Settings)}
    assert load_settings(environ, NOWHERE) == wanted
    assert len(environ) == 20


def test_the_names_that_openai_uses_are_read_and_ours_win() -> None:
    environ = {"OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "http://a/v1", "AGENTKIT_OPENAI_API_KEY": "ours"}
    settings = load_settings(environ, NOWHERE)
    assert (settings.openai_api_key, settings.openai_base_url) == ("ours", "http://a/v1")


def test_the_secrets_file_is_read_and_the_environment_wins(secrets: Path) -> None:
    secrets.write_text('OPENAI_API_KEY = "root"\n[agentkit]\nowner = "file"\nmax_pages = 3\nallow_private_urls = true\n')
    settings = load_settings({"AGENTKIT_OWNER": "environment"}, secrets)
    assert (settings.owner, settings.max_pages, settings.allow_private_urls) == ("environment", 3, True)
    assert settings.openai_api_key == "root"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("MAX_PAGES", "many", "a positive whole number"),
        ("MAX_PAGES", "0", "a positive whole number"),
        ("MAX_FILE_MB", "-1", "a positive whole number"),
        ("MAX_FILE_MB", "2.5", "a positive whole number"),
        ("READ_TIMEOUT_S", "nan", "a positive number"),
        ("READ_TIMEOUT_S", "inf", "a positive number"),
        ("ALLOW_PRIVATE_URLS", "perhaps", "true or false"),
        ("DATA", "~nobody-of-this-name/data", "a path"),
    ],
)
def test_a_bad_value_is_named(name: str, value: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({f"AGENTKIT_{name}": value}, NOWHERE)
    assert str(caught.value) == f"AGENTKIT_{name} is {value!r}, but must be {wanted}."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agentkit", "cannot be read as TOML"),
        ("[agentkit]\nmax_pagse = 3", "unknown settings under .agentkit.: max_pagse"),
        ("agentkit = 3", "must have a table"),
        ("[agentkit]\ndata = 3", "AGENTKIT_DATA is 3, but must be a path"),
        ("[agentkit]\nmax_pages = []", "must be a positive whole number"),
    ],
)
def test_a_bad_secrets_file_is_named(secrets: Path, text: str, message: str) -> None:
    secrets.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_settings({}, secrets)


def test_a_secrets_file_that_is_no_text_is_named(secrets: Path) -> None:
    secrets.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=str(secrets)):
        load_settings({}, secrets)


def test_the_key_is_not_shown() -> None:
    assert "s3cret" not in repr(load_settings({"OPENAI_API_KEY": "s3cret"}, NOWHERE))
