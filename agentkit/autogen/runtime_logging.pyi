"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.api.runtime_logging import get_connection as get_connection
from agentkit.api.runtime_logging import logging_enabled as logging_enabled
from agentkit.api.runtime_logging import start as start
from agentkit.api.runtime_logging import stop as stop

__all__: list[str]
