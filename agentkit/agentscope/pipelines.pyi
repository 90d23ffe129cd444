"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import SequentialPipeline as SequentialPipeline
from agentkit.agents.dialog import sequential_pipeline as sequential_pipeline

__all__: list[str]
