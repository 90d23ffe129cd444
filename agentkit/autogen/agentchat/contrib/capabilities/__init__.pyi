"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.autogen.agentchat.contrib.capabilities import agent_capability as agent_capability
from agentkit.autogen.agentchat.contrib.capabilities import text_compressors as text_compressors
from agentkit.autogen.agentchat.contrib.capabilities import transform_messages as transform_messages
from agentkit.autogen.agentchat.contrib.capabilities import transforms as transforms

__all__: list[str]
