from .extract import Readable, extract
from .forms import from_class, from_json_schema, from_text, load_schema
from .quoting import Quotation
from .schema import Field, Schema
from .table import Cell, Row, Table

__all__ = [
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
