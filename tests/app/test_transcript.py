"""The words among agents on the chat page: as much of them as one wants, live and stored alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.runs import Run
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import open_page
from tests.app.talk import ANSWER, QUESTION, Talk, begin

LONG = "\n\n".join(f"Paragraph {number} of what there is to say about tea." for number in range(40))


def texts(app: AppTest) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", one.value) for one in [*app.markdown, *app.caption]]


def page_of(run: Run[None], level: str = "calls") -> AppTest:
    """The page of the chat, its steps unfolded."""
    app = open_page("chat", chat=str(run.chat_id))
    app.segmented_control(key="level-choice").set_value(level).run()
    app.session_state[f"steps-{run.id}"] = True
    return again(app)


def again(app: AppTest) -> AppTest:
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def numbers(app: AppTest) -> list[int]:
    """Which messages are shown, in their order."""
    found = [re.match(r"Message (\d+)\.", text) for text in texts(app)]
    return [int(match[1]) for match in found if match]


Live = tuple[Run[None], Talk]


@pytest.fixture(params=[100])
def live(workspace: ScriptableWorkspace, request: pytest.FixtureRequest) -> Iterator[Live]:
    """A talk of so many messages that has not ended."""
    talk = Talk(request.param)
    run = begin(workspace, talk, halts=True)
    assert talk.halted.wait(60)
    yield run, talk
    talk.go_on.set()
    run.result()


def test_of_a_long_talk_the_end_is_shown_and_earlier_words_on_demand(live: Live) -> None:
    run, talk = live
    app = page_of(run)
    last = numbers(app)
    assert last == list(range(last[0], 101))
    assert 15 < len(last) < 25
    assert "**R** **Researcher** to Group" in texts(app)
    assert any(text.endswith("12,000 tokens so far, $0.1000") for text in texts(app))
    earlier = app.button(key=f"steps-of-{run.id}-more")
    assert earlier.label == "Earlier (180 steps)"
    earlier.click().run()
    more = numbers(again(app))
    assert more[-len(last) :] == last
    assert 30 < len(more) < 50
    talk.go_on.set()
    run.result()
    stored = page_of(run)
    assert numbers(stored) == last, "afterwards the same"
    stored.button(key=f"steps-of-{run.id}-more").click().run()
    assert numbers(again(stored)) == more


@pytest.mark.parametrize("live", [4], indirect=True)
def test_each_level_shows_as_much_as_it_says(live: Live) -> None:
    run, talk = live
    for _ in ("live", "stored"):
        calls, everything = page_of(run), page_of(run, "everything")
        assert numbers(calls) == numbers(everything) == [1, 2, 3, 4]
        assert not any("tokens in" in text and "Critic, m" in text for text in texts(calls))
        assert any("tokens in" in text and "Critic, m" in text for text in texts(everything))
        answer = page_of(run, "answer")
        assert numbers(answer) == []
        assert QUESTION in texts(answer)
        talk.go_on.set()
        run.result()
    assert ANSWER in texts(answer)


def test_a_long_message_is_folded_until_one_wants_all_of_it(
    workspace: ScriptableWorkspace,
) -> None:
    run = begin(workspace, Talk(1, LONG))
    run.result()
    app = page_of(run)
    (shown,) = [text for text in texts(app) if text.startswith("Message 1.")]
    assert "Paragraph 4 of" in shown
    assert "Paragraph 39 of" not in shown
    (button,) = [one for one in app.button if one.label.startswith("Show all")]
    assert button.label == "Show all 1,959 characters"
    button.click().run()
    (whole,) = [text for text in texts(again(app)) if text.startswith("Message 1.")]
    assert "Paragraph 39 of" in whole
    (less,) = [one for one in app.button if one.label == "Show less"]
    less.click().run()
    (folded,) = [text for text in texts(again(app)) if text.startswith("Message 1.")]
    assert folded == shown


@pytest.mark.parametrize("live", [1], indirect=True)
def test_what_was_just_said_stays_whole_while_the_others_work(
    workspace: ScriptableWorkspace, live: Live
) -> None:
    talk = Talk(2, LONG)
    run = begin(workspace, talk, halts=True)
    assert talk.halted.wait(60)
    app = page_of(run)
    assert sum("Paragraph 39 of" in text for text in texts(app)) == 2
    assert not [one for one in app.button if one.label.startswith("Show all")]
    talk.go_on.set()
    run.result()


def test_what_each_agent_took_stands_with_the_answer(workspace: ScriptableWorkspace) -> None:
    run = begin(workspace, Talk(4))
    run.result()
    app = page_of(run)
    (listed,) = [text for text in texts(app) if text.startswith("- **")]
    assert listed.split("\n") == [
        "- **Critic**: 2 calls, 200 tokens in, 40 out, $0.002",
        "- **Researcher**: 2 calls, 200 tokens in, 40 out, $0.002",
    ]


def test_who_spoke_to_whom_is_drawn_when_it_is_asked_for(live: Live) -> None:
    run, talk = live
    for _ in ("live", "stored"):
        app = page_of(run)
        assert not app.get("graphviz_chart")
        app.session_state[f"flow-{run.id}"] = True
        again(app)
        (picture,) = app.get("graphviz_chart")
        assert "50 messages\\n1,000 tokens" in picture.proto.spec
        assert "Critic to Group: 50 messages, 1,000 tokens" in picture.proto.alt
        talk.go_on.set()
        run.result()


def test_one_who_speaks_alone_has_no_picture(workspace: ScriptableWorkspace) -> None:
    run = begin(workspace, Talk(1))
    run.result()
    app = page_of(run)
    app.session_state[f"flow-{run.id}"] = True
    assert not again(app).get("graphviz_chart")
