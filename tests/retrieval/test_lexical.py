"""Words are found in any language, whatever is typed; changes are durable together with their
number.
"""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.retrieval.index.languages import language
from agentkit.retrieval.index.lexical import LexicalIndex
from agentkit.retrieval.index.terms import _PARTICLES, _strip_particles, query_pairs
from agentkit.retrieval.store.chunk_table import IndexRow
from tests.retrieval.conftest import cut
from tests.timing import processor_time


def row(number: int, heading: str, text: str) -> IndexRow:
    """A chunk; its document has no words of its own."""
    return IndexRow(
        id=number,
        title="",
        document_id="",
        document="",
        ordinal=0,
        text=text,
        heading=heading,
        page=None,
        place="",
        start=0,
        end=len(text),
    )


ROWS = [
    row(1, "zoo.md Animals", "The quick brown foxes jumped."),
    row(2, "Straßen", "Die Größe der Häuser in Österreich"),
    row(3, "", "日本語の文章を検索する"),
    row(4, "", "เด็กกินข้าว และ 한국어 문장"),
    row(5, "shakespeare", "To be or not to be"),
]


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    made = LexicalIndex(tmp_path / "lexical")
    made.add(ROWS)
    made.commit(5)
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fox", 1),
        ("JUMPING foxes?", 1),
        ("animal", 1),
        ("zoo.md", 1),
        ("häuser", 2),
        ("Hauser", 2),
        ("grosse größe", 2),
        ("文章", 3),
        ("検索", 3),
        ("語", 3),
        ("กินข้าว", 4),
        ("한국어", 4),
        ("to be or not", 5),
        ('"(fox AND', 1),
        ("text:fox^2 -quick*", 1),
    ],
)
def test_found(index: LexicalIndex, query: str, expected: int) -> None:
    ids, scores = index.search(query, 5)
    assert ids[0] == expected
    assert scores[0] > 0


@pytest.mark.parametrize("query", ["", "  ", "+-&|!(){}[]^~*?:\\/", "nowhere"])
def test_nothing_to_find(index: LexicalIndex, query: str) -> None:
    assert index.search(query, 5) == ([], [])


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.text(max_size=60))
def test_no_query_breaks_it(index: LexicalIndex, query: str) -> None:
    ids, scores = index.search(query, 3)
    assert len(ids) == len(scores) <= 3


@pytest.mark.parametrize(
    "query",
    [
        " ".join(f"word{number}" for number in range(5_000)),
        "und der " + " ".join(f"donaudampfschiff{number}" for number in range(5_000)),
        "日本語の文章を検索する" * 30_000,
        "では" * 200_000 + "ぬ",
        "ー" * 300_000,
        "x" * 1_000_000,
        "(" * 100_000 + "\0\N{GRINNING FACE}" * 1_000,
    ],
    ids=["words", "german", "japanese", "particles", "marks", "letter", "signs"],
)
def test_a_very_long_query_is_answered_at_once(index: LexicalIndex, query: str) -> None:
    with processor_time(5):
        index.search(query, 10)
        index.ceiling(query)


@given(st.text(alphabet="ではとにのぬむしかられいつもくなど東", max_size=10))
def test_particles_at_the_end_are_not_looked_for(run: str) -> None:
    """As a regular expression says it, which takes a time that doubles with every two
    characters.
    """
    expression = re.compile(f"(?:{'|'.join(sorted(_PARTICLES, key=len, reverse=True))})+$")
    assert _strip_particles(run) == expression.sub("", run)


def test_only_allowed_ones(index: LexicalIndex) -> None:
    assert index.search("fox shakespeare", 5, [5])[0] == [5]
    assert index.search("fox", 5, []) == ([], [])


def test_changes_last(index: LexicalIndex, tmp_path: Path) -> None:
    index.remove([1, 99])
    index.commit(6)
    assert index.search("fox", 5)[0] == []
    index.add([row(7, "", "never committed fox")])
    again = LexicalIndex(tmp_path / "lexical")
    assert (again.change, len(again), again.ids()) == (6, 4, {2, 3, 4, 5})
    assert again.search("fox", 5)[0] == []


@pytest.mark.parametrize("victim", ["meta.json", "*.idx", "*.term", "*.store"])
@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_a_damaged_index_starts_anew(
    index: LexicalIndex, tmp_path: Path, victim: str, damage: str
) -> None:
    index.settle()
    for file in (tmp_path / "lexical").glob(victim):
        if damage == "removed":
            file.unlink()
        else:
            cut(file, 10)
    again = LexicalIndex(tmp_path / "lexical")
    assert (again.change, len(again)) == (0, 0)
    again.add(ROWS)
    again.commit(5)
    assert again.search("fox", 5)[0] == [1]


TEXTS = {
    1: (
        "Jeder Angestellte hat Anspruch auf 27 Tage Urlaub im Jahr. Der Urlaubsanspruch verfällt am"
        " 31. März."
    ),
    2: "Die Häuser an der Hauptstraße wurden im Jahr 1912 gebaut und stehen unter Denkmalschutz.",
    3: "Die Kündigungsfrist beträgt vier Wochen zum Ende eines Monats.",
    4: "Das Krankenhaus in der Nähe hat eine Notaufnahme, die Tag und Nacht geöffnet ist.",
    5: "Für Dienstreisen werden die Kosten der zweiten Klasse erstattet; Belege sind einzureichen.",
    11: "正社員には年間20日の有給休暇が与えられます。未使用の休暇は翌年に繰り越すことができます。",
    12: "病気で三日以上休む場合は、医師の診断書を提出してください。",
    13: "サーバを再起動するには、管理画面で「再起動」ボタンを押します。",
    14: "出張の交通費は月末までに申請してください。領収書が必要です。",
    15: "りんごは一個百円、みかんは五個で三百円です。",
    21: "员工每年享有十五天带薪年假，未休的年假可以在次年三月之前使用。",
    22: "出差报销需要在返回后十天内提交发票和申请表。",
    23: "公司食堂的营业时间是上午十一点半到下午两点。",
    24: "密码忘记时，请点击登录页面上的重置链接。",
    25: "办公室的空调温度设定为二十六度。",
    31: "Every employee has 27 days of annual leave; unused days expire in March.",
    32: "The server is restarted with the button on the admin page.",
}


@pytest.fixture(scope="module")
def polyglot(tmp_path_factory: pytest.TempPathFactory) -> LexicalIndex:
    made = LexicalIndex(tmp_path_factory.mktemp("polyglot") / "lexical")
    made.add([row(number, "", text) for number, text in TEXTS.items()])
    made.commit(99)
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Wie viele Urlaubstage habe ich?", 1),
        ("Urlaub", 1),
        ("Urlaubsanspruch", 1),
        ("Anspruch", 1),
        ("Haus", 2),
        ("Haeuser", 2),
        ("HÄUSERN", 2),
        ("HAUPTSTRASSE", 2),
        ("Straße", 2),
        ("Frist der Kündigung", 3),
        ("Kündigungsfristen", 3),
        ("Krankenhäuser", 4),
        ("Welche Belege braucht man für eine Dienstreise?", 5),
        ("Reisen", 5),
        ("有給休暇は何日ですか", 11),
        ("診断書はいつ必要ですか", 12),
        ("サーバーの再起動", 13),
        ("ｻｰﾊﾞｰを再起動する方法", 13),
        ("交通費の申請", 14),
        ("りんごの値段はいくらですか", 15),
        ("年假有多少天？", 21),
        ("公司的年假政策是什么", 21),
        ("如何申请出差报销", 22),
        ("食堂几点开门", 23),
        ("密码忘了怎么办", 24),
        ("空调设置多少度", 25),
        ("annual leave", 31),
        ("How is the ＳＥＲＶＥＲ restarted?", 32),
    ],
)
def test_the_right_one_comes_first(polyglot: LexicalIndex, query: str, expected: int) -> None:
    assert polyglot.search(query, 5)[0][0] == expected


@pytest.mark.parametrize(
    "query",
    [
        "Wie wird das Wetter morgen?",
        "Elefant",
        "株式市場の動向",
        "今日は何ですか",
        "足球比赛",
        "football",
    ],
)
def test_others_do_not_match(polyglot: LexicalIndex, query: str) -> None:
    assert polyglot.search(query, 5) == ([], [])


def test_function_words_alone_are_still_searched(polyglot: LexicalIndex) -> None:
    assert 31 in polyglot.search("of in", 5)[0]
    assert 15 in polyglot.search("です", 5)[0]


def test_a_share_of_the_ceiling_is_comparable(polyglot: LexicalIndex) -> None:
    def share(query: str) -> float:
        return polyglot.search(query, 1)[1][0] / polyglot.ceiling(query)

    assert polyglot.ceiling("") == polyglot.ceiling("?!") == 0
    assert share("annual leave") > 0.5 > share("annual report of the elephant keepers")
    assert share("annual leave") == pytest.approx(share("unused days"), abs=0.2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(sorted({word for text in TEXTS.values() for word in text.split()})),
        min_size=1,
        max_size=6,
    )
)
def test_no_score_is_above_the_ceiling(polyglot: LexicalIndex, words: list[str]) -> None:
    query = " ".join(words)
    assert max(polyglot.search(query, 5)[1], default=0) <= polyglot.ceiling(query) * (1 + 1e-6)


def test_the_ceiling_after_removals(index: LexicalIndex) -> None:
    index.remove([1, 2, 3, 5])
    index.commit(6)
    assert index.ceiling("한국어 fox") > 0


def test_removed_chunks_are_counted_until_it_is_emptied_and_filled_anew(
    index: LexicalIndex,
) -> None:
    index.remove([1, 2])
    index.commit(6)
    assert index.waste == pytest.approx(0.4)
    index.empty()
    assert index.search("shakespeare", 5)[0] == [5]
    index.add(ROWS[2:])
    index.commit(7)
    assert (index.waste, index.ids(), index.change) == (0.0, {3, 4, 5}, 7)


def test_an_index_of_another_layout_is_made_anew(tmp_path: Path) -> None:
    schema = (
        tantivy.SchemaBuilder()
        .add_text_field("text")
        .add_integer_field("id", indexed=True, fast=True)
        .build()
    )
    (tmp_path / "lexical").mkdir()
    writer = tantivy.Index(schema, path=str(tmp_path / "lexical")).writer(15_000_000, 1)
    writer.add_document(tantivy.Document(id=1, text="fox"))
    writer.commit()
    writer.wait_merging_threads()
    index = LexicalIndex(tmp_path / "lexical")
    assert (index.change, len(index)) == (0, 0)
    index.add(ROWS)
    index.commit(5)
    assert index.search("fox", 5)[0] == [1]


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("有給休暇は何日ですか", ["有給", "給休", "休暇"]),
        ("すし", ["すし"]),
        ("公司的年假政策是什么", ["公司", "年假", "假政", "政策"]),
        ("目的地", ["目的", "的地"]),
        ("病気で休む", ["病気", "休"]),
        ("plain", []),
    ],
)
def test_pairs_that_are_looked_for(query: str, pairs: list[str]) -> None:
    assert query_pairs(query) == pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Frist und der Antrag", "german"),
        ("Größe 12", "german"),
        ("The deadline of the Größe", "english"),
        ("Tidemark 2", ""),
        ("", ""),
    ],
)
def test_languages(text: str, expected: str) -> None:
    assert language(text) == expected


def test_what_a_killed_commit_left_behind_is_no_obstacle(
    index: LexicalIndex, tmp_path: Path
) -> None:
    index.settle()
    before = shutil.copytree(tmp_path / "lexical", tmp_path / "before")
    index.remove([1])
    index.commit(6)
    index.settle()
    killed = shutil.ignore_patterns(
        ".managed.json"
    )  # which names files before they are written; what counts is written last
    shutil.copytree(before, tmp_path / "lexical", ignore=killed, dirs_exist_ok=True)
    again = LexicalIndex(tmp_path / "lexical")
    assert (again.change, again.ids()) == (5, {1, 2, 3, 4, 5})
    again.remove([1])
    again.commit(6)
    assert (again.change, again.ids()) == (6, {2, 3, 4, 5})


class Counting(LexicalIndex):
    """Counts how often a query's terms are looked up."""

    lookups = 0

    def _find_terms(self, query: str) -> list[list[tuple[str, str]]]:
        self.lookups += 1
        return super()._find_terms(query)


def test_a_query_is_analysed_once_though_another_thread_searches_too(tmp_path: Path) -> None:
    index = Counting(tmp_path / "words")
    index.add([row(1, "", "a cat"), row(2, "", "a dog")])
    index.commit(1)
    with ThreadPoolExecutor(1) as other:
        assert index.search("cat", 3)[0] == [1]
        assert other.submit(index.search, "dog", 3).result()[0] == [2]
        assert index.ceiling("cat") > 0
        assert other.submit(index.ceiling, "dog").result() > 0
    assert index.lookups == 2
