"""A team as a Python script, and as a notebook: plain code that needs agentkit alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar

from agentkit.core.given import list_missing
from agentkit.mcp.servers import ToolServer
from agentkit.teams.built.agents import AgentDocument, Code, CompressConfig, RetrieveConfig
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    CitedAnswer,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Queued,
    Research,
    RetrieveChat,
    Single,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.built.members import DEFAULT_PROMPT
from agentkit.teams.built.problems import check_document
from agentkit.teams.built.script_dialogue import write_dialogue
from agentkit.teams.built.script_names import APART, find_apart
from agentkit.teams.built.script_tools import needs_documents, write_future, write_tools
from agentkit.teams.built.talking import LIBRARY, to_retrieve_config
from agentkit.teams.built.writing import (
    find_taken,
    list_imports,
    name_variables,
    stand_in,
    write_call,
    write_dict,
    write_model,
    write_plan,
    write_shelf,
    write_whole,
)
from agentkit.teams.conversing import USER
from agentkit.teams.findings import FIND, SEARCH
from agentkit.teams.group import GROUP
from agentkit.teams.tools import explain_code

_CELL = "# %%"
_MODEL = """MODEL = {
    "model": os.environ.get("OPENAI_MODEL", "llama3.2"),
    "base_url": os.environ.get("OPENAI_BASE_URL", "http://localhost:11434/v1"),
    "api_key": os.environ.get("OPENAI_API_KEY", "none"),
}
LLM = {"config_list": [MODEL], "cache_seed": None}"""
_DOCUMENTS = """# The documents of a collection, as `agentkit ingest` or the app has taken them in.
COLLECTION = os.environ.get("AGENTKIT_COLLECTION", "Documents")
workspace = Workspace(load_settings())
retrieve = partial(workspace.library.retrieve, "local", [COLLECTION])
find = partial(workspace.library.find_passages, "local", [COLLECTION])
found = Findings.over(retrieve, find)"""
_OPENING = "lambda recipient, messages, sender, config"
_LATEST = "text_of(messages[-1].get('content'))"
"""What was said last, for a conversation within one."""
_QUESTION = 'question = " ".join(sys.argv[1:]) or input("Question: ")'


def write_script(document: TeamDocument, servers: Sequence[ToolServer] = ()) -> str:
    """Python that makes the agents and asks them; raises ConfigError for a team that cannot work.

    The model is that of OPENAI_MODEL at OPENAI_BASE_URL; the question is the script's argument.
    `servers`: those whose tools the agents may use; they stand in it without secrets.
    """
    check_document(document)
    names = [agent.name for agent in document.agents]
    drawn_up = stand_in(names)
    taken = find_taken(_Script(document, servers, drawn_up).write())
    bare = document.model_copy(update={"functions": []})
    apart = find_apart(document.functions, _Script(bare, servers, drawn_up).write())
    return _Script(document, servers, name_variables(names, {*taken, APART}), apart).write()


def write_notebook(document: TeamDocument, servers: Sequence[ToolServer] = ()) -> str:
    """The same as a notebook (nbformat 4.5), a cell for each part."""
    parts = write_script(document, servers).split(f"{_CELL}\n")
    cells = [_to_cell(number, part.strip("\n")) for number, part in enumerate(parts)]
    notebook = {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _to_cell(number: int, text: str) -> dict[str, Any]:
    shared = {"id": f"part-{number}", "metadata": {}}
    if number == 0:  # the docstring
        return {"cell_type": "markdown", **shared, "source": text.strip('"\n')}
    source = text.replace(_QUESTION, 'question = "Your question"')
    return {"cell_type": "code", **shared, "source": source, "outputs": [], "execution_count": None}


class _Script:
    """Writes the parts of a script one after the other."""

    def __init__(
        self,
        document: TeamDocument,
        servers: Sequence[ToolServer],
        names: Mapping[str, str],
        apart: Set[str] = frozenset(),
    ) -> None:
        """`names`: the variables of the agents, by their names; `apart`: the functions that get
        names of their own.
        """
        self._document, self._servers = document, servers
        self._flow: Any = document.flow
        self._names, self._apart = names, apart
        self._executors: dict[str, list[str]] = {}

    def write(self) -> str:
        """The script."""
        body = "\n".join(self._lines())
        first = write_future(self._document.functions)
        imports = "\n".join([*first, "import os", "import sys", *list_imports(body)])
        text = f"{_quote_docstring(self._document)}\n\n{_CELL}\n{imports}\n{body}\n"
        return text.replace("\0", "")  # of names in comments, which Python would not read

    def _lines(self) -> Iterator[str]:
        yield f"\n{_MODEL}\n{_QUESTION}"
        if self._looks_up:
            yield f"\n{_DOCUMENTS}"
        yield from write_tools(self._document, self._servers, self._apart)
        yield f"\n{_CELL}"
        for agent in self._document.agents:
            yield from self._make(agent)
        yield f"\n{_CELL}"
        yield from self._play()

    @property
    def _looks_up(self) -> bool:
        match self._document.flow:
            case CitedAnswer() | Research() | FieldTable() | Werewolf():
                return True
            case RetrieveChat(retrieve_config=RetrieveConfig(vector_db="collection")):
                return True
        if any(agent.documents for agent in self._document.agents):
            return True
        return needs_documents(self._document)

    def _make(self, agent: AgentDocument) -> Iterator[str]:
        if isinstance(self._flow, Plan | CitedAnswer | Research | FieldTable | Werewolf):
            return
        if isinstance(self._flow, Dialogue):
            yield self._assign(agent.name, "DictDialogAgent", _to_dialog_arguments(agent))
        elif agent.code is not None:
            yield self._assign(agent.name, "LoneRunner", _to_runner_arguments(agent))
            if agent.max_consecutive_auto_reply is not None:
                most = agent.max_consecutive_auto_reply
                variable = self._names[agent.name]
                yield f"{variable}.update_max_consecutive_auto_reply({most})"
        elif agent.compress_config is not None:
            config = _write_compress_config(agent.compress_config, self._names[agent.name])
            arguments = {**_to_arguments(agent), "compress_config": config}
            yield self._assign(agent.name, "CompressibleAgent", arguments)
        else:
            yield self._assign(agent.name, "ConversableAgent", _to_arguments(agent))

    def _assign(self, name: str, kind: str, arguments: Mapping[str, str]) -> str:
        return f"{self._names[name]} = {write_call(kind, arguments)}"

    def _offer(self, caller: str, executor: str) -> Iterator[str]:
        """What the agent may call; `executor` is a variable. Offered again, another executor does
        the same.
        """
        there = self._executors.setdefault(caller, [])
        if executor in there:
            return
        there.append(executor)
        first = there[0]
        if executor == first:
            yield from self._offer_first(caller, executor)
        elif self._document.agent(caller).may_call:
            yield f"{executor}.register_function(dict({first}.function_map))"

    def _offer_first(self, caller: str, executor: str) -> Iterator[str]:
        agent, variable = self._document.agent(caller), self._names[caller]
        brought: tuple[str, ...] = ()
        if agent.documents:
            yield f"{write_shelf(agent.documents)}.offer({variable}, {executor})"
            brought = (SEARCH, FIND)
        named = [use.name for use in agent.tools]
        for name in list_missing(named, brought):
            yield f"offer_tool({name!r}, tools[{name!r}], {variable}, {executor})"
        if agent.own_tools:
            yield f"for tool in [tool for tool in own if tool.__name__ not in {named!r}]:"
            told = f"caller={variable}, executor={executor}, description=getdoc(tool)"
            yield f"    register_function(tool, {told})"

    def _play(self) -> Iterator[str]:
        flow = self._flow
        if isinstance(flow, Plan):
            planner = self._document.agent(flow.planner)
            yield from write_plan(flow, planner, self._document.agent(flow.solver))
            return
        play = self._PLAYS.get(type(flow))
        if play is None:
            yield from write_whole(self._document)
            return
        yield from play(self, flow)

    def _play_single(self, flow: Single) -> Iterator[str]:
        arguments = {
            "name": repr(LIBRARY),
            "human_input_mode": "'NEVER'",
            "llm_config": "False",
            "max_consecutive_auto_reply": repr(flow.max_turns),
            "is_termination_msg": "lambda message: not has_calls(message)",
        }
        yield f"library = {write_call('ConversableAgent', arguments)}"
        yield from self._offer(flow.agent, "library")
        yield from _begin("library", self._names[flow.agent], None)

    def _play_pair(self, flow: TwoAgents) -> Iterator[str]:
        starts, answers = self._names[flow.starts], self._names[flow.answers]
        yield from self._offer(flow.starts, answers)
        chats = []
        for place, one in enumerate(flow.nested):
            yield from self._offer_both(one)
            opening = f"{_OPENING}: {_write_message(one.message, _LATEST)}"
            chats.append(self._to_chat(one, opening, range(place)))
        if chats:
            yield f"{answers}.register_nested_chats([{', '.join(chats)}], trigger={starts})"
        yield from self._offer(flow.answers, starts)
        yield from _begin(starts, answers, flow.max_turns)

    def _play_group(self, flow: Group) -> Iterator[str]:
        for name in flow.agents:
            yield from self._offer(name, self._names[name])
        yield f"group = {write_call('GroupChat', self._to_group_arguments(flow))}"
        ends = _write_ending(flow.ends_on.text, flow.ends_on.where)
        yield f"ends = {ends}"
        arguments = {
            "groupchat": "group",
            "name": repr(GROUP),
            "llm_config": "LLM",
            "is_termination_msg": f"lambda message: message.get('name') == {flow.writer!r}"
            " and ends(message)",
        }
        yield f"manager = {write_call('GroupChatManager', arguments)}"
        persons = [name for name in flow.agents if self._document.agent(name).role == "person"]
        if persons:
            yield f"user = {self._names[persons[0]]}"
        else:
            given = {"name": repr(USER), "human_input_mode": "'NEVER'", "llm_config": "False"}
            yield f"user = {write_call('ConversableAgent', given)}"
        yield from _begin("user", "manager", None)

    def _to_group_arguments(self, flow: Group) -> dict[str, str]:
        shown = {"transitions", "allow_repeat_speaker", "reads_results"}
        left_out = {"kind", "agents", "writer", "ends_on", *shown}
        given = flow.model_dump(exclude=left_out, exclude_defaults=True)
        arguments = {name: repr(value) for name, value in given.items()}
        if flow.select_speaker_auto_llm_config:
            choice = flow.select_speaker_auto_llm_config
            arguments["select_speaker_auto_llm_config"] = write_model(choice, False)
        arguments |= {
            "agents": self._list(flow.agents),
            "messages": "[]",
            "max_round": repr(flow.max_round),
            "speaker_selection_method": _write_method(flow),
        }
        if flow.transitions:
            followers = flow.followers.items()
            pairs = [f"{self._names[after]}: {self._list(names)}" for after, names in followers]
            arguments["allowed_or_disallowed_speaker_transitions"] = f"{{{', '.join(pairs)}}}"
            arguments["speaker_transitions_type"] = repr(flow.speaker_transitions_type)
        elif isinstance(flow.allow_repeat_speaker, list):
            arguments["allow_repeat_speaker"] = self._list(flow.allow_repeat_speaker)
        else:
            arguments["allow_repeat_speaker"] = repr(flow.allow_repeat_speaker)
        return arguments

    def _list(self, names: Sequence[str]) -> str:
        return f"[{', '.join(self._names[name] for name in names)}]"

    def _play_queue(self, flow: Queue) -> Iterator[str]:
        chats = []
        for place, one in enumerate(flow.chats):
            yield from self._offer_both(one)
            message = _write_message(one.message, "question")
            chats.append(self._to_chat(one, message, range(place)))
        inner = "".join(f"    {chat},\n" for chat in chats)
        yield f"results = initiate_chats([\n{inner}])"
        yield "print(results[-1].summary)"

    def _offer_both(self, chat: Queued) -> Iterator[str]:
        """Each carries out what the other calls."""
        sender, recipient = self._names[chat.sender], self._names[chat.recipient]
        yield from self._offer(chat.recipient, sender)
        yield from self._offer(chat.sender, recipient)

    def _to_chat(self, chat: Queued, message: str, before: Sequence[int]) -> str:
        given = {
            "sender": self._names[chat.sender],
            "recipient": self._names[chat.recipient],
            "message": message,
            "max_turns": repr(chat.max_turns),
            "summary_method": repr(chat.summary_method),
        }
        if chat.summary_prompt:
            given["summary_args"] = repr({"summary_prompt": chat.summary_prompt})
        if not chat.carryover:
            given["finished_chat_indexes_to_exclude_from_carryover"] = repr(list(before))
        return "{" + ", ".join(f"{name!r}: {value}" for name, value in given.items()) + "}"

    def _play_retrieve_chat(self, flow: RetrieveChat) -> Iterator[str]:
        config = flow.retrieve_config
        given = to_retrieve_config(config, "MODEL")
        written = {
            name: 'MODEL["model"]' if value == "MODEL" else repr(value)
            for name, value in given.items()
        }
        arguments = {
            "human_input_mode": "'NEVER'",
            "max_consecutive_auto_reply": repr(flow.max_turns),
            "retrieve_config": write_dict(written),
        }
        own = config.has_own_store
        kind = "RetrieveUserProxyAgent" if own else "CollectionProxy"
        before = repr(flow.proxy) if own else f"{flow.proxy!r}, found, retrieve"
        yield f"proxy = {write_call(kind, arguments, before)}"
        yield from self._offer(flow.assistant, "proxy")
        begun = {
            "message": "proxy.message_generator",
            "problem": "question",
            "n_results": repr(config.n_results),
        }
        call = write_call("proxy.initiate_chat", begun, self._names[flow.assistant])
        yield f"result = {call}\nprint(result.summary)"

    def _play_dialogue(self, flow: Dialogue) -> Iterator[str]:
        for name in flow.agents:
            yield from self._offer(name, self._names[name])
        yield from write_dialogue(flow, self._list)

    _PLAYS: ClassVar[Mapping[type, Callable[[_Script, Any], Iterator[str]]]] = {
        Single: _play_single,
        TwoAgents: _play_pair,
        Group: _play_group,
        Queue: _play_queue,
        RetrieveChat: _play_retrieve_chat,
        Dialogue: _play_dialogue,
    }


def _write_method(flow: Group) -> str:
    method = repr(flow.speaker_selection_method)
    if flow.reads_results:
        return f"choose_speaker({method}, True)"
    return method


def _begin(starts: str, answers: str, max_turns: int | None) -> Iterator[str]:
    given = {"message": f'{{"content": question, "name": {USER!r}}}'}
    if max_turns is not None:
        given["max_turns"] = repr(max_turns)
    yield f"result = {write_call(f'{starts}.initiate_chat', given, answers)}"
    yield "print(result.summary)"


def _to_arguments(agent: AgentDocument) -> dict[str, str]:
    """Those of ConversableAgent that are not as they are by default."""
    ending = agent.is_termination_msg
    given = {
        "name": repr(agent.name),
        "system_message": repr(explain_code(agent.system_message, None) or DEFAULT_PROMPT),
        "llm_config": write_model(agent.llm, agent.may_call),
        "human_input_mode": repr(agent.human_input_mode),
        "is_termination_msg": _write_ending(ending.text, ending.where),
    }
    optional = agent.model_dump(
        include={
            "max_consecutive_auto_reply",
            "default_auto_reply",
            "description",
            "context_variables",
            "silent",
        },
        exclude_defaults=True,
    )
    given |= {name: repr(value) for name, value in optional.items()}
    return given


def _write_compress_config(config: CompressConfig, variable: str) -> str:
    given = config.model_dump(by_alias=True, exclude={"strategy"})
    if config.trigger_count > 1:
        given["trigger_count"] = int(config.trigger_count)
    if config.mode != "CUSTOMIZED":
        return repr(given)
    strategy = {"strategy": config.strategy, **given}
    made = f"make_shortener(CompressConfig(**{strategy!r}), lambda: {variable})"
    return f"{{**{given!r}, 'compress_function': {made}}}"


def _to_runner_arguments(agent: AgentDocument) -> dict[str, str]:
    code = agent.code or Code()
    return {
        "name": repr(agent.name),
        "allowed": "set()",
        "human_input_mode": repr(agent.human_input_mode),
        "last_n_messages": repr(code.last_n_messages),
        "timeout_s": repr(code.timeout),
    }


def _to_dialog_arguments(agent: AgentDocument) -> dict[str, str]:
    return {
        "name": repr(agent.name),
        "sys_prompt": repr(agent.system_message or None),
        "use_memory": repr(agent.dialog.use_memory),
        "max_retries": repr(agent.dialog.max_retries),
        "llm_config": write_model(agent.choice, agent.may_call),
    }


def _write_ending(text: str, where: str) -> str:
    return f"ends_with(Ending(text={text!r}, where={where!r}))"


def _write_message(message: str, question: str) -> str:
    """What a conversation begins with; `question` is the code for what was asked."""
    parts = [repr(part) for part in message.split("{question}")]
    return f" + {question} + ".join(parts)


def _quote_docstring(document: TeamDocument) -> str:
    about = f"{document.name}: {document.description}" if document.description else document.name
    plain = about.replace("\\", "/").replace('"""', "'''")
    return f'"""{plain.rstrip(chr(34))}\n\nMade by agentkit from a team.\n"""'
