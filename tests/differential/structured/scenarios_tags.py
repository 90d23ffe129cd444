"""Tagged content: named tags, and tags that a pattern finds."""

from __future__ import annotations

from typing import Any

from tests.differential.structured.kit import Better, Kit, better, each, scenario

BOLD = r"\*\*(?P<name>\w+)\*\*(?P<content>.*?)\*\*end\*\*"


def pair(kit: Kit, parse_json: bool = False, **options: Any) -> Any:
    """A parser of [THOUGHT] and [VOTE]."""
    return kit.MultiTaggedContentParser(
        kit.TaggedContent("thought", "[THOUGHT]", "what you think", "[/THOUGHT]"),
        kit.TaggedContent("vote", "[VOTE]", "a name", "[/VOTE]", parse_json=parse_json),
        **options,
    )


# --- one tag


@scenario
def tag_attributes(kit: Kit) -> Any:
    made = [
        kit.TaggedContent("a", "<a>", "hint", "</a>"),
        kit.TaggedContent("b", "[B]", "", "[/B]", True),
    ]
    return [[t.name, t.tag_begin, t.content_hint, t.tag_end, t.parse_json, str(t)] for t in made]


@scenario
def tag_by_names(kit: Kit) -> Any:
    return str(
        kit.TaggedContent(tag_end=">", tag_begin="<", content_hint="h", name="n", parse_json=False)
    )


# --- several tags


@each(
    both="[THOUGHT]hm[/THOUGHT]\n[VOTE]Ann[/VOTE]",
    in_another_order="[VOTE]Ann[/VOTE][THOUGHT]hm[/THOUGHT]",
    prose_around="Well: [THOUGHT]hm[/THOUGHT] and so [VOTE]Ann[/VOTE]. Yes!",
    spaces_kept="[THOUGHT]\n  hm \n[/THOUGHT][VOTE] Ann [/VOTE]",
    empty="[THOUGHT][/THOUGHT][VOTE][/VOTE]",
    several_lines="[THOUGHT]one\n\ntwo[/THOUGHT][VOTE]Ann[/VOTE]",
    the_first_of_two="[THOUGHT]a[/THOUGHT][THOUGHT]b[/THOUGHT][VOTE]Ann[/VOTE]",
    one_missing="[THOUGHT]hm[/THOUGHT]",
    all_missing="I vote for Ann.",
    end_missing="[THOUGHT]hm[/THOUGHT][VOTE]Ann",
    begin_missing="[THOUGHT]hm[/THOUGHT]Ann[/VOTE]",
    both_of_the_first_missing="[VOTE]Ann[/VOTE]",
    empty_reply="",
    unicode="[THOUGHT]思考 😀[/THOUGHT][VOTE]Zoë[/VOTE]",
    another_case=Better(
        "[thought]hm[/thought][Vote]Ann[/Vote]",
        "a tag's case does not matter",
        {"parsed": {"thought": "hm", "vote": "Ann"}},
    ),
    in_thoughts=Better(
        "<think>[VOTE]Bob[/VOTE]?</think>[THOUGHT]hm[/THOUGHT][VOTE]Ann[/VOTE]",
        "what is only thought is no answer",
        {"parsed": {"thought": "hm", "vote": "Ann"}},
    ),
    in_a_fence="```\n[THOUGHT]hm[/THOUGHT][VOTE]Ann[/VOTE]\n```",
    one_in_another="[THOUGHT]hm [VOTE]Ann[/VOTE][/THOUGHT]",
    an_end_before="[/VOTE][THOUGHT]hm[/THOUGHT][VOTE]Ann[/VOTE]",
    end_broken="[THOUGHT]hm[/THOUGHT][VOTE]Ann[/VOTE",
    markup_inside="[THOUGHT]<b>1 < 2</b> {x}[/THOUGHT][VOTE]Ann[/VOTE]",
)
def tags(kit: Kit, text: str) -> Any:
    return kit.read(pair(kit), text)


@each(
    object='[THOUGHT]1[/THOUGHT][VOTE]{"for": ["Ann"]}[/VOTE]',
    list="[THOUGHT]1[/THOUGHT][VOTE][1, 2][/VOTE]",
    number="[THOUGHT]1[/THOUGHT][VOTE]7[/VOTE]",
    text='[THOUGHT]1[/THOUGHT][VOTE]"Ann"[/VOTE]',
    true="[THOUGHT]1[/THOUGHT][VOTE]\n true \n[/VOTE]",
    null="[THOUGHT]1[/THOUGHT][VOTE]null[/VOTE]",
    bare_word="[THOUGHT]1[/THOUGHT][VOTE]Ann[/VOTE]",
    empty="[THOUGHT]1[/THOUGHT][VOTE][/VOTE]",
    cut_off='[THOUGHT]1[/THOUGHT][VOTE]{"for": [/VOTE]',
    fenced=Better(
        '[THOUGHT]1[/THOUGHT][VOTE]```json\n{"for": []}\n```[/VOTE]',
        "a fence around it is harmless",
        {"parsed": {"thought": "1", "vote": {"for": []}}},
    ),
    single_quotes=Better(
        "[THOUGHT]1[/THOUGHT][VOTE]['Ann'][/VOTE]",
        "single quotes are unambiguous",
        {"parsed": {"thought": "1", "vote": ["Ann"]}},
    ),
    no_number=Better(
        "[THOUGHT]1[/THOUGHT][VOTE]NaN[/VOTE]",
        "NaN is no JSON",
        {"raises": "JsonParsingError", "raw": True},
    ),
)
def tags_as_json(kit: Kit, text: str) -> Any:
    return kit.read(pair(kit, parse_json=True), text)


@each(
    present=["vote"],
    other=["thought"],
    none=[],
    unknown=["absent"],
)
def tags_that_may_be_missing(kit: Kit, allowed: list[str]) -> Any:
    parser = pair(kit, keys_allow_missing=allowed)
    texts = (
        "[THOUGHT]hm[/THOUGHT]",
        "[VOTE]Ann[/VOTE]",
        "[THOUGHT]hm[/THOUGHT][VOTE]Ann[/VOTE]",
        "[THOUGHT]hm",
        "",
    )
    return [parser.keys_allow_missing, [kit.read(parser, text) for text in texts]]


@scenario
def tags_may_all_be_missing(kit: Kit) -> Any:
    return kit.read(pair(kit, keys_allow_missing=["thought", "vote"]), "nothing")


@scenario
def tags_of_bad_json_may_not_be_missing(kit: Kit) -> Any:
    return kit.read(
        pair(kit, parse_json=True, keys_allow_missing=["vote"]),
        "[THOUGHT]1[/THOUGHT][VOTE]Ann[/VOTE]",
    )


@scenario
def tags_parser_attributes(kit: Kit) -> Any:
    parser = pair(kit, keys_to_content="vote")
    names = [tag.name for tag in parser.tagged_contents]
    return [
        names,
        parser.keys_allow_missing,
        parser.keys_to_memory,
        parser.keys_to_content,
        parser.keys_to_metadata,
    ]


@scenario
def tags_instruction(kit: Kit) -> Any:
    told = pair(kit).format_instruction
    wanted = ("[THOUGHT]", "[/THOUGHT]", "[VOTE]", "[/VOTE]", "what you think", "a name")
    return [
        all(part in told for part in wanted),
        "JSON" in told,
        "JSON" in pair(kit, parse_json=True).format_instruction,
    ]


@scenario
def tags_are_read_as_they_are_not_as_patterns(kit: Kit) -> Any:
    parser = kit.MultiTaggedContentParser(
        kit.TaggedContent("a", "(.*)", "x", "$^"), kit.TaggedContent("b", "<<", "x", ">>")
    )
    return kit.read(parser, "one (.*)two$^ three <<four>>")


@scenario
def tags_in_fences(kit: Kit) -> Any:
    parser = kit.MultiTaggedContentParser(
        kit.TaggedContent("plan", "```plan", "x", "```"),
        kit.TaggedContent("data", "```json", "{}", "```", parse_json=True),
    )
    return kit.read(parser, '```plan\nGo.\n```\n```json\n{"a": 1}\n```')


@scenario
def tags_none_at_all(kit: Kit) -> Any:
    return kit.read(kit.MultiTaggedContentParser(), "anything")


@better("what an earlier parser found is not left there after an error", [None, None])
def tags_parsed_after_an_error(kit: Kit) -> Any:
    found = []
    for text in ("nothing", "[THOUGHT]1[/THOUGHT][VOTE]Ann[/VOTE]"):
        response = kit.ModelResponse(text=text, parsed="from before")
        kit.raised(pair(kit, parse_json=True).parse, response)
        found.append(response.parsed)
    return found


# --- tags that a pattern finds


@each(
    two="<thought>hm</thought>\n<vote>Ann</vote>",
    none="I vote for Ann.",
    empty_reply="",
    numbers="<a>1</a><b>2.5</b><c>true</c><d>null</d>",
    objects='<a>{"x": [1]}</a><b>[1, 2]</b>',
    quoted='<a>"Ann"</a>',
    spaces="<a> hm </a><b> 1 </b>",
    several_lines="<a>one\ntwo</a>",
    the_last_of_equal_names="<a>1</a><a>2</a>",
    end_missing="<a>1<b>2</b>",
    nested="<a><b>1</b></a>",
    empty="<a></a>",
    other_end="<a>1</b>",
    spaces_in_the_name="<a b>1</a b>",
    prose_around="Well: <a>1</a>, so <b>x y</b>.",
    thoughts_before=Better(
        "<think>hm <b>1</b></think><a>2</a>",
        "a model's thinking is no field of its answer",
        {"parsed": {"a": 2}},
    ),
    equal_names_in_one_another="<a>1<a>2</a></a>",
    another_case="<A>1</a>",
    with_attributes="<a x='1'>2</a x='1'>",
    leading_zero="<a>01</a>",
    negative="<a>-1</a>",
    word_of_python="<a>True</a>",
    no_end_needed="<br/><a>1</a>",
    comparisons="x < y and y > z </ >",
    no_number=Better("<a>NaN</a>", "NaN is no JSON, so it is a text", {"parsed": {"a": "NaN"}}),
)
def regex(kit: Kit, text: str) -> Any:
    return kit.read(kit.RegexTaggedContentParser(), text)


@each(
    words="**vote**Ann**end** **why**she lies**end**",
    json="**vote**[1]**end**",
    none="<vote>Ann</vote>",
)
def regex_of_ones_own(kit: Kit, text: str) -> Any:
    return kit.read(kit.RegexTaggedContentParser(BOLD), text)


@each(
    numbers="<a>1</a><b>[2]</b><c>x</c>",
)
def regex_without_json(kit: Kit, text: str) -> Any:
    return kit.read(kit.RegexTaggedContentParser(try_parse_json=False), text)


@each(
    there="<a>1</a><b>2</b>",
    one_missing="<a>1</a>",
    all_missing="nothing",
    null="<a>null</a><b></b>",
)
def regex_required(kit: Kit, text: str) -> Any:
    return kit.read(kit.RegexTaggedContentParser(required_keys=["a", "b"]), text)


@scenario
def regex_of_a_field_that_is_called_think(kit: Kit) -> Any:
    return kit.read(
        kit.RegexTaggedContentParser(required_keys=["think"]), "<think>hm</think><vote>Ann</vote>"
    )


@scenario
def tags_of_a_field_that_is_called_think(kit: Kit) -> Any:
    parser = kit.MultiTaggedContentParser(
        kit.TaggedContent("thought", "<think>", "x", "</think>"),
        kit.TaggedContent("vote", "<vote>", "x", "</vote>"),
    )
    return kit.read(parser, "<think>hm</think><vote>Ann</vote>")


@scenario
def regex_without_the_groups(kit: Kit) -> Any:
    patterns = (r"<(?P<name>\w+)>(.*?)", r"<(\w+)>(?P<content>.*?)", r"<(\w+)>(.*?)")
    return [kit.raised(kit.RegexTaggedContentParser, pattern) for pattern in patterns]


@scenario
def regex_attributes(kit: Kit) -> Any:
    plain, own = (
        kit.RegexTaggedContentParser(),
        kit.RegexTaggedContentParser(BOLD, "Write so.", False, ["vote"], "vote"),
    )
    return [[p.try_parse_json, p.required_keys, p.keys_to_memory] for p in (plain, own)] + [
        own.tagged_content_pattern == BOLD
    ]


@scenario
def regex_instruction(kit: Kit) -> Any:
    plain = kit.RegexTaggedContentParser()
    return [
        kit.RegexTaggedContentParser(format_instruction="Write so.").format_instruction,
        kit.raised(lambda: plain.format_instruction),
    ]


@scenario
def regex_without_any_text(kit: Kit) -> Any:
    return kit.raised(kit.RegexTaggedContentParser().parse, kit.ModelResponse())


@scenario
def regex_pattern_over_lines(kit: Kit) -> Any:
    parser = kit.RegexTaggedContentParser(r"^(?P<name>\w+): (?P<content>[^\n]*)")
    return kit.read(parser, "vote: Ann\nwhy: 1")


@better("what an earlier parser found is not left there after an error", [None])
def regex_parsed_after_an_error(kit: Kit) -> Any:
    response = kit.ModelResponse(text="nothing", parsed="from before")
    kit.raised(kit.RegexTaggedContentParser(required_keys=["a"]).parse, response)
    return [response.parsed]


@each(
    trailing_comma=Better(
        "<a>[1, 2,]</a>", "a comma too many is harmless", {"parsed": {"a": [1, 2]}}
    ),
)
def regex_repaired(kit: Kit, text: str) -> Any:
    return kit.read(kit.RegexTaggedContentParser(), text)
