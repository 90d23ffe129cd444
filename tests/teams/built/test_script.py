"""Teams as scripts: the script asks the model what the team in the app asks it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentkit import Settings, Workspace, sources_from_paths
from agentkit.coding.chat_kernel.pool import KernelPool
from agentkit.errors import ConfigError
from agentkit.llm import Model
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.mcp.servers import AllowedTool, ToolServers, confirmed
from agentkit.mcp.serving import ServedTools
from agentkit.retrieval import Hit
from agentkit.teams.built.document import read_document
from agentkit.teams.built.script import write_notebook, write_script
from agentkit.teams.built.team import build_team
from agentkit.teams.cells import ChatCells
from agentkit.workspace.answering import list_documents, look_elsewhere
from tests.mcp.conftest import make_program
from tests.servers.openai_server import Answer, OpenAIServer, tool_call
from tests.teams.built import drafts
from tests.teams.stage import play

QUESTION = "How long is the Danube?"
SHOUT = 'def shout(text: str) -> str:\n    """Say it loudly."""\n    return text.upper() + "!"\n'
STOCK = AllowedTool(
    "stock",
    "How many of a product are there.",
    {
        "type": "object",
        "properties": {
            "product": {"title": "Product", "type": "string"},
            "city": {"title": "City", "type": "string", "default": "Vienna"},
        },
        "required": ["product"],
        "title": "stockArguments",
    },
    "harmless",
)
LAKES = "Lake Constance is fed by the Rhine, not by the Danube."
RIVERS = "The Danube is 2,850 kilometres long. The Volga is the longest river in Europe."


class Replies:
    """A model that says the same things in the same order, however often it is begun anew."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = answers
        self._next = 0

    def begin_anew(self) -> None:
        self._next = 0

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        self._next += 1
        return self._answers[(self._next - 1) % len(self._answers)]


def reply(**fields: Any) -> Answer:
    return Answer(f"```json\n{json.dumps(fields)}\n```")


SETTINGS = ("temperature", "max_tokens", "seed", "tool_choice", "response_format")
"""Of what a request says beside its messages."""
SUMMED_UP = {"summary_method": "reflection_with_llm", "summary_prompt": "Only the title."}


def _talking_pair() -> dict[str, Any]:
    nested = [{"sender": "Helper", "recipient": "Expert", "max_turns": 1}]
    draft = drafts.pair(nested=nested)
    draft["agents"][0]["default_auto_reply"] = "Go on."
    del draft["agents"][1]["documents"]
    draft["agents"].append(drafts.agent("Expert", system_message='Say "so".\nBe brief.'))
    return draft


def _compressed_pair() -> dict[str, Any]:
    draft = drafts.pair()
    draft["agents"][0]["default_auto_reply"] = "A fact is a fact. " * 12
    del draft["agents"][1]["documents"]
    config = {"mode": "COMPRESS", "trigger_count": 150, "leave_last_n": 1}
    draft["agents"][1] |= {"compress_config": config, "system_message": "Be brief."}
    return draft


def _shortened_pair() -> dict[str, Any]:
    draft = _compressed_pair()
    config = {"mode": "CUSTOMIZED", "strategy": "SlidingWindow", "trigger_count": 150}
    draft["agents"][1]["compress_config"] = config
    return draft


def _running_pair() -> dict[str, Any]:
    runner = drafts.agent("Runner", role="runner", llm=None, code={"last_n_messages": 1})
    coder = drafts.agent("Coder", system_message="Compute.\n{code}", tools=[{"name": "calculate"}])
    flow = {"kind": "two_agents", "starts": "Runner", "answers": "Coder"}
    return {"name": "Code", "agents": [runner, coder], "flow": flow}


def _reviewed_pair() -> dict[str, Any]:
    """Two may call tools in the conversations within, and not all of these is told on."""
    nested: list[dict[str, Any]] = [
        {"sender": "Helper", "recipient": "Expert", "message": "Style of {question}?"},
        {"sender": "Helper", "recipient": "Critic", "carryover": False, **SUMMED_UP},
        {"sender": "Helper", "recipient": "Editor", "message": "Well?", "max_turns": 1},
    ]
    draft = drafts.pair(nested=[{"max_turns": 2, **one} for one in nested], max_turns=1)
    helper = drafts.agent("Helper", tools=[{"name": "calculate"}])
    expert = drafts.agent("Expert", tools=[{"name": "todays_date"}])
    draft["agents"][1:] = [helper, expert, drafts.agent("Critic"), drafts.agent("Editor")]
    return draft


def _reviewed_queue() -> dict[str, Any]:
    """Who begins may call a tool, and not all is told on."""
    draft = drafts.queue()
    draft["agents"] += [drafts.agent("Editor")]
    draft["agents"][0] |= {"llm": {}, "tools": [{"name": "calculate"}]}
    first, second = draft["flow"]["chats"]
    first |= {"max_turns": 2, **SUMMED_UP}
    second |= {"max_turns": 2, "carryover": False}
    more = [{**second, "recipient": name, "max_turns": 1} for name in ("Editor", "Writer")]
    draft["flow"]["chats"] += more
    return draft


def _choosing_group() -> dict[str, Any]:
    """A model chooses who speaks; what a model is set to goes along, a choice of tools with tools
    alone.
    """
    chosen = {"temperature": 0.5, "max_tokens": 50, "seed": 3, "tool_choice": "auto"}
    draft = drafts.group(
        speaker_selection_method="auto",
        send_introductions=True,
        select_speaker_message_template="Roles: {roles}",
        select_speaker_prompt_template="Who of {agentlist} is next?",
        role_for_select_speaker_messages="user",
        select_speaker_auto_llm_config=chosen,
        ends_on={"text": "over", "where": "holds"},
    )
    draft["agents"][0] |= {"description": "Begins.", "llm": chosen}
    draft["agents"][2] |= {"llm": chosen, "tools": [{"name": "calculate"}]}
    return draft


def _small_discussion(**flow: Any) -> dict[str, Any]:
    """Two of three talk, then two vote; the question is heard by the first two alone."""
    draft = drafts.discussion()
    talk, vote = draft["flow"]["stages"]
    talk |= {"speakers": ["Ann", "Bob"], "opening": "Speak.", "rounds": 2}
    vote |= {"speakers": ["Bob", "Cid"]}
    draft["flow"] |= flow
    return draft


CALCULATED = tool_call("calculate", expression="6*7")
PROGRAM = Answer("Let me see.\n```python\nprint(6 * 7)\n```")
COMPUTED = PROGRAM, CALCULATED, Answer("It is 42. TERMINATE")
SAID = Answer("One."), Answer("Two."), Answer("Three."), Answer("Done. TERMINATE")
TALKED = [reply(thought="t", speak="Soup!", agreed=True)] * 3
VOTED = [reply(thought="t", vote=vote) for vote in ("soup", "salad", "soup")]
DISAGREED = [reply(thought="t", speak=dish, agreed=False) for dish in ("Soup!", "Salad!")] * 2
TAGGED = Answer("[thought]t[/thought][speak]Soup![/speak][agreed]true[/agreed][vote]soup[/vote]")
CHOSEN = Answer("Ann"), SAID[0], Answer("Bobby"), Answer("Cid"), Answer("It is over now.")
ORDER = [
    {"after": "Ann", "speakers": ["Cid"]},
    {"after": "Cid", "speakers": ["Bob", "Ann"]},
    {"after": "Bob", "speakers": ["Ann"]},
]
NAMED = ("Ann", "Agent"), ("Bob", "Speakers"), ("Cid", "Parser 1")


def _discussion_of_the_named() -> dict[str, Any]:
    """Agents called as the variables of a script are."""
    draft = drafts.discussion()
    draft["flow"]["stages"][1]["speakers"] = draft["flow"]["agents"]
    text = json.dumps(draft)
    for name, other in NAMED:
        text = text.replace(f'"{name}"', f'"{other}"')
    named: dict[str, Any] = json.loads(text)
    return named


CASES: dict[str, tuple[dict[str, Any], Replies]] = {
    "two agents, one within": (_talking_pair(), Replies(*SAID)),
    "compressed": (_compressed_pair(), Replies(Answer("A river. " * 40), *SAID[:2], SAID[3])),
    "shortened": (_shortened_pair(), Replies(Answer("A river. " * 40), *SAID[:2], SAID[3])),
    "code": (_running_pair(), Replies(*COMPUTED)),
    "group": (drafts.group(transitions=ORDER), Replies(*SAID[:2], *SAID[2:])),
    "group that chooses": (_choosing_group(), Replies(*CHOSEN)),
    "queue": (drafts.queue(), Replies(*SAID)),
    "conversations within": (_reviewed_pair(), Replies(SAID[0], CALCULATED, SAID[1])),
    "a queue that leaves out": (_reviewed_queue(), Replies(SAID[0], CALCULATED, SAID[1])),
    "dialogue": (drafts.discussion(), Replies(*TALKED, *VOTED)),
    "dialogue of some": (_small_discussion(), Replies(*DISAGREED, *VOTED[:2])),
    "without a hub": (_small_discussion(hub=False), Replies(*DISAGREED, *VOTED[:2])),
    "limited": (_small_discussion(turns_limit=5), Replies(*DISAGREED, *VOTED[:1])),
    "limited in the talk": (_small_discussion(turns_limit=3), Replies(*DISAGREED[:3])),
    "between tags": (_small_discussion(parser="tags"), Replies(TAGGED)),
    "called as variables": (_discussion_of_the_named(), Replies(*TALKED, *VOTED)),
}


def _play_in_app(draft: Mapping[str, Any], server: OpenAIServer, **given: Any) -> None:
    model = Model("m", "m", OpenAIClient(server.base_url, ""), "test-model", server.base_url)
    played = play(build_team(read_document(draft), "my-team:1"), model, QUESTION, **given)
    assert played.error is None


def _run_script(
    draft: Mapping[str, Any],
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    script: str = "",
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    monkeypatch.setattr(sys, "argv", ["team.py", QUESTION])
    script = script or write_script(read_document(draft))
    exec(compile(script, "team.py", "exec"), {"__name__": "__main__"})


def _take_requests(server: OpenAIServer) -> list[Any]:
    asked = []
    for one in server.requests:
        settings = {name: one.body.get(name) for name in SETTINGS}
        asked.append((one.body["messages"], one.body.get("tools"), settings))
    server.requests.clear()
    return asked


@pytest.mark.parametrize("name", CASES)
def test_the_script_asks_what_the_team_asks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, replies = CASES[name]
    with OpenAIServer(replies) as server:
        _play_in_app(draft, server, answers=["approve"] if name == "code" else [])
        in_app = _take_requests(server)
        replies.begin_anew()
        _run_script(draft, server, monkeypatch)
        assert _take_requests(server) == in_app
    assert len(in_app) >= 2


def test_the_script_tells_the_votes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = drafts.discussion()
    draft["flow"]["stages"] = draft["flow"]["stages"][1:]
    with OpenAIServer(Replies(*VOTED)) as server:
        _run_script(draft, server, monkeypatch)
    told = capsys.readouterr().out
    assert told.endswith("Cid: soup\n2 of 3 votes: soup\n1 of 3 votes: salad\n")


def test_the_script_counts_no_field_that_a_reply_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draft = drafts.discussion()
    for stage in draft["flow"]["stages"]:
        for field in stage["fields"]:
            field["required"] = False
    left_out = [reply(thought="t", speak="Soup!")] * 6 + [reply(thought="t")] * 3
    with OpenAIServer(Replies(*left_out)) as server:
        _run_script(draft, server, monkeypatch)
    assert capsys.readouterr().out.endswith("Nobody voted.\n")


PLANNED = Answer(
    "Plan: find it\n#E1 = search_documents[Danube]\n"
    "Plan: read it\n#E2 = read_result[How long, as a number? #E1]\n"
    "Plan: halve it\n#E3 = calculate[#E2 / 2]"
)
WRONG_PLAN = Answer("Plan: ask around\n#E1 = web_search[Danube]")
LOOKED_UP: dict[str, list[Answer]] = {
    "single": [tool_call("search_documents", query="Danube")],
    "retrieve_chat": [],
    "cited_answer": [],
    "research": [Answer("Danube\nVolga")],
    "plan": [WRONG_PLAN, PLANNED, Answer("2850")],
}


@pytest.mark.parametrize("kind", LOOKED_UP)
def test_the_script_looks_into_the_same_documents(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    (tmp_path / "rivers.txt").write_text(RIVERS)
    draft = getattr(drafts, kind)()
    cited = Answer("It is 2,850 kilometres long [1].")
    replies = Replies(*LOOKED_UP[kind], cited)
    workspace = Workspace(Settings(data=tmp_path / "data"))
    sources = sources_from_paths([tmp_path / "rivers.txt"])
    workspace.ingest("local", "Documents", sources).result()
    retrieve = partial(workspace.library.retrieve, "local", ["Documents"])
    with OpenAIServer(replies) as server:
        _play_in_app(draft, server, retrieve=retrieve, find=_find)
        in_app = _take_requests(server)
        workspace.close()
        replies.begin_anew()
        _run_script(draft, server, monkeypatch)
        assert _take_requests(server) == in_app
    assert RIVERS in str(in_app)


def _look_elsewhere(kind: str) -> dict[str, Any]:
    """A team whose first agent looks into another collection, and may look up twice."""
    draft: dict[str, Any] = getattr(drafts, kind)()
    draft["agents"][0]["documents"] = {"collection": "Lakes"}
    if kind in ("single", "plan"):
        draft["agents"][0]["tools"] = [{"name": name} for name in ("search_documents", "calculate")]
    return draft


@pytest.mark.parametrize("kind", ["single", "plan", "cited_answer", "research"])
def test_the_script_looks_into_the_collection_that_an_agent_names(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    workspace = Workspace(Settings(data=tmp_path / "data"))
    for name, text in {"Documents": RIVERS, "Lakes": LAKES}.items():
        (tmp_path / f"{name}.txt").write_text(text)
        sources = sources_from_paths([tmp_path / f"{name}.txt"])
        workspace.ingest("local", name, sources).result()
    more = {"look_ups": partial(look_elsewhere, workspace.library, "local")}
    replies = Replies(*LOOKED_UP[kind], Answer("It is large [1]."))
    draft = _look_elsewhere(kind)
    with OpenAIServer(replies) as server:
        _play_in_app(draft, server, find=_find, more=more)
        in_app = _take_requests(server)
        workspace.close()
        replies.begin_anew()
        _run_script(draft, server, monkeypatch)
        assert _take_requests(server) == in_app
    assert LAKES in str(in_app)


def test_the_script_keeps_functions_servers_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "data"))
    (tmp_path / "sales.csv").write_text("city,sold\nVienna,3\nLinz,4\n")
    workspace = Workspace(Settings(data=tmp_path / "data"))
    workspace.ingest("local", "Documents", sources_from_paths([tmp_path / "sales.csv"])).result()
    servers = ToolServers(tmp_path / "data")
    shop = replace(make_program(tmp_path), environment={"SHOP_KEY": "secret"})
    servers.save(confirmed(shop))
    servers.allow("shop", [STOCK])
    draft = drafts.single(
        tools=[{"name": name} for name in ("shout", "shop/stock", "query_tables")]
    )
    draft["functions"] = [{"name": "shout", "code": SHOUT, "marked": "harmless"}]
    sql = "select sum(sold) from sales_csv_1"
    calls = [
        tool_call("shout", text="tea"),
        tool_call("shop__stock", product="tea"),
        tool_call("query_tables", sql=sql),
    ]
    replies = Replies(*calls, Answer("Done."))
    more = {
        "documents": partial(list_documents, workspace.library, "local", "Documents"),
        "served": ServedTools(servers),
    }
    with OpenAIServer(replies) as server, KernelPool() as pool:
        cells = ChatCells("chat", tmp_path / "chat", pool)
        retrieve = partial(workspace.library.retrieve, "local", ["Documents"])
        _play_in_app(draft, server, retrieve=retrieve, find=_find, cells=cells, more=more)
        in_app = _take_requests(server)
        workspace.close()
        replies.begin_anew()
        monkeypatch.setenv("SHOP_KEY", "of the environment")
        script = write_script(read_document(draft), servers.all())
        _run_script(draft, server, monkeypatch, script)
        assert _take_requests(server) == in_app
    assert "secret" not in script
    said = [turn["content"] for turn in in_app[-1][0] if turn["role"] == "tool"]
    assert said == ["TEA!", "7 tea in Vienna", "sum(sold)\n7"]
    assert json.loads((tmp_path / "started").read_text())["SHOP_KEY"] == "of the environment"


LATER = "from __future__ import annotations"
FUTURE = [
    f"{LATER}\n{SHOUT}",
    f'"""To be heard."""; {LATER}; import math\n{SHOUT}',
    f"# as it was\n{LATER}  # at once\nfrom __future__ import (\n    division,\n)\n{SHOUT}",
]


@pytest.mark.parametrize("code", FUTURE)
def test_the_script_begins_with_what_functions_import_from_the_future(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whisper = SHOUT.replace("shout", "whisper").replace('upper() + "!"', "lower()")
    functions = {"shout": code, "whisper": f"{LATER}\n{whisper}"}
    draft = drafts.single(tools=[{"name": name} for name in functions])
    draft["functions"] = [
        {"name": name, "code": one, "marked": "harmless"} for name, one in functions.items()
    ]
    calls = tool_call("shout", text="tea"), tool_call("whisper", text="TEA")
    with OpenAIServer(Replies(*calls, Answer("Done."))) as server:
        _run_script(draft, server, monkeypatch)
        said = server.requests[-1].body["messages"]
    assert [turn["content"] for turn in said if turn["role"] == "tool"] == ["TEA!", "tea"]
    first = json.loads(write_notebook(read_document(draft)))["cells"][1]["source"]
    assert first.startswith(LATER)
    compile(first, "cell", "exec")


TIDY = """import re

def tidy(text):
    return re.sub("e", "{}", text)

def {}(text: str) -> str:
    \"\"\"Say it.\"\"\"
    return tidy(text)
"""


def test_functions_whose_names_mean_something_else_in_the_script_stand_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    functions = {
        "question": TIDY.format("E", "question"),
        "answer": TIDY.format("3", "answer"),
        "tools": "def tools(text: str) -> str:\n    'Say it.'\n    return text * 2\n",
        "apart": "def apart(text: str) -> str:\n    'Say it.'\n    return text * 3\n",
        "shout": f"import re\nimport os\n{SHOUT}",
    }
    draft = drafts.single(tools=[{"name": name} for name in functions])
    draft["functions"] = [
        {"name": name, "code": one, "marked": "harmless"} for name, one in functions.items()
    ]
    script = write_script(read_document(draft))
    with OpenAIServer(
        Replies(*(tool_call(one, text="tea") for one in functions), Answer("Done."))
    ) as server:
        _run_script(draft, server, monkeypatch, script)
        said = server.requests[-1].body["messages"]
    assert [turn["content"] for turn in said if turn["role"] == "tool"] == [
        "tEa",
        "t3a",
        "teatea",
        "teateatea",
        "TEA!",
    ]
    assert QUESTION in said[1]["content"]
    assert script.count("exec(") == len(functions) - 1
    assert script.count("def shout(") == script.count("\n\nimport re\nimport os\ndef shout(") == 1


def _find(text: str) -> list[Hit]:
    raise AssertionError(text)


@pytest.mark.parametrize("name", ['"""', "\\", "a\0b", "class", "1", "a'b\"c", "Ünïcödé", "os"])
def test_any_name_gives_a_script_that_can_be_read(name: str) -> None:
    draft = drafts.single() | {"name": name, "description": 'x"""; import nothing\\'}
    draft["agents"][0] |= {"name": name, "system_message": name}
    draft["flow"]["agent"] = name
    compile(write_script(read_document(draft)), "team.py", "exec")


def test_values_that_python_cannot_read_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"within": deep}
    with pytest.raises(ConfigError, match="deep in one another"):
        write_script(read_document(drafts.single(context_variables=deep)))


def test_a_notebook_has_the_same_code() -> None:
    notebook = json.loads(write_notebook(read_document(drafts.group())))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds == ["markdown", "code", "code", "code"]
    for cell in notebook["cells"][1:]:
        compile(cell["source"], "cell", "exec")
