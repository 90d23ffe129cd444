"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.autogen.agentchat.contrib import capabilities as capabilities
from agentkit.autogen.agentchat.contrib import compressible_agent as compressible_agent
from agentkit.autogen.agentchat.contrib import retrieve_assistant_agent as retrieve_assistant_agent
from agentkit.autogen.agentchat.contrib import retrieve_user_proxy_agent as retrieve_user_proxy_agent
from agentkit.autogen.agentchat.contrib import society_of_mind_agent as society_of_mind_agent
from agentkit.autogen.agentchat.contrib import vectordb as vectordb

__all__: list[str]
