"""`port`: imports of AutoGen, AgentScope and Lagent become agentkit's; nothing else changes, and no
file is damaged.
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.cli import main
from agentkit.cli.imports import apply_edits, port_source
from tests.cli.conftest import PROJECT, Cli, Ended
from tests.servers.openai_server import Answer, OpenAIServer


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Commands without a data folder."""

    def run(*arguments: object) -> Ended:
        code = main([str(one) for one in arguments])
        return Ended(code, *capsys.readouterr())

    return run


def changed(source: str) -> str:
    return apply_edits(source, port_source(source).edits)


def left(source: str) -> list[str]:
    return [found.message for found in port_source(source).findings if not found.done]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import autogen", "import agentkit.autogen as autogen"),
        ("import autogen as ag", "import agentkit.autogen as ag"),
        ("import autogen, os", "import agentkit.autogen as autogen, os"),
        ("import os, autogen as ag, re", "import os, agentkit.autogen as ag, re"),
        ("x = 'ü'; import autogen", "x = 'ü'; import agentkit.autogen as autogen"),
        (
            "import autogen.agentchat.contrib.retrieve_user_proxy_agent as y",
            "import agentkit.autogen.agentchat.contrib.retrieve_user_proxy_agent as y",
        ),
        ("import autogen.oai.client", "import agentkit.autogen as autogen"),
        ("import autogen . oai", "import agentkit.autogen as autogen"),
        (
            "from autogen import (\n    AssistantAgent,  # one\n)",
            "from agentkit.autogen import (\n    AssistantAgent,  # one\n)",
        ),
        (
            "from \\\n    autogen.coding import CodeBlock",
            "from \\\n    agentkit.autogen.coding import CodeBlock",
        ),
        ("if 1:\r\n\tfrom autogen import *\r\n", "if 1:\r\n\tfrom agentkit.autogen import *\r\n"),
        (
            "import agentscope\rimport lagent\r",
            "import agentkit.agentscope as agentscope\rimport agentkit.lagent as lagent\r",
        ),
        ("from agentscope.msghub import msghub", "from agentkit.agentscope.msghub import msghub"),
        ("from lagent.actions import tool_api", "from agentkit.lagent.actions import tool_api"),
        (
            "try: import autogen\nexcept ImportError: pass",
            "try: import agentkit.autogen as autogen\nexcept ImportError: pass",
        ),
    ],
)
def test_the_two_rules(before: str, after: str) -> None:
    assert changed(before) == after
    assert changed(after) == after, "a second time nothing changes"
    assert not left(before)


@pytest.mark.parametrize(
    "source",
    [
        "# import autogen\n'import autogen'\n'''\nfrom autogen import x\n'''\n",
        "from .autogen import x\nfrom . import autogen\n",
        "import autogenous, my.autogen\nfrom autogen_tools import x\n",
        "autogen = 1\nautogen.import_ = 2\n",
        "import agentkit.autogen as autogen\n",
    ],
)
def test_what_only_looks_like_it_stays(source: str) -> None:
    assert changed(source) == source
    assert not left(source)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("from autogen import Completion", "autogen.Completion is not in agentkit"),
        (
            "from autogen.agentchat.contrib.capabilities import teachability",
            "which leaves out teachability",
        ),
        (
            "import autogen\nautogen.oai.Completion.create()",
            "autogen.oai.Completion is not in agentkit",
        ),
        (
            "import autogen as a\na.agentchat.contrib.web_surfer.X()",
            "which leaves out the web surfer",
        ),
        ("import importlib as i\ni.import_module('autogen')", "'autogen' stands in a text"),
        ("patch('autogen.oai.client.OpenAIWrapper')", "stands in a text"),
        ("from autogen_agentchat.agents import X", "is of AutoGen 0.4"),
    ],
)
def test_what_is_not_there_is_told(source: str, told: str) -> None:
    (found,) = left(source)
    assert told in found


@pytest.mark.parametrize(
    "module",
    [
        "agentchat.contrib.gpt_assistant_agent",
        "agentchat.contrib.agent_builder",
        "io.websockets",
        "extensions",
    ],
)
def test_an_import_of_a_module_that_is_not_there_stays(module: str) -> None:
    for source in (f"import autogen.{module}", f"from autogen.{module} import X"):
        assert changed(source) == source
        assert len(left(source)) == 1


STATEMENTS = st.sampled_from(
    [
        "import autogen",
        "import os, autogen as a",
        "from autogen.io import IOStream",
        "x = '''\nimport autogen\n'''",
        "é = 'ß'",
        "pass",
    ]
)


@given(st.lists(STATEMENTS), st.sampled_from(["\n", "\r\n", ";", "\n\f", "\n  # ü\n"]))
def test_all_but_the_imports_stays_as_it_is(statements: list[str], between: str) -> None:
    source = between.join(statements)
    after = changed(source)
    compile(after, "<after>", "exec")
    back = after.replace("agentkit.autogen as autogen", "autogen").replace("agentkit.", "")
    assert back == source


def test_files_are_written_at_once_with_their_rights(cli: Cli, tmp_path: Path) -> None:
    script, link = tmp_path / "chat.py", tmp_path / "link.py"
    script.write_bytes(codecs.BOM_UTF8 + b"#!/usr/bin/env python\r\nimport autogen  # \xc3\xa9\r\n")
    script.chmod(0o750)
    link.symlink_to(script.name)
    ended = cli("port", link)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{link}:2: import autogen -> import agentkit.autogen as autogen",
        "Files that changed: 1 of 1. Places left to you: 0.",
    ]
    expected = (
        codecs.BOM_UTF8
        + b"#!/usr/bin/env python\r\nimport agentkit.autogen as autogen  # \xc3\xa9\r\n"
    )
    assert script.read_bytes() == expected
    assert script.stat().st_mode & 0o777 == 0o750
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["chat.py", "link.py"]


def test_another_encoding_is_kept(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_bytes("# -*- coding: latin-1 -*-\nx = 'é'; import autogen\n".encode("latin-1"))
    assert cli("port", script).code == 0
    written = "# -*- coding: latin-1 -*-\nx = 'é'; import agentkit.autogen as autogen\n"
    assert script.read_bytes() == written.encode("latin-1")


def test_check_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "chat.py"
    script.write_text("import autogen\n")
    ended = cli("port", "--check", script)
    assert ended.code == 1
    assert "Files that would change: 1 of 1." in ended.out
    assert script.read_text() == "import autogen\n"
    cli("port", script)
    assert cli("port", "--check", script).code == 0


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.py", b"import autogen\nprint 'two'\n", "it is not Python (line 2)"),
        ("a.py", b"import autogen\n\x00\n", "it is not Python"),
        ("a.py", b"# coding: nonsense\nimport autogen\n", "it is not Python"),
        ("a.py", b"import autogen # \xff\n", "no"),
        ("a.txt", b"import autogen\n", "neither a .py nor an .ipynb"),
        ("a.ipynb", b"import autogen\n", "Expecting value"),
        ("a.ipynb", b'{"cells": 3}', "not a notebook of format 4"),
        (
            "a.ipynb",
            b'{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}',
            "a notebook in R",
        ),
    ],
)
def test_what_cannot_be_read_stays_as_it_is(
    cli: Cli, tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    file, good = tmp_path / name, tmp_path / "good.py"
    file.write_bytes(data)
    good.write_text("import autogen\n")
    ended = cli("port", file, good)
    assert ended.code == 1
    assert f"{file}: left as it is: " in ended.err
    assert why in ended.err
    assert file.read_bytes() == data
    assert good.read_text() == "import agentkit.autogen as autogen\n", "the others are ported"


def test_missing_files_and_folders_are_told(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "folder.py"
    folder.mkdir()
    ended = cli("port", tmp_path / "missing.py", folder)
    assert ended.code == 1
    assert "missing.py: left as it is: No such file or directory" in ended.err
    assert "folder.py: left as it is: Is a directory" in ended.err


CELLS: list[tuple[str, Any]] = [
    ("markdown", "import autogen in words"),
    (
        "code",
        [
            "%pip install pyautogen \\\n",
            "  --quiet\n",
            "!ls\n",
            "import os\n",
            "import autogen, re\n",
            "autogen?",
        ],
    ),
    ("code", "%%time\nfrom autogen import AssistantAgent\nfiles = !ls\nawait x"),
    ("code", "%%writefile tool.py\nimport autogen\n"),
    ("code", ["x = '\u00fc \\ \U0001f600'; import autogen as ag\n"]),
    ("code", []),
    ("code", ["import \\\n", "  autogen\n"]),
    ("code", "ag.Completion"),
    ("code", "this is not Python, import autogen"),
]


def notebook(cells: list[tuple[str, Any]], **more: Any) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "text": ["import autogen\n"]}]
    made = [
        {"cell_type": kind, "metadata": {}, "source": source, "outputs": outputs}
        for kind, source in cells
    ]
    return {
        "cells": made,
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
        **more,
    }


@pytest.mark.parametrize(
    "style", [{"indent": 1, "ensure_ascii": False}, {"indent": "\t"}, {"separators": (",", ":")}]
)
def test_a_notebook_changes_in_its_code_alone(
    cli: Cli, tmp_path: Path, style: dict[str, Any]
) -> None:
    file = tmp_path / "chat.ipynb"
    file.write_text(json.dumps(notebook(CELLS), **style) + "\n", encoding="utf-8")
    ended = cli("port", file)
    assert ended.code == 1
    cells = [list(cell) for cell in CELLS]
    cells[1][1] = [*CELLS[1][1][:4], "import agentkit.autogen as autogen, re\n", "autogen?"]
    cells[2][1] = CELLS[2][1].replace("from autogen", "from agentkit.autogen")
    cells[4][1] = [CELLS[4][1][0].replace("import autogen", "import agentkit.autogen")]
    cells[6][1] = ["import \\\n", "  agentkit.autogen as autogen\n"]
    expected = json.dumps(notebook([(kind, source) for kind, source in cells]), **style) + "\n"
    assert file.read_text(encoding="utf-8") == expected, "as it was written, to the last character"
    told = [line.removeprefix(f"{file}:") for line in ended.out.splitlines()]
    assert told == [
        "cell 2, line 5: import autogen -> import agentkit.autogen as autogen",
        "cell 3, line 2: from autogen import -> from agentkit.autogen import",
        "cell 4, line 2: not ported: an import in a magic stays as it is",
        "cell 5, line 1: import autogen as ag -> import agentkit.autogen as ag",
        "cell 7, line 2: import autogen -> import agentkit.autogen as autogen",
        "cell 8, line 1: not ported: autogen.Completion is not in agentkit",
        "cell 9, line 1: not ported: not Python (invalid syntax); it stays as it is",
        "Files that changed: 1 of 1. Places left to you: 3.",
    ]


SCRIPT = """\
import autogen
from autogen.agentchat import ConversableAgent
from autogen.agentchat.contrib.capabilities import transform_messages, transforms

config_list = [{"model": "test-model", "base_url": "%s", "api_key": "none"}]
llm_config = {"config_list": config_list, "cache_seed": None}
limits = transform_messages.TransformMessages(
    transforms=[transforms.MessageHistoryLimiter(max_messages=3)]
)
clerk = autogen.AssistantAgent("clerk", llm_config=llm_config)
limits.add_to_agent(clerk)
user = autogen.UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
assert isinstance(clerk, ConversableAgent)
assert autogen.token_count_utils.count_token("some words") > 0
result = user.initiate_chat(clerk, message="How long is the Danube?", max_turns=1)
print("Summary:", result.summary)
"""


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_a_ported_script_runs(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "chat.py"
    with OpenAIServer(lambda _: Answer("2,850 km")) as server:
        script.write_text(SCRIPT % server.base_url)
        assert cli("port", script).code == 0
        assert "Summary: 2,850 km" in run(str(script), folder=tmp_path)
        assert server.chats[0]["messages"][-1]["content"] == "How long is the Danube?"


def test_a_ported_notebook_runs(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chat.ipynb"
    with OpenAIServer(lambda _: Answer("2,850 km")) as server:
        lines = (SCRIPT % server.base_url).splitlines(keepends=True)
        file.write_text(
            json.dumps(
                notebook([("code", ["%pip --version\n", *lines[:4]]), ("code", lines[4:])]),
                indent=1,
            )
        )
        assert cli("port", file).code == 0
        runner = (
            "import json, sys; from IPython.core.interactiveshell import InteractiveShell as S;"
            " shell = S()\nfor cell in json.load(open(sys.argv[1]))['cells']:\n   "
            " shell.run_cell(''.join(cell['source'])).raise_error()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", runner, str(file)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
        )
        assert not done.returncode, done.stdout + done.stderr
        assert "Summary: 2,850 km" in done.stdout
