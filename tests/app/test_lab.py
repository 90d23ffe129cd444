"""The Retrieval lab page on a real workspace: a query tried, compared, narrowed, and its settings
taken over by the chats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.ledger import queries
from agentkit.llm import Connection, save_connection
from agentkit.retrieval import FakeEmbedder, Hit
from agentkit.retrieval.embedding.rerank import Reranker, Rerankers
from agentkit.retrieval.options import DEFAULT, SearchOptions
from agentkit.retrieval.store.questions import Measurement
from agentkit.ui.lab import parts as lab
from agentkit.ui.lab import results
from agentkit.ui.lab.hits import mark_words, shift
from agentkit.ui.text import times
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.app.test_usage import metrics
from tests.servers.openai_server import Answer, OpenAIServer

Ingest = Callable[[str, dict[str, str]], None]
KITCHEN = {
    "tea.md": "# Tea\n\nGreen tea is brewed at 70 degrees.\n\nBlack tea is brewed at 95 degrees.",
    "coffee.md": "# Coffee\n\nCoffee is brewed at 92 degrees, for four minutes.",
    "soup.md": "# Soup\n\nSoup is cooked for an hour. The onions are browned first.",
}
QUERY = "At how many degrees is green tea brewed?"


@pytest.fixture
def kitchen(workspace: ScriptableWorkspace, ingest: Ingest) -> str:
    """The id of a collection of three short documents."""
    ingest("Kitchen", KITCHEN)
    return workspace.library.collection(OWNER, "Kitchen").id


def options(workspace: ScriptableWorkspace) -> SearchOptions:
    return workspace.library.options(OWNER, "Kitchen")


def found(app: AppTest, side: str = "A") -> list[str]:
    """The documents of the passages shown on a side, in their order, as the table of all scores has
    them.
    """
    number = "AB".index(side)
    return list(app.dataframe[number].value["Document"]) if number < len(app.dataframe) else []


def test_a_search_with_a_servers_embedder_is_counted_each_time(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    with OpenAIServer(models=("embedder",)) as server:
        server.embed = lambda body: FakeEmbedder().embed(body["input"]).tolist()
        theirs = Connection("Ours", server.base_url, "", ("tiny",), embedding_models=("embedder",))
        save_connection(workspace.settings, theirs)
        version = workspace.library.versions.add(
            OWNER, "Kitchen", embedder=f"embedder at {server.base_url}", max_tokens=100
        )
        workspace.promote_version(OWNER, version.id).result()
        workspace.database.execute("delete from llm_calls")
        server.requests.clear()
        app = open_page("retrieval_lab", collection="Kitchen", q=QUERY)
        assert found(app)
        app.run()
        asked = len(server.requests)
        server.embed = lambda body: Answer(status=401)
        app.run()
        assert app.error
    rows = workspace.database.rows(
        "select purpose, status, agent, run_id, provider, cost from llm_calls order by finished_at"
    )
    assert [row.pop("status") for row in rows] == ["ok"] * asked + ["failed"]
    assert asked >= 2
    booked = {"purpose": "embedding", "agent": "Retrieval lab", "run_id": None, "cost": 0.0}
    assert rows == [{**booked, "provider": f"127.0.0.1:{server.port}"}] * len(rows)
    assert queries.totals(workspace.ledger, queries.CallFilter(OWNER)).calls == asked + 1
    assert metrics(open_page("usage"))["Calls"] == str(asked + 1)


def labels(app: AppTest) -> list[str]:
    return [str(one.label) for one in app.button]


def test_without_a_collection_it_leads_to_the_documents(workspace: ScriptableWorkspace) -> None:
    app = open_page("retrieval_lab")
    assert "There is nothing to search yet" in texts(app)
    links: Any = app.get("page_link")
    assert [link.label for link in links] == ["Add documents"]
    assert not [one for one in app.text_input if one.key == "q"]


def test_an_empty_collection_leads_to_the_documents(workspace: ScriptableWorkspace) -> None:
    workspace.library.create_collection(OWNER, "Cellar")
    app = open_page("retrieval_lab")
    assert "This collection is empty" in texts(app)
    assert not app.text_input


def test_examples_are_named_after_the_documents_and_run_at_a_click(kitchen: str) -> None:
    app = open_page("retrieval_lab")
    assert {"Tea", "Coffee", "Soup"} <= set(labels(app))
    examples = [label for label in labels(app) if label in ("Tea", "Coffee", "Soup")]
    app.button(key=f"example-{examples.index('Tea')}").click().run()
    assert app.text_input(key="q").value == "Tea"
    assert found(app)[0] == "tea.md"


def test_a_query_shows_passages_with_every_score_and_the_time_of_every_stage(kitchen: str) -> None:
    app = open_page("retrieval_lab")
    app.text_input(key="q").set_value(QUERY)
    app.button(key="lab-search").click().run()
    shown = texts(app)
    assert found(app)[0] == "tea.md"
    assert "passages** in" in shown
    for stage in ("embed", "dense", "lexical", "fusion", "passages"):
        assert f"{stage} " in next(one.value for one in app.caption if " ms · " in one.value), stage
    scores = app.dataframe[0].value
    assert list(scores["Rank"]) == list(range(1, len(scores) + 1))
    assert scores["BM25 rank"][0] == 1
    assert {"Cosine", "Fused"} <= set(scores.columns)
    assert any(one.value.startswith("meaning ") and " · words " in one.value for one in app.caption)


def test_the_address_holds_collection_query_and_view(kitchen: str, ingest: Ingest) -> None:
    ingest("Cellar", {"wine.md": "Wine is kept at 12 degrees."})
    app = open_page("retrieval_lab", collection="Cellar", q="wine")
    assert app.selectbox(key="collection").value == "Cellar"
    assert found(app) == ["wine.md"]
    app = open_page("retrieval_lab", collection="Cellar", q="wine", view="Index")
    assert app.segmented_control(key="view").value == "Index"
    assert not [one for one in app.text_input if one.key == "q"], "only the open view is drawn"
    assert (
        open_page("retrieval_lab", collection="Nowhere").selectbox(key="collection").value
        == "Kitchen"
    )


def test_it_finds_what_the_chats_find(workspace: ScriptableWorkspace, kitchen: str) -> None:
    workspace.library.set_options(OWNER, "Kitchen", replace(DEFAULT, mode="lexical", top_k=2))
    hits = workspace.library.retrieve(OWNER, "Kitchen", QUERY)
    app = open_page("retrieval_lab", q=QUERY)
    assert found(app) == [hit.document for hit in hits]
    assert app.dataframe[0].value["Score"].tolist() == pytest.approx([hit.score for hit in hits])


def test_settings_are_tried_without_touching_the_chats_and_can_be_reset(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    app = open_page("retrieval_lab", q=QUERY)
    key = f"try-{kitchen}-A"
    assert app.button(key=f"{key}-adopt").disabled
    assert "Chats search like this" in texts(app)
    app.number_input(key=f"{key}-top_k").set_value(1).run()
    assert len(found(app)) == 1
    assert options(workspace) == DEFAULT
    assert not app.button(key=f"{key}-adopt").disabled
    app.button(key=f"{key}-reset").click().run()
    assert app.number_input(key=f"{key}-top_k").value == DEFAULT.top_k
    assert len(found(app)) > 1
    assert app.button(key=f"{key}-reset").disabled


def test_settings_become_those_of_the_chats(workspace: ScriptableWorkspace, kitchen: str) -> None:
    app = open_page("retrieval_lab", q=QUERY)
    key = f"try-{kitchen}-A"
    app.segmented_control(key=f"{key}-mode").set_value("lexical")
    app.number_input(key=f"{key}-depth").set_value(70)
    app.toggle(key=f"{key}-merge").set_value(False)
    app.slider(key=f"{key}-collapse").set_value(0.9)
    app.slider(key=f"{key}-diversity").set_value(0.3).run()
    app.button(key=f"{key}-adopt").click().run()
    assert options(workspace) == replace(
        DEFAULT, mode="lexical", depth=70, merge=False, collapse=0.9, diversity=0.3
    )
    assert "Kitchen with these settings from now on" in app.toast[0].value
    assert "Chats search like this." in texts(app)
    assert app.button(key=f"{key}-adopt").disabled


def test_settings_stay_while_another_view_is_open(kitchen: str) -> None:
    app = open_page("retrieval_lab", q=QUERY)
    app.number_input(key=f"try-{kitchen}-A-top_k").set_value(1).run()
    app.segmented_control(key="view").set_value("Index").run()
    app.segmented_control(key="view").set_value("Try a query").run()
    assert app.number_input(key=f"try-{kitchen}-A-top_k").value == 1
    assert app.text_input(key="q").value == QUERY


def test_two_settings_side_by_side(workspace: ScriptableWorkspace, kitchen: str) -> None:
    app = open_page("retrieval_lab", q="browned onions")
    app.toggle(key="compare").set_value(True).run()
    assert "same rank" in texts(app)
    app.segmented_control(key=f"try-{kitchen}-B-mode").set_value("lexical").run()
    alone = workspace.library.retrieve(OWNER, "Kitchen", "browned onions", mode="lexical")
    both = workspace.library.retrieve(OWNER, "Kitchen", "browned onions")
    assert found(app, "B") == [hit.document for hit in alone] == ["soup.md"]
    assert found(app, "A") == [hit.document for hit in both]
    assert f"1 of {len(both)} passages of A are also among those of B" in texts(app)
    assert ":primary-badge[new]" in texts(app)
    app.button(key=f"try-{kitchen}-B-adopt").click().run()
    assert options(workspace).mode == "lexical"
    app.toggle(key="compare").set_value(False).run()
    assert not found(app, "B")


def test_another_index_version_can_be_tried(workspace: ScriptableWorkspace, kitchen: str) -> None:
    app = open_page("retrieval_lab", q=QUERY)
    assert not [one for one in app.selectbox if str(one.key).endswith("-version")]
    made = workspace.library.versions.add(
        OWNER, "Kitchen", embedder=workspace.embedder.name, max_tokens=12
    )
    workspace.library.versions.build(OWNER, made.id)
    app = open_page("retrieval_lab", q=QUERY)
    app.toggle(key=f"try-{kitchen}-A-merge").set_value(False)
    app.selectbox(key=f"try-{kitchen}-A-version").set_value(made.id).run()
    assert "promote this one under Index" in texts(app)
    small = workspace.library.retrieve(
        OWNER, "Kitchen", QUERY, options=replace(DEFAULT, merge=False), version_id=made.id
    )
    assert found(app) == [hit.document for hit in small]
    app.button(key=f"try-{kitchen}-A-reset").click().run()
    assert app.selectbox(key=f"try-{kitchen}-A-version").value != made.id
    assert "promote this one under Index" not in texts(app)


def test_filters_narrow_and_are_counted_and_cleared(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    documents = {one.name: one.id for one in workspace.library.documents(OWNER, "Kitchen")}
    workspace.library.tag_documents(OWNER, [documents["tea.md"], documents["soup.md"]], add=["old"])
    app = open_page("retrieval_lab", q="degrees")
    key = f"filter-{kitchen}"
    app.multiselect(key=f"{key}-documents").set_value(
        [documents["tea.md"], documents["coffee.md"]]
    ).run()
    assert set(found(app)) == {"tea.md", "coffee.md"}
    app.multiselect(key=f"{key}-tags").set_value(["old"]).run()
    assert set(found(app)) == {"tea.md"}
    app.number_input(key=f"{key}-first").set_value(3).run()
    assert not found(app)
    assert "Clear the filters" in texts(app)
    app.button(key=f"{key}-clear").click().run()
    assert set(found(app)) == set(KITCHEN)
    app.date_input(key=f"{key}-from").set_value(times.today() + timedelta(days=1)).run()
    assert not found(app)
    app.date_input(key=f"{key}-from").set_value(times.today())
    app.date_input(key=f"{key}-to").set_value(times.today()).run()
    assert set(found(app)) == set(KITCHEN)
    assert app.multiselect(key=f"{key}-types").format_func("text/markdown") == "MD"


def test_filters_stand_in_the_address(workspace: ScriptableWorkspace, kitchen: str) -> None:
    documents = {one.name: one.id for one in workspace.library.documents(OWNER, "Kitchen")}
    app = open_page("retrieval_lab", q="degrees", documents=documents["tea.md"])
    assert set(found(app)) == {"tea.md"}
    chosen = [documents["soup.md"], documents["tea.md"]]
    key = f"filter-{kitchen}"
    app.multiselect(key=f"{key}-documents").set_value(chosen).run()
    app.date_input(key=f"{key}-from").set_value(times.today()).run()
    assert app.query_params["documents"] == chosen
    assert app.query_params["from"] == times.today().isoformat()
    assert set(found(app)) == {"soup.md", "tea.md"}
    app.button(key=f"{key}-clear").click().run()
    assert not {"documents", "from"} & set(app.query_params)
    assert set(found(app)) == set(KITCHEN)


def test_filters_show_names_and_tags_as_they_are(
    workspace: ScriptableWorkspace, kitchen: str, ingest: Ingest
) -> None:
    ingest("Kitchen", {"a_*b*-1.md": "Tea has 80 degrees."})
    odd = next(
        one.id for one in workspace.library.documents(OWNER, "Kitchen") if one.name == "a_*b*-1.md"
    )
    workspace.library.tag_documents(OWNER, [odd], add=["to-do_*now*"])
    app = open_page("retrieval_lab", q="degrees")
    assert "a_*b*-1.md" in app.multiselect(key=f"filter-{kitchen}-documents").options
    assert app.multiselect(key=f"filter-{kitchen}-tags").options == ["to-do_*now*"]


@pytest.mark.parametrize(
    "address",
    [
        {"first": "-1"},
        {"first": "x"},
        {"from": "31.12.2026"},
        {"documents": "gone"},
        {"tags": "<b>"},
    ],
)
def test_filters_in_an_address_that_make_no_sense_are_left_out(
    kitchen: str, address: dict[str, str]
) -> None:
    app = open_page("retrieval_lab", q="degrees", **address)
    assert set(found(app)) == set(KITCHEN)
    assert not set(address) & set(app.query_params)


def test_a_filter_forgets_a_document_that_is_deleted(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    documents = {one.name: one.id for one in workspace.library.documents(OWNER, "Kitchen")}
    app = open_page("retrieval_lab", q="degrees")
    app.multiselect(key=f"filter-{kitchen}-documents").set_value([documents["tea.md"]]).run()
    workspace.library.delete_documents(OWNER, [documents["tea.md"]])
    app.run()
    assert not app.exception
    assert set(found(app)) == {"coffee.md", "soup.md"}


def test_of_very_many_documents_a_part_of_the_name_is_asked_for(
    workspace: ScriptableWorkspace, kitchen: str
) -> None:
    def script() -> None:
        import dataclasses

        import streamlit

        from agentkit.ui.shared import filters, state

        collection = state.workspace().library.collection("local", "Kitchen")
        scope = filters.draw_filters(dataclasses.replace(collection, documents=5_000))
        streamlit.json(scope.document_ids)

    app = AppTest.from_function(script).run()
    assert app.json[0].value == "null"
    app.text_input(key=f"filter-{kitchen}-part").set_value("tea").run()
    ids = {one.name: one.id for one in workspace.library.documents(OWNER, "Kitchen")}
    assert ids["tea.md"] in app.json[0].value
    assert ids["soup.md"] not in app.json[0].value


def test_nothing_found_says_what_to_loosen(kitchen: str) -> None:
    app = open_page("retrieval_lab", q="zebra")
    app.segmented_control(key=f"try-{kitchen}-A-mode").set_value("lexical").run()
    assert not found(app)
    assert "Nothing was found. Search by meaning, too." in texts(app)
    app.segmented_control(key=f"try-{kitchen}-A-mode").set_value("hybrid")
    app.slider(key=f"try-{kitchen}-A-min_score").set_value(1.0).run()
    assert "Lower “Weak below” from 1." in texts(app)
    assert "with weak evidence" in texts(app)


def test_an_error_is_shown_in_words(workspace: ScriptableWorkspace, kitchen: str) -> None:
    workspace.library.set_options(OWNER, "Kitchen", replace(DEFAULT, reranker="gone"))
    app = open_page("retrieval_lab", q=QUERY)
    assert not app.exception
    assert "There is no reranker 'gone' here" in app.error[0].value.replace("\\", "")
    app.selectbox(key=f"try-{kitchen}-A-reranker").set_value("").run()
    assert not app.error
    assert found(app)[0] == "tea.md"


class Lengths:
    """Likes short passages."""

    name = "lengths"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        return [1 / len(text) for text in texts]


def test_a_reranker_can_be_chosen(workspace: ScriptableWorkspace, kitchen: str) -> None:
    def find(name: str) -> Reranker | None:
        return Lengths() if name == "lengths" else None

    app = open_page("retrieval_lab", q=QUERY)
    assert "Reranker: none is installed" in texts(app)
    workspace.library.rerankers = Rerankers(find, lambda: ["lengths"])
    app = open_page("retrieval_lab", q=QUERY)
    app.selectbox(key=f"try-{kitchen}-A-reranker").set_value("lengths").run()
    scores = app.dataframe[0].value
    assert scores["Reranked"].is_monotonic_decreasing
    assert "reranked by lengths" in texts(app)


def test_exact_text_is_shown_where_it_stands(kitchen: str) -> None:
    app = open_page("retrieval_lab", q="is BREWED at", find="Exact text")
    places: Any = app.table[0].value
    assert "**3 places**, in 2 documents" in texts(app)
    assert [where.replace("\\", "").split(",")[0] for where in places["Where"]] == [
        "coffee.md",
        "tea.md",
        "tea.md",
    ]
    assert all(":primary-background[is brewed at]" in text for text in places["Text"])
    assert "Green tea :primary-background[is brewed at] 70 degrees" in places["Text"].iloc[1]
    assert "Black tea :primary-background[is brewed at] 95 degrees" in places["Text"].iloc[2]
    app.toggle(key="match-case").set_value(True).run()
    assert "stands nowhere in the collection. Switch “Match case” off" in texts(app)
    app.toggle(key="match-case").set_value(False)
    app.toggle(key="regex").set_value(True)
    app.text_input(key="q").set_value(r"\d\d degrees")
    app.button(key="lab-search").click().run()
    assert ":primary-background[92 degrees]" in app.table[0].value["Text"].iloc[0]
    app.text_input(key="q").set_value("(")
    app.button(key="lab-search").click().run()
    assert app.error
    assert not app.exception


def test_without_a_query_exact_search_says_what_it_is_for(kitchen: str) -> None:
    assert "every place where it stands is shown" in texts(
        open_page("retrieval_lab", find="Exact text")
    )


def test_long_lists_are_paged(workspace: ScriptableWorkspace, ingest: Ingest) -> None:
    ingest(
        "Notes", {f"note-{n:02}.txt": f"Note {n} is about the number {n * 7}." for n in range(14)}
    )
    key = f"try-{workspace.library.collection(OWNER, 'Notes').id}-A"
    app = open_page("retrieval_lab", q="note about the number")
    app.number_input(key=f"{key}-top_k").set_value(14)
    app.slider(key=f"{key}-collapse").set_value(1.0).run()
    assert len(found(app)) == 14
    assert "**11** ·" not in texts(app)
    (pages,) = app.pagination
    pages.set_value(2).run()
    assert "**11** ·" in texts(app)
    assert "**1** ·" not in texts(app)
    app.text_input(key="q").set_value("number 7")
    app.button(key="lab-search").click().run()
    assert "**1** ·" in texts(app)


def hit(rank: int, document: str, start: int, end: int) -> Hit:
    return Hit(rank, 0.5, rank, document, document, None, "", "", start, end, "text", {})


def test_ranks_are_compared_by_place_not_by_chunk() -> None:
    others = [hit(1, "a", 0, 100), hit(2, "b", 0, 100), hit(3, "a", 100, 200)]
    assert shift(hit(1, "a", 150, 400), others) == 2
    assert shift(hit(4, "b", 0, 10), others) == -2
    assert shift(hit(1, "a", 0, 20), others) == 0
    assert shift(hit(1, "a", 200, 300), others) is None, (
        "where one ends the next begins: no text in common"
    )


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Brewing green tea, the right way", "How is the tea brewed?", ["Brewing", "tea"]),
        ("Über Maße und Gewichte", "maße", ["Maße"]),
        ("to be or not to be", "to be", ["to", "be", "to", "be"]),
        ("東京都の人口は千四百万人です", "東京の人口", ["東", "京", "の", "人", "口"]),
        ("nothing of the kind", "zebra", []),
        ("", "zebra", []),
    ],
)
def test_words_of_the_query_are_marked(text: str, query: str, marked: list[str]) -> None:
    parts = mark_words(text, query)
    assert "".join(part for part, _ in parts) == text
    assert [part for part, kind in parts if kind == "passage"] == marked


def test_measurements_are_named_by_what_differs() -> None:
    def made(number: int, options: SearchOptions, collection: str = "Docs") -> Measurement:
        now = datetime(2026, 11, 22)  # noqa: DTZ001 (as the database has it)
        return Measurement(str(number), "s", collection, "v", options, {}, now)

    named = results.name_by_what_differs
    same = [made(1, DEFAULT), made(2, DEFAULT)]
    assert named(same, {"v": "tiny"}) == {"1": "Meaning and words", "2": "Meaning and words"}
    apart = [made(1, DEFAULT), made(2, replace(DEFAULT, merge=False)), made(3, DEFAULT, "Mine")]
    assert named(apart, {"v": "tiny"}) == {
        "1": "neighbours merged · Docs",
        "2": "neighbours apart · Docs",
        "3": "neighbours merged · Mine",
    }


def test_settings_in_words() -> None:
    assert (
        lab.in_words(DEFAULT)
        == f"Meaning and words · 8 passages · of {DEFAULT.depth} candidates · neighbours merged ·"
        " near-duplicates from 0.95"
    )
    bare = SearchOptions(
        mode="dense", top_k=1, merge=False, collapse=1.0, reranker="best_one", min_score=0.2
    )
    words = (
        f"Meaning · 1 passage · of {DEFAULT.depth} candidates · 30 reranked by best_one · weak"
        " below 0.2"
    )
    assert lab.in_words(bare) == words
