"""docs/reference.md tells every argument and key with its type and default, no other, and its
examples are Python.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from openai.resources.chat.completions import Completions

from agentkit import ConversableAgent, GroupChat
from agentkit.agents.group import templates
from agentkit.agents.retrieve_chat.config import RetrieveConfig
from agentkit.agents.retrieve_chat.files import TEXT_FORMATS
from agentkit.agentscope import DictDialogAgent
from agentkit.coding import CodeExecutorFactory
from agentkit.coding.legacy import DEFAULT_TIMEOUT, WORKING_DIR, execute_code
from agentkit.conversation.code import parse_last_n
from agentkit.conversation.compression import settings
from agentkit.conversation.model import _TOOLS
from agentkit.lagent import ReWOO
from agentkit.llm.calls.client import ATTEMPTS
from agentkit.llm.compatible import entries
from agentkit.llm.compatible.wrapper import DEFAULT_CACHE_SEED, OpenAIWrapper
from agentkit.llm.tokens.windows import count_token

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
CLASSES: dict[str, Any] = {
    one.__name__: one for one in (ConversableAgent, GroupChat, ReWOO, DictDialogAgent)
}
NAMED = {
    **{
        f"templates.{name}": getattr(templates, name)
        for name in ("MESSAGE", "PROMPT", "SEVERAL_NAMES", "NO_NAME")
    },
    "TEXT_FORMATS": TEXT_FORMATS,
    "count_token": count_token,
}
"""Objects that the page tells by name."""
NOT_SET, REQUIRED = "not set", "required"


@dataclasses.dataclass(frozen=True)
class Row:
    type: str
    default: str
    effect: str
    example: str


def rows_of(page: str, heading: str) -> dict[str, Row]:
    """The table under a heading, by its first column, without the marks of code."""
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    [text] = [part for part in section if part.startswith(f"{heading}\n")]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]
    found = {
        name.strip("`"): Row(kind.strip("`"), default, effect, example)
        for name, kind, default, effect, example in cells
    }
    assert len(found) == len(cells), "a name stands there twice"
    return found


def differences(told: Mapping[str, str], true: Mapping[str, Any]) -> Iterator[str]:
    """What the page says of defaults that is not so."""
    yield from (f"{name} is missing" for name in true.keys() - told.keys())
    yield from (f"{name} does not exist" for name in told.keys() - true.keys())
    for name in true.keys() & told.keys():
        if not same(told[name], true[name]):
            yield f"{name} is {true[name]!r}, not {told[name]}"


def same(told: str, true: Any) -> bool:
    """Whether a cell tells this default: a word, the value as Python writes it, or the name of the
    object.
    """
    cell = told.strip("`")
    if told in (NOT_SET, REQUIRED, "none") or true in (NOT_SET, REQUIRED):
        return bool(told == true)
    return cell == repr(true) or (cell in NAMED and NAMED[cell] == true)


def arguments(kind: Any) -> dict[str, tuple[str, Any]]:
    """Of each argument its type and default."""
    found = {}
    for each in inspect.signature(kind).parameters.values():
        starred = each.kind is each.VAR_KEYWORD
        default = "none" if starred else REQUIRED if each.default is each.empty else each.default
        found[f"**{each.name}" if starred else each.name] = (str(each.annotation), default)
    return found


def told_defaults(heading: str, page: str = PAGE) -> dict[str, str]:
    return {name: row.default for name, row in rows_of(page, heading).items()}


def told_types(heading: str) -> dict[str, str]:
    return {name: row.type for name, row in rows_of(PAGE, heading).items()}


@pytest.mark.parametrize("name", CLASSES)
def test_arguments(name: str) -> None:
    true = arguments(CLASSES[name])
    assert (
        list(differences(told_defaults(name), {key: default for key, (_, default) in true.items()}))
        == []
    )
    assert told_types(name) == {key: kind for key, (kind, _) in true.items()}
    assert list(told_types(name)) == list(true), "in their order"


def test_keys_of_retrieve_config() -> None:
    fields = [one for one in dataclasses.fields(RetrieveConfig) if one.init]
    made = RetrieveConfig()
    assert len(fields) >= 25
    assert (
        list(
            differences(
                told_defaults("retrieve_config"),
                {one.name: getattr(made, one.name) for one in fields},
            )
        )
        == []
    )
    assert told_types("retrieve_config") == {one.name: one.type for one in fields}
    for name, row in rows_of(PAGE, "retrieve_config").items():
        given = eval(f"{{{row.example.strip('`')}}}")
        assert getattr(RetrieveConfig.of("test", given), name) == given[name]


def test_keys_of_compress_config() -> None:
    assert list(differences(told_defaults("compress_config"), settings.DEFAULT)) == []
    for row in rows_of(PAGE, "compress_config").values():
        given = eval(f"{{{row.example.strip('`')}}}")
        mode = {"mode": "CUSTOMIZED"} if "compress_function" in given else {}
        assert settings.complete("test", {**given, **mode})


def test_keys_of_code_execution_config() -> None:
    older = inspect.signature(execute_code).parameters
    by_block = {"code", "lang", "filename"}  # which the message says
    true: dict[str, Any] = {
        name: one.default for name, one in older.items() if name not in by_block
    }
    true |= {name: {} for name in CodeExecutorFactory.EXECUTORS} | {
        "executor": NOT_SET,
        "last_n_messages": parse_last_n("", {}),
    }
    told = rows_of(PAGE, "code_execution_config")
    assert list(differences({name: row.default for name, row in told.items()}, true)) == []
    assert keys_read("agentkit/conversation/code.py", {"config", "settings"}) <= told.keys()
    assert f"None for {DEFAULT_TIMEOUT}" in told["timeout"].effect
    assert f"`{WORKING_DIR}`" in told["work_dir"].effect


def test_keys_of_llm_config() -> None:
    told = rows_of(PAGE, "llm_config")
    files = {"agentkit/llm/compatible/entries.py", "agentkit/llm/compatible/wrapper.py"}
    read = set[str]().union(
        *(keys_read(file, {"config", "params", "extras"}) for file in files)
    ) - {"messages"}
    ours = entries.CLIENT_KEYS | OpenAIWrapper.extra_kwargs | set(_TOOLS) | {"config_list"}
    assert sorted((ours | read) - told.keys()) == []
    assert sorted(told.keys() - ours - read) == []
    defaults = {
        "cache_seed": DEFAULT_CACHE_SEED,
        "max_retries": ATTEMPTS - 1,
        "timeout": entries._read_timeouts(None)[1],
        "api_type": "openai",
        "cache": None,
        "filter_func": None,
        "context": None,
        "allow_format_str_template": False,
    }
    true = {name: defaults.get(name, NOT_SET) for name in told}
    assert list(differences(told_defaults("llm_config"), true)) == []
    for kind in entries.ADDRESSES:
        assert f"`{kind}`" in told["api_type"].effect
    sent = inspect.signature(Completions.create).parameters
    assert {"temperature", "max_tokens", "seed"} <= sent.keys()
    assert not {"temperature", "max_tokens", "seed"} & told.keys()


def keys_read(path: str, dicts: set[str]) -> set[str]:
    """The keys that a file takes out of dicts of these names: `d["key"]`, `d.get("key")`, `"key" in
    d`.
    """
    found = set[str]()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        owner, key = _taken(node)
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and _name(owner) in dicts:
            found.add(key.value)
    return found


def _taken(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """The dict and the key."""
    match node:
        case ast.Subscript(value=owner, slice=key):
            return owner, key
        case ast.Call(func=ast.Attribute(value=owner, attr="get" | "pop"), args=[key, *_]):
            return owner, key
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[owner]):
            return owner, key
    return None, None


def _name(owner: ast.expr | None) -> str:
    return (
        owner.id
        if isinstance(owner, ast.Name)
        else owner.attr
        if isinstance(owner, ast.Attribute)
        else ""
    )


def test_keys_that_code_reads_are_seen(tmp_path: Path) -> None:
    source = tmp_path / "some.py"
    source.write_text(
        'a = config["one"], self.config.get("two", 3), "three" in config, other["four"],'
        ' config.pop("five")'
    )
    assert keys_read(str(source), {"config"}) == {"one", "two", "three", "five"}


@pytest.mark.parametrize(
    "heading",
    [*CLASSES, "llm_config", "code_execution_config", "retrieve_config", "compress_config"],
)
def test_every_row_has_an_effect_and_an_example_of_itself(heading: str) -> None:
    for name, row in rows_of(PAGE, heading).items():
        assert row.effect.endswith((".", ")")), name
        example = row.example.strip("`")
        if heading in CLASSES:
            [call] = ast.parse(f"f({example})").body
            assert isinstance(call, ast.Expr)
            assert isinstance(call.value, ast.Call)
            names = [each.arg for each in call.value.keywords]
            assert names == (["description"] if name.startswith("**") else [name])
        else:
            made = ast.parse(f"{{{example}}}", mode="eval").body
            assert isinstance(made, ast.Dict)
            assert [each.value for each in made.keys if isinstance(each, ast.Constant)] == [name]


def test_what_is_missing_made_up_or_otherwise_is_seen() -> None:
    true = {key: default for key, (_, default) in arguments(ReWOO).items()}
    lines = PAGE.splitlines(keepends=True)
    without = "".join(line for line in lines if not line.startswith("| `at_once`"))
    assert list(differences(told_defaults("ReWOO", without), true)) == ["at_once is missing"]
    other = "".join(
        line.replace("`at_once`", "`at_twice`").replace("at_once=", "at_twice=") for line in lines
    )
    assert sorted(differences(told_defaults("ReWOO", other), true)) == [
        "at_once is missing",
        "at_twice does not exist",
    ]
    another = "".join(
        line.replace("| `10` |", "| `11` |") if line.startswith("| `at_once`") else line
        for line in lines
    )
    assert list(differences(told_defaults("ReWOO", another), true)) == ["at_once is 10, not `11`"]
