"""The public names: where each lives, and which modules offer it. The one place where that is
written.

`agentkit.doors` makes modules of it, and `python -m tests.stubs` writes the `.pyi` files for type
checkers and editors.
"""

from __future__ import annotations

from itertools import accumulate

ROOT = "agentkit"
AUTOGEN = "agentkit.autogen"
AGENTSCOPE = "agentkit.agentscope"
LAGENT = "agentkit.lagent"
MOVED = "moved out of agentkit"
"""Stands in a row whose names `agentkit` offered before. For one version more it still gives them,
with a warning that names the first module of the row that offers them, or else their home."""

_CONTRIB = "agentchat.contrib"
_CAN = f"{_CONTRIB}.capabilities"
_VECTORDB = "agentkit.agents.retrieve_chat.vectordb"

TABLE = (
    # where they live, who offers them, the names
    (
        "agentkit.agents",
        (ROOT, AUTOGEN),
        (
            "AssistantAgent GroupChat GroupChatManager RetrieveAssistantAgent"
            " RetrieveUserProxyAgent UserProxyAgent"
        ),
    ),
    ("agentkit.agents.compressible", (ROOT, AUTOGEN), "CompressibleAgent"),
    (
        "agentkit.conversation",
        (ROOT, AUTOGEN),
        (
            "Agent ChatResult ConversableAgent LLMAgent a_initiate_chats gather_usage_summary"
            " initiate_chats register_function"
        ),
    ),
    (
        "agentkit.conversation.transforms",
        (AUTOGEN, MOVED),
        (
            "MessageHistoryLimiter MessageTokenLimiter TextMessageCompressor TextMessageContentName"
            " TransformMessages"
        ),
    ),
    ("agentkit.core.io", (ROOT, AUTOGEN), "IOConsole IOStream"),
    (
        "agentkit.errors",
        (ROOT, AUTOGEN),
        "AgentNameConflict InvalidCarryOverType SenderRequired UndefinedNextAgent",
    ),
    ("agentkit.coding.legacy", (AUTOGEN,), "DEFAULT_MODEL FAST_MODEL"),
    ("agentkit.errors", (AUTOGEN, MOVED), "NoEligibleSpeaker"),
    ("agentkit.llm", (ROOT, AUTOGEN), "ModelClient"),
    ("agentkit.llm.cache", (ROOT, AUTOGEN), "Cache"),
    (
        "agentkit.llm.compatible.config_list",
        (ROOT, AUTOGEN),
        (
            "config_list_from_dotenv config_list_from_json config_list_openai_aoai filter_config"
            " get_config_list"
        ),
    ),
    ("agentkit.llm.compatible.config_list", (AUTOGEN, MOVED), "config_list_from_models"),
    ("agentkit.llm.compatible.wrapper", (ROOT, AUTOGEN), "OpenAIWrapper"),
    (
        "agentkit.agents.dialog",
        (ROOT, AGENTSCOPE),
        "DialogAgent DictDialogAgent Msg msghub sequential_pipeline",
    ),
    (
        "agentkit.agents.dialog",
        (AGENTSCOPE, MOVED),
        "AgentBase MsgHub SequentialPipeline TemporaryMemory UserAgent a_sequential_pipeline init",
    ),
    (
        "agentkit.agents.dialog",
        (AGENTSCOPE,),
        "ModelWrapperBase register_model_wrapper_class",
    ),
    (
        "agentkit.errors",
        (ROOT, AGENTSCOPE),
        (
            "JsonDictValidationError JsonParsingError JsonTypeError RequiredFieldNotFoundError"
            " ResponseParsingError TagNotFoundError"
        ),
    ),
    (
        "agentkit.parsers",
        (ROOT, AGENTSCOPE),
        (
            "DictFilterMixin MarkdownCodeBlockParser MarkdownJsonDictParser"
            " MarkdownJsonObjectParser MultiTaggedContentParser ParserBase RegexTaggedContentParser"
            " TaggedContent"
        ),
    ),
    ("agentkit.parsers", (AGENTSCOPE, MOVED), "ModelResponse"),
    (
        "agentkit.agents.rewoo",
        (ROOT, LAGENT),
        (
            "ActionExecutor ActionReturn ActionStatusCode ActionValidCode AgentReturn"
            " AgentStatusCode BaseAction ReWOO ReWOOProtocol tool_api"
        ),
    ),
    (
        "agentkit.agents.rewoo",
        (LAGENT, MOVED),
        (
            "FinishAction InvalidAction NoAction PLANNER_PROMPT_CN PLANNER_PROMPT_EN"
            " REFORMAT_PROMPT_CN REFORMAT_PROMPT_EN SOLVER_PROMPT_CN SOLVER_PROMPT_EN"
            " WORKER_PROMPT_CN WORKER_PROMPT_EN"
        ),
    ),
    ("agentkit.agents.rewoo", (LAGENT,), "BaseParser JsonParser TupleParser"),
    ("agentkit.agents.rewoo", (LAGENT,), "BaseAgent get_tool get_tool_cls list_tools"),
    ("agentkit.api", (ROOT,), "Workspace record"),
    ("agentkit.conversation.compression", (ROOT,), "Compression"),
    ("agentkit.core.tools", (ROOT,), "effects"),
    ("agentkit.errors", (ROOT,), "AgentkitError"),
    ("agentkit.retrieval", (ROOT,), "sources_from_paths"),
    ("agentkit.runs", (ROOT,), "Run"),
    ("agentkit.settings", (ROOT,), "Settings load_settings"),
    ("agentkit.agents.rewoo", (MOVED,), "ReWOOAgent"),
    ("agentkit.database", (MOVED,), "Database"),
    ("agentkit.ledger", (MOVED,), "Ledger"),
    ("agentkit.llm", (MOVED,), "Model call"),
    ("agentkit.llm.calls.limits", (MOVED,), "Limit Used limited"),
    (
        "agentkit.retrieval",
        (MOVED,),
        "Hit Library MiniLMEmbedder Scope SearchOptions Source evaluate fetch",
    ),
    ("agentkit.runs", (MOVED,), "start"),
    ("agentkit.teams", (MOVED,), "Answer Citation Task Team"),
)


OLD_MODULES = {
    "agentkit.llm.limits": "agentkit.llm.calls.limits",
    "agentkit.llm.scripted": "agentkit.llm.calls.scripted",
    "agentkit.llm.token_limits": "agentkit.llm.tokens.windows",
    "agentkit.retrieval.vectordb": "agentkit.agents.retrieve_chat.vectordb",
}
"""Modules that the documentation named elsewhere before; they are found there for one version
more.
"""

SUBMODULES = {
    # a face -> the modules that its model has below it: where the names live (as in the face where
    # that is empty) and the names
    AUTOGEN: (
        (
            "agentchat",
            "",
            (
                "Agent AssistantAgent ChatResult ConversableAgent GroupChat GroupChatManager"
                " UserProxyAgent gather_usage_summary initiate_chats register_function"
            ),
        ),
        ("agentchat.agent", "", "Agent LLMAgent"),
        ("agentchat.assistant_agent", "", "AssistantAgent"),
        ("agentchat.chat", "", "ChatResult a_initiate_chats initiate_chats"),
        ("agentchat.conversable_agent", "", "ConversableAgent register_function"),
        ("agentchat.groupchat", "", "GroupChat GroupChatManager"),
        ("agentchat.user_proxy_agent", "", "UserProxyAgent"),
        ("agentchat.utils", "", "gather_usage_summary"),
        (f"{_CAN}.agent_capability", "agentkit.conversation.transforms", "AgentCapability"),
        (f"{_CAN}.text_compressors", "agentkit.conversation.transforms", "TextCompressor"),
        (f"{_CAN}.transform_messages", "", "TransformMessages"),
        (
            f"{_CAN}.transforms",
            "",
            (
                "MessageHistoryLimiter MessageTokenLimiter TextMessageCompressor"
                " TextMessageContentName"
            ),
        ),
        (f"{_CAN}.transforms", "agentkit.conversation.transforms", "MessageTransform"),
        (f"{_CONTRIB}.compressible_agent", "", "CompressibleAgent"),
        (f"{_CONTRIB}.retrieve_assistant_agent", "", "RetrieveAssistantAgent"),
        (f"{_CONTRIB}.retrieve_user_proxy_agent", "", "RetrieveUserProxyAgent"),
        (
            f"{_CONTRIB}.retrieve_user_proxy_agent",
            "agentkit.agents.retrieve_chat",
            "PROMPT_CODE PROMPT_DEFAULT PROMPT_QA",
        ),
        (
            f"{_CONTRIB}.society_of_mind_agent",
            "agentkit.agents.society_of_mind",
            "SocietyOfMindAgent",
        ),
        (
            f"{_CONTRIB}.vectordb.base",
            f"{_VECTORDB}.base",
            "Document ItemID Metadata QueryResults Vector VectorDB",
        ),
        (f"{_CONTRIB}.vectordb.base", f"{_VECTORDB}.factory", "VectorDBFactory"),
        (f"{_CONTRIB}.vectordb.chromadb", f"{_VECTORDB}.chroma", "ChromaVectorDB"),
        (f"{_CONTRIB}.vectordb.pgvectordb", f"{_VECTORDB}.pgvector", "PGVectorDB"),
        ("cache", "agentkit.llm.cache", "AbstractCache Cache"),
        ("cache.abstract_cache_base", "agentkit.llm.cache", "AbstractCache"),
        ("cache.cache", "", "Cache"),
        ("cache.cache_factory", "agentkit.llm.cache", "CacheFactory"),
        ("cache.disk_cache", "agentkit.llm.cache", "DiskCache"),
        ("cache.in_memory_cache", "agentkit.llm.cache", "InMemoryCache"),
        ("cache.redis_cache", "agentkit.llm.cache", "RedisCache"),
        ("code_utils", "agentkit.coding.code_blocks", "UNKNOWN content_str infer_lang"),
        (
            "code_utils",
            "agentkit.coding.legacy",
            (
                "CODE_BLOCK_PATTERN DEFAULT_MODEL DEFAULT_TIMEOUT FAST_MODEL PYTHON_VARIANTS"
                " WORKING_DIR check_can_use_docker_or_throw create_virtual_env decide_use_docker"
                " execute_code extract_code is_docker_running"
            ),
        ),
        (
            "coding",
            "agentkit.coding",
            (
                "CodeBlock CodeExecutor CodeExecutorFactory CodeExtractor CodeResult"
                " DockerCommandLineCodeExecutor LocalCommandLineCodeExecutor MarkdownCodeExtractor"
            ),
        ),
        (
            "coding.base",
            "agentkit.coding",
            (
                "CodeBlock CodeExecutor CodeExtractor CodeResult CommandLineCodeResult"
                " IPythonCodeResult"
            ),
        ),
        (
            "coding.docker_commandline_code_executor",
            "agentkit.coding",
            "DockerCommandLineCodeExecutor",
        ),
        ("coding.factory", "agentkit.coding", "CodeExecutorFactory"),
        (
            "coding.func_with_reqs",
            "agentkit.coding",
            (
                "Alias FunctionWithRequirements FunctionWithRequirementsStr ImportFromModule"
                " with_requirements"
            ),
        ),
        ("coding.jupyter", "agentkit.coding", "EmbeddedIPythonCodeExecutor JupyterCodeExecutor"),
        (
            "coding.jupyter.embedded_ipython_code_executor",
            "agentkit.coding",
            "EmbeddedIPythonCodeExecutor",
        ),
        ("coding.jupyter.jupyter_code_executor", "agentkit.coding", "JupyterCodeExecutor"),
        (
            "coding.local_commandline_code_executor",
            "agentkit.coding",
            "LocalCommandLineCodeExecutor",
        ),
        ("coding.markdown_code_extractor", "agentkit.coding", "MarkdownCodeExtractor"),
        (
            "exception_utils",
            "",
            (
                "AgentNameConflict InvalidCarryOverType NoEligibleSpeaker SenderRequired"
                " UndefinedNextAgent"
            ),
        ),
        (
            "function_utils",
            "agentkit.core.tools",
            "get_function_schema load_basemodels_if_needed serialize_to_str",
        ),
        (
            "graph_utils",
            "agentkit.agents.group.graphs",
            (
                "check_graph_validity has_self_loops invert_disallowed_to_allowed"
                " visualize_speaker_transitions_dict"
            ),
        ),
        ("io", "agentkit.core.io", "IOConsole IOStream InputStream OutputStream"),
        ("io.base", "agentkit.core.io", "IOStream InputStream OutputStream"),
        ("io.console", "", "IOConsole"),
        (
            "oai",
            "",
            (
                "Cache ModelClient OpenAIWrapper config_list_from_dotenv config_list_from_json"
                " config_list_from_models config_list_openai_aoai filter_config get_config_list"
            ),
        ),
        ("oai", "agentkit.llm.compatible.config_list", "config_list_gpt4_gpt35"),
        ("oai.client", "", "ModelClient OpenAIWrapper"),
        (
            "oai.openai_utils",
            "agentkit.llm.compatible.config_list",
            (
                "config_list_from_dotenv config_list_from_json config_list_from_models"
                " config_list_gpt4_gpt35 config_list_openai_aoai filter_config get_config"
                " get_config_list"
            ),
        ),
        (
            "retrieve_utils",
            "agentkit.agents.retrieve_chat",
            (
                "TEXT_FORMATS UNSTRUCTURED_FORMATS extract_text_from_pdf get_file_from_url"
                " get_files_from_dir is_url parse_html_to_markdown split_files_to_chunks"
                " split_text_to_chunks"
            ),
        ),
        (
            "runtime_logging",
            "agentkit.api.runtime_logging",
            "get_connection logging_enabled start stop",
        ),
        (
            "token_count_utils",
            "agentkit.llm.tokens.windows",
            "count_token get_max_token_limit percentile_used token_left",
        ),
        ("token_count_utils", "agentkit.llm.tokens.tools", "num_tokens_from_functions"),
        ("version", AUTOGEN, "__version__"),
    ),
    AGENTSCOPE: (
        ("agents", "", "AgentBase DialogAgent DictDialogAgent UserAgent"),
        (
            "exception",
            "",
            (
                "JsonDictValidationError JsonParsingError JsonTypeError RequiredFieldNotFoundError"
                " ResponseParsingError TagNotFoundError"
            ),
        ),
        ("memory", "", "TemporaryMemory"),
        ("memory.temporary_memory", "", "TemporaryMemory"),
        ("message", "", "Msg"),
        ("message.msg", "", "Msg"),
        ("models", "", "ModelResponse ModelWrapperBase"),
        ("models.model", "", "ModelWrapperBase"),
        ("models.response", "", "ModelResponse"),
        ("msghub", "", "msghub"),
        (
            "parsers",
            "",
            (
                "MarkdownCodeBlockParser MarkdownJsonDictParser MarkdownJsonObjectParser"
                " MultiTaggedContentParser ParserBase RegexTaggedContentParser TaggedContent"
            ),
        ),
        ("parsers.code_block_parser", "", "MarkdownCodeBlockParser"),
        ("parsers.json_object_parser", "", "MarkdownJsonDictParser MarkdownJsonObjectParser"),
        ("parsers.parser_base", "", "DictFilterMixin ParserBase"),
        ("parsers.regex_tagged_content_parser", "", "RegexTaggedContentParser"),
        ("parsers.tagged_content_parser", "", "MultiTaggedContentParser TaggedContent"),
        ("pipelines", "", "SequentialPipeline sequential_pipeline"),
    ),
    LAGENT: (
        (
            "actions",
            "",
            (
                "ActionExecutor BaseAction BaseParser FinishAction InvalidAction JsonParser"
                " NoAction TupleParser get_tool get_tool_cls list_tools tool_api"
            ),
        ),
        ("actions.action_executor", "", "ActionExecutor"),
        ("actions.base_action", "", "BaseAction tool_api"),
        ("actions.builtin_actions", "", "FinishAction InvalidAction NoAction"),
        ("actions.parser", "", "BaseParser JsonParser TupleParser"),
        ("agents", "", "BaseAgent ReWOO"),
        ("agents.base_agent", "", "BaseAgent"),
        (
            "agents.rewoo",
            "",
            (
                "PLANNER_PROMPT_CN PLANNER_PROMPT_EN REFORMAT_PROMPT_CN REFORMAT_PROMPT_EN ReWOO"
                " ReWOOProtocol SOLVER_PROMPT_CN SOLVER_PROMPT_EN WORKER_PROMPT_CN WORKER_PROMPT_EN"
            ),
        ),
        (
            "schema",
            "",
            "ActionReturn ActionStatusCode ActionValidCode AgentReturn AgentStatusCode",
        ),
    ),
}
"""The modules below the faces, found at those paths without files of their own."""

OUT = {
    f"{AUTOGEN}.{_CONTRIB}.agent_builder": "the agent builder",
    f"{AUTOGEN}.{_CONTRIB}.agent_optimizer": "AgentOptimizer",
    f"{AUTOGEN}.{_CONTRIB}.gpt_assistant_agent": "OpenAI's assistants API",
    f"{AUTOGEN}.{_CONTRIB}.img_utils": "agents for images",
    f"{AUTOGEN}.{_CONTRIB}.llamaindex_conversable_agent": "LlamaIndex",
    f"{AUTOGEN}.{_CONTRIB}.llava_agent": "agents for images",
    f"{AUTOGEN}.{_CONTRIB}.math_user_proxy_agent": "agents for mathematics",
    f"{AUTOGEN}.{_CONTRIB}.multimodal_conversable_agent": "agents for images",
    f"{AUTOGEN}.{_CONTRIB}.qdrant_retrieve_user_proxy_agent": "Qdrant",
    f"{AUTOGEN}.{_CONTRIB}.swarm_agent": "swarms",
    f"{AUTOGEN}.{_CONTRIB}.text_analyzer_agent": "teachability",
    f"{AUTOGEN}.{_CONTRIB}.vectordb.mongodb": "MongoDB",
    f"{AUTOGEN}.{_CONTRIB}.vectordb.qdrant": "Qdrant",
    f"{AUTOGEN}.{_CONTRIB}.web_surfer": "the web surfer",
    f"{AUTOGEN}.{_CAN}.generate_images": "agents for images",
    f"{AUTOGEN}.{_CAN}.teachability": "teachability",
    f"{AUTOGEN}.{_CAN}.vision_capability": "agents for images",
    f"{AUTOGEN}.browser_utils": "the web surfer",
    f"{AUTOGEN}.io.websockets": "websockets",
    f"{AUTOGEN}.math_utils": "agents for mathematics",
}
"""Modules of those models that are left out on purpose, and what they are for; told to who wants
one.
"""


def homes(module: str) -> dict[str, str]:
    """What a module of the table offers: name -> the module where it lives."""
    own: dict[str, str] = {}
    for home, doors, names in TABLE:
        if module in doors:
            own.update(dict.fromkeys(names.split(), home))
    face, rows = below(module)
    for path, home, names in rows:
        if f"{face}.{path}" == module:
            own.update(_find_homes(face, home, names.split()))
    return own


def _find_homes(face: str, home: str, names: list[str]) -> dict[str, str]:
    """Where these names live: at a home of their own, or where the face has them from."""
    if home:
        return dict.fromkeys(names, home)
    of_face = homes(face)
    return dict(zip(names, (of_face[each] for each in names), strict=True))


def submodules() -> list[str]:
    """All modules below the faces, and the packages between."""
    found: set[str] = set()
    for face, rows in SUBMODULES.items():
        for path, _, _ in rows:
            parts = path.split(".")
            above = accumulate(parts, "{}.{}".format, initial=face)
            found.update(above)
    return sorted(found - SUBMODULES.keys())


def parts(module: str) -> list[str]:
    """The last names of the modules right below a module, sorted."""
    found = (path.rpartition(".") for path in submodules())
    return [name for parent, _, name in found if parent == module]


def below(module: str) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The face that a module stands below, and the rows of it; nothing for others."""
    for face, rows in SUBMODULES.items():
        if module.startswith(f"{face}."):
            return face, rows
    return "", ()


def moved() -> dict[str, str]:
    """What `agentkit` offers for one version more: name -> the module to import it from."""
    found: dict[str, str] = {}
    for home, doors, names in TABLE:
        if MOVED in doors:
            source, *_ = doors
            if source == MOVED:
                source = home
            found.update(dict.fromkeys(names.split(), source))
    return found
