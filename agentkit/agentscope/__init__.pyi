"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import AgentBase as AgentBase
from agentkit.agents.dialog import DialogAgent as DialogAgent
from agentkit.agents.dialog import DictDialogAgent as DictDialogAgent
from agentkit.agents.dialog import ModelWrapperBase as ModelWrapperBase
from agentkit.agents.dialog import Msg as Msg
from agentkit.agents.dialog import MsgHub as MsgHub
from agentkit.agents.dialog import SequentialPipeline as SequentialPipeline
from agentkit.agents.dialog import TemporaryMemory as TemporaryMemory
from agentkit.agents.dialog import UserAgent as UserAgent
from agentkit.agents.dialog import a_sequential_pipeline as a_sequential_pipeline
from agentkit.agents.dialog import init as init
from agentkit.agents.dialog import msghub as msghub
from agentkit.agents.dialog import register_model_wrapper_class as register_model_wrapper_class
from agentkit.agents.dialog import sequential_pipeline as sequential_pipeline
from agentkit.errors import JsonDictValidationError as JsonDictValidationError
from agentkit.errors import JsonParsingError as JsonParsingError
from agentkit.errors import JsonTypeError as JsonTypeError
from agentkit.errors import RequiredFieldNotFoundError as RequiredFieldNotFoundError
from agentkit.errors import ResponseParsingError as ResponseParsingError
from agentkit.errors import TagNotFoundError as TagNotFoundError
from agentkit.parsers import DictFilterMixin as DictFilterMixin
from agentkit.parsers import MarkdownCodeBlockParser as MarkdownCodeBlockParser
from agentkit.parsers import MarkdownJsonDictParser as MarkdownJsonDictParser
from agentkit.parsers import MarkdownJsonObjectParser as MarkdownJsonObjectParser
from agentkit.parsers import ModelResponse as ModelResponse
from agentkit.parsers import MultiTaggedContentParser as MultiTaggedContentParser
from agentkit.parsers import ParserBase as ParserBase
from agentkit.parsers import RegexTaggedContentParser as RegexTaggedContentParser
from agentkit.parsers import TaggedContent as TaggedContent
from agentkit.agentscope import agents as agents
from agentkit.agentscope import exception as exception
from agentkit.agentscope import memory as memory
from agentkit.agentscope import message as message
from agentkit.agentscope import models as models
from agentkit.agentscope import parsers as parsers
from agentkit.agentscope import pipelines as pipelines

__all__: list[str]
__version__: str
