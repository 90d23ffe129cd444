"""The words for facts that steps and answers tell; nothing reads them but people."""

from __future__ import annotations

import math

from agentkit.events import (
    Fallback,
    HumanInputRequested,
    LimitTold,
    MessageStatus,
    ParameterRefused,
    ReplyEnd,
)
from agentkit.llm.calls.limits import amount, in_words, name_limit
from agentkit.llm.calls.pictures import PARAMETER as PICTURES
from agentkit.options import InputMode, key_of
from agentkit.reasons import EndKind, EndReason

STAGES: dict[str, str] = {
    "waiting": "waiting",
    "parse": "being read",
    "split": "being split",
    "prepare": "waiting for the embedding model, which is made ready for this machine once",
    "embed": "being embedded",
    "commit": "being stored",
    "index": "being indexed",
}
"""What is done to a document, by stage."""
CHOSEN = {
    "auto": "chosen by the model",
    "round_robin": "in turn",
    "random": "by chance",
    "manual": "chosen by you",
    "function": "to run what was asked for",
    "custom": "to go on with what was found",
    "transition": "the only one who may",
}
"""How a group gave the floor."""
CUT: dict[ReplyEnd, str] = {
    "token_limit": "it reached the limit of tokens for one reply",
    "filtered": "a filter of the provider stopped it",
    "broken_off": "the server ended it without saying that this was all",
    "too_long": "it was longer than any reply may be",
}
"""Why there is no more of a reply."""
END: dict[MessageStatus, str] = {
    "stopped": "stopped",
    "failed": "broke off",
    "interrupted": "the app was closed meanwhile",
}
"""What ended a message before it was whole."""
OPTIONS: dict[str, str] = {
    "approve": "Approve",
    "approve_all": "Approve all",
    "always": "Always allow",
    "edit": "Edit",
    "reject": "Reject",
    "finish": "Finish here",
    "yes": "Yes",
    "no": "No",
    "nobody": "Nobody",
}
"""What a person may choose, by its key."""
DECIDED = {
    "approve": "yes",
    "approve_all": "yes, and all of this kind",
    "always": "yes, and always",
    "edit": "yes, with changes",
    "reject": "no",
}
"""What the person said about what was to run."""
PHASES = {"night": "Night", "day": "Day"}
"""What a game calls the parts of its days."""
RETRIES = {
    "RateLimited": "Rate limited",
    "ModelTimedOut": "No answer in time",
    "ModelUnreachable": "The server could not answer",
}
"""Why a call is tried again, by the kind of error."""
DOING = {
    "asks": "Waiting for you",
    "searches": "Looking up passages",
    "prepares": "Getting the embedding model ready, which takes up to a minute the first time",
    "retries": "Waiting for the next try",
}
"""What goes on, where several places say it."""
_AGAIN = (
    "{tool} had begun when the app was closed, and it is not known whether it was done. May I use"
    " it again?"
)
_BELOW = {"json": " with these arguments", "text": " with this", "python": " with this code"}
"""What stands below the name of a tool that an agent wants to use, by language."""
NOBODY = "The team"
"""What a call is under that no agent made."""
CHOOSER = "speaker_selection_agent"  # AutoGen's name
PERSON = "User"
"""The name of the person among agents."""
_CALLED = {"": NOBODY, CHOOSER: "Choice of the speaker", PERSON: "You"}
"""What agents are called whose names are for programs."""
_LIMITS = {
    True: (
        "The limit of {limit} was reached: with the next call{of_whom}, the {scope} would take at "
        "least {used}."
    ),
    False: (
        "The {scope} has nearly used up the limit of {limit}: {used} with the call that is made "
        "now."
    ),
}
"""What is told of a limit, by whether it was reached."""
_ENDS: dict[EndKind, str] = {
    "answered": "the answer is there",
    "no evidence": "no evidence",
    "stopped": "stopped",
    "terminated": "{agent} sent a termination message",
    "replies": "the limit of {limit} steps was reached",
    "turns": "the limit of {limit} turns was reached",
    "rounds": "the limit of {limit} messages was reached",
    "silent": "{agent} gave no reply",
    "person": "the person behind {agent} ended the chat",
    "finished": "you ended the discussion",
    "speakers": "{told}",
    "allowance": "the limit of {limit} was reached",
    "budget": "the budget of {limit} a {scope} is used up",
    "price": "the price of {what} is unknown, so a limit of {limit} cannot be kept",
    "window": "{agent} has no tokens left: {used} of the {limit} of {model} are used",
    "passages": "{agent} has no further passages",
    "no passages": "{agent} found no passages",
    "long passages": "{agent} found only passages that do not fit into {limit} tokens",
    "other": "{told}",
}
TAKING_PART: dict[InputMode, tuple[str, str]] = {
    "NEVER": ("Never", "The agents work until they are done; they ask you nothing."),
    "TERMINATE": (
        "Before the end",
        "Before the agents end, you say what is still missing or wrong, or that it is enough.",
    ),
    "ALWAYS": (
        "At each turn",
        "Whenever it is your turn, you may say something, let them go on, or end it.",
    ),
}
"""What the ways to take part are called, and what each does."""
VARIANTS = {"group": "Who speaks next", "werewolf": "Your part"}
"""What sets the variants of a kind of team apart."""


def name_agent(agent: str) -> str:
    """What people read as the name of an agent, as plain text."""
    return _CALLED.get(agent, agent)


def asker(request: HumanInputRequested) -> str:
    """Who asks: the agent that wants to use a tool, where it is known."""
    return request.wants.agent if request.wants else request.agent


def of_request(request: HumanInputRequested) -> str:
    """What is asked, in Markdown."""
    wants = request.wants
    if wants is None:
        return request.prompt
    server = f" of the MCP server `{wants.server}`" if wants.server else ""
    if wants.again:
        return _AGAIN.format(tool=f"`{wants.tool}`{server}")
    bare = request.draft.strip() in ("", "{}")
    below = "" if bare else _BELOW.get(request.language, "")
    return f"May I use `{wants.tool}`{server}{below}?"


def is_chooser(agent: str) -> bool:
    """Whether it only chooses who speaks next."""
    return agent == CHOOSER


def without_names(text: str) -> str:
    """A text, such as that of an error, in which no agent goes by a name for programs."""
    return text.replace(CHOOSER, name_agent(CHOOSER))


def thinks(agent: str) -> str:
    """What goes on while the agent's model is asked, as plain text."""
    if agent == CHOOSER:
        return "Choosing who speaks next"
    return f"{name_agent(agent)} is thinking"


def of_retry(error_type: str, seconds: float) -> str:
    """What is told while a call waits for its next attempt, as plain text."""
    return f"{RETRIES.get(error_type, 'No answer')}, next try in {math.ceil(max(seconds, 0))} s"


def of_silence(seconds: float) -> str:
    """What is told of a model that has sent nothing for so long, as plain text."""
    return f"No word for {int(seconds)} s; Stop ends the wait and keeps what there is"


_WHO = {"offline": "The offline model"}
PARAMETERS = {
    "temperature": "temperature",
    "max_tokens": "most tokens of a reply",
    "seed": "seed",
    "reasoning_effort": "reasoning effort",
    "response_format": "form of the reply",
    "tool_choice": "choice of tools",
}
"""What the parameters of a model are called."""


def of_refusal(told: ParameterRefused) -> str:
    """What a ParameterRefused says, as plain text."""
    if told.parameter == PICTURES:
        who = _WHO.get(told.model_id, f"The model {told.model}")
        return (
            f"{who} does not see pictures: it was told only that there is"
            f" {told.wished}. Choose a model that sees."
        )
    name = PARAMETERS.get(told.parameter, told.parameter)
    value = f" {told.value}" if told.value else ""
    return f"The model {told.model} refuses the {name}{value}: it is asked without it."


def of_limit(told: LimitTold) -> str:
    """What a LimitTold says, as plain text."""
    if told.budget:
        return without_names(in_words(told))
    return _LIMITS[told.reached].format(
        limit=amount(told.unit, told.limit),
        used=amount(told.unit, told.used),
        scope=told.scope,
        of_whom=f" of {name_agent(told.agent)}" if told.agent else "",
    )


def of_option(option: str) -> str:
    """What an option is called, as plain text; a name is called itself."""
    return OPTIONS.get(key_of(option), name_agent(option))


def of_patience(seconds: float) -> str:
    """What is told where nobody answered for so long, as plain text."""
    if seconds < 120:
        return f"nobody answered within {seconds:g} seconds"
    return f"nobody answered within {seconds / 60:.3g} minutes"


def why_words(fallback: Fallback) -> str:
    """What is said of a search that went by words alone."""
    return f"Passages were looked up by their words alone, not by meaning: {fallback.error}"


def describe_end(end: EndReason) -> str:
    """Why a chat or an answer ended, as plain text without a full stop."""
    return _ENDS[end.kind].format(
        agent=name_agent(end.agent),
        limit=name_limit(end),
        used=end.used,
        model=end.model,
        told=end.told.rstrip("."),
        scope=end.scope,
        what=f"the model {end.model}" if end.model else "earlier calls",
    )
