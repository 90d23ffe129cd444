"""Every error that agentkit raises on purpose, in one tree.

Each message says what was wrong, with which value, and what to do about it.

    AgentkitError
    ├── ConfigError             a setting is missing, malformed or contradicts another
    ├── NotFound                a collection, document, chat, run or chunk that does not exist (for this owner)
    ├── StoreError              the data folder cannot be used
    │   ├── DatabaseInUse       another process holds the database file
    │   └── DatabaseDamaged     the file is no database of ours, or is from a newer version
    ├── DocumentError           one document could not be taken in
    │   ├── UnknownFormat       no reader for this kind of file
    │   ├── EncryptedDocument   needs a password
    │   ├── DamagedDocument     the bytes are not what the name promises
    │   ├── EmptyDocument       nothing in it
    │   ├── NoTextFound         pages but no text (scans, pictures)
    │   ├── DocumentTooLarge    over a limit of bytes, pages, cells or characters
    │   ├── ReadingTimedOut     reading took too long
    │   └── FetchFailed         a URL could not be fetched, or may not be
    ├── ModelError              a model call failed
    │   ├── ModelUnreachable    no server answers at the address
    │   ├── ModelAuthFailed     the server refuses the key
    │   ├── ModelNotFound       the server has no such model
    │   ├── RateLimited         too many requests, or the quota is used up
    │   ├── ContextTooLong      the request exceeds the model's context
    │   └── BadModelReply       the reply is malformed or empty
    └── Stopped                 the user stopped the run
"""

from __future__ import annotations


class AgentkitError(Exception):
    """Base of all errors that agentkit raises on purpose."""


class ConfigError(AgentkitError):
    """A setting is missing, malformed or contradicts another."""


class NotFound(AgentkitError):
    """Something asked for by name or id does not exist for this owner."""


class StoreError(AgentkitError):
    """The data folder cannot be used."""


class DatabaseInUse(StoreError):
    """Another process holds the database file."""


class DatabaseDamaged(StoreError):
    """The file is no database of ours, is damaged, or comes from a newer version."""


class DocumentError(AgentkitError):
    """One document could not be taken in; the others are not affected."""


class UnknownFormat(DocumentError):
    """No reader knows this kind of file."""


class EncryptedDocument(DocumentError):
    """The document needs a password."""


class DamagedDocument(DocumentError):
    """The bytes are not what the file's name promises."""


class EmptyDocument(DocumentError):
    """There is nothing in the document."""


class NoTextFound(DocumentError):
    """There are pages, but no text on them."""


class DocumentTooLarge(DocumentError):
    """The document exceeds a limit of bytes, pages, cells or characters."""


class ReadingTimedOut(DocumentError):
    """Reading the document took longer than allowed."""


class FetchFailed(DocumentError):
    """A URL could not be fetched, or may not be."""


class ModelError(AgentkitError):
    """A model call failed."""

    retry_after_s: float | None = None
    """Seconds to wait before another try: 0 when the server names none, None when another try is useless."""


class ModelUnreachable(ModelError):
    """No server answers at the address."""


class ModelAuthFailed(ModelError):
    """The server refuses the key."""


class ModelNotFound(ModelError):
    """The server has no such model."""


class RateLimited(ModelError):
    """Too many requests, or the quota is used up."""


class ContextTooLong(ModelError):
    """The request exceeds the model's context window."""


class BadModelReply(ModelError):
    """The model's reply is malformed or empty."""


class Stopped(AgentkitError):
    """The user stopped the run; what was done so far is kept."""
