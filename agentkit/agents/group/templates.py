"""What a model is told when it chooses the next speaker; `{roles}` and `{agentlist}` stand for who
takes part.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from agentkit.conversation.agent import Agent
from agentkit.errors import WrongArgument

INTRODUCTION = (
    "Welcome, everybody. These are the members of this group and what each of them is good for:"
)

MESSAGE = """You moderate a conversation between these roles:
{roles}

Follow the conversation and decide which of {agentlist} has to speak next. Answer with that name \
and nothing else."""

PROMPT = (
    "Given the conversation so far, which of {agentlist} has to speak next? Answer with that name"
    " and nothing else."
)

SEVERAL_NAMES = """Your answer holds several names, but only one role can speak next. Settle on \
the one that you mean; if you \
are not sure, the one that you named first. Answer with that name alone, spelled as in this list: \
{agentlist}."""

NO_NAME = """Your answer holds none of the names that can be chosen. Names count only when spelled \
as in this list: {agentlist}.
Answer with the one of them that fits best, and nothing else."""


def list_roles(agents: Iterable[Agent]) -> str:
    """One line `name: description` for each agent."""
    lines = []
    for agent in agents:
        description = agent.description or ""
        lines.append(f"{agent.name}: {description}".strip())
    return "\n".join(lines)


def fill(template: str, agents: list[Agent]) -> str:
    """The template about these agents; raises WrongArgument for placeholders other than `{roles}`
    and `{agentlist}`.
    """
    names = list(map(attrgetter("name"), agents))
    try:
        return template.format(roles=list_roles(agents), agentlist=str(names))
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise WrongArgument(
            f"The template {template!r:.200} cannot be filled in ({error!r}); its placeholders are"
            " {roles} and {agentlist}, other braces are doubled."
        ) from None
