"""Code in messages: which code is run, by whom, and how the result is told. Run in a folder of its
own, on this machine.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.differential.actors import speaker
from tests.differential.kit import Kit, scenario


def fenced(language: str, *lines: str) -> str:
    """A code block."""
    return "\n".join([f"```{language}", *lines, "```"])


HELLO = fenced("sh", "echo hello")
PYTHON = fenced("python", "print('hello')")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder to run code in; that running it here is not isolated is known."""
    with tempfile.TemporaryDirectory() as path, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Path(path)


def legacy(kit: Kit, where: Path, **options: Any) -> Any:
    """An agent that runs code by the options of its config."""
    config = {"use_docker": False, "work_dir": str(where), **options}
    return kit.agent("coder", code_execution_config=config, default_auto_reply="no code")


def with_executor(kit: Kit, where: Path, **options: Any) -> Any:
    """An agent that runs code by an executor."""
    executor = kit.LocalCommandLineCodeExecutor(work_dir=where, timeout=20)
    return kit.agent(
        "coder",
        code_execution_config={"executor": executor, **options},
        default_auto_reply="no code",
    )


def told(kit: Kit, coder: Any, *texts: Any) -> Any:
    """The coder's reply to messages of these contents."""
    messages = [{"role": "user", "content": text} for text in texts]
    return kit.call(coder, "generate_reply", messages=messages, sender=kit.agent("writer"))


def lines_of(reply: Any) -> Any:
    """A reply's lines without the empty ones."""
    return [line.strip() for line in reply.splitlines() if line.strip()]


# --- by the options of the config


@scenario(both=True)
def legacy_code_that_works(kit: Kit) -> Any:
    with folder() as where:
        return told(kit, legacy(kit, where), HELLO)


@scenario
def legacy_python(kit: Kit) -> Any:
    with folder() as where:
        return told(kit, legacy(kit, where), PYTHON)


@scenario(both=True)
def legacy_several_blocks(kit: Kit) -> Any:
    with folder() as where:
        return told(
            kit,
            legacy(kit, where),
            f"First\n{HELLO}\nthen\n{fenced('sh', 'echo there')}\nthat is all",
        )


@scenario
def legacy_code_that_fails_stops_the_blocks_after_it(kit: Kit) -> Any:
    with folder() as where:
        reply = told(
            kit, legacy(kit, where), f"{fenced('sh', 'exit 3')}\n{fenced('sh', 'echo not run')}"
        )
        return [lines_of(reply)[0], "not run" in reply]


@scenario(
    better="defect 11: what failing code wrote is kept; the oracle dropped the standard output",
    expected=["exitcode: 3 (execution failed)", True],
)
def legacy_output_of_failing_code(kit: Kit) -> Any:
    with folder() as where:
        reply = told(kit, legacy(kit, where), fenced("sh", "echo so far", "exit 3"))
        return [lines_of(reply)[0], "so far" in reply]


@scenario
def legacy_traceback_is_told(kit: Kit) -> Any:
    with folder() as where:
        reply = told(kit, legacy(kit, where), fenced("python", "1 / 0"))
        return [lines_of(reply)[0], "ZeroDivisionError" in reply]


@scenario
def legacy_language_is_guessed(kit: Kit) -> Any:
    with folder() as where:
        return [
            told(kit, legacy(kit, where), fenced("", code))
            for code in ("print(1 + 1)", "import sys")
        ]


@scenario
def legacy_unknown_language(kit: Kit) -> Any:
    with folder() as where:
        reply = told(kit, legacy(kit, where), fenced("cobol", "DISPLAY 'x'."))
        return [lines_of(reply)[0], "cobol" in reply]


@scenario
def legacy_file_name_in_the_first_line(kit: Kit) -> Any:
    with folder() as where:
        reply = told(
            kit, legacy(kit, where), fenced("python", "# filename: kept.py", "print('kept')")
        )
        return [reply, (where / "kept.py").read_text()]


@scenario
def legacy_last_messages(kit: Kit) -> Any:
    texts = [HELLO, "one", "two"]
    with folder() as where:
        found = [
            told(kit, legacy(kit, where, last_n_messages=n), *texts) for n in (1, 2, 3, 9, "auto")
        ]
        newest = told(
            kit, legacy(kit, where, last_n_messages=9), HELLO, fenced("sh", "echo newest"), "end"
        )
        return [found, newest]


@scenario
def last_messages_of_wrong_kinds(kit: Kit) -> Any:
    with folder() as where:
        return [
            kit.raised(lambda n=n: told(kit, legacy(kit, where, last_n_messages=n), HELLO))
            for n in (-1, "two")
        ]


@scenario
def legacy_auto_looks_back_to_its_own_last_message(kit: Kit) -> Any:
    with folder() as where:
        coder = legacy(kit, where, last_n_messages="auto")
        writer = kit.agent("writer")
        roles = [
            ("user", HELLO),
            ("assistant", "done"),
            ("user", fenced("sh", "echo after")),
            ("user", "and now?"),
        ]
        histories = [
            [{"role": role, "content": text} for role, text in roles[:n]] for n in (1, 2, 3, 4)
        ]
        return [
            kit.call(coder, "generate_reply", messages=h, sender=writer)
            for h in histories
            if h[-1]["role"] == "user"
        ]


@scenario
def use_docker_as_it_is_told(kit: Kit) -> Any:
    with folder() as where:
        return [
            legacy(kit, where).use_docker,
            kit.agent("x", code_execution_config=False).use_docker,
        ]


@scenario(both=True)
def without_a_config_no_code_is_run(kit: Kit) -> Any:
    return told(
        kit, kit.agent("coder", code_execution_config=False, default_auto_reply="no code"), HELLO
    )


@scenario
def configs_of_wrong_kinds(kit: Kit) -> Any:
    wrong: list[Any] = ["yes", 3, ["x"], {"executor": "of no kind"}, {"executor": 3}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [kit.raised(kit.agent, "coder", code_execution_config=config) for config in wrong]


@scenario
def an_executor_and_docker_exclude_each_other(kit: Kit) -> Any:
    with folder() as where:
        executor = kit.LocalCommandLineCodeExecutor(work_dir=where)
        wrong: list[dict[str, Any]] = [{"use_docker": False}, {"work_dir": "x"}, {"timeout": 3}]
        return [
            kit.raised(kit.agent, "coder", code_execution_config={"executor": executor, **more})
            for more in wrong
        ]


@scenario
def code_executor_of_an_agent(kit: Kit) -> Any:
    with folder() as where:
        agents = [
            with_executor(kit, where),
            legacy(kit, where),
            kit.agent("x", code_execution_config=False),
        ]
        return [agent.code_executor is None for agent in agents]


# --- overridden


@scenario(both=True)
def run_code_can_be_overridden(kit: Kit) -> Any:
    ran: list[Any] = []

    class Pretending(kit.ConversableAgent):  # type: ignore[misc,name-defined]
        def run_code(self, code: str, **options: Any) -> Any:
            ran.append([code.strip(), options.get("lang"), options.get("work_dir")])
            return 0, f"pretended {len(ran)}", None

    config = {"use_docker": False, "work_dir": "nowhere"}
    coder = Pretending("coder", human_input_mode="NEVER", code_execution_config=config)
    return [told(kit, coder, f"{HELLO}\n{fenced('sh', 'ls')}"), ran]


@scenario(both=True)
def execute_code_blocks_can_be_overridden(kit: Kit) -> Any:
    ran: list[Any] = []

    class Pretending(kit.ConversableAgent):  # type: ignore[misc,name-defined]
        def execute_code_blocks(self, code_blocks: list[Any]) -> Any:
            ran.append([[language, code.strip()] for language, code in code_blocks])
            return 1, "pretended"

    coder = Pretending(
        "coder",
        human_input_mode="NEVER",
        code_execution_config={"use_docker": False, "work_dir": "nowhere"},
    )
    return [told(kit, coder, f"{HELLO}\n{fenced('sh', 'ls')}"), ran]


@scenario
def execute_code_blocks_by_hand(kit: Kit) -> Any:
    with folder() as where:
        coder = legacy(kit, where)
        code, logs = coder.execute_code_blocks([("python", "print(1)"), ("sh", "echo 2")])
        exit_code, text, image = coder.run_code(
            "echo 3", lang="sh", use_docker=False, work_dir=str(where)
        )
        return [code, logs.split(), exit_code, text.split(), image]


# --- by an executor


@scenario(both=True)
def executor_code_that_works(kit: Kit) -> Any:
    with folder() as where:
        return told(kit, with_executor(kit, where), HELLO)


@scenario
def executor_python(kit: Kit) -> Any:
    with folder() as where:
        return told(kit, with_executor(kit, where), PYTHON)


@scenario(both=True)
def executor_several_blocks(kit: Kit) -> Any:
    with folder() as where:
        return told(kit, with_executor(kit, where), f"{HELLO}\n{fenced('bash', 'echo there')}")


@scenario
def executor_code_that_fails_stops_the_blocks_after_it(kit: Kit) -> Any:
    with folder() as where:
        failing = fenced("sh", "echo so far", "exit 4")
        return told(kit, with_executor(kit, where), f"{failing}\n{fenced('sh', 'echo not run')}")


@scenario
def executor_unknown_language(kit: Kit) -> Any:
    with folder() as where:
        reply = told(kit, with_executor(kit, where), fenced("cobol", "DISPLAY 'x'."))
        return [lines_of(reply)[0], "cobol" in reply]


@scenario
def executor_file_names(kit: Kit) -> Any:
    with folder() as where:
        kept = told(
            kit, with_executor(kit, where), fenced("sh", "# filename: kept.sh", "echo kept")
        )
        outside = told(
            kit, with_executor(kit, where), fenced("sh", "# filename: ../out.sh", "echo out")
        )
        return [
            kept,
            (where / "kept.sh").is_file(),
            lines_of(outside)[0],
            (where.parent / "out.sh").exists(),
        ]


@scenario
def executor_saves_what_it_does_not_run(kit: Kit) -> Any:
    with folder() as where:
        reply = told(
            kit,
            with_executor(kit, where),
            fenced("html", "<!-- filename: page.html -->", "<p>hi</p>"),
        )
        return [lines_of(reply)[0], (where / "page.html").is_file()]


@scenario
def executor_last_messages(kit: Kit) -> Any:
    with folder() as where:
        options: list[dict[str, Any]] = [{}, {"last_n_messages": 1}, {"last_n_messages": 3}]
        return [
            told(kit, with_executor(kit, where, **more), HELLO, "one", "two") for more in options
        ]


@scenario
def executor_languages_that_are_only_text(kit: Kit) -> Any:
    with folder() as where:
        coder = with_executor(kit, where)
        return [
            told(kit, coder, text) for text in ("no code at all", "`print(1)` inline", None, "")
        ]


@scenario
def code_in_a_list_of_contents(kit: Kit) -> Any:
    with folder() as where:
        content = [
            {"type": "text", "text": HELLO},
            {"type": "image_url", "image_url": {"url": "data:,"}},
        ]
        return told(kit, with_executor(kit, where), content)


@scenario
def executor_results_by_hand(kit: Kit) -> Any:
    with folder() as where:
        executor = kit.LocalCommandLineCodeExecutor(work_dir=where)
        blocks = executor.code_extractor.extract_code_blocks(
            f"{HELLO}\n{fenced('sh', 'echo there')}"
        )
        result = executor.execute_code_blocks(blocks)
        found = [[block.language, block.code.strip()] for block in blocks]
        return [
            found,
            result.exit_code,
            result.output.split(),
            Path(result.code_file).parent == where,
            executor.timeout,
        ]


@scenario
def executor_wrong_timeouts(kit: Kit) -> Any:
    with folder() as where:
        return [
            kit.raised(kit.LocalCommandLineCodeExecutor, work_dir=where, timeout=n) for n in (0, -1)
        ]


@scenario
def dangerous_commands_are_refused(kit: Kit) -> Any:
    commands = [
        "rm -rf /",
        "mv secret /dev/null",
        "dd if=/dev/zero of=/dev/sda",
        "echo x > /dev/sda",
        ":(){ :|:& };:",
    ]
    with folder() as where:
        executor = kit.LocalCommandLineCodeExecutor(work_dir=where)
        return [
            kit.raised(executor.execute_code_blocks, [kit.CodeBlock(language="sh", code=c)])
            for c in commands
        ]


@scenario
def code_blocks_in_a_text(kit: Kit) -> Any:
    extractor = kit.MarkdownCodeExtractor()
    texts: list[Any] = [
        "plain",
        f"a\n{PYTHON}\nb\n{fenced('', 'echo x')}",
        "  ```python\n  indented = 1\n  ```",
        "```python\r\nx = 1\r\n```",
        "`x`",
        [{"type": "text", "text": HELLO}],
        None,
        fenced("Python", "x"),
        fenced("", "import os"),
    ]
    return [
        [[b.language, b.code.strip()] for b in extractor.extract_code_blocks(text)]
        for text in texts
    ]


# --- in a chat


@scenario(both=True)
def a_chat_with_code(kit: Kit) -> Any:
    with folder() as where:
        writer = speaker(kit, "writer", f"Run this:\n{HELLO}", "It says hello. TERMINATE")
        coder = kit.agent(
            "coder",
            code_execution_config={"executor": kit.LocalCommandLineCodeExecutor(work_dir=where)},
            is_termination_msg=lambda m: "TERMINATE" in (m.get("content") or ""),
        )
        result = kit.call(coder, "initiate_chat", writer, message="Say hello.", silent=True)
        return [kit.rows(result.chat_history), result.summary]


@scenario(both=True)
def tools_come_before_code(kit: Kit) -> Any:
    with folder() as where:
        coder = with_executor(kit, where)
        coder.register_function({"hello": lambda: "from the tool"})
        call = {"id": "1", "type": "function", "function": {"name": "hello", "arguments": "{}"}}
        message = {"role": "assistant", "content": HELLO, "tool_calls": [call]}
        return kit.call(coder, "generate_reply", messages=[message], sender=kit.agent("writer"))[
            "content"
        ]
