"""Actions: what the steps of a plan can do, as classes in lagent's style."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from copy import deepcopy
from typing import Any, ClassVar

from agentkit.agents.rewoo.describing import Description, describe, read_purpose
from agentkit.agents.rewoo.inputs import Arguments, BaseParser, JsonParser
from agentkit.agents.rewoo.mistakes import list_names
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode
from agentkit.core import replay
from agentkit.core.tools import Effects, effects_of, load_arguments
from agentkit.core.twin import finish
from agentkit.errors import Stopped, WrongArgument, WrongType, explain


class BaseAction:
    """An action with a method `run`, or a toolkit with several methods marked by `tool_api`; all
    may be async.

    The description comes from signatures and docstrings; `__tool_name__` in the class gives another
    name than the class's.
    """

    __tool_name__: ClassVar[str] = "BaseAction"
    __tool_description__: ClassVar[Description] = {
        "name": "BaseAction",
        "description": "",
        "parameters": [],
        "required": [],
    }
    effects: Effects = "some"
    """What running it may change, unless its method declares that by `agentkit.effects`."""
    _is_toolkit: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Describe the class; raises WrongArgument when it has both `run` and other APIs."""
        super().__init_subclass__(**kwargs)
        if "__tool_name__" not in cls.__dict__:
            cls.__tool_name__ = cls.__name__
        cls.__tool_description__ = _describe_class(cls)
        cls._is_toolkit = "api_list" in cls.__tool_description__

    def __init__(
        self,
        description: Description | None = None,
        parser: type[BaseParser] = JsonParser,
        enable: bool = True,
    ) -> None:
        """`description` replaces the one made from the code; a disabled action is neither told nor
        run.
        """
        self._description: Description = deepcopy(description or self.__tool_description__)
        self._parser = parser(self)
        self._enable = enable
        self._loaders: dict[str, _Loader] = {}

    @property
    def name(self) -> str:
        """Under which the planner knows it."""
        return str(self._description["name"])

    @property
    def enable(self) -> bool:
        """Whether it may be used."""
        return self._enable

    @property
    def is_toolkit(self) -> bool:
        """Whether it has several APIs, called `name.api`."""
        return self._is_toolkit

    @property
    def description(self) -> Description:
        """Name, purpose and parameters; of a toolkit `api_list` with those of its APIs."""
        return self._description

    def __call__(self, inputs: Arguments, name: str = "run") -> ActionReturn:
        """Run it, or the API `name` of a toolkit; what goes wrong is told in the ActionReturn.
        Raises Stopped.
        """
        given = {"inputs": inputs, "name": name}
        function = self._find_api(name)
        if function is None:
            known = list_names(self._list_apis())
            return self._fail(
                given, f"invalid API: {name}; {self.name} has {known}.", ActionStatusCode.API_ERROR
            )
        try:
            arguments = self._parser.parse_inputs(inputs, name)
            args, kwargs = _finish_loading(self._loader(name, function)(**arguments))
        except (WrongArgument, WrongType) as error:
            return self._fail(given, str(error), ActionStatusCode.ARGS_ERROR)
        try:
            outputs = finish(function(*args, **kwargs))
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001
            # Whatever an action raises is told to planner and solver.
            return self._fail(arguments, explain(error), ActionStatusCode.API_ERROR)
        return self._complete(arguments, outputs)

    def as_inputs(self, text: str, name: str = "run") -> Arguments:
        """A text that holds evidence, in a form in which it stays one text, whatever it
        contains.
        """
        if name in self._list_apis():
            return self._parser.from_text(text, name)
        return text

    def effects_of(self, name: str = "run") -> Effects:
        """What running it, or the API `name` of a toolkit, may change. Raises WrongArgument for
        another word than these.
        """
        function = self._find_api(name)
        return effects_of(function if hasattr(function, "effects") else self)

    def runs_again(self, name: str = "run") -> bool:
        """Whether it, or the API `name` of a toolkit, is run again when a run is replayed."""
        return replay.is_run_again(self._find_api(name))

    def __repr__(self) -> str:
        return f"{self.description}"

    def _list_apis(self) -> list[str]:
        if not self.is_toolkit:
            return ["run"]
        return [api["name"] for api in self._description["api_list"]]

    def _find_api(self, name: str) -> Callable[..., object] | None:
        if name in self._list_apis():
            return self._function(name)
        return None

    def _function(self, name: str) -> Callable[..., object] | None:
        function: Callable[..., object] | None = getattr(self, name, None)
        return function

    def _loader(self, name: str, function: Callable[..., object]) -> _Loader:
        if name not in self._loaders:
            self._loaders[name] = _loader(function)
        return self._loaders[name]

    def _complete(self, arguments: dict[str, object], outputs: object) -> ActionReturn:
        if isinstance(outputs, ActionReturn):
            outputs.args = outputs.args or arguments
            outputs.type = outputs.type or self.name
            return outputs
        result = self._parser.parse_outputs(outputs)
        return ActionReturn(arguments, type=self.name, result=result)

    def _fail(self, arguments: object, problem: str, state: ActionStatusCode) -> ActionReturn:
        return ActionReturn(arguments, type=self.name, errmsg=problem, state=state)


_Given = tuple[tuple[object, ...], dict[str, object]]
"""Positional and named arguments."""
_Loader = Callable[..., _Given | Coroutine[object, None, _Given]]


def _loader(function: Callable[..., object]) -> _Loader:
    """Gives the positional and the named arguments for `function`, checked and made into the
    annotated types.
    """

    @functools.wraps(function)
    def given(*args: object, **kwargs: object) -> _Given:
        return args, kwargs

    return load_arguments(given)


def _finish_loading(made: _Given | Coroutine[object, None, _Given]) -> _Given:
    """The result of a coroutine that waits for nothing: for async functions arguments are loaded in
    one.
    """
    if isinstance(made, tuple):
        return made
    try:
        made.send(None)
    except StopIteration as returned:
        given: _Given = returned.value
        return given
    raise AssertionError("unreachable: loading arguments waits for nothing")


def _describe_class(cls: type) -> Description:
    told: Description = {"name": cls.__dict__["__tool_name__"], "description": read_purpose(cls)}
    marked = _find_marked(cls)
    marked.pop("run", None)
    run = getattr(cls, "run", None)
    if marked and run is not None:
        raise WrongArgument(
            f"{cls.__name__} has `run` and the APIs {', '.join(marked)}; an action has either one"
            " or the other."
        )
    if marked:
        return told | {"api_list": list(marked.values())}
    if run is None:
        return told | {"parameters": [], "required": []}
    api = getattr(run, "api_description", None) or describe(run)
    told["description"] = api["description"] or told["description"]
    return {**api, **told}


def _find_marked(cls: type) -> dict[str, Description]:
    """The methods marked by `tool_api`, inherited ones included, in the order in which they were
    written.
    """
    members: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        members |= vars(each)
    marked: dict[str, Description] = {}
    for name, value in members.items():
        described = getattr(value, "api_description", None)
        if described is not None:
            marked[name] = described
    return marked
