"""RetrieveUserProxyAgent and its assistant over a vector database of a few lines; the reading and
cutting of files.

To record them the oracle needs chromadb 0.5.3 beside it, and tiktoken's `cl100k_base` (by the
network or TIKTOKEN_CACHE_DIR).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import chdir
from typing import Any

from tests.differential.kit import HOMES, ORACLE, OURS, SYNC, Kit, scenario

# The oracle hides these names deeper than the others.
_ORACLE_HOMES = (
    "autogen.agentchat.contrib.retrieve_user_proxy_agent",
    "autogen.agentchat.contrib.retrieve_assistant_agent",
    "autogen.retrieve_utils",
)
_homes: dict[str, Any] = dict(HOMES)
_homes[ORACLE] = dict.fromkeys((*HOMES[ORACLE], *_ORACLE_HOMES))
_homes[OURS] = dict.fromkeys((*HOMES[OURS], "agentkit.agents.retrieve_chat"))
HOMES.update({package: tuple(homes) for package, homes in _homes.items()})

PROMPT = "Q {input_question} C {input_context}"
FRUIT = "apples are red\n\nbananas are yellow"


class FakeDB:
    """Collections in memory; near is what shares words with the query, of equals what was put in
    first.
    """

    type = "fake"
    embedding_function = None

    def __init__(self, *contents: str, name: str = "autogen-docs") -> None:
        self.collections: dict[Any, dict[Any, Any]] = {}
        self.active_collection: Any = None
        self.asked: list[Any] = []
        if contents:
            documents = [
                {"id": str(n), "content": c, "metadata": {"source": f"s{n}"}}
                for n, c in enumerate(contents, 1)
            ]
            self.collections[name] = {document["id"]: document for document in documents}

    def create_collection(
        self, collection_name: str, overwrite: bool = False, get_or_create: bool = True
    ) -> Any:
        if collection_name in self.collections and not overwrite and not get_or_create:
            raise ValueError(f"{collection_name} exists")
        if overwrite or collection_name not in self.collections:
            self.collections[collection_name] = {}
        self.active_collection = self.collections[collection_name]
        return self.active_collection

    def get_collection(self, collection_name: Any = None) -> Any:
        if collection_name not in self.collections:
            raise ValueError(f"{collection_name} is not there")
        return self.collections[collection_name]

    def delete_collection(self, collection_name: str) -> None:
        del self.collections[collection_name]

    def insert_docs(
        self, docs: list[Any], collection_name: Any = None, upsert: bool = False, **kwargs: Any
    ) -> None:
        self.get_collection(collection_name).update({doc["id"]: doc for doc in docs})

    def update_docs(self, docs: list[Any], collection_name: Any = None, **kwargs: Any) -> None:
        self.insert_docs(docs, collection_name, upsert=True)

    def delete_docs(self, ids: list[Any], collection_name: Any = None, **kwargs: Any) -> None:
        for id_ in ids:
            self.get_collection(collection_name).pop(id_, None)

    def retrieve_docs(
        self,
        queries: list[str],
        collection_name: Any = None,
        n_results: int = 10,
        distance_threshold: float = -1,
        **kwargs: Any,
    ) -> Any:
        self.asked.append([*queries, n_results, distance_threshold])
        documents = list(self.get_collection(collection_name).values())
        return [
            sorted(((d, _distance(d, q)) for d in documents), key=lambda found: found[1])[
                :n_results
            ]
            for q in queries
        ]

    def get_docs_by_ids(
        self, ids: Any = None, collection_name: Any = None, include: Any = None, **kwargs: Any
    ) -> list[Any]:
        found = self.get_collection(collection_name)
        return [document for id_, document in found.items() if ids is None or id_ in ids]

    def holds(self) -> Any:
        """Ids, contents and sources by collection."""
        return {
            name: sorted(
                [d["id"], d["content"], (d.get("metadata") or {}).get("source")]
                for d in documents.values()
            )
            for name, documents in self.collections.items()
        }


def _distance(document: Any, query: str) -> float:
    return 1.0 / (1 + len(set(query.lower().split()) & set(document["content"].lower().split())))


def words(text: str, model: str) -> int:
    return len(text.split())


EIGHT = [f"w{n} " * n for n in range(1, 9)]


def proxy(kit: Kit, db: Any, kind: Any = None, mode: str = "NEVER", **config: Any) -> Any:
    """A proxy that counts words and has a short prompt."""
    kind = kind or kit.RetrieveUserProxyAgent
    chosen = {
        "vector_db": db,
        "custom_token_count_function": words,
        "customized_prompt": PROMPT,
        "context_max_tokens": 6,
        **config,
    }
    return kind("rag", human_input_mode=mode, code_execution_config=False, retrieve_config=chosen)


def chat(kit: Kit, replies: list[Any], agent: Any, assistant: Any = None, **options: Any) -> Any:
    """What both say to one another, how the chat is summed up, and what the model saw of the user's
    messages.
    """
    assistant = assistant or kit.RetrieveAssistantAgent("assistant", llm_config=kit.llm_config())
    seen = kit.scripted(assistant, replies)
    options = {"message": agent.message_generator, "problem": "P", "n_results": 3, **options}
    result = kit.call(agent, "initiate_chat", assistant, **options)
    prompts = [
        [message["content"] for message in request if message["role"] != "system"]
        for request in seen
    ]
    return [
        kit.transcript(agent, assistant),
        kit.transcript(assistant, agent),
        result.summary,
        prompts,
    ]


def in_files(play: Callable[[], Any]) -> Any:
    """What it gives in a folder with three files: two in it, one below."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        os.mkdir("sub")
        for name, text in {
            "a.txt": f"{FRUIT}\n",
            "sub/b.md": "# T\n\ncherries are dark\n",
            "c.py": "print(1)\n",
        }.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        return play()


def filled(kit: Kit, db: FakeDB, **config: Any) -> Any:
    """What the collection holds after the first look into it, or the error."""
    agent = proxy(kit, db, **{"context_max_tokens": 100, **config})
    raised = kit.raised(agent.retrieve_docs, "bananas", 2)
    return [db.holds(), raised, [[d["id"] for d, _ in found] for found in agent._results]]


# Settings


@scenario
def defaults(kit: Kit) -> Any:
    agent = kit.RetrieveUserProxyAgent(
        retrieve_config={"vector_db": FakeDB()}, code_execution_config=False
    )
    names = (
        "name",
        "human_input_mode",
        "_task",
        "_model",
        "_docs_path",
        "_collection_name",
        "customized_prompt",
        "customized_answer_prefix",
        "_results",
        "_doc_ids",
        "_doc_contents",
        "llm_config",
        "_search_string",
    )
    return {name: getattr(agent, name) for name in names}


@scenario
def windows_by_name(kit: Kit) -> Any:
    models = [
        "gpt-4",
        "gpt-4-32k",
        "gpt-4o",
        "gpt-3.5-turbo",
        "gpt-3.5-turbo-16k",
        "llama-32k",
        "x",
    ]
    return [kit.RetrieveUserProxyAgent.get_max_tokens(model) for model in models] + [
        kit.RetrieveUserProxyAgent.get_max_tokens()
    ]


@scenario
def a_type_of_database_that_is_unknown(kit: Kit) -> Any:
    return kit.raised(proxy, kit, "nonsense")


@scenario(
    better=(
        "a task that there is not is refused when it is set, not when the first question is asked"
    ),
    expected="ValueError",
)
def a_task_that_is_unknown(kit: Kit) -> Any:
    return kit.raised(proxy, kit, FakeDB(), task="nonsense")


@scenario(
    better="a prompt with a placeholder that nothing fills is refused when it is set",
    expected="ValueError",
)
def a_prompt_with_an_unknown_placeholder(kit: Kit) -> Any:
    return kit.raised(proxy, kit, FakeDB(), customized_prompt="{input_context} {other}")


# Filling the collection


@scenario
def fills_from_a_file(kit: Kit) -> Any:
    return in_files(lambda: filled(kit, FakeDB(), docs_path="a.txt"))


@scenario
def fills_from_a_folder_by_type(kit: Kit) -> Any:
    return in_files(
        lambda: [
            filled(kit, FakeDB(), docs_path="sub/.."),
            filled(kit, FakeDB(), docs_path=".", recursive=False),
            filled(kit, FakeDB(), docs_path=".", custom_text_types=["py"]),
        ]
    )


@scenario
def takes_named_files_of_any_type(kit: Kit) -> Any:
    return in_files(lambda: filled(kit, FakeDB(), docs_path=["c.py", "a.txt"]))


@scenario
def cuts_by_a_function_of_ones_own(kit: Kit) -> Any:
    return in_files(
        lambda: filled(
            kit,
            FakeDB(),
            docs_path="a.txt",
            custom_text_split_function=lambda text: text.strip().split("\n\n"),
        )
    )


@scenario
def another_collection(kit: Kit) -> Any:
    return in_files(lambda: filled(kit, FakeDB("x"), docs_path="c.py", collection_name="mine"))


@scenario
def a_collection_that_is_there_already(kit: Kit) -> Any:
    ways: list[dict[str, Any]] = [{}, {"overwrite": True}, {"get_or_create": True}]
    return in_files(lambda: [filled(kit, FakeDB("old"), docs_path="c.py", **way) for way in ways])


@scenario
def no_documents_means_the_collection_is_there(kit: Kit) -> Any:
    return [filled(kit, FakeDB("bananas", "x y")), filled(kit, FakeDB())]


_UPDATED = [
    {"autogen-docs": [["1", "old", "s1"], ["6a98f904", "print(1)", "c.py"]]},
    None,
    [["1", "6a98f904"]],
]


@scenario(
    better=(
        "defect 12: get_or_create=True with new_docs=False puts the documents in; the oracle fails"
    ),
    expected=_UPDATED,
)
def updates_a_collection_that_is_there(kit: Kit) -> Any:
    return in_files(
        lambda: filled(kit, FakeDB("old"), docs_path="c.py", get_or_create=True, new_docs=False)
    )


@scenario(
    better=(
        "a path that is wrong leaves no empty collection, which would bar the way for the next try"
    ),
    expected=[{}, "ValueError", []],
)
def a_path_that_is_not_there(kit: Kit) -> Any:
    return in_files(lambda: filled(kit, FakeDB(), docs_path="nowhere"))


@scenario
def fills_once(kit: Kit) -> Any:
    def play() -> Any:
        db = FakeDB()
        agent = proxy(kit, db, docs_path="a.txt")
        for _ in range(2):
            agent.retrieve_docs("apples", 1)
        return [db.holds(), db.asked]

    return in_files(play)


# The first message


@scenario
def the_first_message(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    agent = proxy(kit, db)
    text = agent.message_generator(agent, None, {"problem": "what", "n_results": 5})
    return [
        text,
        agent.problem,
        agent.n_results,
        agent._doc_ids,
        agent._doc_idx,
        agent._current_docs_in_context,
        db.asked,
    ]


@scenario
def the_first_message_without_much(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    agent = proxy(kit, db, context_max_tokens=100)
    text = agent.message_generator(agent, None, {})
    return [text, agent.problem, agent.n_results, agent._search_string, db.asked]


@scenario
def nothing_found_ends_at_once(kit: Kit) -> Any:
    db = FakeDB("x")
    db.collections["autogen-docs"].clear()
    agent = proxy(kit, db)
    return agent.message_generator(agent, None, {"problem": "what"})


@scenario
def a_new_question_begins_anew(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT))
    return [
        agent.message_generator(agent, None, {"problem": each, "n_results": 1})
        for each in ("a", "b")
    ] + [agent._doc_ids]


@scenario
def each_passage_once_and_only_what_fits(kit: Kit) -> Any:
    db = FakeDB("a", "b c d e f g h", "i", "j k l m", "n o")
    db.collections["autogen-docs"]["1b"] = {"id": "1", "content": "another", "metadata": None}
    agent = proxy(kit, db)
    said = [agent.message_generator(agent, None, {"problem": "q", "n_results": 6})]
    said += [agent._get_context(agent._results) for _ in range(3)]
    return [said, agent._doc_ids]


@scenario
def a_context_has_n_results_at_most(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    agent = proxy(kit, db, context_max_tokens=1000)
    agent.message_generator(agent, None, {"problem": "q", "n_results": 2})
    agent.retrieve_docs("q", 8)
    agent._doc_idx = -1
    return [agent._get_context(agent._results), agent._get_context(agent._results)]


@scenario
def tasks_have_prompts_with_question_and_context(kit: Kit) -> Any:
    found = []
    for task in ("default", "qa", "code", "QA"):
        agent = proxy(kit, FakeDB("tea is hot"), customized_prompt=None, task=task)
        text = agent.message_generator(agent, None, {"problem": "What is hot?"})
        found.append(
            ["What is hot?" in text, "tea is hot" in text, "UPDATE CONTEXT" in text, "s1" in text]
        )
    return found


@scenario
def the_threshold_reaches_the_database(kit: Kit) -> Any:
    db = FakeDB("w1")
    agent = proxy(kit, db, distance_threshold=0.7)
    agent.retrieve_docs("w1", 5)
    return [db.asked, [d["id"] for d, _ in agent._results[0]]]


@scenario(
    better="the search string counts with every database; the oracle ignores it with a vector_db",
    expected=[["2"], ["2", "3"]],
)
def a_string_that_must_occur(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB("tea", "tea with milk", "milk"))
    found = []
    for n in (1, 5):
        agent.retrieve_docs("tea", n, "milk")
        found.append([d["id"] for d, _ in agent._results[0]])
    return found


# The chat


@scenario(both=True)
def an_answer_ends_the_chat(kit: Kit) -> Any:
    return chat(kit, ["the answer"], proxy(kit, FakeDB(*EIGHT)))


@scenario(both=True)
def other_passages_once(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    return [chat(kit, ["UPDATE CONTEXT", "found"], proxy(kit, db)), db.asked]


_LAST = [
    [["assistant", "rag", "TERMINATE"]],
    [["user", "rag", "TERMINATE"]],
    "rag has no further passages",
    [
        ["Q P C w1 \nw2 w2 \nw3 w3 w3 \n"],
        ["Q P C w4 w4 w4 w4 \n"],
        ["Q P C w5 w5 w5 w5 w5 \n"],
        ["Q P C w6 w6 w6 w6 w6 w6 \n"],
    ],
]


@scenario(both=True, better="a chat that lacked passages says so in its summary", expected=_LAST)
def other_passages_until_there_are_none(kit: Kit) -> Any:
    return chat(kit, ["UPDATE CONTEXT"] * 8, proxy(kit, FakeDB(*EIGHT)))


@scenario(both=True)
def other_passages_until_the_turns_are_over(kit: Kit) -> Any:
    return chat(
        kit,
        ["update context", "Please UPDATE CONTEXT.", "UPDATE CONTEXT"],
        proxy(kit, FakeDB(*EIGHT)),
        max_turns=3,
    )


_ONCE = [["P", "TERMINATE", "UPDATE CONTEXT"], 2]


@scenario(
    both=True,
    better=(
        "defect 12: that there are no more passages is said once, then the chat ends; the oracle"
        " says it again and again"
    ),
    expected=_ONCE,
)
def an_assistant_that_goes_on_asking(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB("only"), customized_prompt="P")
    assistant = kit.agent(
        "assistant", llm_config=kit.llm_config(), is_termination_msg=lambda message: False
    )
    said = chat(kit, ["UPDATE CONTEXT"] * 6, agent, assistant)
    texts = [prompt[-1] for prompt in said[3]]
    return [[texts[0], said[0][0][2], said[0][-1][2]], len(texts)]


@scenario(both=True)
def an_answer_without_the_prefix(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    agent = proxy(kit, db, customized_answer_prefix="the answer")
    return [chat(kit, ["I think w4", "THE ANSWER is 4"], agent), db.asked]


@scenario(
    both=True,
    better=(
        "an answer without the prefix is asked for once more when there are no further passages,"
        " not up to 100 times"
    ),
    expected=[[["assistant", "rag", "TERMINATE"]], ["Q P C one\ntwo\n", "Q P C one\ntwo"]],
)
def never_an_answer_with_the_prefix(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB("one", "two"), customized_answer_prefix="the answer")
    said = chat(kit, ["hm"] * 8, agent)
    return [said[0], [prompt[-1] for prompt in said[3]]]


@scenario(both=True)
def the_words_and_no_prefix(kit: Kit) -> Any:
    db = FakeDB(*EIGHT)
    agent = proxy(kit, db, customized_answer_prefix="answer:")
    return [chat(kit, ["UPDATE CONTEXT", "answer: 4"], agent), db.asked]


@scenario(both=True)
def a_person_asks_for_other_passages(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT), mode="ALWAYS")
    given = kit.human(agent, ["update context", "UPDATE CONTEXT", "exit"])
    return [chat(kit, ["first", "second", "third"], agent), given]


@scenario(
    both=True,
    better="defect 1: an async chat asks the person once a turn; the oracle does it twice",
    expected=SYNC,
)
def a_person_beside_the_passages(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT), mode="ALWAYS")
    given = kit.human(agent, ["", "and then?", "exit"])
    return [chat(kit, ["UPDATE CONTEXT", "found", "more"], agent), given]


@scenario(both=True)
def a_person_at_the_end(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT), mode="TERMINATE")
    kit.human(agent, ["and then?", "exit"])
    return chat(kit, ["UPDATE CONTEXT", "found", "more"], agent)


@scenario(
    both=True,
    better=(
        "the search for other passages goes on behind the third of them; the oracle stops at three"
        " times n_results"
    ),
    expected=[str(n) for n in range(1, 13)],
)
def other_passages_far_down(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*(f"w{n}" for n in range(12))))
    chat(kit, ["UPDATE CONTEXT"] * 12, agent, n_results=1)
    return agent._doc_ids


_CALL = {
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


@scenario(
    both=True,
    better="defect 12: a message whose content is None, such as a tool call, goes on",
    expected="done",
)
def a_tool_call_of_the_assistant(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT))
    agent.register_function({"f": lambda: "result"})
    return chat(kit, [_CALL, "done"], agent)[2]


def _group(kit: Kit, replies: list[Any], *more: Any) -> Any:
    agent = proxy(kit, FakeDB(*EIGHT))
    assistant = kit.RetrieveAssistantAgent("assistant", llm_config=kit.llm_config())
    kit.scripted(assistant, replies)
    group = kit.GroupChat(
        [agent, assistant, *more], [], max_round=8, speaker_selection_method="round_robin"
    )
    manager = kit.GroupChatManager(group, llm_config=False)
    kit.call(
        agent, "initiate_chat", manager, message=agent.message_generator, problem="P", n_results=3
    )
    return [
        [[m["name"], m["content"]] for m in group.messages],
        kit.transcript(agent, manager),
        kit.transcript(manager, agent),
    ]


@scenario(both=True)
def in_a_group(kit: Kit) -> Any:
    return _group(kit, ["UPDATE CONTEXT", "found"])


@scenario(both=True)
def in_a_group_until_the_rounds_are_over(kit: Kit) -> Any:
    return _group(kit, ["UPDATE CONTEXT"] * 6)


@scenario(both=True)
def in_a_group_with_a_third(kit: Kit) -> Any:
    return _group(kit, ["an answer"], kit.agent("other", default_auto_reply="I add something"))


# Parts


@scenario
def what_asks_for_other_passages(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB(), customized_answer_prefix="pre")
    texts = [
        "UPDATE CONTEXT",
        "update context",
        "please Update Context now",
        "x" * 40 + "UPDATE CONTEXT" + "x" * 40,
        "PRE",
        "",
        "no",
    ]
    return [list(map(bool, agent._check_update_context(text))) for text in texts]


@scenario
def what_ends_a_chat(kit: Kit) -> Any:
    texts = [
        "UPDATE CONTEXT",
        "TERMINATE",
        "hello",
        "pre hello",
        "```python\nprint(1)\n```",
        "```sh\nls\n```",
        None,
        "",
    ]
    agents = [proxy(kit, FakeDB(), customized_answer_prefix=prefix) for prefix in ("", "pre")]
    return [
        [agent._is_termination_msg({"content": text, "role": "user"}) for text in texts]
        for agent in agents
    ]


@scenario
def what_the_assistant_says_by_itself(kit: Kit) -> Any:
    assistant = kit.RetrieveAssistantAgent("assistant", llm_config=False)
    texts = [
        "exitcode: 0 (execution succeeded)\nCode output: 5",
        "exitcode: 1 (execution failed)",
        "UPDATE CONTEXT.",
        "hello",
        "x" * 30 + "UPDATE CONTEXT" + "x" * 30,
        "update context",
    ]
    return [
        assistant._generate_retrieve_assistant_reply([{"content": text}], assistant)
        for text in texts
    ]


@scenario
def results_of_an_overridden_retrieve_docs(kit: Kit) -> Any:
    base: Any = kit.RetrieveUserProxyAgent

    class Mine(base):  # type: ignore[misc]
        def retrieve_docs(self, problem: str, n_results: int = 20, search_string: str = "") -> None:
            self._results = [
                [({"id": "1", "content": f"{problem} {n_results} {search_string}"}, 0.1)]
            ]

    agent = proxy(kit, FakeDB(), Mine)
    return agent.message_generator(agent, None, {"problem": "P", "search_string": "s"})


@scenario(
    better="results in Chroma's form, as the document's example has them, are understood",
    expected="Q P C one\ntwo\n",
)
def results_in_the_form_of_chroma(kit: Kit) -> Any:
    base: Any = kit.RetrieveUserProxyAgent

    class Mine(base):  # type: ignore[misc]
        def query_vector_db(
            self, query_texts: Any, n_results: int = 10, search_string: str = "", **kwargs: Any
        ) -> Any:
            return {
                "ids": [["1", "2"]],
                "documents": [["one", "two"]],
                "metadatas": [[None, None]],
                "distances": [[0.1, 0.2]],
            }

        def retrieve_docs(
            self, problem: str, n_results: int = 20, search_string: str = "", **kwargs: Any
        ) -> None:
            self._results = self.query_vector_db(
                query_texts=[problem], n_results=n_results, search_string=search_string, **kwargs
            )

    agent = proxy(kit, FakeDB(), Mine)
    return agent.message_generator(agent, None, {"problem": "P"})


@scenario(
    better=(
        "code that is refused has failed; the oracle reports success, on which its assistant ends"
        " the chat"
    ),
    expected=[1, 1, 0],
)
def code_that_is_refused(kit: Kit) -> Any:
    agent = proxy(kit, FakeDB())
    options = {"use_docker": False, "work_dir": tempfile.mkdtemp()}
    codes = [("pip install x", "sh"), ("ls", "bash"), ("print(1)", "python")]
    return [agent.run_code(code, lang=lang, **options)[0] for code, lang in codes]


# Files and texts


@scenario
def chunks_of_paragraphs(kit: Kit) -> Any:
    text = (
        "line one here\nline two is longer than one\n\npara two line one\npara two line"
        " two\n\n\nthe last paragraph is one line\n"
    )
    return [kit.split_text_to_chunks(text, n) for n in (30, 100, 4000)] + [
        kit.split_text_to_chunks("", 5)
    ]


@scenario
def chunks_of_an_unknown_mode(kit: Kit) -> Any:
    return kit.raised(kit.split_text_to_chunks, "x", 10, "nonsense")


@scenario(
    better="a short text, and the short end of a text, are not lost",
    expected=[["abc"], ["a\na\na\na", "a"]],
)
def chunks_of_short_texts(kit: Kit) -> Any:
    return [kit.split_text_to_chunks("abc"), kit.split_text_to_chunks("a\na\na\na\na\n", 8)]


@scenario(
    better="defect 12: a folder in a list gives each file once", expected=["a.txt", "sub/b.md"]
)
def files_of_a_list_with_a_folder(kit: Kit) -> Any:
    return in_files(lambda: kit.get_files_from_dir(["a.txt", "sub", "sub"]))


@scenario
def files_of_one_path(kit: Kit) -> Any:
    return in_files(
        lambda: [
            kit.get_files_from_dir("sub"),
            kit.get_files_from_dir("c.py"),
            kit.get_files_from_dir(".", ["py"]),
            kit.get_files_from_dir([]),
            kit.raised(kit.get_files_from_dir, "nowhere"),
        ]
    )


@scenario
def chunks_of_files(kit: Kit) -> Any:
    return in_files(lambda: kit.split_files_to_chunks(["a.txt", ("c.py", "http://localhost/c.py")]))


@scenario
def addresses(kit: Kit) -> Any:
    texts = ["http://x", "https://a.b/c", "ftp://x", "x", "", "file:///a", "www.x.de", "http://"]
    return [kit.is_url(text) for text in texts]
