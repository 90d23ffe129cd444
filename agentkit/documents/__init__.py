"""Bytes to pieces: readers, one for each family of formats, a jail to run them in, and the
splitter.
"""

from agentkit.documents.decoding import title_from
from agentkit.documents.document import DocumentText, Limits, Section
from agentkit.documents.jail import Jail, prepare_picture, read_document, render_page
from agentkit.documents.picturing import ENDINGS as PICTURES
from agentkit.documents.readers import FORMATS
from agentkit.documents.split import Piece, Tokenizer, split
from agentkit.documents.starting import confinement_works

SUPPORTED: frozenset[str] = frozenset(FORMATS)
"""The extensions, with their dot, that have a reader; other files are read when they hold clean
text.
"""

__all__ = [
    "PICTURES",
    "SUPPORTED",
    "DocumentText",
    "Jail",
    "Limits",
    "Piece",
    "Section",
    "Tokenizer",
    "confinement_works",
    "prepare_picture",
    "read_document",
    "render_page",
    "split",
    "title_from",
]
