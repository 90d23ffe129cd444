"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.errors import JsonDictValidationError as JsonDictValidationError
from agentkit.errors import JsonParsingError as JsonParsingError
from agentkit.errors import JsonTypeError as JsonTypeError
from agentkit.errors import RequiredFieldNotFoundError as RequiredFieldNotFoundError
from agentkit.errors import ResponseParsingError as ResponseParsingError
from agentkit.errors import TagNotFoundError as TagNotFoundError

__all__: list[str]
