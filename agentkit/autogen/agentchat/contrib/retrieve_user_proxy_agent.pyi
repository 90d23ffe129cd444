"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import RetrieveUserProxyAgent as RetrieveUserProxyAgent
from agentkit.agents.retrieve_chat import PROMPT_CODE as PROMPT_CODE
from agentkit.agents.retrieve_chat import PROMPT_DEFAULT as PROMPT_DEFAULT
from agentkit.agents.retrieve_chat import PROMPT_QA as PROMPT_QA

__all__: list[str]
