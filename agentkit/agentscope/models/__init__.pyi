"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import ModelWrapperBase as ModelWrapperBase
from agentkit.parsers import ModelResponse as ModelResponse
from agentkit.agentscope.models import model as model
from agentkit.agentscope.models import response as response

__all__: list[str]
