"""RetrieveUserProxyAgent over our own database: the loop for other passages, events, overriding,
what is refused.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentkit import (
    AssistantAgent,
    GroupChat,
    GroupChatManager,
    RetrieveUserProxyAgent,
    UserProxyAgent,
)
from agentkit.agents.retrieve_chat import PROMPT_CODE, PROMPT_DEFAULT, PROMPT_QA
from agentkit.agents.retrieve_chat.vectordb import default_embedding_function
from agentkit.errors import ConfigError, WrongArgument, WrongType
from agentkit.events import ChatEnded, Noted, Retrieved
from agentkit.llm.offline.client import ExtractiveClient
from agentkit.llm.tokens.windows import register_context_window
from tests.agents.retrieve_chat.desk import assistant, database, embed, proxy, words
from tests.conversation.cast import CALL_ADD, agent, call, hearing, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TEA = (
    "green tea is grown in China",
    "black tea is fermented",
    "coffee comes from Ethiopia",
    "milk comes from cows",
)


def ask(
    is_async: bool,
    user: RetrieveUserProxyAgent,
    other: Any,
    problem: str = "tea",
    n_results: int = 1,
    **more: Any,
) -> Any:
    settings = {
        "message": user.message_generator,
        "problem": problem,
        "n_results": n_results,
        **more,
    }
    return call(is_async, user, "initiate_chat", other, **settings)


@BOTH
def test_other_passages_are_looked_up_until_one_helps(is_async: bool) -> None:
    user, helper = proxy(*TEA), assistant("UPDATE CONTEXT", "It is fermented.")
    with hearing() as events:
        result = ask(is_async, user, helper)
    assert said(user, helper) == ["Q tea C green tea is grown in China\n", "It is fermented."]
    looked_up = [event for event in events if isinstance(event, Retrieved)]
    assert [(event.query, event.collection, len(event.hits)) for event in looked_up] == [
        ("tea", "autogen-docs", 1),
        ("tea", "autogen-docs", 3),
    ]
    best = looked_up[1].hits[0]
    assert set(best) == {"rank", "id", "document", "text", "distance"}
    assert best["rank"] == 1
    assert best["document"] in ("s1", "s2")
    assert "tea" in best["text"]
    assert result.stop_reason == "assistant sent a termination message"


def test_an_event_loop_goes_on_while_the_first_passages_are_looked_up() -> None:
    looking, gone_on = threading.Event(), threading.Event()

    class Waiting(RetrieveUserProxyAgent):
        def query_vector_db(self, *args: Any, **kwargs: Any) -> Any:
            looking.set()
            assert gone_on.wait(60), "the loop stood still"
            return super().query_vector_db(*args, **kwargs)

    async def chat() -> None:
        user = proxy(*TEA, kind=Waiting)
        talk = user.a_initiate_chat(
            assistant("It is fermented."),
            message=user.message_generator,
            problem="tea",
            silent=True,
        )
        task = asyncio.create_task(talk)
        assert await asyncio.to_thread(looking.wait, 10)
        gone_on.set()
        await task

    asyncio.run(chat())


@BOTH
def test_when_there_are_no_more_passages_it_says_so_once_and_ends(is_async: bool) -> None:
    user = proxy("only this")
    stubborn = speaker(
        "stubborn", *["UPDATE CONTEXT"] * 9, is_termination_msg=lambda message: False
    )
    with hearing() as events:
        result = ask(is_async, user, stubborn)
    assert said(user, stubborn) == ["TERMINATE", "UPDATE CONTEXT"]
    assert sum("no more context" in event.text for event in events if isinstance(event, Noted)) == 1
    assert result.stop_reason == "rag has no further passages"
    assert [event.reason for event in events if isinstance(event, ChatEnded)] == [
        result.stop_reason
    ]


@BOTH
def test_it_begins_anew_with_one_agent_and_keeps_what_it_said_to_others(is_async: bool) -> None:
    user, helper, other = proxy(*TEA), assistant("UPDATE CONTEXT", "done"), agent("other")
    user.send("keep this", other, request_reply=False)
    with hearing():
        ask(is_async, user, helper)
    assert said(user, other) == ["keep this"]
    assert len(said(user, helper)) == 2


@BOTH
def test_without_update_context_the_words_end_the_chat(is_async: bool) -> None:
    user = proxy(*TEA, update_context=False)
    helper = assistant("UPDATE CONTEXT", "never said")
    with hearing() as events:
        result = ask(is_async, user, helper)
    assert result.summary == "UPDATE CONTEXT"
    assert sum(isinstance(event, Retrieved) for event in events) == 1


def test_the_flag_update_context_and_the_method_of_that_name_both_work() -> None:
    user = proxy(*TEA)
    user.update_context({"a": 1})
    assert user.get_context("a") == 1
    message = [{"content": "UPDATE CONTEXT", "role": "user"}]
    user.message_generator(user, None, {"problem": "tea", "n_results": 1})
    user.update_context = False
    assert not user.update_context
    assert user.update_context == False  # noqa: E712 (scripts compare it)
    assert user._generate_retrieve_user_reply(message) == (False, None)
    user.update_context = True
    assert user.update_context
    assert user._generate_retrieve_user_reply(message)[0]


@BOTH
def test_a_chat_that_began_without_the_generator_looks_up_its_first_message(is_async: bool) -> None:
    user, helper = proxy(*TEA), assistant("UPDATE CONTEXT", "From Ethiopia.")
    with hearing() as events:
        result = call(is_async, user, "initiate_chat", helper, message="where coffee comes from")
    assert [event.query for event in events if isinstance(event, Retrieved)] == [
        "where coffee comes from"
    ]
    assert "coffee comes from Ethiopia" in result.chat_history[0]["content"]


@BOTH
def test_a_call_is_answered_though_it_lacks_the_prefix(is_async: bool) -> None:
    user = proxy(*TEA, customized_answer_prefix="answer:")
    user.register_function({"add": lambda a, b: a + b})
    helper = assistant({"content": "let me see", "tool_calls": [CALL_ADD]}, "answer: 3")
    with hearing():
        result = ask(is_async, user, helper)
    assert [message.get("role") for message in result.chat_history] == [
        "assistant",
        "assistant",
        "tool",
        "user",
    ]
    assert result.summary == "answer: 3"


@BOTH
def test_in_a_group(is_async: bool) -> None:
    user, helper, listener = (
        proxy(*TEA),
        assistant("UPDATE CONTEXT", "It is fermented."),
        speaker("listener", "noted"),
    )
    group = GroupChat(
        [user, helper, listener],
        [],
        max_round=5,
        speaker_selection_method=lambda last, chat: (
            helper if last is user else user if len(chat.messages) == 2 else listener
        ),
    )
    manager = GroupChatManager(group, llm_config=False)
    with hearing() as events:
        ask(is_async, user, manager)
    assert [message["name"] for message in group.messages] == [
        "rag",
        "assistant",
        "rag",
        "assistant",
        "listener",
    ]
    assert group.messages[0]["content"] != group.messages[2]["content"]
    assert sum(isinstance(event, Retrieved) for event in events) == 2


def test_a_string_that_must_occur() -> None:
    user = proxy(*TEA)
    text = user.message_generator(user, None, {"problem": "tea", "search_string": "fermented"})
    assert text == "Q tea C black tea is fermented\n"
    user.message_generator(
        user, None, {"problem": "comes from", "n_results": 1, "search_string": "comes"}
    )
    more = user._generate_retrieve_user_reply([{"content": "UPDATE CONTEXT", "role": "user"}])[1]
    assert "comes from" in str(more)
    assert user._generate_retrieve_user_reply([{"content": "UPDATE CONTEXT", "role": "user"}]) == (
        True,
        "TERMINATE",
    )


@BOTH
def test_an_async_retrieve_docs_of_ones_own(is_async: bool) -> None:
    class Mine(RetrieveUserProxyAgent):
        async def retrieve_docs(  # type: ignore[override]
            self, problem: str, n_results: int = 20, search_string: str = ""
        ) -> None:
            self._results = [[({"id": "1", "content": f"about {problem}"}, 0.5)]]

    user, helper = proxy(kind=Mine), assistant("done")
    with hearing() as events:
        ask(is_async, user, helper)
    assert said(user, helper)[0] == "Q tea C about tea\n"
    assert [event.hits[0]["distance"] for event in events if isinstance(event, Retrieved)] == [0.5]


def test_a_query_of_ones_own_in_the_form_of_chroma() -> None:
    class Mine(RetrieveUserProxyAgent):
        def query_vector_db(
            self,
            query_texts: list[str],
            n_results: int = 10,
            search_string: str = "",
            **kwargs: Any,
        ) -> Any:
            return {
                "ids": [["a", "b"]],
                "documents": [[f"{query_texts[0]} {n_results}", "more"]],
                "metadatas": None,
            }

    user = proxy(kind=Mine, vector_db=None)
    assert (
        user.message_generator(user, None, {"problem": "tea", "n_results": 2})
        == "Q tea C tea 2\nmore\n"
    )
    assert user._results[0][1] == ({"id": "b", "content": "more", "metadata": None}, 0.0)


def test_results_that_are_none_are_refused() -> None:
    class Mine(RetrieveUserProxyAgent):
        def query_vector_db(
            self,
            query_texts: list[str],
            n_results: int = 10,
            search_string: str = "",
            **kwargs: Any,
        ) -> Any:
            return None

    with pytest.raises(WrongType, match="does query_vector_db or retrieve_docs return or set it"):
        proxy(kind=Mine).retrieve_docs("tea")


def test_the_default_database_is_ours_and_needs_nothing(tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea is grown in China.\n", encoding="utf-8")
    config = {"docs_path": str(tmp_path), "embedding_function": embed, "collection_name": "teas"}
    user = RetrieveUserProxyAgent(
        "rag", "NEVER", code_execution_config=False, retrieve_config=config
    )
    text = user.message_generator(user, None, {"problem": "Where is tea grown?"})
    assert user._database().type == "duckdb"
    assert "Green tea is grown in China." in text
    assert str(tmp_path / "tea.md") in text


def test_a_file_of_its_own_is_there_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Green tea is grown in China.", encoding="utf-8")
    config: dict[str, Any] = {
        "db_config": {"path": str(tmp_path / "db.duckdb")},
        "embedding_function": embed,
        "customized_prompt": "{input_context}",
    }
    first = proxy(vector_db="duckdb", docs_path=str(tmp_path / "tea.md"), **config)
    first.retrieve_docs("tea")
    first._database().close()  # type: ignore[attr-defined]  # ours has one
    later = proxy(vector_db="duckdb", **config)
    assert (
        later.message_generator(later, None, {"problem": "tea"}) == "Green tea is grown in China.\n"
    )


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"vector_db": "nonsense"}, WrongArgument, "nonsense"),
        ({"vector_db": object()}, WrongType, "lacks create_collection"),
        ({"task": "poetry"}, WrongArgument, "must be one of code, qa, default, not 'poetry'"),
        ({"chunk_mode": "pages"}, WrongArgument, "must be one of multi_lines, one_line"),
        ({"chunk_token_size": 0}, WrongArgument, "must be 1 or more"),
        ({"customized_prompt": "{else}"}, WrongArgument, "placeholder"),
        (
            {"customized_prompt": 'JSON: {"a": 1} {input_context}'},
            WrongArgument,
            "write other braces twice",
        ),
        ({"recursive": "yes"}, WrongType, "must be True or False"),
        ({"custom_token_count_function": 5}, WrongType, "callable"),
    ],
)
def test_settings_that_cannot_be(
    config: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        proxy(**config)


def test_a_config_that_is_none_and_one_that_is_no_dict() -> None:
    with pytest.raises(WrongType, match="retrieve_config must be a dict"):
        RetrieveUserProxyAgent("rag", retrieve_config=5)  # type: ignore[arg-type]


def test_a_key_that_means_nothing_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="chunk_size"):
        proxy(chunk_size=5)


def test_questions_that_cannot_be() -> None:
    user = proxy(*TEA)
    with pytest.raises(WrongType, match="problem must be a text"):
        user.retrieve_docs(5)  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="n_results"):
        user.retrieve_docs("tea", 0)
    with pytest.raises(ValueError, match="does not exist"):
        proxy(vector_db=database()).retrieve_docs("tea")


@pytest.mark.parametrize("given", ["vector_db", "client"])
def test_chroma_by_its_name_and_by_a_client(given: str, tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    for name, text in (("a", TEA[0]), ("b", TEA[1])):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    chosen: dict[str, Any] = {"vector_db": "chroma", "db_config": {"path": str(tmp_path / "db")}}
    if given == "client":
        chosen = {
            "vector_db": None,
            "client": chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False)),
        }
    user = proxy(
        **chosen,
        docs_path=str(tmp_path),
        embedding_function=embed,
        custom_text_types=["txt"],
    )
    text = user.message_generator(
        user, None, {"problem": "fermented tea", "search_string": "black"}
    )
    assert text == "Q fermented tea C black tea is fermented\n"
    stored = [str(one["id"]) for one in user._database().get_docs_by_ids(None, "autogen-docs")]
    assert (stored == ["doc_0", "doc_1"]) is (given == "client")
    assert len(stored) == 2
    user._database().delete_collection("autogen-docs")


def test_without_its_package_a_database_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(ConfigError, match="pip install chromadb"):
        proxy(vector_db="chroma")


def test_another_embedding_model_is_loaded_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Model:
        def __init__(self, name: str) -> None:
            loaded.append(name)

        def encode(self, texts: list[str]) -> Any:
            return np.array(embed(texts))

    loaded: list[str] = []
    (tmp_path / "a.txt").write_text("tea", encoding="utf-8")
    for name, module in (
        ("a-model", SimpleNamespace(SentenceTransformer=Model)),
        ("no-model", None),
    ):
        monkeypatch.setitem(sys.modules, "sentence_transformers", module)
        user = proxy(vector_db="duckdb", embedding_model=name, docs_path=str(tmp_path / "a.txt"))
        if module is None:
            with pytest.raises(ConfigError, match="embedding_model 'no-model' cannot be loaded"):
                user.retrieve_docs("tea")
        else:
            user.retrieve_docs("tea")
            assert [document["content"] for document, _ in user._results[0]] == ["tea"]
    assert loaded == ["a-model"]


def test_a_client_is_used_without_saying_which_database_it_is_of() -> None:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    user = RetrieveUserProxyAgent(
        code_execution_config=False, retrieve_config={"client": client, "embedding_function": embed}
    )
    database: Any = user._database()
    assert (database.type, database.client is client) == ("chroma", True)


@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_packaged_model_is_used_by_its_short_and_its_full_name(model: str) -> None:
    config = {"embedding_model": model, "collection_name": "teas"}
    user = RetrieveUserProxyAgent(
        "rag", "NEVER", code_execution_config=False, retrieve_config=config
    )
    assert user._database().embedding_function is default_embedding_function()


@pytest.mark.parametrize("prompt", [PROMPT_CODE, PROMPT_DEFAULT, PROMPT_QA])
def test_the_prompts_do_not_ask_for_other_passages_themselves(prompt: str) -> None:
    text = prompt.format(input_question="What?", input_context="Nothing.", input_sources=[])
    helper = assistant()
    assert "UPDATE CONTEXT" in text
    assert helper._generate_retrieve_assistant_reply([{"content": text}]) == (False, None)


@BOTH
@pytest.mark.parametrize("task", ["qa", "default", "code"])
def test_the_offline_model_answers_from_the_passages_or_asks_for_others(
    is_async: bool, task: str
) -> None:
    user = proxy(
        "The museum opens at nine in the morning.",
        "Tickets for the museum cost twelve euros.",
        task=task,
        customized_prompt=None,
    )
    helper = AssistantAgent(
        "helper",
        "You help.",
        {
            "config_list": [{"model_client_cls": "ExtractiveClient", "model": "x"}],
            "cache_seed": None,
        },
    )
    helper.register_model_client(lambda_client())
    with hearing() as events:
        result = ask(is_async, user, helper, "How much do tickets for the museum cost?", 1)
    assert "twelve euros" in result.summary
    assert sum(isinstance(event, Retrieved) for event in events) == 1


def lambda_client() -> type:
    """The offline model as a client class."""

    class Client(ExtractiveClient):
        def __init__(self, config: dict[str, Any], **options: Any) -> None:
            super().__init__()

    Client.__name__ = "ExtractiveClient"
    return Client


def test_refused_code_has_failed() -> None:
    user = proxy()
    for code, language in (("pip install x", "sh"), ("!ls", None), ("%pip install x", "python")):
        exit_code, output, image = user.run_code(code, lang=language)
        assert (exit_code, image) == (1, None)
        assert "not allowed" in output


def test_a_passage_that_does_not_fit_is_noted() -> None:
    user = proxy("tea tea tea tea", "tea", context_max_tokens=3)
    with hearing() as events:
        text = user.message_generator(user, None, {"problem": "tea"})
    assert text == "Q tea C tea\n"
    notes = [event.text for event in events if isinstance(event, Noted)]
    assert notes == ["passage 1 of s1 is left out: its 4 tokens do not fit into the context (3)."]


def test_it_is_a_user_proxy_with_the_defaults_of_the_document() -> None:
    user = RetrieveUserProxyAgent(
        retrieve_config={"vector_db": database(), "custom_token_count_function": words}
    )
    assert isinstance(user, UserProxyAgent)
    assert (user.name, user.human_input_mode) == ("RetrieveChatAgent", "ALWAYS")
    config = user._config
    assert (config.task, config.model, config.new_docs, config.extra_docs, config.overwrite) == (
        "default",
        "gpt-4",
        True,
        False,
        False,
    )
    assert (config.chunk_tokens, config.context_tokens, config.may_exist) == (3200, 6400.0, True)
    assert (config.chunk_mode, config.must_break_at_empty_line, config.recursive) == (
        "multi_lines",
        True,
        True,
    )
    assert (config.collection_name, config.distance_threshold, config.embedding_model) == (
        "autogen-docs",
        -1,
        "all-MiniLM-L6-v2",
    )


def test_a_subclass_reads_and_sets_the_attributes_that_autogen_has() -> None:
    user = proxy(*TEA)
    read = {
        name: getattr(user, f"_{name}")
        for name in (
            "chunk_token_size",
            "max_tokens",
            "recursive",
            "embedding_model",
            "client",
            "context_max_tokens",
            "new_docs",
            "get_or_create",
            "distance_threshold",
        )
    }
    assert read == {
        "chunk_token_size": 3200,
        "max_tokens": 8000,
        "recursive": True,
        "embedding_model": "all-MiniLM-L6-v2",
        "client": None,
        "context_max_tokens": 6400.0,
        "new_docs": True,
        "get_or_create": True,
        "distance_threshold": -1,
    }
    user._max_tokens, user._chunk_token_size = 1000, 7
    assert (user._context_max_tokens, user._config.chunk_tokens) == (800.0, 7)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-5", 400_000),
        ("o3", 200_000),
        ("claude-sonnet-4-20250514", 200_000),
        ("nobody-knows-it", 4_000),
    ],
)
def test_the_window_is_that_which_the_package_knows(model: str, tokens: int) -> None:
    user = proxy(*TEA, model=model)
    assert (user._max_tokens, user._chunk_token_size) == (tokens, int(min(tokens, 32_000) * 0.4))


def test_a_window_that_is_registered_or_told_by_a_config_or_overridden_counts() -> None:
    register_context_window("of-the-house", 9_000)
    assert proxy(*TEA, model="of-the-house")._max_tokens == 9_000
    user = proxy(*TEA, model="at-home")
    entry = {"model": "at-home", "api_key": "k", "context_window": 5_000}
    helper = AssistantAgent("helper", llm_config={"config_list": [entry], "cache_seed": None})
    user.message_generator(user, helper, {"problem": "tea", "n_results": 1})
    assert user._max_tokens == 5_000

    class Wide(RetrieveUserProxyAgent):
        @staticmethod
        def get_max_tokens(model: str = "gpt-3.5-turbo") -> int:
            return 123

    assert proxy(*TEA, kind=Wide)._max_tokens == 123


@BOTH
@pytest.mark.parametrize(
    ("config", "more", "reason"),
    [
        ({}, {"search_string": "cocoa"}, "rag found no passages"),
        ({"distance_threshold": 0.0001}, {}, "rag found no passages"),
        ({"context_max_tokens": 2}, {}, "rag found only passages that do not fit into 2 tokens"),
    ],
)
@pytest.mark.parametrize("turns", [None, 2])
def test_a_chat_without_passages_says_so_in_its_result(
    config: dict[str, Any], more: dict[str, Any], reason: str, turns: int | None, is_async: bool
) -> None:
    user, helper = proxy(*TEA, **config), assistant("never asked")
    result = ask(is_async, user, helper, max_turns=turns, silent=True, **more)
    assert (result.summary, result.stop_reason) == (reason, reason)
    assert result.end.agent == "rag"


@BOTH
@pytest.mark.parametrize("words", ["UPDATE  CONTEXT", "update_context", "Please UPDATE\nCONTEXT."])
def test_the_words_for_other_passages_may_be_written_in_other_ways(
    words: str, is_async: bool
) -> None:
    user, helper = proxy(*TEA), assistant(words, "It is fermented.")
    with hearing() as events:
        result = ask(is_async, user, helper)
    assert sum(isinstance(event, Retrieved) for event in events) == 2
    assert result.summary == "It is fermented."


def test_a_split_function_that_gives_a_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words")
    user = proxy(docs_path=str(tmp_path), custom_text_split_function=lambda text: text)
    with pytest.raises(
        WrongType,
        match="custom_text_split_function must return a list of chunks, not the text 'some words'",
    ):
        user.retrieve_docs("words")


def test_an_answer_about_a_function_of_that_name_is_an_answer() -> None:
    answer = "Call the `update_context()` method of the class, then `update_context` is done."
    user, helper = proxy(*TEA), assistant(answer, "never said")
    assert (
        user.initiate_chat(helper, message=user.message_generator, problem="tea").summary == answer
    )


@BOTH
@pytest.mark.parametrize("is_reset", [False, True], ids=["goes on", "reset"])
def test_the_next_chat_has_a_question_of_its_own(is_async: bool, is_reset: bool) -> None:
    user = proxy(*TEA)
    helper = assistant("It is fermented.", "UPDATE CONTEXT", "From Ethiopia.")
    ask(is_async, user, helper)
    if is_reset:
        user.reset()
    with hearing() as events:
        call(is_async, user, "initiate_chat", helper, message="Where is coffee from?")
    assert [one.query for one in events if isinstance(one, Retrieved)] == ["Where is coffee from?"]
    assert "Where is coffee from?" in said(user, helper)[0]
