"""The errors of agentkit that its callers can meet, in one tree.

Their messages say what was wrong, with which value, and what to do about it.

    AgentkitError
    ├── ConfigError             a setting is missing, malformed or contradicts another
    ├── NotFound                a collection, document, chat, run or chunk that is not there
    │   ├── UnknownModel        nothing is known about a model of that name (also a KeyError)
    │   └── UnknownAction       there is no action class of that name (also a KeyError)
    ├── StoreError              the data folder cannot be used
    │   ├── DatabaseInUse       another process holds the database file
    │   ├── HolderGone          the process that held the data folder for this one has ended
    │   └── DatabaseDamaged     the file is not a database of ours, or is from a newer version
    ├── SqlRefused              SQL that a person wrote is not answered
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
    │   │   └── ModelTimedOut   no answer in time (also a TimeoutError)
    │   ├── ModelAuthFailed     the server refuses the key
    │   ├── ModelNotFound       the server has no such model
    │   ├── RateLimited         too many requests, or the quota is used up
    │   ├── ContextTooLong      the request exceeds the model's context
    │   └── BadModelReply       the reply is malformed or empty
    │       └── ResponseParsingError        a parser cannot make of it what is wanted
    │           ├── JsonParsingError        no JSON, or none that fits the schema
    │           ├── JsonDictValidationError     the fields have values that cannot be
    │           ├── JsonTypeError           JSON, but not an object
    │           ├── RequiredFieldNotFoundError  a field is missing (ValueError, KeyError)
    │           └── TagNotFoundError        a tag or a fence is missing
    ├── ToolServerError         a server of tools does not answer, or is not as it was allowed
    ├── NotHere                 only the process holding the folder has it (also an AttributeError)
    ├── ClientNotRegistered     a client class that nobody has registered (also a RuntimeError)
    ├── WrongArgument           an impossible value (also a ValueError and an AssertionError)
    ├── WrongType               an argument has a wrong type (also a TypeError)
    ├── UnknownName             an agent, function or result (also a KeyError and an IndexError)
    ├── NobodyToAsk             a person is to be asked without a console (also an EOFError)
    ├── HumanTimedOut           a person did not answer in time (also a TimeoutError)
    ├── NoModelConfig           no llm_config to ask with (also a Runtime- and AssertionError)
    ├── AsyncReplyInSyncChat    a sync chat meets an async reply function (also a RuntimeError)
    ├── SenderRequired          a reply function waits for a name, and nobody is the sender
    ├── InvalidCarryOverType    a carryover is neither a text nor a list
    ├── AgentNameConflict       two agents of a group have the same name
    ├── UndefinedNextAgent      the speakers that may follow are not in the group
    ├── NoEligibleSpeaker       nobody may speak next; ends a group chat
    ├── ExecutionError          code could not be run at all; what fails inside it is a result
    │   └── NoIsolation         what was to isolate code does not work here (also a RuntimeError)
    ├── LimitReached            a model call would go beyond the limits of the run or chat
    ├── ReplayDiffers           going on with a run would not do what was done before
    └── Stopped                 the user stopped the run
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentkit.reasons import EndReason


class AgentkitError(Exception):
    """Base of all errors that agentkit raises on purpose."""


def explain(error: BaseException) -> str:
    """What any error says; its kind when it says nothing."""
    return str(error) or type(error).__name__


def explain_os(error: OSError) -> str:
    """Why the system refused, without the number and the path."""
    return error.strerror or str(error)


class ConfigError(AgentkitError):
    """A setting is missing, malformed or contradicts another."""


class NotFound(AgentkitError):
    """Something asked for by name or id does not exist for this owner."""


class UnknownModel(NotFound, KeyError):
    """Nothing is known about a model of that name; AutoGen raises KeyError there, this is both."""

    __str__ = Exception.__str__  # KeyError's own would put the message into quotes


class UnknownAction(NotFound, KeyError):
    """There is no action class of that name; lagent raises a KeyError there, this is both."""

    __str__ = Exception.__str__


class StoreError(AgentkitError):
    """The data folder cannot be used."""


class DatabaseInUse(StoreError):
    """Another process holds the database file."""


class HolderGone(StoreError):
    """The process that held the data folder, and worked for this one, has ended; what it had
    finished is kept.
    """


class DatabaseDamaged(StoreError):
    """The file is not a database of ours, is damaged, or comes from a newer version."""


class SqlRefused(AgentkitError):
    """SQL that a person or a model wrote is not answered: it is not a single SELECT over the views,
    it fails, or it takes more than it may.
    """


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
    """Seconds to wait before another try: 0 when the server names none, None when another try is
    useless.
    """


class ModelUnreachable(ModelError):
    """No server answers at the address."""


class ModelTimedOut(ModelUnreachable, TimeoutError):
    """The server did not answer in time."""


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

    taken: Mapping[str, Any] | None = None
    """What the server says that the reply took; empty when it does not say, None when no model may
    have replied at all.
    """


class ResponseParsingError(BadModelReply):
    """A parser cannot make of a model's reply what is wanted; `raw_response` is the whole reply.
    Names as in AgentScope.
    """

    def __init__(self, message: str, raw_response: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.raw_response = raw_response


class JsonParsingError(ResponseParsingError):
    """The reply has no JSON in it, or its JSON does not fit the schema."""


class JsonDictValidationError(ResponseParsingError):
    """The fields have values that cannot be."""


class JsonTypeError(ResponseParsingError):
    """There is JSON, but not an object."""


class RequiredFieldNotFoundError(ResponseParsingError, ValueError, KeyError):
    """A field is missing."""

    __str__ = Exception.__str__  # KeyError would quote it


class TagNotFoundError(ResponseParsingError):
    """A tag or a fence is missing; the flags say which of the two."""

    def __init__(
        self,
        message: str,
        raw_response: str | None = None,
        missing_begin_tag: bool = True,
        missing_end_tag: bool = True,
    ) -> None:
        super().__init__(message, raw_response)
        self.missing_begin_tag = missing_begin_tag
        self.missing_end_tag = missing_end_tag


class NotHere(AgentkitError, AttributeError):
    """A part of a workspace that only the process has which holds the data folder."""


class ClientNotRegistered(AgentkitError, RuntimeError):
    """A config names a `model_client_cls` that nobody has registered."""


class WrongArgument(AgentkitError, ValueError, AssertionError):
    """An argument has an impossible value; AutoGen raises ValueError or AssertionError there, this
    is both.
    """


class WrongType(AgentkitError, TypeError):
    """An argument has a wrong type."""


class UnknownName(AgentkitError, KeyError, IndexError):
    """An agent, a function or a result that is not there."""

    __str__ = Exception.__str__  # KeyError would quote it


class NobodyToAsk(AgentkitError, EOFError):
    """A person is to be asked, and there is no console to answer at."""


class HumanTimedOut(AgentkitError, TimeoutError):
    """A person was asked, and did not answer in the time that was given."""


class NoModelConfig(AgentkitError, RuntimeError, AssertionError):
    """An agent without `llm_config` is to tell its model about a function."""


class AsyncReplyInSyncChat(AgentkitError, RuntimeError):
    """A sync chat meets a reply function that only async chats can run."""


class SenderRequired(AgentkitError):
    """A reply function is registered for a name, but there is no sender to compare it with."""


class InvalidCarryOverType(AgentkitError):
    """A carryover is neither a text nor a list."""


class AgentNameConflict(AgentkitError):
    """Two agents of a group have the same name."""


class UndefinedNextAgent(AgentkitError):
    """The speakers that may follow are not in the group."""


class NoEligibleSpeaker(AgentkitError):
    """Nobody may speak next; ends a group chat."""

    end: EndReason | None = None
    """Why, as a value, where it is more than that."""


class ExecutionError(AgentkitError):
    """Code could not be run at all; what fails inside the code is a result, no error."""


class NoIsolation(ExecutionError, RuntimeError):
    """What was to isolate code does not work here: Docker for an image, else Docker or
    bubblewrap.
    """


class ToolServerError(AgentkitError):
    """A server of tools cannot be reached, does not answer, or is not as it was allowed."""


class LimitReached(AgentkitError):
    """A model call would go beyond what the run or chat may take; what was done so far is kept."""

    end: EndReason | None = None
    """Which limit it is."""


class ReplayDiffers(AgentkitError):
    """A run that goes on with another would ask a model something else than was asked then."""

    call_id: str = ""
    """The call of the other run at which they differ."""


class Stopped(AgentkitError):
    """The user stopped the run; what was done so far is kept."""

    partial: str = ""
    """What a model had said by then, when the stop came in the middle of its reply."""
    output: str = ""
    """What code had put out by then, when the stop came while it ran."""
