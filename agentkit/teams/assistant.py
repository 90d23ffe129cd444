"""The assistant: answers from the conversation, and looks into the documents where that is
needed.
"""

from __future__ import annotations

from functools import partial

from agentkit.agents import AssistantAgent
from agentkit.conversation import ConversableAgent
from agentkit.messages import has_calls
from agentkit.teams import answer, findings
from agentkit.teams.conversing import converse, make_opening, recall_talk, remember
from agentkit.teams.ending import is_ending
from agentkit.teams.findings import Findings
from agentkit.teams.memory import long_memory
from agentkit.teams.roster import ASSISTANT, LIBRARY, TALKING
from agentkit.teams.task import Answer, Task

SEARCHES = 8

INSTRUCTIONS = f"""You are the assistant of somebody who has a collection of documents.
Whenever the answer may stand in the documents, look it up with {findings.SEARCH} before you \
answer, once for each thing
that is asked; when nothing fits, try other words once. Never guess what the documents say.
{findings.CITE}
What needs no documents (about this conversation, greetings, rewording) you answer directly, \
without looking anything up.
Be brief and exact: keep names, numbers and units as they stand. Answer in the language of the \
question."""


def work(task: Task) -> Answer:
    """Talk with the library until there is an answer, knowing the whole chat, however long it is.

    Without a language model, answer from the passages at once: the offline one looks no further
    back than the last question.
    """
    if not task.model.is_language_model:
        return answer.work(task)
    gather = partial(_gather, task)
    with task.session.crew(TALKING, task.made_of, gather) as (assistant, library, found):
        found.begin(task)
        library.reset()
        remember(assistant, library, recall_talk(task), ASSISTANT)
        return converse(
            task,
            lambda: library.initiate_chat(
                assistant, message=make_opening(task), clear_history=False, summary_method=None
            ),
            ASSISTANT,
            found,
        )


def _gather(task: Task) -> tuple[AssistantAgent, ConversableAgent, Findings]:
    """Two agents who know nothing yet, and what one of them finds."""
    found = Findings(task)
    assistant = AssistantAgent(ASSISTANT, INSTRUCTIONS, task.llm_config)
    library = ConversableAgent(
        LIBRARY,
        human_input_mode=task.human_input,
        llm_config=False,
        max_consecutive_auto_reply=SEARCHES,
        is_termination_msg=lambda message: (
            not has_calls(message) or is_ending(str(message.get("content") or ""))
        ),
    )
    found.offer(assistant, library)
    long_memory.keep_short(assistant, task.model)
    return assistant, library, found
