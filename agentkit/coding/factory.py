"""Which executor a `code_execution_config` asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, cast

from agentkit.coding.base import CodeExecutor
from agentkit.core.given import coalesce
from agentkit.errors import WrongArgument, WrongType


class CodeExecutorFactory:
    """Makes code executors by name."""

    EXECUTORS: ClassVar[dict[str, tuple[str, str]]] = {
        "commandline-local": ("agentkit.coding.local", "LocalCommandLineCodeExecutor"),
        "docker": ("agentkit.coding.docker", "DockerCommandLineCodeExecutor"),
        "ipython-embedded": ("agentkit.coding.jupyter", "EmbeddedIPythonCodeExecutor"),
        "jupyter-local": ("agentkit.coding.jupyter", "JupyterCodeExecutor"),
        "sandbox": ("agentkit.coding.sandbox", "SandboxCommandLineCodeExecutor"),
    }
    """Name -> module and class."""

    @classmethod
    def create(cls, code_execution_config: Mapping[str, Any]) -> CodeExecutor:
        """The executor under `executor`: one that is made already, or a name whose arguments stand
        under that name.

        `{"executor": "sandbox", "sandbox": {"timeout": 20}}`. Raises WrongArgument for an unknown
        name and WrongType for arguments that the executor does not have.
        """
        executor = code_execution_config.get("executor")
        if isinstance(executor, str) and executor in cls.EXECUTORS:
            return cls._make(executor, coalesce(code_execution_config.get(executor), {}))
        if isinstance(executor, CodeExecutor) and not isinstance(executor, type):
            return executor
        raise WrongArgument(
            f"Unknown code executor {executor!r}; give a CodeExecutor or one of"
            f" {', '.join(map(repr, cls.EXECUTORS))}."
        )

    @classmethod
    def _make(cls, name: str, options: Mapping[str, Any]) -> CodeExecutor:
        module, class_name = cls.EXECUTORS[name]
        make = cast("Callable[..., CodeExecutor]", getattr(import_module(module), class_name))
        try:
            return make(**options)
        except TypeError as error:
            raise WrongType(
                f"code_execution_config[{name!r}]={dict(options)!r}: {error}"
            ) from error
