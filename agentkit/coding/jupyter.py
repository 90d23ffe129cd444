"""Runs Python in a Jupyter kernel that keeps its state from block to block. It isolates nothing."""

from __future__ import annotations

import base64
import json
import re
import uuid
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from agentkit.coding.base import CodeBlock, CodeExtractor, IPythonCodeResult
from agentkit.coding.code_blocks import MarkdownCodeExtractor
from agentkit.coding.command_line import check_timeout, make_folder, silence_pip
from agentkit.coding.kernel import Kernel, KernelDied, Message
from agentkit.coding.local import NO_ISOLATION
from agentkit.coding.process import OUTPUT_BYTES, TIMEOUT_EXIT_CODE, TIMEOUT_MSG, CappedOutput
from agentkit.core import stopping
from agentkit.core.bus import emit
from agentkit.errors import WrongArgument
from agentkit.events import Noted

_PYTHON = ("", "python", "py", "python3", "ipython")
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_FILES = {
    "image/png": ("Image", "png"),
    "image/jpeg": ("Image", "jpg"),
    "image/svg+xml": ("Image", "svg"),
    "text/html": ("HTML", "html"),
}


class JupyterCodeExecutor:
    """Runs Python blocks one after the other in one kernel on this machine, started at the first
    block.

    Output is what was printed and shown, stderr included, without colours; an error ends with its
    traceback. Pictures and HTML are saved into `output_dir` and named in the output. A timeout
    gives exit code 124; the kernel keeps its state unless it ignores the interrupt. A stop kills
    it. Code runs with all rights of this program.
    """

    def __init__(
        self,
        jupyter_server: None = None,
        kernel_name: str = "python3",
        timeout: float = 60,
        output_dir: Path | str = Path(),
    ) -> None:
        """`timeout` is seconds for each block, `output_dir` is made when missing. Raises
        WrongArgument (a kernel that is not installed; a server, which is not supported) and
        ExecutionError without Jupyter's packages.
        """
        if jupyter_server is not None:
            raise WrongArgument(
                f"jupyter_server={jupyter_server!r}: only local kernels are supported; leave it"
                " out."
            )
        check_timeout(timeout)
        self.timeout: Final = timeout
        self.output_dir: Final = make_folder(output_dir)
        self.kernel_name: Final = kernel_name
        self._kernel = Kernel(kernel_name)
        weakref.finalize(self, self._kernel.kill)
        caller = 2 if type(self) is JupyterCodeExecutor else 3
        warnings.warn(f"{type(self).__name__}: {NO_ISOLATION}", UserWarning, stacklevel=caller)

    @property
    def code_extractor(self) -> CodeExtractor:
        """Finds the fenced blocks of Markdown."""
        return MarkdownCodeExtractor()

    def execute_code_blocks(self, code_blocks: Sequence[CodeBlock]) -> IPythonCodeResult:
        """Run the blocks in order until one fails; other languages than Python fail with exit code
        1.
        """
        emit(Noted(type(self).__name__, NO_ISOLATION))
        shown = _Shown(self.output_dir)
        exit_code = 0
        with stopping.keeping(shown.text):
            for block in code_blocks:
                exit_code = self._execute(block, shown)
                if exit_code:
                    break
        return IPythonCodeResult(exit_code, shown.text(), shown.files)

    def _execute(self, block: CodeBlock, shown: _Shown) -> int:
        language = block.language.strip().lower()
        if language not in _PYTHON:
            shown.line(f"unknown language {language}; a Jupyter kernel runs python.")
            return 1
        shown.failed = False
        try:
            if not self._kernel.run(silence_pip(block.code, "python"), self.timeout, shown.take):
                shown.line(TIMEOUT_MSG)
                return TIMEOUT_EXIT_CODE
        except KernelDied:
            shown.line(
                "The kernel died, and with it all variables. The next block begins with a new one."
            )
            return 1
        return int(shown.failed)

    def restart(self) -> None:
        """Forget all variables: the next block begins with a new kernel."""
        self._kernel.kill()

    def stop(self) -> None:
        """End the kernel and all that it started."""
        self._kernel.kill()

    def __enter__(self) -> JupyterCodeExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class EmbeddedIPythonCodeExecutor(JupyterCodeExecutor):
    """The same under AutoGen's other name."""

    def __init__(
        self, *, timeout: float = 60, kernel_name: str = "python3", output_dir: Path | str = "."
    ) -> None:
        super().__init__(None, kernel_name, timeout, output_dir)


class _Shown:
    """What a kernel shows, as text and files."""

    def __init__(self, folder: Path) -> None:
        self.files: list[str] = []
        self.failed = False
        self._folder = folder
        self._output = CappedOutput(OUTPUT_BYTES)
        self._in_line = False

    def text(self) -> str:
        return self._output.text()

    def take(self, kind: str, content: Message) -> None:
        """A message of the kernel; those that show nothing are ignored."""
        if kind == "stream":
            self._add(content["text"])
        elif kind in {"execute_result", "display_data"}:
            for form, data in content["data"].items():
                self._show(form, data)
        elif kind == "error":
            self.failed = True
            self.line(f"ERROR: {content['ename']}: {content['evalue']}")
            self.line("\n".join(content["traceback"]))

    def line(self, text: str) -> None:
        """Text on lines of its own."""
        self._add(("\n" if self._in_line else "") + text.removesuffix("\n") + "\n")

    def _add(self, text: str) -> None:
        if text:
            self._in_line = not text.endswith("\n")
            self._output.add(_ANSI.sub("", text).encode("utf-8", "replace"))

    def _show(self, form: str, data: Any) -> None:
        if form in _FILES:
            kind, ending = _FILES[form]
            path = self._folder / f"{uuid.uuid4().hex}.{ending}"
            path.write_bytes(
                base64.b64decode(data)
                if ending in {"png", "jpg"}
                else data.encode("utf-8", "replace")
            )
            self.files.append(str(path.resolve()))
            self.line(f"{kind} data saved to {path}")
        else:
            self.line(data if isinstance(data, str) else json.dumps(data))
