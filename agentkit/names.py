"""The public names: where each lives, and which modules offer it. The one place where that is written.

`python -m tests.stubs` writes the `.pyi` files beside those modules from here, for type checkers and editors.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of `typing`, which would take longer to load than this module
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ROOT = "agentkit"
AUTOGEN = "agentkit.autogen"
AGENTSCOPE = "agentkit.agentscope"
LAGENT = "agentkit.lagent"
MOVED = "moved out of agentkit"
"""Stands in a row whose names `agentkit` offered before. For one version more it still gives them,
with a warning that names the first module of the row that offers them, or else their home."""

TABLE = (
    # where they live, who offers them, the names
    (
        "agentkit.agents",
        (ROOT, AUTOGEN),
        "AssistantAgent GroupChat GroupChatManager RetrieveAssistantAgent RetrieveUserProxyAgent"
        " UserProxyAgent",
    ),
    ("agentkit.agents.compressible", (ROOT, AUTOGEN), "CompressibleAgent"),
    (
        "agentkit.conversation",
        (ROOT, AUTOGEN),
        "Agent ChatResult ConversableAgent LLMAgent a_initiate_chats gather_usage_summary"
        " initiate_chats register_function",
    ),
    (
        "agentkit.conversation.transforms",
        (AUTOGEN, MOVED),
        "MessageHistoryLimiter MessageTokenLimiter TextMessageCompressor TextMessageContentName"
        " TransformMessages",
    ),
    ("agentkit.core.io", (ROOT, AUTOGEN), "IOConsole IOStream"),
    (
        "agentkit.errors",
        (ROOT, AUTOGEN),
        "AgentNameConflict InvalidCarryOverType SenderRequired UndefinedNextAgent",
    ),
    ("agentkit.errors", (AUTOGEN, MOVED), "NoEligibleSpeaker"),
    ("agentkit.llm", (ROOT, AUTOGEN), "ModelClient"),
    ("agentkit.llm.cache", (ROOT, AUTOGEN), "Cache"),
    (
        "agentkit.llm.compatible.config_list",
        (ROOT, AUTOGEN),
        "config_list_from_dotenv config_list_from_json config_list_openai_aoai filter_config"
        " get_config_list",
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
        "JsonDictValidationError JsonParsingError JsonTypeError RequiredFieldNotFoundError"
        " ResponseParsingError TagNotFoundError",
    ),
    (
        "agentkit.parsers",
        (ROOT, AGENTSCOPE),
        "DictFilterMixin MarkdownCodeBlockParser MarkdownJsonDictParser MarkdownJsonObjectParser"
        " MultiTaggedContentParser ParserBase RegexTaggedContentParser TaggedContent",
    ),
    ("agentkit.parsers", (AGENTSCOPE, MOVED), "ModelResponse"),
    (
        "agentkit.agents.rewoo",
        (ROOT, LAGENT),
        "ActionExecutor ActionReturn ActionStatusCode ActionValidCode AgentReturn AgentStatusCode"
        " BaseAction ReWOO ReWOOProtocol tool_api",
    ),
    (
        "agentkit.agents.rewoo",
        (LAGENT, MOVED),
        "FinishAction InvalidAction NoAction PLANNER_PROMPT_CN PLANNER_PROMPT_EN"
        " REFORMAT_PROMPT_CN REFORMAT_PROMPT_EN SOLVER_PROMPT_CN SOLVER_PROMPT_EN"
        " WORKER_PROMPT_CN WORKER_PROMPT_EN",
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
"""Modules that the documentation named elsewhere before; they are found there for one version more."""


def homes(module: str) -> dict[str, str]:
    """What a module of the table offers: name -> the module where it lives."""
    return {name: home for home, doors, names in TABLE if module in doors for name in names.split()}


def moved() -> dict[str, str]:
    """What `agentkit` offers for one version more: name -> the module to import it from."""
    return {
        name: home if doors[0] == MOVED else doors[0]
        for home, doors, names in TABLE
        if MOVED in doors
        for name in names.split()
    }


class Door:
    """What a module of the table needs to offer its names, each loaded when it is first used."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.homes = homes(module)
        self.moved = moved() if module == ROOT else {}
        self.names = sorted(self.homes)

    def get(self, name: str) -> object:
        """The object of that name, for `__getattr__`; raises AttributeError."""
        from importlib import import_module

        home = self.homes.get(name) or self.moved.get(name)
        if home is None:
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        if name in self.moved:
            _warn(name, home)
        return getattr(import_module(home), name)

    def listed(self) -> list[str]:
        """The names, sorted, for `__dir__`."""
        return self.names


def _warn(name: str, home: str) -> None:
    import warnings

    warnings.warn(
        f"{ROOT}.{name} has moved and will be gone from {ROOT} in the next version; "
        f"write `from {home} import {name}` instead.",
        DeprecationWarning,
        stacklevel=3,
    )


class OldModules:
    """Finds the modules of OLD_MODULES, with a warning: an entry of `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """How to import a module by its old name; None for all others."""
        if name not in OLD_MODULES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, OldModules)  # type: ignore[arg-type]  # what a loader must have is there

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        import warnings
        from importlib import import_module

        home = OLD_MODULES[spec.name]
        told = f"{spec.name} has moved; write `from {home} import ...` instead."
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        module = import_module(home)
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """It has been loaded under its own name, which it keeps."""
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state
