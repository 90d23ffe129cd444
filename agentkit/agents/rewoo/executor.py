"""The actions that a plan may use, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from agentkit.agents.rewoo.actions import BaseAction
from agentkit.agents.rewoo.describing import Description
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.mistakes import list_names
from agentkit.agents.rewoo.reading import can_be_called
from agentkit.agents.rewoo.schema import ActionReturn, ActionValidCode
from agentkit.agents.rewoo.special import FinishAction, FunctionAction, InvalidAction, NoAction
from agentkit.core.given import coalesce
from agentkit.core.tools import Effects
from agentkit.errors import UnknownAction, WrongArgument

Action = BaseAction | Callable[..., object]


class ActionExecutor:
    """Runs actions by name; may be used by several threads."""

    def __init__(
        self,
        actions: Action | Sequence[Action],
        invalid_action: BaseAction | None = None,
        no_action: BaseAction | None = None,
        finish_action: BaseAction | None = None,
        finish_in_action: bool = False,
    ) -> None:
        """One action or several; plain functions are made into actions. Raises WrongArgument for
        anything else.

        The three special actions are InvalidAction(), NoAction() and FinishAction() unless given.
        """
        self.actions: dict[str, BaseAction] = {}
        self.invalid_action = coalesce(invalid_action, InvalidAction())
        self.no_action = coalesce(no_action, NoAction())
        self.finish_action = coalesce(finish_action, FinishAction())
        for action in _list_actions(actions):
            self.add_action(action)
        if finish_in_action:
            self.add_action(self.finish_action)

    def get_actions_info(self) -> list[Description]:
        """The descriptions of what may be used; the APIs of a toolkit one by one, as
        `toolkit.api`.
        """
        found: list[Description] = []
        for name in self.action_names():
            found += _describe_tools(name, self.actions[name])
        return found

    def is_valid(self, name: str) -> bool:
        """Whether there is an enabled action of that name."""
        action = self.actions.get(name)
        if action is None:
            return False
        return action.enable

    def action_names(self, only_enable: bool = True) -> list[str]:
        """The names of the actions, toolkits as one."""
        if not only_enable:
            return list(self.actions)
        return list(filter(self.is_valid, self.actions))

    def tool_names(self) -> list[str]:
        """What a plan may call: the names of the enabled actions, for toolkits `toolkit.api`."""
        return [api["name"] for api in self.get_actions_info()]

    def effects_of(self, name: str) -> Effects:
        """What calling the action `name` or `toolkit.api` may change; of an unknown one `none`, as
        it only gives an error.
        """
        action, api = self._find(name)
        if action is None:
            return "none"
        return action.effects_of(api)

    def runs_again(self, name: str) -> bool:
        """Whether the action is run again when a run is replayed."""
        action, api = self._find(name)
        return action is not None and action.runs_again(api)

    def add_action(self, action: Action) -> None:
        """Add or replace an action; raises WrongArgument for anything else, and for a name that
        plans cannot write.
        """
        made = _to_action(action)
        if not can_be_called(made.name):
            raise WrongArgument(
                f"plans cannot write the name {made.name!r:.80} of an action; give it one of"
                " letters, digits, _ - . / or :, as FunctionAction(function, name=...) does."
            )
        self.actions[made.name] = made

    def del_action(self, name: str) -> None:
        """Remove an action; nothing happens when there is none of that name."""
        self.actions.pop(name, None)

    def as_inputs(self, name: str, text: str) -> Arguments:
        """A text that holds evidence, in a form in which this action takes it as one text, whatever
        it contains.
        """
        action, api = self._find(name)
        if action is None:
            return text
        return action.as_inputs(text, api)

    def __call__(self, name: str, command: Arguments) -> ActionReturn:
        """Run the action `name` or `toolkit.api`; an unknown name is answered by the invalid
        action. Raises Stopped.
        """
        action, api = self._find(name)
        if action is not None:
            returned = action(command, api)
            returned.valid = ActionValidCode.OPEN
            return returned
        for special in (self.finish_action, self.no_action):
            if name == special.name:
                return special(command)
        known = list_names(self.tool_names())
        return self.invalid_action(f"There is no action {name!r:.80}; the actions are {known}.")

    def _find(self, name: str) -> tuple[BaseAction | None, str]:
        """The enabled action `name` or `toolkit.api`, and its API; an action's own name may have a
        dot, too.
        """
        if name in self.actions:
            return self._find_enabled(name), "run"
        own, _, api = name.rpartition(".")
        return self._find_enabled(own), api or "run"

    def _find_enabled(self, name: str) -> BaseAction | None:
        if self.is_valid(name):
            return self.actions[name]
        return None


def _list_actions(given: Any) -> list[Any]:
    """One or several as a list."""
    if isinstance(given, list | tuple):
        return list(given)
    return [given]


def _describe_tools(name: str, action: BaseAction) -> list[Description]:
    """What the action of that name is to a planner: one tool, or one for each API."""
    if not action.is_toolkit:
        return [dict(action.description)]
    apis = action.description["api_list"]
    return [{**api, "name": f"{name}.{api['name']}"} for api in apis]


def _to_action(action: Action) -> BaseAction:
    if isinstance(action, BaseAction):
        return action
    if isinstance(action, type) or not callable(action):
        raise WrongArgument(
            f"an action must be a BaseAction or a function, but it is {action!r:.200}."
        )
    return FunctionAction(action)


_SPECIAL = ("FinishAction", "InvalidAction", "NoAction")


@overload
def list_tools(with_class: Literal[False] = False) -> list[str]: ...
@overload
def list_tools(with_class: Literal[True]) -> list[tuple[str, type[BaseAction]]]: ...
@overload
def list_tools(with_class: bool) -> list[str] | list[tuple[str, type[BaseAction]]]: ...
def list_tools(with_class: bool = False) -> list[str] | list[tuple[str, type[BaseAction]]]:
    """The names of all action classes, as written so far; with `with_class` pairs of name and
    class.
    """
    found = _find_tools()
    if with_class:
        return list(found.items())
    return list(found)


def get_tool_cls(specifier: str) -> type[BaseAction]:
    """The action class of that name, the newest of several; raises UnknownAction (a KeyError) with
    the names that there are.
    """
    found = _find_tools()
    if specifier not in found:
        known = ", ".join(found)
        raise UnknownAction(f"There is no action class {specifier!r:.80}; there are: {known}.")
    return found[specifier]


def get_tool(specifier: str, *args: Any, **kwargs: Any) -> BaseAction:
    """An action of the class of that name, made with these arguments; raises UnknownAction."""
    return get_tool_cls(specifier)(*args, **kwargs)


def _find_tools() -> dict[str, type[BaseAction]]:
    """All but those that only this package makes."""
    classes = list(BaseAction.__subclasses__())
    for each in classes:  # grows meanwhile
        classes += each.__subclasses__()
    return {each.__tool_name__: each for each in classes if _is_tool(each)}


def _is_tool(kind: type[BaseAction]) -> bool:
    if kind.__tool_name__ in _SPECIAL:
        return True
    return not kind.__module__.startswith("agentkit.")
