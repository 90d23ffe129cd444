"""agentkit: teams of agents that answer over documents, every step and its cost visible.

The names below are loaded when they are first used, so that `import agentkit` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.agents import (
        AssistantAgent,
        GroupChat,
        GroupChatManager,
        RetrieveAssistantAgent,
        RetrieveUserProxyAgent,
        UserProxyAgent,
    )
    from agentkit.agents.dialog import (
        AgentBase,
        DialogAgent,
        DictDialogAgent,
        Msg,
        MsgHub,
        SequentialPipeline,
        TemporaryMemory,
        a_sequential_pipeline,
        init,
        msghub,
        sequential_pipeline,
    )
    from agentkit.conversation import (
        Agent,
        ChatResult,
        ConversableAgent,
        LLMAgent,
        a_initiate_chats,
        gather_usage_summary,
        initiate_chats,
        register_function,
    )
    from agentkit.conversation.transforms import (
        MessageHistoryLimiter,
        MessageTokenLimiter,
        TextMessageContentName,
        TransformMessages,
    )
    from agentkit.core.io import IOConsole, IOStream
    from agentkit.database import Database
    from agentkit.errors import (
        AgentkitError,
        AgentNameConflict,
        InvalidCarryOverType,
        JsonDictValidationError,
        JsonParsingError,
        JsonTypeError,
        NoEligibleSpeaker,
        RequiredFieldNotFoundError,
        ResponseParsingError,
        SenderRequired,
        TagNotFoundError,
        UndefinedNextAgent,
    )
    from agentkit.ledger import Ledger
    from agentkit.llm import Model, ModelClient, call
    from agentkit.llm.cache import Cache
    from agentkit.llm.config_list import (
        config_list_from_dotenv,
        config_list_from_json,
        config_list_from_models,
        config_list_openai_aoai,
        filter_config,
        get_config_list,
    )
    from agentkit.llm.wrapper import OpenAIWrapper
    from agentkit.parsers import (
        DictFilterMixin,
        MarkdownCodeBlockParser,
        MarkdownJsonDictParser,
        MarkdownJsonObjectParser,
        ModelResponse,
        MultiTaggedContentParser,
        ParserBase,
        RegexTaggedContentParser,
        TaggedContent,
    )
    from agentkit.retrieval import (
        Hit,
        Library,
        MiniLMEmbedder,
        Scope,
        SearchOptions,
        Source,
        evaluate,
        fetch,
        sources_from_paths,
    )
    from agentkit.runs import Run, start
    from agentkit.settings import Settings, load_settings
    from agentkit.teams import Answer, Citation, Task, Team
    from agentkit.workspace import Workspace

_HOME = {
    "Agent": "agentkit.conversation",
    "AgentBase": "agentkit.agents.dialog",
    "AgentNameConflict": "agentkit.errors",
    "AgentkitError": "agentkit.errors",
    "Answer": "agentkit.teams",
    "AssistantAgent": "agentkit.agents",
    "Cache": "agentkit.llm.cache",
    "ChatResult": "agentkit.conversation",
    "Citation": "agentkit.teams",
    "ConversableAgent": "agentkit.conversation",
    "Database": "agentkit.database",
    "DialogAgent": "agentkit.agents.dialog",
    "DictDialogAgent": "agentkit.agents.dialog",
    "DictFilterMixin": "agentkit.parsers",
    "GroupChat": "agentkit.agents",
    "GroupChatManager": "agentkit.agents",
    "Hit": "agentkit.retrieval",
    "IOConsole": "agentkit.core.io",
    "IOStream": "agentkit.core.io",
    "InvalidCarryOverType": "agentkit.errors",
    "JsonDictValidationError": "agentkit.errors",
    "JsonParsingError": "agentkit.errors",
    "JsonTypeError": "agentkit.errors",
    "LLMAgent": "agentkit.conversation",
    "Ledger": "agentkit.ledger",
    "Library": "agentkit.retrieval",
    "MarkdownCodeBlockParser": "agentkit.parsers",
    "MarkdownJsonDictParser": "agentkit.parsers",
    "MarkdownJsonObjectParser": "agentkit.parsers",
    "MessageHistoryLimiter": "agentkit.conversation.transforms",
    "MessageTokenLimiter": "agentkit.conversation.transforms",
    "MiniLMEmbedder": "agentkit.retrieval",
    "Model": "agentkit.llm",
    "ModelClient": "agentkit.llm",
    "ModelResponse": "agentkit.parsers",
    "Msg": "agentkit.agents.dialog",
    "MsgHub": "agentkit.agents.dialog",
    "MultiTaggedContentParser": "agentkit.parsers",
    "NoEligibleSpeaker": "agentkit.errors",
    "OpenAIWrapper": "agentkit.llm.wrapper",
    "ParserBase": "agentkit.parsers",
    "RegexTaggedContentParser": "agentkit.parsers",
    "RequiredFieldNotFoundError": "agentkit.errors",
    "ResponseParsingError": "agentkit.errors",
    "RetrieveAssistantAgent": "agentkit.agents",
    "RetrieveUserProxyAgent": "agentkit.agents",
    "Run": "agentkit.runs",
    "Scope": "agentkit.retrieval",
    "SearchOptions": "agentkit.retrieval",
    "SenderRequired": "agentkit.errors",
    "SequentialPipeline": "agentkit.agents.dialog",
    "Settings": "agentkit.settings",
    "Source": "agentkit.retrieval",
    "TagNotFoundError": "agentkit.errors",
    "TaggedContent": "agentkit.parsers",
    "Task": "agentkit.teams",
    "Team": "agentkit.teams",
    "TemporaryMemory": "agentkit.agents.dialog",
    "TextMessageContentName": "agentkit.conversation.transforms",
    "TransformMessages": "agentkit.conversation.transforms",
    "UndefinedNextAgent": "agentkit.errors",
    "UserProxyAgent": "agentkit.agents",
    "Workspace": "agentkit.workspace",
    "a_initiate_chats": "agentkit.conversation",
    "a_sequential_pipeline": "agentkit.agents.dialog",
    "call": "agentkit.llm",
    "config_list_from_dotenv": "agentkit.llm.config_list",
    "config_list_from_json": "agentkit.llm.config_list",
    "config_list_from_models": "agentkit.llm.config_list",
    "config_list_openai_aoai": "agentkit.llm.config_list",
    "evaluate": "agentkit.retrieval",
    "fetch": "agentkit.retrieval",
    "filter_config": "agentkit.llm.config_list",
    "gather_usage_summary": "agentkit.conversation",
    "get_config_list": "agentkit.llm.config_list",
    "init": "agentkit.agents.dialog",
    "initiate_chats": "agentkit.conversation",
    "load_settings": "agentkit.settings",
    "msghub": "agentkit.agents.dialog",
    "register_function": "agentkit.conversation",
    "sequential_pipeline": "agentkit.agents.dialog",
    "sources_from_paths": "agentkit.retrieval",
    "start": "agentkit.runs",
}

__all__ = [
    "Agent", "AgentBase", "AgentNameConflict", "AgentkitError", "Answer", "AssistantAgent", "Cache", "ChatResult", "Citation",
    "ConversableAgent", "Database", "DialogAgent", "DictDialogAgent", "DictFilterMixin", "GroupChat", "GroupChatManager",
    "Hit", "IOConsole", "IOStream", "InvalidCarryOverType", "JsonDictValidationError", "JsonParsingError", "JsonTypeError",
    "LLMAgent", "Ledger", "Library", "MarkdownCodeBlockParser", "MarkdownJsonDictParser", "MarkdownJsonObjectParser",
    "MessageHistoryLimiter", "MessageTokenLimiter", "MiniLMEmbedder", "Model", "ModelClient", "ModelResponse", "Msg",
    "MsgHub", "MultiTaggedContentParser", "NoEligibleSpeaker", "OpenAIWrapper", "ParserBase", "RegexTaggedContentParser",
    "RequiredFieldNotFoundError", "ResponseParsingError", "RetrieveAssistantAgent", "RetrieveUserProxyAgent", "Run", "Scope",
    "SearchOptions", "SenderRequired", "SequentialPipeline", "Settings", "Source", "TagNotFoundError", "TaggedContent",
    "Task", "Team", "TemporaryMemory", "TextMessageContentName", "TransformMessages", "UndefinedNextAgent", "UserProxyAgent",
    "Workspace", "a_initiate_chats", "a_sequential_pipeline", "call", "config_list_from_dotenv", "config_list_from_json",
    "config_list_from_models", "config_list_openai_aoai", "evaluate", "fetch", "filter_config", "gather_usage_summary",
    "get_config_list", "init", "initiate_chats", "load_settings", "msghub", "register_function", "sequential_pipeline",
    "sources_from_paths", "start",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
