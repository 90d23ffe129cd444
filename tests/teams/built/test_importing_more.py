"""What comes along with teams of others: functions, skills, RetrieveChat, compression, and who may
follow whom.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.importing import Imported, import_team
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.team import build_team
from tests.teams.built.test_importing import USER, assistant, flow_of, studio, told
from tests.teams.stage import play

SKILL = '''import math
SCALE = 10

def area(radius: float) -> float:
    """The area of a circle."""
    return math.pi * radius**2 * SCALE
'''
TOOLS = '''
import os, math
from typing import Annotated
from autogen import AssistantAgent, UserProxyAgent, register_function

key = os.environ["KEY"]
RATE = 1.1
calls = []

def _round(value):
    return round(value, 2)

def convert(amount: Annotated[float, "in euros"]) -> float:
    return _round(amount * RATE)

# said once
def halve(amount: float) -> float:
    """Half of it."""
    return amount / 2

cashier = AssistantAgent("cashier", llm_config={"config_list": []})
user = UserProxyAgent("user", code_execution_config=False, human_input_mode="NEVER")

@user.register_for_execution()
@cashier.register_for_llm(description="Twice as much.")
def double(amount: float) -> float:
    return amount * 2

@user.register_for_execution()
@cashier.register_for_llm(description="Nothing a model could be told.")
def odd(*amounts):
    return amounts

def helper():
    os.remove("x")

register_function(convert, caller=cashier, executor=user, description="Euros to dollars.")
cashier.register_for_llm(name="halve")(halve)
user.initiate_chat(cashier, message="How much?")
'''
RETRIEVE = """
import chromadb
from autogen.agentchat.contrib.retrieve_assistant_agent import RetrieveAssistantAgent
from autogen.agentchat.contrib.retrieve_user_proxy_agent import RetrieveUserProxyAgent

reader = RetrieveAssistantAgent(name="reader", system_message="You read.", llm_config={"seed": 1})
finder = RetrieveUserProxyAgent(
    name="finder",
    retrieve_config={
        "task": "qa",
        "docs_path": ["/etc/passwd"],
        "client": chromadb.PersistentClient(path="/tmp"),
        "customized_prompt": "Q {input_question} C {input_context}",
        "update_context": False,
    },
)
finder.initiate_chat(reader, message=finder.message_generator, problem="Why?", n_results=3)
"""


def taken(script: str) -> Imported:
    found = import_team(script)
    assert find_problems(found.document) == []
    return found


def code_of(found: Imported, name: str) -> str:
    return next(one.code for one in found.document.functions if one.name == name)


def test_functions_of_a_script_come_along_with_what_they_need() -> None:
    found = taken(TOOLS)
    cashier = found.document.agent("cashier")
    assert {use.name: use.approval for use in cashier.tools} == {
        "convert": "always",
        "halve": "always",
        "double": "always",
    }
    code = code_of(found, "convert")
    assert "import os, math\nfrom typing import Annotated\nRATE = 1.1\ndef _round(value):" in code
    assert "'Euros to dollars.'" in code or '"""Euros to dollars."""' in code
    assert "autogen" not in code
    assert "environ" not in code
    assert "register" not in code_of(found, "double")
    assert code_of(found, "halve").endswith('    """Half of it."""\n    return amount / 2\n')
    assert "cashier: the function 'convert' came along" in told(found)
    assert "cashier: the function 'odd' was not taken: odd must name all" in told(found)
    assert "functions that no agent may call were not taken (helper)" in told(found)


@pytest.mark.parametrize(
    ("name", "given", "wanted"), [("convert", 10, 11.0), ("double", 4, 8), ("halve", 4, 2)]
)
def test_the_code_that_came_along_is_whole(name: str, given: int, wanted: float) -> None:
    space: dict[str, Any] = {}
    exec(code_of(taken(TOOLS), name), space)
    assert space[name](given) == wanted


FEE = """
import {imports}
from dataclasses import dataclass
{before}
cashier = autogen.AssistantAgent("cashier", llm_config={{"config_list": []}})
user = autogen.UserProxyAgent("user", code_execution_config=False)

@user.register_for_execution()
@cashier.register_for_llm(description="With the fee.")
def fee(amount: float) -> float:
    {body}

user.initiate_chat(cashier, message="How much?")
"""
CLASS = """
@dataclass
class Money:
    value: float

    @property
    def half(self):
        return self.value * RATE
RATE = 0.5
"""
HELPERS = """
import asyncio, contextlib
async def later(amount):
    return amount * 0.5
@contextlib.contextmanager
def halved(amount):
    yield amount * 0.5
"""


def taken_fee(before: str, body: str, imports: str = "autogen") -> Imported:
    return taken(FEE.format(before=before, body=body, imports=imports))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("RATE: float = 0.5", "return amount * RATE"),
        ("RATE, OTHER = 0.5, 1", "return amount * RATE * OTHER"),
        ("[RATE, (ONE, *_)] = RATES = 0.5, (1, 2)", "return amount * RATE * ONE * RATES[1][0]"),
        (CLASS, "return Money(amount).half"),
        (HELPERS, "return asyncio.run(later(amount))"),
        (HELPERS, "with halved(amount) as half: return half"),
        ("", "return amount * math.cos(0) / 2"),
    ],
)
def test_whatever_a_function_needs_comes_along(before: str, body: str) -> None:
    found = taken_fee(before, body, "autogen, math")
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(code_of(found, "fee"), space)
    assert space["fee"](4) == 2
    assert "it needs" not in told(found)


@pytest.mark.parametrize(
    ("before", "body", "missing"),
    [
        ("RATE = float('0.5')", "return amount * RATE", "RATE"),
        ("for rate in (1, 2):\n    pass", "return (lambda: amount * rate)()", "rate"),
        ("def half(): return cashier", "return half() and autogen and 0", "autogen, cashier"),
        ("RATE = float('0.5')", "RATE = 1; return [user for user in (amount,)][0]", ""),
    ],
)
def test_what_a_function_lacks_is_told(before: str, body: str, missing: str) -> None:
    lines = told(taken_fee(before, body)).splitlines()
    start = "cashier: the function 'fee' fails as it is: it needs "
    lacking = [line.removeprefix(start) for line in lines if line.startswith(start)]
    assert [line.partition(", which the script computes")[0] for line in lacking] == (
        [missing] if missing else []
    )


def test_a_function_that_is_async_is_told_as_left_out() -> None:
    script = FEE.format(before="", body="return amount", imports="autogen").replace(
        "def", "async def"
    )
    assert "the function 'fee' was not taken: There is no `def fee(...)`" in told(taken(script))


def test_a_skill_of_studio_comes_along() -> None:
    skills = [
        {"name": "area", "content": SKILL},
        {"title": "several", "content": "def a(): pass\ndef b(): pass"},
        {"title": "silent", "content": "def c(): pass"},
    ]
    found = studio(sender=USER, receiver=assistant("planner", skills=skills))
    assert find_problems(found.document) == []
    assert [use.name for use in found.document.agent("planner").tools] == ["area"]
    assert code_of(found, "area") == SKILL
    assert "the skill 'several' was not taken: it is not one function" in told(found)
    assert "the function 'c' was not taken: c needs a docstring" in told(found)


def test_a_script_of_retrieve_chat_works_over_the_collection() -> None:
    found = taken(RETRIEVE)
    flow = flow_of(found)
    assert (flow.kind, flow.proxy, flow.assistant) == ("retrieve_chat", "finder", "reader")
    config = flow.retrieve_config
    assert (config.task, config.update_context, config.n_results) == ("qa", False, 3)
    assert (config.vector_db, config.docs_path) == ("collection", [])
    assert "retrieve_config: it looks into the chat's collection; not taken: client, docs_path" in (
        told(found)
    )
    model = scripted_model(["Long."])
    played = play(build_team(found.document, "my-team:1"), model)
    assert played.final.content == "Long."


@pytest.mark.parametrize("config", ["{'task': 'chess'}", "make()", "{**other}"])
def test_a_strange_retrieve_config_is_told(config: str) -> None:
    found = taken(
        "a = AssistantAgent('a', llm_config={'seed': 1})\n"
        f"r = RetrieveUserProxyAgent('r', retrieve_config={config})\n"
        "r.initiate_chat(a, message='Hi')"
    )
    assert flow_of(found).retrieve_config.task == "default"


ORDERED = """
ann = AssistantAgent("ann", llm_config={"temperature": 0})
shorter = {"mode": "COMPRESS", "leave_last_n": 2}
bob = CompressibleAgent("bob", llm_config={"seed": 1}, compress_config=shorter)
cid = CompressibleAgent("cid", llm_config={"seed": 1}, compress_config={"mode": "SHRINK"})
order = {ann: [bob, cid], bob: [cid], other: [ann]}
chat = GroupChat([ann, bob, cid], [], allowed_or_disallowed_speaker_transitions=order,
    speaker_transitions_type="allowed")
manager = GroupChatManager(groupchat=chat)
ann.initiate_chat(manager, message="Hello")
"""


def test_who_may_follow_whom_and_compression_are_taken() -> None:
    found = import_team(
        ORDERED.replace("GroupChatManager(chat)", "GroupChatManager(groupchat=chat)")
    )
    order = [(one.after, one.speakers) for one in flow_of(found).transitions]
    assert order == [("ann", ["bob", "cid"]), ("bob", ["cid"])]
    assert flow_of(found).speaker_transitions_type == "allowed"
    bob = found.document.agent("bob").compress_config
    assert bob is not None
    assert (bob.mode, bob.leave_last_n) == ("COMPRESS", 2)
    assert found.document.agent("cid").compress_config is None
    assert "cid: compress_config was not taken: mode: " in told(found)


def test_looking_at_a_script_runs_nothing(tmp_path: Any) -> None:
    trap = tmp_path / "ran"
    script = f"open({json.dumps(str(trap))}, 'w')\n{TOOLS}"
    taken(script)
    assert not trap.exists()
