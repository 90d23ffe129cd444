"""Models of a script's own class, as AgentScope's scripts register them, behind the `model_type` of
a configuration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, cast

from agentkit.agents.dialog.memory import list_messages
from agentkit.agents.dialog.msg import Msg
from agentkit.core.given import coalesce
from agentkit.errors import BadModelReply, WrongArgument, WrongType
from agentkit.llm.calls.stream import delta
from agentkit.llm.model import Model
from agentkit.llm.response import Response, text_response
from agentkit.messages import text_of, without_keys
from agentkit.parsers import ModelResponse


class ModelWrapperBase(ABC):
    """The base of such a class: `model_type` says for which configurations it is, `__call__` asks
    the model.

    `__call__` gets what `format` makes of the messages, by default a list of dicts with `role` and
    `content`, and gives a ModelResponse with `text` or `stream` (the text so far, again and again).
    Source: AgentScope's class of that name.
    """

    model_type: str

    def __init__(
        self, config_name: str | None = None, model_name: str | None = None, **kwargs: Any
    ) -> None:
        """Gets the keys of the configuration; raises WrongArgument without a model_name."""
        if model_name is None:
            raise WrongArgument(
                f"The model configuration {config_name!r} has no model_name; add one."
            )
        self.config_name = config_name
        self.model_name = model_name

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Ask the model."""

    def format(self, *args: Msg | Sequence[Msg] | None) -> Any:
        """The messages in the form that `__call__` takes."""
        messages = chain.from_iterable(map(list_messages, args))
        return [{"role": message.role, "content": message.content} for message in messages]


_registered: dict[str, type[ModelWrapperBase]] = {}


def register_model_wrapper_class(
    model_wrapper_class: type[ModelWrapperBase], exist_ok: bool = False
) -> None:
    """Let configurations with the `model_type` of this class use it; `init` is called after that.

    Raises WrongType for another class, WrongArgument without a model_type, or with one that is
    taken, unless `exist_ok`.
    """
    given: object = model_wrapper_class
    is_wrapper = isinstance(given, type) and issubclass(given, ModelWrapperBase)
    if not is_wrapper:
        raise WrongType(
            "A model wrapper must be a subclass of ModelWrapperBase, not"
            f" {model_wrapper_class!r:.200}."
        )
    kind = getattr(model_wrapper_class, "model_type", "")
    if not isinstance(kind, str) or not kind:
        raise WrongArgument(
            f"{model_wrapper_class.__name__} has no model_type; write one, such as model_type ="
            " 'mine'."
        )
    known = _registered.get(kind, model_wrapper_class)
    is_taken = known is not model_wrapper_class
    if is_taken and not exist_ok:
        raise WrongArgument(
            f"The model_type {kind!r} is taken by {known.__name__}; pass exist_ok=True to replace"
            " it."
        )
    _registered[kind] = model_wrapper_class


def list_model_types() -> list[str]:
    """The model types of the classes that are registered."""
    return sorted(_registered)


def make_model(kind: str, config: Mapping[str, Any]) -> Model:
    """The model that a registered class asks; raises what the class raises for the
    configuration.
    """
    wrapper = _registered[kind](**without_keys(config, ["model_type"]))
    name = str(getattr(wrapper, "model_name", "") or config["config_name"])
    return Model(
        f"{kind}/{config['config_name']}/{name}", name, _WrapperClient(wrapper), name, "custom"
    )


class _WrapperClient:
    """Asks through an object of such a class."""

    def __init__(self, wrapper: ModelWrapperBase) -> None:
        self._wrapper = wrapper

    def create(self, params: Mapping[str, Any]) -> Response:
        """Its answer as a whole; what it streams is said on the way. Raises whatever it raises, and
        BadModelReply.
        """
        asked = [
            Msg(
                str(message.get("name") or message["role"]), message.get("content"), message["role"]
            )
            for message in params["messages"]
        ]
        response = self._wrapper(self._wrapper.format(*asked))
        if not isinstance(response, ModelResponse):
            raise BadModelReply(
                f"{type(self._wrapper).__name__} gave {response!r:.200}; its __call__ must give a"
                " ModelResponse."
            )
        said = ""
        for _, text in coalesce(response.stream, ()):
            delta(text.removeprefix(said))
            said = text
        return text_response(cast(str, response.text), str(params["model"]))

    def message_retrieval(self, response: Response) -> list[str]:
        """The text."""
        return [text_of(response.choices[0].message.content)]

    def cost(self, response: Response) -> None:
        """Unknown."""

    def get_usage(self, response: Response) -> Mapping[str, Any]:
        """Unknown: it is estimated."""
        return {}
