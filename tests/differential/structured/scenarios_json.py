"""JSON in a fenced block: what is found, what is refused, and by which error."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Better, Kit, better, each, scenario

NO_JSON = {"raises": "JsonParsingError", "raw": True}


def fenced(text: str, word: str = "json") -> str:
    return f"```{word}\n{text}\n```"


@each(
    object=fenced('{"a": 1}'),
    list=fenced('[1, "two", null]'),
    number=fenced("3.5"),
    text=fenced('"hello"'),
    true=fenced("true"),
    null=fenced("null"),
    nested=fenced('{"a": {"b": [{"c": [1, [2]]}]}}'),
    unicode=fenced('{"名前": "Zoë \\u00e9 \\ud83d\\ude00 😀"}'),
    escapes=fenced(r'{"a": "line\nquote \" backslash \\ slash \/"}'),
    empty_object=fenced("{}"),
    large_number=fenced('{"a": 123456789012345678901234567890, "b": 1e-7}'),
    the_last_of_equal_keys=fenced('{"a": 1, "a": 2}'),
    on_one_line='```json{"a": 1}```',
    with_windows_line_ends='```json\r\n{"a": 1}\r\n```\r\n',
    indented='  ```json\n  {"a": 1}\n  ```',
    over_several_lines=fenced('{\n  "a": 1,\n\n  "b": [\n    2\n  ]\n}'),
    prose_around="Of course!\n\n" + fenced('{"a": 1}') + "\n\nDoes that help?",
    thinking_before="<think>Which one? Perhaps {1}.</think>\n" + fenced('{"a": 1}'),
    code_after=fenced('{"a": 1}') + "\n" + fenced("print(1)", "python"),
    no_end='```json\n{"a": 1}',
    no_begin='{"a": 1}\n```',
    no_fence='{"a": 1}',
    no_fence_but_spaces='\n  {"a": 1}  \n',
    prose_only="I would rather not answer in that form.",
    empty_fence=fenced(""),
    empty_reply="",
    blank_reply="  \n ",
    cut_off='```json\n{"a": 1, "b": "tw',
    words_in_the_fence=fenced("a is 1"),
    no_quotes_at_all=fenced("{a b: c d}"),
    two_values=fenced('{"a": 1} {"b": 2}'),
    colon_missing=fenced('{"a" 1}'),
)
def json_of(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonObjectParser(), text)


@each(
    plain=Better(fenced('{"a": 1}', ""), "a fence without a word is a fence", {"parsed": {"a": 1}}),
    plain_on_one_line=Better(
        '```{"a": 1}```', "a fence without a word is a fence", {"parsed": {"a": 1}}
    ),
    upper_case=Better(
        fenced('{"a": 1}', "JSON"), "the word's case does not matter", {"parsed": {"a": 1}}
    ),
    mixed_case=Better(
        fenced('{"a": 1}', "Json"), "the word's case does not matter", {"parsed": {"a": 1}}
    ),
    upper_case_after_prose=Better(
        "Here:\n" + fenced('{"a": 1}', "JSON") + "\nDone.",
        "the word's case does not matter",
        {"parsed": {"a": 1}},
    ),
    plain_after_prose=Better(
        "Here:\n" + fenced('{"a": 1}', "") + "\nDone.",
        "a fence without a word is a fence",
        {"parsed": {"a": 1}},
    ),
    in_a_text=Better(
        fenced('{"code": "use ```python\\nx = 1\\n``` here", "b": 2}'),
        "a fence inside a JSON text does not end the block",
        {"parsed": {"code": "use ```python\nx = 1\n``` here", "b": 2}},
    ),
    of_another_language_before=fenced("x = {1}", "python") + "\n" + fenced('{"a": 1}'),
    with_an_example_before=Better(
        "The form is\n" + fenced("{your_json_object}") + "\nso:\n" + fenced('{"a": 1}'),
        "an example that is no JSON is passed over",
        {"parsed": {"a": 1}},
    ),
    plain_example_before="The form is\n" + fenced("{...}", "") + "\nso:\n" + fenced('{"a": 1}'),
    the_last_of_two=Better(
        "Such as " + fenced('{"a": 1}') + " but I say " + fenced('{"a": 2}'),
        "the answer comes after its examples",
        {"parsed": {"a": 2}},
    ),
    of_another_language_and_json_beside=Better(
        fenced("x = {1: 2}", "python") + '\n{"a": 1}',
        "JSON outside of fences is found, too",
        {"parsed": {"a": 1}},
    ),
    of_tildes=Better(
        '~~~json\n{"a": 1}\n~~~', "tildes are a fence of Markdown", {"parsed": {"a": 1}}
    ),
    of_four_ticks='````json\n{"a": 1}\n````',
    in_a_fence=Better(
        fenced(fenced('{"a": 1}')), "a fence too many is harmless", {"parsed": {"a": 1}}
    ),
    json5=Better(
        fenced('{"a": 1}', "json5"), "JSON5 and JSON with comments are JSON", {"parsed": {"a": 1}}
    ),
    in_thoughts_valid=Better(
        "<think>" + fenced('{"a": 1}') + "</think>" + fenced('{"a": 2}'),
        "what is only thought is no answer",
        {"parsed": {"a": 2}},
    ),
    in_thoughts=Better(
        "<think>Like\n" + fenced("{...}") + "?</think>\n" + fenced('{"a": 1}'),
        "what is only thought is no answer",
        {"parsed": {"a": 1}},
    ),
)
def fence(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonObjectParser(), text)


@each(
    comma_at_the_end=Better(
        fenced('{"a": 1, "b": [1, 2,],}'),
        "a comma too many is harmless",
        {"parsed": {"a": 1, "b": [1, 2]}},
    ),
    comments=Better(
        fenced('{"a": 1, // one\n "b": 2 /* two */}'),
        "comments are harmless",
        {"parsed": {"a": 1, "b": 2}},
    ),
    single_quotes=Better(
        fenced("{'a': 'one'}"), "single quotes are unambiguous", {"parsed": {"a": "one"}}
    ),
    bare_keys=Better(fenced("{a: 1}"), "a bare key is unambiguous", {"parsed": {"a": 1}}),
    words_of_python=Better(
        fenced('{"a": True, "b": None}'),
        "Python's words have one meaning",
        {"parsed": {"a": True, "b": None}},
    ),
    line_break_in_a_text=Better(
        fenced('{"a": "x\ny"}'), "a line break in a text is itself", {"parsed": {"a": "x\ny"}}
    ),
    full_width_marks=Better(
        fenced('{"a"：1，"b"：2}'),
        "marks of another keyboard are marks",
        {"parsed": {"a": 1, "b": 2}},
    ),
    typographic_quotes=Better(
        fenced("{“a”: “x”}"), "quotes of another keyboard are quotes", {"parsed": {"a": "x"}}
    ),
    byte_order_mark=Better(
        fenced('\ufeff{"a": 1}'), "a byte order mark says nothing", {"parsed": {"a": 1}}
    ),
    prose_behind=Better(
        '{"a": 1} is what I say.', "words around an object are not it", {"parsed": {"a": 1}}
    ),
    prose_before=Better(
        'What I say is {"a": 1}', "words around an object are not it", {"parsed": {"a": 1}}
    ),
    no_number=Better(fenced('{"a": NaN}'), "NaN is no JSON and no server takes it", NO_JSON),
    infinite=Better(
        fenced('{"a": -Infinity}'), "Infinity is no JSON and no server takes it", NO_JSON
    ),
    never_by_guessing_an_end=fenced('{"a": {"b": 1}'),
    never_by_guessing_quotes=fenced('{"a": "he said "no" to it"}'),
    never_by_guessing_values=fenced('{"a": 1,, "b": 2}'),
    never_by_guessing_digits=fenced('{"a": 01}'),
    never_by_guessing_brackets=fenced('"a": 1'),
)
def repaired(kit: Kit, text: str) -> Any:
    return kit.read(kit.MarkdownJsonObjectParser(), text)


@scenario
def json_without_any_text(kit: Kit) -> Any:
    return kit.raised(kit.MarkdownJsonObjectParser().parse, kit.ModelResponse())


@scenario
def json_attributes(kit: Kit) -> Any:
    made = [
        kit.MarkdownJsonObjectParser(),
        kit.MarkdownJsonObjectParser("a hint"),
        kit.MarkdownJsonDictParser(),
    ]
    return [[p.name, p.tag_begin, p.tag_end, isinstance(p, kit.ParserBase)] for p in made]


@each(
    text="{what you think}",
    empty="",
    dict={"thought": "what you think", "vote": "é 名"},
    list=["a", 1],
    number=3,
    nothing=None,
)
def json_hint(kit: Kit, hint: Any) -> Any:
    given, plain = kit.MarkdownJsonObjectParser(hint), kit.MarkdownJsonDictParser(hint)
    told = [
        given.content_hint in given.format_instruction,
        plain.content_hint in plain.format_instruction,
    ]
    hints = [] if hint is None else [given.content_hint, plain.content_hint]
    fences = [
        p.tag_begin in p.format_instruction and p.format_instruction.count("```") >= 2
        for p in (given, plain)
    ]
    return [hints, told, fences]


@scenario
def json_hint_that_is_no_json(kit: Kit) -> Any:
    return [
        kit.raised(kind, {1, 2})
        for kind in (kit.MarkdownJsonObjectParser, kit.MarkdownJsonDictParser)
    ]


@scenario
def json_parse_returns_the_response_it_was_given(kit: Kit) -> Any:
    response = kit.ModelResponse(text=fenced("[1]"), raw={"id": 7})
    parsed = kit.MarkdownJsonObjectParser().parse(response)
    return [parsed is response, response.parsed, response.raw, response.text]


@better("a parser reads a text, it does not write one", ['{"a": 1}', '```json\n{"a": 1}'])
def json_text_after_parsing_without_fences(kit: Kit) -> Any:
    responses = [kit.ModelResponse(text='{"a": 1}'), kit.ModelResponse(text='```json\n{"a": 1}')]
    return [kit.MarkdownJsonObjectParser().parse(response).text for response in responses]


@better("what an earlier parser found is not left there after an error", [None, None, None])
def json_parsed_after_an_error(kit: Kit) -> Any:
    found = []
    for text in (fenced("[1"), fenced("[1]"), fenced('{"a": 1}')):
        response = kit.ModelResponse(text=text, parsed="from before")
        kit.raised(kit.MarkdownJsonDictParser(required_keys=["b"]).parse, response)
        found.append(response.parsed)
    return found


@better(
    "the error has the whole reply, not a part with fences that nobody wrote", "No:\n```json\n[1"
)
def json_raw_response(kit: Kit) -> Any:
    try:
        kit.MarkdownJsonObjectParser().parse(kit.ModelResponse(text="No:\n```json\n[1"))
    except kit.JsonParsingError as error:
        return error.raw_response


@scenario
def json_one_parser_for_many_replies(kit: Kit) -> Any:
    parser = kit.MarkdownJsonObjectParser()
    return [kit.read(parser, fenced(text)) for text in ("[1]", "no", "[2]")]
