"""Names, order and defaults of parameters, and how the classes are related."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Better, Kit, each, scenario

PARSERS = (
    "MarkdownJsonObjectParser",
    "MarkdownJsonDictParser",
    "MarkdownCodeBlockParser",
    "MultiTaggedContentParser",
)


@each(
    ModelResponse="ModelResponse",
    DictFilterMixin=Better(
        "DictFilterMixin",
        "the filters have the defaults that they have in parsers",
        [
            ["self", "POSITIONAL_OR_KEYWORD", "required"],
            ["keys_to_memory", "POSITIONAL_OR_KEYWORD", True],
            ["keys_to_content", "POSITIONAL_OR_KEYWORD", True],
            ["keys_to_metadata", "POSITIONAL_OR_KEYWORD", False],
        ],
    ),
    MarkdownJsonObjectParser="MarkdownJsonObjectParser",
    MarkdownJsonDictParser=Better(
        "MarkdownJsonDictParser",
        "fields that a reply may lack can be named, as between tags",
        [
            ["self", "POSITIONAL_OR_KEYWORD", "required"],
            ["content_hint", "POSITIONAL_OR_KEYWORD", None],
            ["required_keys", "POSITIONAL_OR_KEYWORD", None],
            ["keys_to_memory", "POSITIONAL_OR_KEYWORD", True],
            ["keys_to_content", "POSITIONAL_OR_KEYWORD", True],
            ["keys_to_metadata", "POSITIONAL_OR_KEYWORD", False],
            ["keys_allow_missing", "KEYWORD_ONLY", None],
        ],
    ),
    MarkdownCodeBlockParser="MarkdownCodeBlockParser",
    TaggedContent="TaggedContent",
    MultiTaggedContentParser="MultiTaggedContentParser",
    Msg="Msg",
    SequentialPipeline="SequentialPipeline",
    ResponseParsingError="ResponseParsingError",
    TagNotFoundError="TagNotFoundError",
    AgentBase="AgentBase",
)
def parameters_of(kit: Kit, name: str) -> Any:
    return kit.signature(getattr(kit, name).__init__)


@each(RegexTaggedContentParser="RegexTaggedContentParser")
def parameters_but_for_the_pattern_of(kit: Kit, name: str) -> Any:
    _, (pattern, kind, default), *others = kit.signature(getattr(kit, name).__init__)
    return [pattern, kind, "<name>" in default and "<content>" in default, others]


@each(
    DialogAgent=Better(
        "DialogAgent",
        "the role and the model's configuration can be left out where `llm_config` is given",
        [
            ["self", "required"],
            ["name", "required"],
            ["sys_prompt", None],
            ["model_config_name", None],
            ["use_memory", True],
        ],
    ),
    DictDialogAgent=Better(
        "DictDialogAgent",
        "the role and the model's configuration can be left out where `llm_config` is given",
        [
            ["self", "required"],
            ["name", "required"],
            ["sys_prompt", None],
            ["model_config_name", None],
            ["use_memory", True],
            ["max_retries", 3],
        ],
    ),
)
def parameters_of_agents(kit: Kit, name: str) -> Any:
    return [
        [parameter, default] for parameter, _, default in kit.signature(getattr(kit, name).__init__)
    ]


@scenario
def parameters_that_agents_must_be_given_in_order(kit: Kit) -> Any:
    made = (kit.DialogAgent, kit.DictDialogAgent)
    return [
        [name for name, kind, _ in kit.signature(one.__init__) if kind == "POSITIONAL_OR_KEYWORD"]
        for one in made
    ]


@each(
    to_memory=("DictFilterMixin", "to_memory"),
    to_content=("DictFilterMixin", "to_content"),
    to_metadata=("DictFilterMixin", "to_metadata"),
    set_parser=("DictDialogAgent", "set_parser"),
    reset_audience=("AgentBase", "reset_audience"),
    clear_audience=("AgentBase", "clear_audience"),
    rm_audience=("AgentBase", "rm_audience"),
    observe=("AgentBase", "observe"),
    get_memory=("TemporaryMemory", "get_memory"),
    delete=("TemporaryMemory", "delete"),
    load=("TemporaryMemory", "load"),
    export=("TemporaryMemory", "export"),
    clear=("TemporaryMemory", "clear"),
    size=("TemporaryMemory", "size"),
    to_dict=("Msg", "to_dict"),
    get_text_content=("Msg", "get_text_content"),
    get_content_blocks=("Msg", "get_content_blocks"),
)
def parameters_of_method(kit: Kit, where: tuple[str, str]) -> Any:
    return [
        [name, default]
        for name, _, default in kit.signature(getattr(getattr(kit, where[0]), where[1]))
    ]


@each(**{name: name for name in PARSERS})
def parameters_of_parse(kit: Kit, name: str) -> Any:
    return kit.signature(getattr(kit, name).parse)


@each(msghub="msghub", sequential_pipeline="sequential_pipeline")
def parameters_of_function(kit: Kit, name: str) -> Any:
    return [[name, default] for name, _, default in kit.signature(getattr(kit, name))]


@scenario
def errors_and_their_bases(kit: Kit) -> Any:
    names = (
        "JsonParsingError",
        "JsonDictValidationError",
        "JsonTypeError",
        "RequiredFieldNotFoundError",
        "TagNotFoundError",
    )
    return [issubclass(getattr(kit, name), kit.ResponseParsingError) for name in names]


@scenario
def errors_attributes(kit: Kit) -> Any:
    names = (
        "ResponseParsingError",
        "JsonParsingError",
        "JsonTypeError",
        "RequiredFieldNotFoundError",
        "TagNotFoundError",
    )
    made = [getattr(kit, name)("wrong", "the reply") for name in names]
    return [[error.message, error.raw_response, "wrong" in str(error)] for error in made]


@scenario
def errors_which_tag_is_missing(kit: Kit) -> Any:
    made = [
        kit.TagNotFoundError("m"),
        kit.TagNotFoundError("m", "r", False),
        kit.TagNotFoundError("m", missing_end_tag=False),
    ]
    return [[error.missing_begin_tag, error.missing_end_tag, error.raw_response] for error in made]


@scenario
def a_parser_must_say_how_it_parses(kit: Kit) -> Any:
    return kit.raised(kit.ParserBase)


@scenario
def a_parser_of_ones_own(kit: Kit) -> Any:
    class Words(kit.ParserBase):  # type: ignore[misc, name-defined]
        format_instruction = "Write words."

        def parse(self, response: Any) -> Any:
            response.parsed = response.text.split()
            return response

    return [kit.read(Words(), "a b"), Words().format_instruction]


@scenario
def response_attributes(kit: Kit) -> Any:
    empty, full = (
        kit.ModelResponse(),
        kit.ModelResponse("t", [0.5], ["u"], {"id": 1}, {"a": 1}, None, [{"name": "f"}]),
    )
    return [
        [r.text, r.embedding, r.image_urls, r.raw, r.parsed, r.tool_calls] for r in (empty, full)
    ]


@scenario
def response_can_be_changed(kit: Kit) -> Any:
    response = kit.ModelResponse("t")
    response.text, response.parsed = "u", [1]
    return [response.text, response.parsed]


@scenario
def response_of_a_stream(kit: Kit) -> Any:
    response = kit.ModelResponse(stream=(text for text in ("a", "ab", "abc")))
    return response.text


@scenario
def response_of_a_stream_piece_by_piece(kit: Kit) -> Any:
    response = kit.ModelResponse(stream=(text for text in ("a", "ab")))
    return [list(response.stream), response.text]
