"""What happened: chats with their message trees, runs, events and model calls, in the one
database.
"""

from agentkit.ledger.listing import Shelf
from agentkit.ledger.message_search import FoundMessage
from agentkit.ledger.requests import Request
from agentkit.ledger.rows import RunKey
from agentkit.ledger.store import Chat, Ledger, StoredMessage
from agentkit.ledger.writer import CallWriter, Keeper, LedgerWriter

__all__ = [
    "CallWriter",
    "Chat",
    "FoundMessage",
    "Keeper",
    "Ledger",
    "LedgerWriter",
    "Request",
    "RunKey",
    "Shelf",
    "StoredMessage",
]
