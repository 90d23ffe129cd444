"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import AssistantAgent as AssistantAgent
from agentkit.agents import GroupChat as GroupChat
from agentkit.agents import GroupChatManager as GroupChatManager
from agentkit.agents import RetrieveAssistantAgent as RetrieveAssistantAgent
from agentkit.agents import RetrieveUserProxyAgent as RetrieveUserProxyAgent
from agentkit.agents import UserProxyAgent as UserProxyAgent
from agentkit.agents.compressible import CompressibleAgent as CompressibleAgent
from agentkit.coding.legacy import DEFAULT_MODEL as DEFAULT_MODEL
from agentkit.coding.legacy import FAST_MODEL as FAST_MODEL
from agentkit.conversation import Agent as Agent
from agentkit.conversation import ChatResult as ChatResult
from agentkit.conversation import ConversableAgent as ConversableAgent
from agentkit.conversation import LLMAgent as LLMAgent
from agentkit.conversation import a_initiate_chats as a_initiate_chats
from agentkit.conversation import gather_usage_summary as gather_usage_summary
from agentkit.conversation import initiate_chats as initiate_chats
from agentkit.conversation import register_function as register_function
from agentkit.conversation.transforms import MessageHistoryLimiter as MessageHistoryLimiter
from agentkit.conversation.transforms import MessageTokenLimiter as MessageTokenLimiter
from agentkit.conversation.transforms import TextMessageCompressor as TextMessageCompressor
from agentkit.conversation.transforms import TextMessageContentName as TextMessageContentName
from agentkit.conversation.transforms import TransformMessages as TransformMessages
from agentkit.core.io import IOConsole as IOConsole
from agentkit.core.io import IOStream as IOStream
from agentkit.errors import AgentNameConflict as AgentNameConflict
from agentkit.errors import InvalidCarryOverType as InvalidCarryOverType
from agentkit.errors import NoEligibleSpeaker as NoEligibleSpeaker
from agentkit.errors import SenderRequired as SenderRequired
from agentkit.errors import UndefinedNextAgent as UndefinedNextAgent
from agentkit.llm import ModelClient as ModelClient
from agentkit.llm.cache import Cache as Cache
from agentkit.llm.compatible.config_list import config_list_from_dotenv as config_list_from_dotenv
from agentkit.llm.compatible.config_list import config_list_from_json as config_list_from_json
from agentkit.llm.compatible.config_list import config_list_from_models as config_list_from_models
from agentkit.llm.compatible.config_list import config_list_openai_aoai as config_list_openai_aoai
from agentkit.llm.compatible.config_list import filter_config as filter_config
from agentkit.llm.compatible.config_list import get_config_list as get_config_list
from agentkit.llm.compatible.wrapper import OpenAIWrapper as OpenAIWrapper
from agentkit.autogen import agentchat as agentchat
from agentkit.autogen import cache as cache
from agentkit.autogen import code_utils as code_utils
from agentkit.autogen import coding as coding
from agentkit.autogen import exception_utils as exception_utils
from agentkit.autogen import function_utils as function_utils
from agentkit.autogen import graph_utils as graph_utils
from agentkit.autogen import io as io
from agentkit.autogen import oai as oai
from agentkit.autogen import retrieve_utils as retrieve_utils
from agentkit.autogen import runtime_logging as runtime_logging
from agentkit.autogen import token_count_utils as token_count_utils
from agentkit.autogen import version as version

__all__: list[str]
__version__: str
