"""Tables out of documents: the same fields of each, every value with the words that it stands
in.
"""

from agentkit.teams.extraction.extract import extract
from agentkit.teams.extraction.forms import from_class, from_json_schema, from_text, load_schema
from agentkit.teams.extraction.quoting import Quotation
from agentkit.teams.extraction.schema import Field, Schema
from agentkit.teams.extraction.table import Cell, Row, Table
from agentkit.teams.extraction.team import TEAM
from agentkit.teams.task import Readable

__all__ = [
    "TEAM",
    "Cell",
    "Field",
    "Quotation",
    "Readable",
    "Row",
    "Schema",
    "Table",
    "extract",
    "from_class",
    "from_json_schema",
    "from_text",
    "load_schema",
]
