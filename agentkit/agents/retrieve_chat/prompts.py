"""What the assistant is told: how to use the passages, and how to ask for others.

The question and the context stand last, so that models that only quote find them too.
"""

from __future__ import annotations

import re

from agentkit.errors import WrongArgument

ASK_AGAIN = "UPDATE CONTEXT"
"""The words by which a model, or a person, asks for further passages."""
ASKS_AGAIN = re.compile(r"UPDATE\s+CONTEXT|\A\W*UPDATE_CONTEXT\W*\Z", re.IGNORECASE)
"""How they are written by models and people; `update_context` within an answer is a name."""

_WHEN_MISSING = (
    f"When the context does not hold what is needed, guess nothing: reply `{ASK_AGAIN}` and not a"
    " word more; you are then given other passages."
)
_ASKED = "The user's question is: {input_question}\n\nThe context is:\n{input_context}\n"

PROMPT_CODE = f"""You help a programmer. Use what you know and the context below, which comes from \
their documents.
{_WHEN_MISSING}
When you write code, put all of it into one fenced block that begins with the name of its \
language. It is run as it stands:
everything that it imports is installed already, so install nothing and leave no gaps to fill in.

{_ASKED}"""

PROMPT_QA = f"""You answer questions from a user's documents. Use the context below, and be as \
brief as the question allows.
{_WHEN_MISSING}

{_ASKED}"""

PROMPT_DEFAULT = f"""You answer questions and write programs with the help of a user's documents. \
Use what you know and the
context below, which comes from these sources: {{input_sources}}
{_WHEN_MISSING}
First see what is wanted. If it is a program, write it into one fenced block that begins with the \
name of its language; it is run
as it stands, and everything that it imports is installed already. If it is an answer, be as brief \
as the question allows.
End with a line `Sources:` that names those of the sources above that you used.

{_ASKED}"""

PROMPTS = {"code": PROMPT_CODE, "qa": PROMPT_QA, "default": PROMPT_DEFAULT}
"""The prompt of each task; placeholders `{input_question}`, `{input_context}`, and
`{input_sources}`.
"""


def fill_prompt(prompt: str, question: str, context: str, sources: list[str]) -> str:
    """The prompt with its placeholders filled; raises WrongArgument for a prompt that has
    others.
    """
    try:
        return prompt.format(input_question=question, input_context=context, input_sources=sources)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise WrongArgument(
            f"customized_prompt has a placeholder that is not known ({type(error).__name__}:"
            f" {error}); use {{input_question}}, {{input_context}} and {{input_sources}}, and write"
            " other braces twice: {{ }}."
        ) from None
