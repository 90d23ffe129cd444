"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.core.tools import get_function_schema as get_function_schema
from agentkit.core.tools import load_basemodels_if_needed as load_basemodels_if_needed
from agentkit.core.tools import serialize_to_str as serialize_to_str

__all__: list[str]
