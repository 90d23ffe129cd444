"""What `retrieve_config` says, checked, with the defaults of the document."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.chunks import CHUNK_MODES
from agentkit.agents.retrieve_chat.files import TEXT_FORMATS
from agentkit.agents.retrieve_chat.prompts import PROMPTS, fill_prompt
from agentkit.conversation.checks import check_kind
from agentkit.conversation.model import list_models
from agentkit.core.given import coalesce, find_value, list_missing, pick, pick_given
from agentkit.errors import UnknownModel, WrongArgument
from agentkit.llm.tokens.windows import count_token, find_registered_window, get_max_token_limit
from agentkit.messages import without_keys

if TYPE_CHECKING:
    from agentkit.agents.retrieve_chat.vectordb.base import VectorDB

_TEXT, _FLAG, _CALL = (str, "a text"), (bool, "True or False"), (Callable, "callable")
_KINDS: dict[str, tuple[Any, str]] = {
    "task": _TEXT,
    "model": _TEXT,
    "chunk_mode": _TEXT,
    "embedding_model": _TEXT,
    "customized_answer_prefix": _TEXT,
    "customized_prompt": _TEXT,
    "collection_name": _TEXT,
    "extra_docs": _FLAG,
    "new_docs": _FLAG,
    "update_context": _FLAG,
    "must_break_at_empty_line": _FLAG,
    "get_or_create": _FLAG,
    "overwrite": _FLAG,
    "recursive": _FLAG,
    "embedding_function": _CALL,
    "custom_token_count_function": _CALL,
    "custom_text_split_function": _CALL,
    "chunk_token_size": (int | float, "a number"),
    "context_max_tokens": (int | float, "a number"),
    "distance_threshold": (int | float, "a number"),
    "db_config": (Mapping, "a dict"),
    "custom_text_types": (list | tuple, "a list of extensions"),
}
_NONE_COUNTS = ("vector_db", "collection_name")
"""Where None says something itself; elsewhere it leaves the default."""
_CHOICES = {"task": PROMPTS, "chunk_mode": CHUNK_MODES}


@dataclass
class RetrieveConfig:
    """The keys of `retrieve_config`; their meanings are in the documentation of
    RetrieveUserProxyAgent.
    """

    task: str = "default"
    vector_db: str | VectorDB | None = "duckdb"
    db_config: Mapping[str, object] = field(default_factory=dict)
    client: object = None
    docs_path: str | Sequence[str] | None = None
    extra_docs: bool = False
    new_docs: bool = True
    model: str = "gpt-4"
    chunk_token_size: float | None = None
    context_max_tokens: float | None = None
    chunk_mode: str = "multi_lines"
    must_break_at_empty_line: bool = True
    embedding_model: str = "all-MiniLM-L6-v2"
    embedding_function: Callable[..., object] | None = None
    customized_prompt: str | None = None
    customized_answer_prefix: str = ""
    update_context: bool = True
    collection_name: str | None = "autogen-docs"
    get_or_create: bool | None = None
    overwrite: bool = False
    custom_token_count_function: Callable[[str, str], int] = count_token
    custom_text_split_function: Callable[[str], Iterable[str]] | None = None
    custom_text_types: Sequence[str] = field(default_factory=lambda: TEXT_FORMATS)
    recursive: bool = True
    distance_threshold: float = -1
    window: int | None = field(default=None, init=False)
    """Tokens of the model's window, where they are known better than from its name."""

    @classmethod
    def of(cls, owner: str, given: Mapping[str, Any] | None) -> RetrieveConfig:
        """The settings that are given, checked; raises WrongType and WrongArgument, warns of keys
        that are not known.
        """
        check_kind(owner, "retrieve_config", given, Mapping | None, "a dict")
        said = dict(coalesce(given, {}))
        known = [one.name for one in fields(cls) if one.init]
        unknown = list_missing(said, known)
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            text = (
                f"{owner}: retrieve_config has keys without a meaning: {names}. Known are"
                f" {', '.join(known)}."
            )
            warnings.warn(text, UserWarning, stacklevel=4)
        config = cls(**_read_settings(without_keys(said, unknown)))
        config._check(owner)
        return config

    def _check(self, owner: str) -> None:
        for key, (kind, what) in _KINDS.items():
            check_kind(owner, _name(key), getattr(self, key), kind | None, what)
        for key, allowed in _CHOICES.items():
            self._check_choice(owner, key, allowed)
        for key in ("chunk_token_size", "context_max_tokens"):
            value = coalesce(getattr(self, key), math.inf)
            if value < 1:
                raise WrongArgument(f"{owner}: {_name(key)} must be 1 or more, not {value!r}.")
        if self.customized_prompt:
            fill_prompt(self.customized_prompt, "", "", [])

    def _check_choice(self, owner: str, key: str, allowed: Collection[str]) -> None:
        value = getattr(self, key)
        if value.lower() not in allowed:
            raise WrongArgument(
                f"{owner}: {_name(key)} must be one of {', '.join(allowed)}, not {value!r}."
            )

    @property
    def max_tokens(self) -> int:
        """The window of the model."""
        if self.window is None:
            return find_window(self.model)
        return self.window

    @max_tokens.setter
    def max_tokens(self, tokens: int) -> None:
        """Say how many tokens it has."""
        self.window = tokens

    def hear(self, client: object) -> None:
        """Take the window from a client that was told it of this very model."""
        for model in list_models(client):
            if getattr(model, "name", None) == self.model:
                self.window = coalesce(model.context_window, self.window)

    @property
    def chunk_tokens(self) -> int:
        """Tokens of a chunk at most."""
        return int(coalesce(self.chunk_token_size, min(self.max_tokens, _LARGEST) * 0.4))

    @property
    def context_tokens(self) -> float:
        """Tokens of the passages in one prompt at most."""
        return coalesce(self.context_max_tokens, self.max_tokens * 0.8)

    @property
    def may_exist(self) -> bool:
        """Whether a collection of that name may be there already; it has to be when there are no
        documents to fill it.
        """
        return coalesce(self.get_or_create, self.docs_path is None)

    @property
    def prompt(self) -> str:
        """The prompt of the task, or the one that was given."""
        return self.customized_prompt or PROMPTS[self.task.lower()]

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self.custom_token_count_function(text, self.model)


_LARGEST = 32_000
"""Tokens; windows beyond this make no larger chunks, of which an embedding would say nothing."""
_OF_AUTOGEN = (("32k", 32_000), ("16k", 16_000), ("gpt-4", 8_000), ("gpt-3.5", 4_000))


def _read_settings(said: Mapping[str, Any]) -> dict[str, Any]:
    """What counts of what was said."""
    settings = {**pick_given(said), **pick(said, _NONE_COUNTS)}
    if "client" in settings:  # one that is given is to be used
        settings.setdefault("vector_db", None)
    return settings


def _name(key: str) -> str:
    """A key as errors name it."""
    return f"retrieve_config[{key!r}]"


def find_window(model: str) -> int:
    """Tokens for a model of this name: as registered, else what AutoGen takes from a name, else as
    listed, else 4,000.
    """
    registered = find_registered_window(model)
    if registered:
        return registered
    usual = find_value(_OF_AUTOGEN, lambda part: part in model, 0)
    if usual:
        return usual
    try:
        return get_max_token_limit(model)
    except UnknownModel:
        return 4_000
