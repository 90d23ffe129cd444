"""What all executors share that write each block into a file and run a program on it: languages,
file names, functions.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from string import Template
from typing import ClassVar

from agentkit.coding.base import CodeBlock, CodeExtractor, CommandLineCodeResult
from agentkit.coding.code_blocks import MarkdownCodeExtractor
from agentkit.coding.functions import Function, functions_file, packages_of, to_stub
from agentkit.core import stopping
from agentkit.core.given import coalesce
from agentkit.errors import WrongArgument, WrongType

OUTSIDE = "Filename is not in the workspace"
FIRST_LINES = [
    re.compile(pattern)
    for pattern in (r"<!--\s(.+?)\s-->", r"/\*\s(.+?)\s\*/", r"//\s(.+)", r"#\s(.+)")
]
BARE_NAME = re.compile(
    r"[\w./-]*\w\.([chrR]|cc|cpp|hpp|py|pyw|sh|bash|zsh|ps1|[cm]?jsx?|tsx?|html?|s?css|java|go|rs"
    r"|rb|php|pl|lua|sql|kt|swift|scala|jl)"
)
"""A comment without `filename:` that is a name all the same: of a file with code. Another one, such
as `# sales.csv`, speaks of a file that is there, which the code must not replace.
"""
SHELLS = ("bash", "sh", "shell")
POWERSHELLS = ("pwsh", "powershell", "ps1")
PROGRAMS = {
    "bash": ("bash",),
    "javascript": ("node",),
    **dict.fromkeys(POWERSHELLS, ("pwsh", "-File")),
}
"""What runs a language, with its options; `sh` runs the others."""
ENDINGS = {"python": "py", **dict.fromkeys(POWERSHELLS, "ps1")}
"""Of files, where that is not the language itself."""
PIP_INSTALL = {
    "python": re.compile(r"^([ \t]*[!%][ \t]*pip3?[ \t]+install)\b(?![ \t]+-q)", re.MULTILINE),
    **dict.fromkeys(
        (*SHELLS, *POWERSHELLS),
        re.compile(
            r"^([ \t]*(?:python[\d.]*[ \t]+-m[ \t]+)?pip3?[ \t]+install)\b(?![ \t]+-q)",
            re.MULTILINE,
        ),
    ),
}
"""How packages are installed in a language; what follows may be made quiet."""
LONGEST_S = 31_536_000
"""A year; threads wait no longer than some centuries."""


class CommandLineExecutor(ABC):
    """Writes each block into a file of the work folder and runs the language's program on it, until
    one fails.

    A subclass supplies `_run(command, work_dir, timeout) -> (exit_code, output)`, and may override:
    `_path(file)`, how the program sees a file of the work folder (default: the absolute path here);
    `_python()`, the Python to call (default: the one that runs us);
    `_begin(code_blocks)`, called once before the blocks of a call; may refuse them by
    WrongArgument.
    """

    SUPPORTED_LANGUAGES: ClassVar[list[str]] = [
        *SHELLS,
        *POWERSHELLS,
        "python",
        "javascript",
        "html",
        "css",
    ]
    DEFAULT_EXECUTION_POLICY: ClassVar[dict[str, bool]] = {
        **dict.fromkeys((*SHELLS, *POWERSHELLS, "python"), True),
        **dict.fromkeys(("javascript", "html", "css"), False),
    }
    """Language -> whether it is run; if not, it is only saved."""
    LANGUAGE_ALIASES: ClassVar[dict[str, str]] = {
        "py": "python",
        "python3": "python",
        "js": "javascript",
    }
    FUNCTION_PROMPT_TEMPLATE: ClassVar[str] = (
        "These functions are ready for your code. They are in the module `$module_name`; import"
        " what you need, for example `from $module_name import foo` for a function"
        " `foo`.\n\n$functions"
    )

    def __init__(
        self,
        timeout: float = 60,
        work_dir: Path | str = Path(),
        functions: Sequence[Function] = (),
        functions_module: str = "functions",
        execution_policies: Mapping[str, bool] | None = None,
    ) -> None:
        """`timeout` is seconds for each block; `work_dir` is made when missing. Raises
        WrongArgument and WrongType.
        """
        check_timeout(timeout)
        if not functions_module.isidentifier():
            raise WrongArgument(
                f"functions_module={functions_module!r}: Module name must be a valid Python"
                " identifier, such as 'functions'."
            )
        self._timeout = timeout
        self._work_dir = make_folder(work_dir)
        self._functions = list(functions)
        self._functions_module = functions_module
        self._functions_ready = not self._functions
        self.execution_policies = self._complete_policies(coalesce(execution_policies, {}))

    def _complete_policies(self, changes: Mapping[str, bool]) -> dict[str, bool]:
        changed = {self._language(name): runs for name, runs in changes.items()}
        unknown = changed.keys() - self.DEFAULT_EXECUTION_POLICY.keys()
        if unknown:
            raise WrongArgument(
                f"execution_policies has no language {sorted(unknown)}; {self._list_known()}."
            )
        return {**self.DEFAULT_EXECUTION_POLICY, **changed}

    def _list_known(self) -> str:
        return "known are " + ", ".join(sorted(self.DEFAULT_EXECUTION_POLICY))

    def _language(self, name: str) -> str:
        return self.LANGUAGE_ALIASES.get(name.lower(), name.lower())

    @property
    def timeout(self) -> float:
        """Seconds that each block may take."""
        return self._timeout

    @property
    def work_dir(self) -> Path:
        """The folder of the files, as given."""
        return self._work_dir

    @property
    def functions(self) -> list[Function]:
        """The functions that code may import."""
        return self._functions

    @property
    def functions_module(self) -> str:
        """The name of the module with the functions."""
        return self._functions_module

    @property
    def code_extractor(self) -> CodeExtractor:
        """Finds the fenced blocks of Markdown."""
        return MarkdownCodeExtractor()

    def format_functions_for_prompt(self, prompt_template: str = FUNCTION_PROMPT_TEMPLATE) -> str:
        """What to tell a model about the functions: `$module_name` and `$functions` (their stubs)
        are filled in.
        """
        stubs = "\n\n".join(to_stub(function) for function in self._functions)
        return Template(prompt_template).safe_substitute(
            module_name=self._functions_module, functions=stubs
        )

    def execute_code_blocks(self, code_blocks: Sequence[CodeBlock]) -> CommandLineCodeResult:
        """Run the blocks in order until one fails; languages whose policy is False are only saved.

        A timeout gives exit code 124, an unknown language or a file name outside of the work folder
        1. Raises WrongArgument when the functions do not load or a block is refused, ExecutionError
        when nothing can be run.
        """
        self._begin(code_blocks)
        self._load_functions()
        result = CommandLineCodeResult(0, "", None)
        for block in code_blocks:
            with stopping.keeping(partial(getattr, result, "output")):
                stopping.check()
                result.exit_code, output, file = self._execute(block)
            result.output += output
            result.code_file = result.code_file or file
            if result.exit_code:
                break
        return result

    def _execute(self, block: CodeBlock) -> tuple[int, str, str | None]:
        """Exit code, output and file of one block."""
        language = self._language(block.language)
        if language not in self.execution_policies:
            return 1, f"\nunknown language {language}; {self._list_known()}.", None
        code = silence_pip(block.code, language)
        try:
            file = write_file(
                self._work_dir, file_name_in(code) or file_name_for(code, language), code
            )
        except WrongArgument as error:
            return 1, str(error), None
        if not self.execution_policies[language]:
            return 0, f"Code saved to {file}\n", str(file)
        return *self.run_file(language, file), str(file)

    def run_file(self, language: str, file: Path) -> tuple[int, str]:
        """Exit code and output of a file of the work folder, given by its absolute path."""
        command = [*program(language, self._python()), self._path(file)]
        return self._run(command, self._work_dir.resolve(), self._timeout)

    def _load_functions(self) -> None:
        """Once: install what the functions need, write their module and see that it loads."""
        if self._functions_ready:
            return
        packages = packages_of(self._functions)
        if packages:
            self._try(
                [self._python(), "-m", "pip", "install", "-qqq", *packages],
                f"Pip install failed ({', '.join(packages)})",
            )
        file = write_file(
            self._work_dir, f"{self._functions_module}.py", functions_file(self._functions)
        )
        self._try([self._python(), self._path(file)], "Functions failed to load")
        self._functions_ready = True

    def _try(self, command: list[str], failure: str) -> None:
        exit_code, output = self._run(command, self._work_dir.resolve(), self._timeout)
        if exit_code:
            raise WrongArgument(f"{failure}: exit code {exit_code}\n{output}")

    def restart(self) -> None:
        """Forget what was prepared: the next call installs and loads the functions again. Files
        stay.
        """
        self._functions_ready = not self._functions

    @abstractmethod
    def _run(self, command: list[str], work_dir: Path, timeout: float) -> tuple[int, str]:
        """Run one program in the folder and give its exit code (124 after the timeout) and its
        output.

        Raises Stopped when the run was stopped; whatever was started is dead then. See
        `process.run_command`.
        """

    def _path(self, file: Path) -> str:
        return str(file)

    def _python(self) -> str:
        return sys.executable

    def _begin(self, code_blocks: Sequence[CodeBlock]) -> None:
        stopping.check()


def check_timeout(timeout: float) -> None:
    """Raise WrongType or WrongArgument unless this is a number of seconds of at least 1, and of a
    year at most.
    """
    if not isinstance(timeout, int | float):
        raise WrongType(f"timeout={timeout!r} is not a number; give seconds, such as 60.")
    if timeout < 1:
        raise WrongArgument(
            f"timeout={timeout!r}: Timeout must be greater than or equal to 1 second."
        )
    if not timeout <= LONGEST_S:
        raise WrongArgument(
            f"timeout={timeout!r}: there is always a limit; give at most {LONGEST_S:,} seconds, a"
            " year."
        )


def make_folder(folder: Path | str) -> Path:
    """The folder as a path, made when missing; WrongArgument when it cannot be."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongArgument(
            f"work_dir={str(folder)!r} cannot be made: {error}; name a folder that you may write."
        ) from error
    return path


def program(language: str, python: str = sys.executable) -> list[str]:
    """The program that runs files of a language, with its options before the file."""
    if language == "python":
        return [python]
    return list(PROGRAMS.get(language, ("sh",)))


def file_name_in(code: str) -> str | None:
    """The name that the first line states in a comment: `# filename: a/b.py`, or `# b.py` alone;
    None when there is none.
    """
    first, _, _ = code.partition("\n")
    found = (pattern.fullmatch(first.strip()) for pattern in FIRST_LINES)
    match = next(filter(None, found), None)
    if match is None:
        return None
    comment = match[1].strip()
    if comment.startswith("filename:"):
        return comment.removeprefix("filename:").strip() or None
    if BARE_NAME.fullmatch(comment):
        return comment
    return None


def file_name_for(code: str, language: str) -> str:
    """The name of a block that states none: the same code has the same name."""
    digest = hashlib.md5(code.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    ending = ENDINGS.get(language, language)
    return f"tmp_code_{digest}.{ending}"


def inside(work_dir: Path, name: str) -> Path:
    """The absolute path of a name in the work folder; WrongArgument when it leads out of it (links
    are followed).
    """
    root = work_dir.resolve()
    try:
        file = (root / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise WrongArgument(f"{name!r} is not a file name: {error}; choose another one.") from error
    if root not in file.parents:
        raise WrongArgument(OUTSIDE)
    return file


def write_file(work_dir: Path, name: str, code: str) -> Path:
    """Write code to a file of that name in the work folder, folders between made; gives the
    absolute path.

    Raises WrongArgument for a name that leads out of the folder or cannot be written. The file is
        moved into place: a link
    or a pipe that code planted under the name is replaced, never written through; nor is a link
    followed that code which still runs puts in the place of a folder meanwhile.
    """
    file = inside(work_dir, name)
    try:
        with _open_folder(work_dir.resolve(), file.parent) as folder:
            _replace(folder, file, code.encode("utf-8", "replace"))
    except OSError as error:
        raise WrongArgument(
            f"the file {name!r} cannot be written: {error}; choose another name."
        ) from error
    return file


@contextmanager
def _open_folder(root: Path, folder: Path) -> Iterator[int | None]:
    """The folder below root, made when missing, each on the way opened in the one before; None on
    Windows, which cannot.
    """
    if os.open not in os.supports_dir_fd:
        folder.mkdir(parents=True, exist_ok=True)
        yield None
        return
    inner = os.open(root, os.O_DIRECTORY)
    try:
        for part in folder.relative_to(root).parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=inner)
            outer, inner = inner, os.open(part, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=inner)
            os.close(outer)
        yield inner
    finally:
        os.close(inner)


def _replace(folder: int | None, file: Path, content: bytes) -> None:
    final = file if folder is None else Path(file.name)
    temporary = final.with_name(f".{uuid.uuid4().hex}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            if folder is not None:
                os.fchmod(handle, 0o644)  # whatever our umask: code may run as another user
            stream.write(content)
        os.replace(temporary, final, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def silence_pip(code: str, language: str) -> str:
    """The code with `-qqq` after each `pip install` of a shell, or `!pip install` and `%pip
    install` of a notebook.
    """
    pattern = PIP_INSTALL.get(language)
    if pattern is None:
        return code
    return pattern.sub(r"\1 -qqq", code)
