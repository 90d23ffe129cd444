"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import MarkdownCodeBlockParser as MarkdownCodeBlockParser
from agentkit.parsers import MarkdownJsonDictParser as MarkdownJsonDictParser
from agentkit.parsers import MarkdownJsonObjectParser as MarkdownJsonObjectParser
from agentkit.parsers import MultiTaggedContentParser as MultiTaggedContentParser
from agentkit.parsers import ParserBase as ParserBase
from agentkit.parsers import RegexTaggedContentParser as RegexTaggedContentParser
from agentkit.parsers import TaggedContent as TaggedContent
from agentkit.agentscope.parsers import code_block_parser as code_block_parser
from agentkit.agentscope.parsers import json_object_parser as json_object_parser
from agentkit.agentscope.parsers import parser_base as parser_base
from agentkit.agentscope.parsers import regex_tagged_content_parser as regex_tagged_content_parser
from agentkit.agentscope.parsers import tagged_content_parser as tagged_content_parser

__all__: list[str]
