"""What a field of a document is filled in with: found from its type, so that none is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agentkit.core.given import coalesce
from agentkit.teams.built.agents import Part

Kind = Literal[
    "fixed",
    "text",
    "long text",
    "code",
    "number",
    "number or word",
    "switch",
    "choice",
    "lines",
    "names",
    "repeat",
    "values",
    "part",
    "parts",
    "flow",
]
"""By what a field is filled in; `fixed` ones say what the document is."""
_LONG = ("prompt", "message", "template", "description", "opening", "default_auto_reply")
AGENT_FIELDS = frozenset(
    [
        *("agent", "starts", "answers", "writer", "after", "sender", "recipient", "assistant"),
        *("planner", "solver", "researcher"),
    ]
)
"""Fields whose value is the name of an agent."""
_BASIC: dict[object, Kind] = {str: "text", bool: "switch", int: "number", float: "number"}
RARE = frozenset(
    [
        *("is_termination_msg", "max_consecutive_auto_reply", "default_auto_reply", "dialog"),
        *("context_variables", "silent", "compress_config", "human_input_mode", "description"),
        *("seed", "reasoning_effort", "response_format", "tool_choice", "verbose", "async"),
        *("db_config", "docs_path", "extra_docs", "new_docs", "model", "chunk_token_size"),
        *("chunk_mode", "must_break_at_empty_line", "embedding_model", "collection_name"),
        *("get_or_create", "overwrite", "custom_text_types", "recursive", "distance_threshold"),
        *("customized_answer_prefix", "vector_db", "context_max_tokens", "broadcast"),
        *("admin_name", "func_call_filter", "max_retries_for_selecting_speaker"),
        *("enable_clear_history", "send_introductions", "select_speaker_message_template"),
        *("select_speaker_prompt_template", "select_speaker_auto_multiple_template"),
        *("select_speaker_auto_none_template", "select_speaker_auto_verbose"),
        *("select_speaker_auto_llm_config", "role_for_select_speaker_messages"),
        *("allow_repeat_speaker", "speaker_transitions_type", "nested", "summary_prompt"),
        *("turns_limit", "parser", "hub", "timeout_s", "retries", "at_once"),
    ]
)
"""Fields that are folded, as few people change them."""
ONLY_WITH = {
    **{
        ("Plan", f"{name}_prompt"): ("prompts", "own")
        for name in ("planner", "worker", "solver", "reformat", "replan")
    },
    ("CompressConfig", "strategy"): ("mode", "CUSTOMIZED"),
    ("Stage", "rounds"): ("kind", "talk"),
    ("Stage", "ends_when"): ("kind", "talk"),
    ("Stage", "counted"): ("kind", "vote"),
}
"""Fields that say nothing unless another one has this value."""
_LABELS = {
    "llm": "Language model",
    "is_termination_msg": "Termination message",
    "compress_config": "Compression",
    "retrieve_config": "Retrieval",
    "max_consecutive_auto_reply": "Most replies in a row",
    "dialog": "Structured dialogue",
    "in_background": "In the background",
}
"""What fields are called whose names say little to people."""
_NEVER_RARE = frozenset(
    [("ModelChoice", "model"), ("AgentDocument", "description"), ("TeamDocument", "description")]
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a field is filled in."""

    kind: Kind
    optional: bool = False
    """Whether it may be empty."""
    options: tuple[Any, ...] = ()
    part: type[Part] | None = None
    whole: bool = False
    """Whether a number is a whole one."""
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A field of a part: its key in the document, and all that a form says of it."""

    key: str
    label: str
    about: str
    shape: Shape
    default: Any
    rare: bool


def list_fields(part: type[Part]) -> Iterator[Known]:
    """The fields of a part, in their order."""
    for name, field in part.model_fields.items():
        key = field.alias or name
        rare = key in RARE and (part.__name__, name) not in _NEVER_RARE
        shape = find_shape(name, field)
        label = _LABELS.get(name) or name.replace("_", " ").capitalize()
        yield Known(key, label, _describe(field), shape, default_of(field), rare)


def find_shape(name: str, field: FieldInfo) -> Shape:
    """By what the field is filled in."""
    shape = _limit(_read(field.annotation), field.metadata)
    if shape.kind == "text" and name in AGENT_FIELDS:
        return replace(shape, kind="choice")
    if shape.kind == "text" and name == "code":
        return replace(shape, kind="code")
    if shape.kind == "text" and name.endswith(_LONG):
        return replace(shape, kind="long text")
    return shape


def default_of(field: FieldInfo) -> Any:
    """Its default as JSON; None where there is none."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return None
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, Part) else value


def _describe(field: FieldInfo) -> str:
    """What it does, and what it is when nobody changes it."""
    about = field.description or ""
    value = field.get_default(call_default_factory=True)
    told = isinstance(value, str | int | float) and value != ""
    return f"{about} Default: {_name(value)}." if told else about


def _name(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _read(annotation: Any) -> Shape:
    """The shape of a type; what holds a value within limits is looked into."""
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return _limit(_read(inner), metadata)
    if annotation in _BASIC:
        return Shape(_BASIC[annotation], whole=annotation is int)
    if get_origin(annotation) is Literal:
        options = get_args(annotation)
        return Shape("choice" if len(options) > 1 else "fixed", options=options)
    if get_origin(annotation) in (Union, UnionType):
        return _read_union(get_args(annotation))
    if get_origin(annotation) is list:
        return _read_list(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return Shape("part", part=annotation)
    return Shape("values")


def _read_union(members: Sequence[Any]) -> Shape:
    shapes = [_read(one) for one in members if one is not NoneType]
    optional = NoneType in members
    kinds = [one.kind for one in shapes]
    if len(shapes) == 1:
        return replace(shapes[0], optional=optional)
    if kinds == ["number", "fixed"]:
        return Shape("number or word", optional, options=shapes[1].options)
    return Shape("repeat" if "switch" in kinds else "flow", optional)


def _read_list(inner: Any) -> Shape:
    shape = _read(inner)
    if shape.kind == "part":
        return replace(shape, kind="parts")
    is_name = get_origin(inner) is Annotated
    return Shape("names" if is_name else "lines")


def _limit(shape: Shape, metadata: Sequence[Any]) -> Shape:
    """The shape within the limits that stand beside the type."""
    for one in metadata:
        if isinstance(one, FieldInfo):
            shape = _limit(shape, one.metadata)
        least = getattr(one, "ge", getattr(one, "gt", None))
        most = getattr(one, "le", None)
        shape = replace(
            shape,
            least=coalesce(least, shape.least),
            most=coalesce(most, shape.most),
        )
    return shape
