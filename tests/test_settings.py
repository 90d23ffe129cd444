"""Settings: the environment wins over the secrets file, and a bad value is named."""

from __future__ import annotations

import dataclasses
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError
from agentkit.settings import CHOOSABLE, Settings, choose, load_settings, origins

NOWHERE = Path("no/such/secrets.toml")
ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = {"data", "default_model", "model_folder"}
"""Settings whose default the page tells in words of its own."""


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    return tmp_path / "secrets.toml"


def test_defaults() -> None:
    assert load_settings({}, NOWHERE) == Settings()
    assert load_settings({"AGENTKIT_OWNER": ""}, NOWHERE).owner == "local"


def test_every_field_is_read_from_the_environment() -> None:
    wanted = Settings(
        Path("/elsewhere"),
        "me",
        7,
        8,
        9,
        1.5,
        10,
        True,
        2.5,
        True,
        "key",
        "http://127.0.0.1:1/v1",
        "small",
        "/a:/b",
        "/c",
        "/t.py",
        11,
        0.5,
        12,
        1.5,
        13.0,
        "Ours/small",
        Path("/models"),
        True,
        "model",
        True,
        "http://127.0.0.1:4318",
        "key=a",
        True,
    )
    environ = {
        f"AGENTKIT_{field.name.upper()}": str(getattr(wanted, field.name))
        for field in dataclasses.fields(Settings)
    }
    assert load_settings(environ, NOWHERE) == wanted
    assert len(environ) == 29


def test_the_names_that_openai_uses_are_read_and_ours_win() -> None:
    environ = {
        "OPENAI_API_KEY": "theirs",
        "OPENAI_BASE_URL": "http://a/v1",
        "AGENTKIT_OPENAI_API_KEY": "ours",
    }
    settings = load_settings(environ, NOWHERE)
    assert (settings.openai_api_key, settings.openai_base_url) == ("ours", "http://a/v1")


def test_the_secrets_file_is_read_and_the_environment_wins(secrets: Path) -> None:
    secrets.write_text(
        'OPENAI_API_KEY = "root"\n[agentkit]\nowner = "file"\n'
        "max_pages = 3\nallow_private_urls = true\n"
    )
    settings = load_settings({"AGENTKIT_OWNER": "environment"}, secrets)
    assert (settings.owner, settings.max_pages, settings.allow_private_urls) == (
        "environment",
        3,
        True,
    )
    assert settings.openai_api_key == "root"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("MAX_PAGES", "many", "a positive whole number; correct it, or leave it out for 5000"),
        ("MAX_PAGES", "0", "a positive whole number; correct it, or leave it out for 5000"),
        ("MAX_FILE_MB", "-1", "a positive whole number; correct it, or leave it out for 50"),
        ("MAX_FILE_MB", "2.5", "a positive whole number; correct it, or leave it out for 50"),
        ("RUN_TOKENS", "true", "a positive whole number; correct it, or leave it out for no limit"),
        ("READ_TIMEOUT_S", "nan", "a positive number; correct it, or leave it out for 120.0"),
        ("READ_TIMEOUT_S", "inf", "a positive number; correct it, or leave it out for 120.0"),
        ("ALLOW_PRIVATE_URLS", "perhaps", "true or false; correct it, or leave it out for false"),
        ("DATA", "~nobody-of-this-name/data", "a path; correct it, or leave it out for data"),
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
        ("[agentkit]\ndata = 3", r"data in .*secrets\.toml is 3, but must be a path"),
        ("[agentkit]\nmax_pages = []", "must be a positive whole number"),
        (
            "[agentkit]\nmax_file_mb = 1.9",
            r"max_file_mb in .*secrets\.toml is 1\.9, but must be a positive whole number",
        ),
        ("[agentkit]\nmax_file_mb = 2.0", "is 2.0, but must be a positive whole number"),
        (
            "[agentkit]\nrun_tokens = true",
            r"run_tokens in .* is True, but must be a positive whole number",
        ),
        ("[agentkit]\nrun_dollars = true", "is True, but must be a positive number"),
        ("[agentkit]\nread_timeout_s = inf", "is inf, but must be a positive number"),
        ("[agentkit]\nallow_private_urls = 1", "is 1, but must be true or false"),
        ("[agentkit]\nowner = 3", "is 3, but must be a text"),
        (
            "OPENAI_API_KEY = 12345",
            "openai_api_key in .* is of another type, but must be a text; correct it",
        ),
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


def test_whole_numbers_are_numbers_and_texts_of_numbers_are_read(secrets: Path) -> None:
    secrets.write_text('[agentkit]\nrun_dollars = 2\nmax_pages = "3"\n')
    settings = load_settings({}, secrets)
    assert (settings.run_dollars, settings.max_pages) == (2.0, 3)
    assert isinstance(settings.run_dollars, float)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("AGENTKIT_MAX_PAGSE", "if AGENTKIT_MAX_PAGES is meant, correct the name, else remove it"),
        ("agentkit_max_pages", "if AGENTKIT_MAX_PAGES is meant"),
        ("AGENTKIT_XYZZY", "remove it, or use one of: AGENTKIT_ALLOW_PRIVATE_URLS, "),
    ],
)
def test_a_variable_that_is_no_setting_is_refused(name: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({name: "a-secret"}, NOWHERE)
    assert str(caught.value).startswith(
        f"{name} is set in the environment, but there is no such setting; {meant}"
    )
    assert "a-secret" not in str(caught.value), "it may be a key"
    assert load_settings({name: "", "AGENTKIT_EXECUTION": "mark"}, NOWHERE) == Settings()


def test_every_variable_that_is_read_may_be_set() -> None:
    """As a setting or, where something else reads it, beside them."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "agentkit").rglob("*.py")]
    read = set(re.findall(r"\bAGENTKIT_[A-Z_]*[A-Z]\b", "".join(sources)))
    beside = read - {f"AGENTKIT_{one.name.upper()}" for one in dataclasses.fields(Settings)}
    assert beside == {"AGENTKIT_EXECUTION", "AGENTKIT_KERNEL_IMAGE", "AGENTKIT_COLLECTION"}
    assert load_settings(dict.fromkeys(beside, "x"), NOWHERE) == Settings()


def test_the_page_of_settings_tells_all_with_their_defaults() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    told: dict[str, str] = {}
    for names, default in re.findall(r"^\| (`.*?) \| (.*?) \|", page, re.MULTILINE):
        for name in re.findall(r"`AGENTKIT_([A-Z_]+)`", names):
            told[name.lower()] = default.strip("`")
    shown = {"": "none", "None": "no limit", "True": "true", "False": "false"}
    true = {one.name: str(getattr(Settings(), one.name)) for one in dataclasses.fields(Settings)}
    assert told.keys() == true.keys()
    for name in true.keys() - ELSEWHERE:
        assert told[name] == shown.get(true[name], true[name].removesuffix(".0")), name


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of an empty data folder, which the environment names."""
    for name in [one for one in os.environ if one.startswith(("AGENTKIT_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    return load_settings()


def test_what_is_chosen_is_kept_for_its_owner_and_the_environment_wins(
    clean: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = choose(choose(clean, "run_tokens", 5_000), "default_model", "Ours/small")
    assert (chosen.run_tokens, chosen.default_model) == (5_000, "Ours/small")
    assert load_settings() == chosen
    assert stat.S_IMODE((clean.data / "settings.json").stat().st_mode) == 0o600
    assert [file.name for file in clean.data.iterdir()] == ["settings.json"]
    assert "run_tokens" not in origins()
    monkeypatch.setenv("AGENTKIT_RUN_TOKENS", "7")
    assert load_settings().run_tokens == 7
    assert origins()["run_tokens"] == "AGENTKIT_RUN_TOKENS"
    with pytest.raises(ConfigError, match="run_tokens is given by AGENTKIT_RUN_TOKENS, which wins"):
        choose(chosen, "run_tokens", 9)
    monkeypatch.delenv("AGENTKIT_RUN_TOKENS")
    assert choose(chosen, "run_tokens", None).run_tokens is None
    assert load_settings() == replace(chosen, run_tokens=None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_file_mb", 1.9), ("run_tokens", True), ("max_pages", 0), ("default_model", 3)],
)
def test_only_what_fits_can_be_chosen(clean: Settings, name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"AGENTKIT_{name.upper()} is {value!r}, but must be"):
        choose(clean, name, value)
    assert not clean.data.exists()


@pytest.mark.parametrize("name", ["data", "open", "allow_private_urls", "openai_base_url", "tools"])
def test_what_keeps_others_out_cannot_be_chosen(clean: Settings, name: str) -> None:
    with pytest.raises(ConfigError, match=f"set AGENTKIT_{name.upper()} in the environment"):
        choose(clean, name, "x")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"open": true}', '{"max_pages": 1.5}', "[" * 100_000, "\ud800"]
)
def test_a_bad_file_of_choices_is_named(clean: Settings, text: str) -> None:
    clean.data.mkdir()
    (clean.data / "settings.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ConfigError, match=r"settings\.json.*; correct (it|or remove)"):
        load_settings()


def test_a_folder_that_is_none_has_no_choices(clean: Settings) -> None:
    clean.data.write_text("a file is in the way")
    assert load_settings() == clean


def test_choices_made_at_the_same_time_are_all_kept(clean: Settings) -> None:
    words = ("default_model", "resume", "followups", "fetch_pages")
    names = [name for name in CHOOSABLE if name not in words]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: choose(clean, name, 3), names))
    assert all(getattr(load_settings(), name) == 3 for name in names)


def test_models_are_kept_where_one_says_else_with_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path / "data")
    monkeypatch.setenv("AGENTKIT_MODEL_FOLDER", str(tmp_path / "shared"))
    assert settings.models == tmp_path / "shared"
    assert replace(settings, model_folder=tmp_path / "own").models == tmp_path / "own"
    monkeypatch.delenv("AGENTKIT_MODEL_FOLDER")
    assert settings.models == tmp_path / "data" / "models"
