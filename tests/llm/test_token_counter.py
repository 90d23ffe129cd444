"""The counter that remembers: the same as counting anew, whatever is done to the messages."""

from __future__ import annotations

import threading
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.llm.model import Model
from agentkit.llm.tokens import counting
from agentkit.llm.tokens.counting import (
    TokenCounter,
    count_messages,
    count_text,
    counter,
    counter_of,
)
from agentkit.llm.tokens.families import family_of, register_token_counter
from agentkit.llm.tokens.windows import count_token, truncate

MODEL = "gpt-4o"
TEXTS = st.text(max_size=12)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": TEXTS, "function": st.fixed_dictionaries({"name": TEXTS, "arguments": TEXTS})}
    ),
    max_size=2,
)
PARTS = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}), max_size=2)
MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["system", "user", "assistant", "tool", "function"]),
        "content": st.none() | TEXTS | PARTS,
    },
    optional={"name": TEXTS, "tool_calls": CALLS},
)
TOOLS = [
    {
        "type": "function",
        "function": {"name": "look", "description": "Look it up", "parameters": {}},
    }
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "drop head", "replace", "edit", "truncate", "swap"]),
        st.integers(0, 50),
        MESSAGES,
    ),
    min_size=1,
    max_size=12,
)


def said(number: int) -> dict[str, Any]:
    return {
        "role": "user" if number % 2 else "assistant",
        "content": f"turn {number}: " + "we talk about the lease again " * 8,
    }


def change(messages: list[dict[str, Any]], what: str, at: int, new: dict[str, Any]) -> None:
    at = at % len(messages) if messages else 0
    if what == "append" or not messages:
        messages.append(new)
    elif what == "drop head":
        del messages[: at + 1]
    elif what == "replace":
        messages[at] = new
    elif what == "truncate":
        del messages[at:]
    elif what == "swap":
        messages[at], messages[0] = messages[0], messages[at]
    elif messages[at].get("tool_calls"):
        messages[at]["tool_calls"][0]["function"]["arguments"] += " and more"
    else:
        messages[at]["content"] = "changed in place"


@settings(deadline=None)  # the table of tokens is loaded in the first one
@given(start=st.lists(MESSAGES, max_size=6), long=st.booleans(), steps=STEPS)
def test_counting_again_is_counting_anew(
    start: list[dict[str, Any]], long: bool, steps: list[tuple[str, int, Any]]
) -> None:
    remembering = TokenCounter(MODEL)
    messages = start + [said(number) for number in range(40 if long else 0)]
    for what, at, new in steps:
        change(messages, what, at, dict(new))
        for tools in ((), TOOLS):
            assert remembering.prompt(messages, tools) == TokenCounter(MODEL).prompt(
                messages, tools
            )


def test_the_parts_of_a_prompt_are_its_messages() -> None:
    messages = [said(number) for number in range(5)]
    one = TokenCounter(MODEL)
    assert (
        one.prompt(messages)[0]
        == sum(one.message(message)[0] for message in messages) + family_of(MODEL).reply
    )
    assert one.prompt([]) == (3, False)


def test_only_what_is_new_is_counted() -> None:
    texts: list[str] = []

    def count(text: str) -> int:
        texts.append(text)
        return len(text)

    one = TokenCounter("any", count)
    messages = [said(number) for number in range(100)]
    one.prompt(messages)
    texts.clear()
    messages.append(said(100))
    one.prompt(messages)
    assert texts == [said(100)["content"]]
    texts.clear()
    one.prompt([{"role": "system", "content": "be brief"}, *messages[50:]])
    assert texts == ["be brief"]


def test_what_is_remembered_is_bounded() -> None:
    one = TokenCounter("any", len)
    for number in range(3 * 8192):
        one.message({"role": "user", "content": str(number)})
    for number in range(100):
        one.prompt([{"role": "system", "content": str(number)}, *map(said, range(40))])
        one.prompt([said(0), said(number), *map(said, range(40))])
    assert len(one._young) + len(one._old) <= 2 * 8192
    assert len(one._prompts) == counting._PROMPTS


def test_long_texts_are_told_apart_without_being_kept() -> None:
    one = TokenCounter("any", lambda text: text.count("b"))
    assert [
        one.message({"role": "user", "content": "a" * 20_000 + end})[0] for end in ("b", "bb", "b")
    ] == [5, 6, 5]
    assert max(len(str(key)) for key in one._young) < 1000


def test_the_2000th_turn_costs_little() -> None:
    one = TokenCounter(MODEL)
    messages = [said(number) for number in range(2000)]
    one.prompt(messages)
    took = []
    for number in range(2000, 2010):
        messages.append(said(number))
        began = time.thread_time()
        one.prompt(messages)
        took.append(time.thread_time() - began)
    assert min(took) < 0.002


def test_threads_count_the_same() -> None:
    one, wrong = TokenCounter(MODEL), []

    def talk(kind: int) -> None:
        messages = [{"role": "system", "content": f"agent {kind}"}]
        for number in range(150):
            messages.append(said(number * kind))
            if number % 10 == 0 and one.prompt(messages) != TokenCounter(MODEL).prompt(messages):
                wrong.append((kind, number))

    threads = [threading.Thread(target=talk, args=(kind,)) for kind in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Counting(ScriptedClient):
    """A client that knows its tokenizer."""

    @staticmethod
    def count_tokens(text: str) -> int:
        return len(text.split())


def test_a_client_counts_for_itself() -> None:
    model = Model("m", "M", Counting(["hello"]), "my-model", "local")
    assert counter_of(model).text("one two three") == (3, False)
    assert counter_of(model).prompt([{"role": "user", "content": "one two three"}]) == (
        3 + 4 + 3,
        True,
    )
    assert counter_of(Model("m", "M", ScriptedClient([]), MODEL, "openai")) is counter(MODEL)


def test_a_registered_tokenizer_counts_at_once_and_the_last_one_wins() -> None:
    name = "registered-model-1"
    before = count_messages([{"role": "user", "content": "one two three"}], name)[0]
    register_token_counter("Registered-model-*", lambda text: 10 * len(text.split()))
    assert count_text("one two three", name) == (30, False)
    assert count_messages([{"role": "user", "content": "one two three"}], name) == (37, True)
    assert before == 10
    register_token_counter("registered-model-1", lambda text: len(text))
    assert count_token("one two three", name) == 13
    assert truncate("one two three", 5, name) == "one t"
    assert truncate("one", 5, name) == "one"
    assert truncate("one", -1, name) == ""
    register_token_counter("registered-model-*", lambda text: 1)
    assert count_token("one two three", name) == 1
