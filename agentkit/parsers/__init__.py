"""From a model's text to a structure: JSON, tagged content, code blocks, and what of it goes
where.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.parsers.base import ModelResponse, ParserBase
    from agentkit.parsers.code_block import MarkdownCodeBlockParser
    from agentkit.parsers.filters import DictFilterMixin
    from agentkit.parsers.json_object import MarkdownJsonDictParser, MarkdownJsonObjectParser
    from agentkit.parsers.regex_tagged import RegexTaggedContentParser
    from agentkit.parsers.tagged import MultiTaggedContentParser, TaggedContent

_HOME = {
    "DictFilterMixin": "agentkit.parsers.filters",
    "MarkdownCodeBlockParser": "agentkit.parsers.code_block",
    "MarkdownJsonDictParser": "agentkit.parsers.json_object",
    "MarkdownJsonObjectParser": "agentkit.parsers.json_object",
    "ModelResponse": "agentkit.parsers.base",
    "MultiTaggedContentParser": "agentkit.parsers.tagged",
    "ParserBase": "agentkit.parsers.base",
    "RegexTaggedContentParser": "agentkit.parsers.regex_tagged",
    "TaggedContent": "agentkit.parsers.tagged",
}

__all__ = [
    "DictFilterMixin",
    "MarkdownCodeBlockParser",
    "MarkdownJsonDictParser",
    "MarkdownJsonObjectParser",
    "ModelResponse",
    "MultiTaggedContentParser",
    "ParserBase",
    "RegexTaggedContentParser",
    "TaggedContent",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.parsers' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
