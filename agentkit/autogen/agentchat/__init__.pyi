"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import AssistantAgent as AssistantAgent
from agentkit.agents import GroupChat as GroupChat
from agentkit.agents import GroupChatManager as GroupChatManager
from agentkit.agents import UserProxyAgent as UserProxyAgent
from agentkit.conversation import Agent as Agent
from agentkit.conversation import ChatResult as ChatResult
from agentkit.conversation import ConversableAgent as ConversableAgent
from agentkit.conversation import gather_usage_summary as gather_usage_summary
from agentkit.conversation import initiate_chats as initiate_chats
from agentkit.conversation import register_function as register_function
from agentkit.autogen.agentchat import agent as agent
from agentkit.autogen.agentchat import assistant_agent as assistant_agent
from agentkit.autogen.agentchat import chat as chat
from agentkit.autogen.agentchat import contrib as contrib
from agentkit.autogen.agentchat import conversable_agent as conversable_agent
from agentkit.autogen.agentchat import groupchat as groupchat
from agentkit.autogen.agentchat import user_proxy_agent as user_proxy_agent
from agentkit.autogen.agentchat import utils as utils

__all__: list[str]
