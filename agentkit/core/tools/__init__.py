"""Tools: a function becomes a JSON schema, the model's arguments become objects, the result becomes
text.
"""

from agentkit.core.tools.arguments import parse_arguments
from agentkit.core.tools.effects import Effects, effects, effects_of
from agentkit.core.tools.loading import load_arguments
from agentkit.core.tools.made import Origin, make_tool, name_permission, origin_of, schema_of
from agentkit.core.tools.schema import function_schema
from agentkit.core.tools.signature import is_async
from agentkit.core.tools.text import Given, collecting, give, to_text
from agentkit.core.tools.written import Written, find_only, read_function, rename_only

# The names of AutoGen.
get_function_schema = function_schema
load_basemodels_if_needed = load_arguments
serialize_to_str = to_text

__all__ = [
    "Effects",
    "Given",
    "Origin",
    "Written",
    "collecting",
    "effects",
    "effects_of",
    "find_only",
    "function_schema",
    "get_function_schema",
    "give",
    "is_async",
    "load_arguments",
    "load_basemodels_if_needed",
    "make_tool",
    "name_permission",
    "origin_of",
    "parse_arguments",
    "read_function",
    "rename_only",
    "schema_of",
    "serialize_to_str",
    "to_text",
]
