"""Scripts of AutoGen 0.2, AgentScope 0.1 and Lagent 0.2 find at the old paths, behind `agentkit.`,
what they import.

FACTS has the imports of AutoGen's documentation and notebooks and of the others' examples, and what
their modules offer.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pytest

import agentkit.agentscope as agentscope
import agentkit.autogen as autogen
from agentkit import names
from agentkit.autogen.agentchat import ConversableAgent
from agentkit.autogen.agentchat.contrib.capabilities import transforms
from agentkit.autogen.coding import LocalCommandLineCodeExecutor
from agentkit.lagent.actions import BaseAction

ROOT = Path(__file__).resolve().parents[1]
FACTS = {
    "autogen": (
        "Agent AssistantAgent Cache ChatResult ConversableAgent GroupChat GroupChatManager"
        " ModelClient OpenAIWrapper UserProxyAgent config_list_from_dotenv config_list_from_json"
        " config_list_openai_aoai filter_config gather_usage_summary get_config_list initiate_chats"
        " register_function AgentNameConflict InvalidCarryOverType NoEligibleSpeaker SenderRequired"
        " UndefinedNextAgent __version__ agentchat cache code_utils coding exception_utils"
        " function_utils graph_utils io oai retrieve_utils runtime_logging token_count_utils"
    ),
    "autogen.agentchat": (
        "Agent AssistantAgent ChatResult ConversableAgent GroupChat GroupChatManager UserProxyAgent"
        " gather_usage_summary initiate_chats register_function contrib"
    ),
    "autogen.agentchat.agent": "Agent LLMAgent",
    "autogen.agentchat.assistant_agent": "AssistantAgent",
    "autogen.agentchat.chat": "ChatResult a_initiate_chats initiate_chats",
    "autogen.agentchat.contrib": (
        "capabilities retrieve_assistant_agent retrieve_user_proxy_agent vectordb"
    ),
    "autogen.agentchat.contrib.capabilities": (
        "agent_capability text_compressors transform_messages transforms"
    ),
    "autogen.agentchat.contrib.capabilities.agent_capability": "AgentCapability",
    "autogen.agentchat.contrib.capabilities.text_compressors": "TextCompressor",
    "autogen.agentchat.contrib.capabilities.transform_messages": "TransformMessages",
    "autogen.agentchat.contrib.capabilities.transforms": (
        "MessageHistoryLimiter MessageTokenLimiter MessageTransform"
        " TextMessageCompressor TextMessageContentName"
    ),
    "autogen.agentchat.contrib.compressible_agent": "CompressibleAgent",
    "autogen.agentchat.contrib.retrieve_assistant_agent": "RetrieveAssistantAgent",
    "autogen.agentchat.contrib.retrieve_user_proxy_agent": (
        "RetrieveUserProxyAgent PROMPT_CODE PROMPT_DEFAULT PROMPT_QA"
    ),
    "autogen.agentchat.contrib.society_of_mind_agent": "SocietyOfMindAgent",
    "autogen.agentchat.contrib.vectordb.base": (
        "Document ItemID Metadata QueryResults Vector VectorDB VectorDBFactory"
    ),
    "autogen.agentchat.contrib.vectordb.chromadb": "ChromaVectorDB",
    "autogen.agentchat.contrib.vectordb.pgvectordb": "PGVectorDB",
    "autogen.agentchat.conversable_agent": "ConversableAgent register_function",
    "autogen.agentchat.groupchat": "GroupChat GroupChatManager",
    "autogen.agentchat.user_proxy_agent": "UserProxyAgent",
    "autogen.agentchat.utils": "gather_usage_summary",
    "autogen.cache": "AbstractCache Cache",
    "autogen.cache.abstract_cache_base": "AbstractCache",
    "autogen.cache.cache": "Cache",
    "autogen.cache.cache_factory": "CacheFactory",
    "autogen.cache.disk_cache": "DiskCache",
    "autogen.cache.in_memory_cache": "InMemoryCache",
    "autogen.cache.redis_cache": "RedisCache",
    "autogen.code_utils": (
        "CODE_BLOCK_PATTERN DEFAULT_MODEL FAST_MODEL DEFAULT_TIMEOUT PYTHON_VARIANTS UNKNOWN"
        " WORKING_DIR content_str create_virtual_env decide_use_docker execute_code extract_code"
        " infer_lang is_docker_running"
    ),
    "autogen.coding": (
        "CodeBlock CodeExecutor CodeExecutorFactory CodeExtractor CodeResult"
        " DockerCommandLineCodeExecutor LocalCommandLineCodeExecutor MarkdownCodeExtractor"
    ),
    "autogen.coding.base": (
        "CodeBlock CodeExecutor CodeExtractor CodeResult CommandLineCodeResult IPythonCodeResult"
    ),
    "autogen.coding.docker_commandline_code_executor": "DockerCommandLineCodeExecutor",
    "autogen.coding.factory": "CodeExecutorFactory",
    "autogen.coding.func_with_reqs": (
        "Alias FunctionWithRequirements FunctionWithRequirementsStr ImportFromModule"
        " with_requirements"
    ),
    "autogen.coding.jupyter": "EmbeddedIPythonCodeExecutor JupyterCodeExecutor",
    "autogen.coding.jupyter.embedded_ipython_code_executor": "EmbeddedIPythonCodeExecutor",
    "autogen.coding.jupyter.jupyter_code_executor": "JupyterCodeExecutor",
    "autogen.coding.local_commandline_code_executor": "LocalCommandLineCodeExecutor",
    "autogen.coding.markdown_code_extractor": "MarkdownCodeExtractor",
    "autogen.exception_utils": (
        "AgentNameConflict InvalidCarryOverType NoEligibleSpeaker SenderRequired UndefinedNextAgent"
    ),
    "autogen.function_utils": "get_function_schema load_basemodels_if_needed serialize_to_str",
    "autogen.graph_utils": (
        "check_graph_validity has_self_loops invert_disallowed_to_allowed"
        " visualize_speaker_transitions_dict"
    ),
    "autogen.io": "IOConsole IOStream InputStream OutputStream",
    "autogen.io.base": "IOStream InputStream OutputStream",
    "autogen.io.console": "IOConsole",
    "autogen.oai": (
        "Cache ModelClient OpenAIWrapper config_list_from_dotenv config_list_from_json"
        " config_list_from_models config_list_gpt4_gpt35 config_list_openai_aoai filter_config"
        " get_config_list"
    ),
    "autogen.oai.client": "ModelClient OpenAIWrapper",
    "autogen.oai.openai_utils": (
        "config_list_from_dotenv config_list_from_json config_list_from_models"
        " config_list_gpt4_gpt35 config_list_openai_aoai filter_config get_config get_config_list"
    ),
    "autogen.retrieve_utils": (
        "TEXT_FORMATS UNSTRUCTURED_FORMATS extract_text_from_pdf get_file_from_url"
        " get_files_from_dir is_url parse_html_to_markdown split_files_to_chunks"
        " split_text_to_chunks"
    ),
    "autogen.runtime_logging": "get_connection logging_enabled start stop",
    "autogen.token_count_utils": (
        "count_token get_max_token_limit num_tokens_from_functions percentile_used token_left"
    ),
    "autogen.version": "__version__",
    "agentscope": (
        "agents exception init register_model_wrapper_class memory message models msghub parsers"
        " pipelines __version__"
    ),
    "agentscope.agents": "AgentBase DialogAgent DictDialogAgent UserAgent",
    "agentscope.exception": (
        "JsonDictValidationError JsonParsingError JsonTypeError RequiredFieldNotFoundError"
        " ResponseParsingError TagNotFoundError"
    ),
    "agentscope.memory": "TemporaryMemory",
    "agentscope.memory.temporary_memory": "TemporaryMemory",
    "agentscope.message": "Msg",
    "agentscope.models": "ModelResponse ModelWrapperBase",
    "agentscope.models.model": "ModelWrapperBase",
    "agentscope.msghub": "msghub",
    "agentscope.parsers": (
        "MarkdownCodeBlockParser MarkdownJsonDictParser MarkdownJsonObjectParser"
        " MultiTaggedContentParser ParserBase RegexTaggedContentParser TaggedContent"
    ),
    "agentscope.parsers.json_object_parser": "MarkdownJsonDictParser MarkdownJsonObjectParser",
    "agentscope.parsers.parser_base": "DictFilterMixin ParserBase",
    "agentscope.pipelines": "SequentialPipeline sequential_pipeline",
    "lagent": "ActionExecutor ReWOO actions agents schema __version__",
    "lagent.actions": (
        "ActionExecutor BaseAction FinishAction InvalidAction NoAction get_tool list_tools tool_api"
    ),
    "lagent.actions.action_executor": "ActionExecutor",
    "lagent.actions.base_action": "BaseAction tool_api",
    "lagent.actions.builtin_actions": "FinishAction InvalidAction NoAction",
    "lagent.actions.parser": "BaseParser JsonParser TupleParser",
    "lagent.agents": "BaseAgent ReWOO",
    "lagent.agents.base_agent": "BaseAgent",
    "lagent.agents.rewoo": (
        "PLANNER_PROMPT_CN PLANNER_PROMPT_EN REFORMAT_PROMPT_CN REFORMAT_PROMPT_EN ReWOO"
        " ReWOOProtocol SOLVER_PROMPT_CN SOLVER_PROMPT_EN WORKER_PROMPT_CN WORKER_PROMPT_EN"
    ),
    "lagent.schema": "ActionReturn ActionStatusCode ActionValidCode AgentReturn AgentStatusCode",
}
OUT = [
    *(
        "agentchat.contrib.agent_builder",
        "agentchat.contrib.agent_optimizer",
        "agentchat.contrib.gpt_assistant_agent",
    ),
    *(
        "agentchat.contrib.math_user_proxy_agent",
        "agentchat.contrib.multimodal_conversable_agent",
        "io.websockets",
    ),
    *(
        "agentchat.contrib.capabilities.teachability",
        "agentchat.contrib.swarm_agent",
        "agentchat.contrib.web_surfer",
    ),
]


def fresh(*lines: str) -> str:
    """What the lines print in an interpreter that has imported nothing before."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=ROOT, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path, offered in FACTS.items() for name in offered.split()]
)
def test_what_is_imported_from_the_old_path_is_there(path: str, name: str) -> None:
    scope: dict[str, object] = {}
    exec(f"from agentkit.{path} import {name} as found", scope)
    assert scope["found"] is not None


def test_attributes_need_no_import() -> None:
    listed = [
        f"agentkit.{path}.{name}" for path, offered in FACTS.items() for name in offered.split()
    ]
    lines = [
        line for line in listed if "msghub." not in line
    ]  # there the function is the attribute, as in AgentScope
    fresh("import agentkit.autogen, agentkit.agentscope, agentkit.lagent", *lines)


def test_an_import_of_the_face_loads_no_part_of_it() -> None:
    printed = fresh(
        "import sys, agentkit.autogen as autogen",
        "print([n for n in sys.modules if 'agentkit.autogen.' in n])",
        "autogen.agentchat.contrib.capabilities.transforms.MessageHistoryLimiter",
        "import agentkit.autogen.agentchat.contrib.capabilities.transforms as t; print(t.__name__)",
    )
    assert printed.splitlines() == [
        "[]",
        "agentkit.autogen.agentchat.contrib.capabilities.transforms",
    ]


def test_the_same_thing_is_one_object_at_all_paths() -> None:
    assert autogen.agentchat.ConversableAgent is autogen.ConversableAgent is ConversableAgent
    assert autogen.agentchat.contrib.capabilities.transforms is transforms
    assert importlib.import_module("agentkit.autogen.agentchat") is autogen.agentchat


def test_type_checkers_see_them() -> None:
    assert_type(
        autogen.agentchat.conversable_agent.ConversableAgent("a", llm_config=False),
        ConversableAgent,
    )
    assert_type(autogen.coding.LocalCommandLineCodeExecutor, type[LocalCommandLineCodeExecutor])
    assert_type(autogen.__version__, str)
    assert issubclass(BaseAction, object)


def test_a_function_with_the_name_of_its_module_stays_the_function() -> None:
    module = importlib.import_module("agentkit.agentscope.msghub")
    assert agentscope.msghub is module.msghub
    assert callable(agentscope.msghub)


def test_submodules_are_listed() -> None:
    assert {"agentchat", "AssistantAgent", "token_count_utils"} <= set(dir(autogen))
    assert "agentchat" not in autogen.__all__
    assert autogen.agentchat.contrib.__doc__


@pytest.mark.parametrize("path", OUT)
def test_what_is_out_says_so(path: str) -> None:
    name = f"agentkit.autogen.{path}"
    assert name in names.OUT
    with pytest.raises(ModuleNotFoundError, match="agentkit leaves out") as caught:
        importlib.import_module(name)
    assert caught.value.name == name
    assert names.OUT[name] in (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["agentkit.autogen.nonsense", "agentkit.autogen.agentchat.nonsense"]
)
def test_an_unknown_module_is_an_import_error(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named"):
        importlib.import_module(name)


def test_modules_stand_in_one_place_of_the_table() -> None:
    assert not set(names.submodules()) & set(names.OUT)
    for face, rows in names.SUBMODULES.items():
        offered = [(path, name) for path, _, given in rows for name in given.split()]
        assert len(offered) == len(set(offered)), face
