"""Lists of configurations: the same results as AutoGen's functions, with clear errors."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import WrongArgument, WrongType
from agentkit.llm.compatible.config_list import (
    config_list_from_dotenv,
    config_list_from_json,
    config_list_from_models,
    config_list_gpt4_gpt35,
    config_list_openai_aoai,
    filter_config,
    get_config,
    get_config_list,
)

CONFIGS: list[dict[str, Any]] = [
    {"model": "gpt-4", "api_key": "k1", "tags": ["a", "b"]},
    {"model": "gpt-3.5", "api_key": "k2", "api_type": "azure", "tags": ["b"]},
    {"model": "m3"},
    {"api_key": "k4", "model": None},
]
AZURE = {"api_type": "azure", "api_version": "2024-02-01"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, and an environment that is put back, also what the code itself
    sets.
    """
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    for name in [name for name in os.environ if "API" in name]:
        del os.environ[name]
    yield tmp_path
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("criteria", "included", "excluded"),
    [
        (None, [0, 1, 2, 3], [0, 1, 2, 3]),
        ({}, [0, 1, 2, 3], [0, 1, 2, 3]),
        ({"model": ["gpt-4"]}, [0], [1, 2, 3]),
        ({"model": {"gpt-4", "m3"}}, [0, 2], [1, 3]),
        ({"model": "gpt-4"}, [0], [1, 2, 3]),
        ({"model": "gpt"}, [], [0, 1, 2, 3]),
        ({"api_type": ["azure", None]}, [1], [0, 2, 3]),
        ({"tags": ["a"]}, [0], [1, 2, 3]),
        ({"tags": ["a", "b"]}, [0, 1], [2, 3]),
        ({"tags": []}, [], [0, 1, 2, 3]),
        ({"model": ["gpt-4"], "tags": ["b"]}, [0], [2, 3]),
        ({"model": [None]}, [], [0, 1, 2, 3]),
        ({"nope": ["x"]}, [], [0, 1, 2, 3]),
    ],
)
def test_filters(
    criteria: dict[str, Collection[Any]] | None, included: list[int], excluded: list[int]
) -> None:
    assert filter_config(CONFIGS, criteria) == [CONFIGS[index] for index in included]
    assert filter_config(CONFIGS, criteria, exclude=True) == [CONFIGS[index] for index in excluded]


@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"model": st.sampled_from("abc"), "tags": st.lists(st.sampled_from("xyz"))}
        )
    ),
    st.sets(st.sampled_from("abc")),
)
def test_one_criterion_parts_a_list_in_two(
    configs: list[dict[str, Any]], accepted: set[str]
) -> None:
    kept = filter_config(configs, {"model": accepted})
    dropped = filter_config(configs, {"model": accepted}, exclude=True)
    assert len(kept) + len(dropped) == len(configs)
    assert all(config.get("model") in accepted for config in kept)


def test_json_comes_from_a_variable_a_file_or_a_file_that_a_variable_names(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "LIST.json").write_text(json.dumps(CONFIGS))
    os.environ["INLINE"] = json.dumps(CONFIGS[:1])
    os.environ["NAMED"] = "sub/LIST.json"
    assert config_list_from_json("INLINE") == CONFIGS[:1]
    assert config_list_from_json("NAMED") == CONFIGS
    assert config_list_from_json("LIST.json", file_location="sub") == CONFIGS
    assert config_list_from_json("sub/LIST.json", filter_dict={"model": ["m3"]}) == [
        {"model": "m3"}
    ]


def test_what_is_no_list_of_configs_is_told(folder: Path) -> None:
    (folder / "dict.json").write_text('{"model": "x"}')
    os.environ["BAD"] = "{oops"
    with pytest.raises(WrongArgument, match=r"\$BAD holds no JSON"):
        config_list_from_json("BAD")
    with pytest.raises(WrongArgument, match=r"dict\.json holds no list"):
        config_list_from_json("dict.json")
    with pytest.raises(FileNotFoundError, match=r"NOPE\.json"):
        config_list_from_json("NOPE.json")


def test_configs_from_keys_and_addresses() -> None:
    assert get_config("k") == {"api_key": "k"}
    assert get_config("k", "u", "azure", "v") == {
        "api_key": "k",
        "base_url": "u",
        "api_type": "azure",
        "api_version": "v",
    }
    assert get_config_list(["a", "b"], ["u1", "u2"]) == [
        {"api_key": "a", "base_url": "u1"},
        {"api_key": "b", "base_url": "u2"},
    ]
    assert get_config_list(["a", " "]) == [{"api_key": "a"}]
    with pytest.raises(WrongArgument, match="2 api_keys but 1 base_urls"):
        get_config_list(["a", "b"], ["u"])


def test_a_dotenv_file_gives_keys_by_model(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / ".env").write_text(
        "# mine\nOPENAI_API_KEY=first\nexport OTHER_API_KEY='sec#ond' # hi\nQUOTED=\"third\"\n\nodd"
        " line\n"
    )
    plain = {"model": "gpt-3.5-turbo", "api_key": "first"}
    assert config_list_from_dotenv() == [{"model": "gpt-4", "api_key": "first"}, plain]
    azure = {"api_key_env_var": "QUOTED", "base_url": "u", "api_type": "azure", "api_version": "v"}
    found = config_list_from_dotenv(
        ".env", {"gpt-4": "OTHER_API_KEY", "mine": azure, "keyless": "NOWHERE"}
    )
    assert found == [
        {"model": "gpt-4", "api_key": "sec#ond"},
        {
            "model": "mine",
            "api_key": "third",
            "base_url": "u",
            "api_type": "azure",
            "api_version": "v",
        },
        plain,
    ]
    assert "keyless is left out: NOWHERE is not set" in caplog.text
    assert config_list_from_dotenv(".env", {"mine": "QUOTED"}, {"model": ["mine"]}) == [
        {"model": "mine", "api_key": "third"}
    ]


def test_a_dotenv_file_may_have_a_mark_of_its_encoding_lines_in_quotes_and_dollars(
    folder: Path,
) -> None:
    lines = "OPENAI_API_KEY=a$b${HOME}#c # d\nTWO_LINES=\"one\\ntwo\"\nRAW='x\\n'\nNAME\n"
    (folder / ".env").write_text(lines, encoding="utf-8-sig")
    (folder / "inner").mkdir()
    os.chdir(folder / "inner")
    assert config_list_from_dotenv()[0]["api_key"] == "a$b${HOME}#c"
    assert (os.environ["TWO_LINES"], os.environ["RAW"], "NAME" in os.environ) == (
        "one\ntwo",
        "x\\n",
        False,
    )


def test_the_environment_wins_over_the_dotenv_file_and_may_be_all_there_is(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.environ["OPENAI_API_KEY"] = "mine"
    assert [config["api_key"] for config in config_list_from_dotenv("nofile.env")] == [
        "mine",
        "mine",
    ]
    assert "There is no .env file (nofile.env)" in caplog.text
    (folder / ".env").write_text("OPENAI_API_KEY=other")
    assert [config["api_key"] for config in config_list_from_dotenv()] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("entry", "words"), [(3, "must be the name of a variable"), ({"foo": 1}, "unknown keys: foo")]
)
def test_a_map_of_another_form_is_told(entry: Any, words: str) -> None:
    with pytest.raises(WrongType, match=words):
        config_list_from_dotenv(".env", {"gpt-4": entry})


def test_key_files_and_the_environment(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert config_list_openai_aoai() == []
    assert "OPENAI_API_KEY is not set" in caplog.text
    os.environ.update(
        OPENAI_API_KEY="e1\ne2",
        OPENAI_API_BASE="b1\nb2",
        AZURE_OPENAI_API_KEY="z1",
        AZURE_OPENAI_API_BASE="zb",
    )
    first, second = {"api_key": "e1", "base_url": "b1"}, {"api_key": "e2", "base_url": "b2"}
    third = {"api_key": "z1", "base_url": "zb", **AZURE}
    assert config_list_openai_aoai() == [first, second, third]
    (folder / "key_aoai.txt").write_text("file1\n\nfile2\n")
    (folder / "base_aoai.txt").write_text("fb1\nfb2")
    files = [{"api_key": f"file{number}", "base_url": f"fb{number}", **AZURE} for number in (1, 2)]
    assert config_list_openai_aoai(exclude="openai") == files
    assert config_list_openai_aoai(exclude="aoai") == [first, second]
    assert os.environ["AZURE_OPENAI_API_KEY"] == "z1"
    assert config_list_from_models(model_list=["x"], exclude="aoai") == [
        {**first, "model": "x"},
        {**second, "model": "x"},
    ]
    made = [
        (config["model"], config["api_key"]) for config in config_list_gpt4_gpt35(exclude="openai")
    ]
    assert made == [
        ("gpt-4", "file1"),
        ("gpt-4", "file2"),
        ("gpt-3.5-turbo", "file1"),
        ("gpt-3.5-turbo", "file2"),
    ]
