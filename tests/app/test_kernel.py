"""Cells of a kernel on the chat page: what they gave stands above the answer, what is alive and
what is gone is named, and cells run again when somebody asks for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.coding.chat_kernel.pool import shared_pool
from agentkit.events import CodeBegan, CodeOutput, CodeRan
from agentkit.runs import Run
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_cells, open_page, press, settle, texts, until_asked

LOAD = (
    "import pandas as pd\nfares = pd.DataFrame({'day': [1, 2], 'euros': [3, 4]})\n"
    "fares.to_csv('fares.csv')\nprint('loaded')\nfares"
)
PLOT = (
    "import matplotlib.pyplot as plt\nplt.plot(fares.day, fares.euros)\n"
    "_ = plt.title('Fares by day')\nplt.show()"
)
CHART = "import altair as alt\nalt.Chart(fares).mark_bar().encode(x='day', y='euros')"


@pytest.fixture(autouse=True)
def documents(workspace: ScriptableWorkspace) -> None:
    workspace.library.create_collection(OWNER, "Documents")


def ask(workspace: ScriptableWorkspace, *codes: str, app: AppTest | None = None) -> AppTest:
    """Ask the team, whose model sends these cells, and approve all of them; the page then."""
    workspace.added.clear()
    workspace.script(*(f"```python\n{code}\n```" for code in codes), "All done.\nTERMINATE")
    if app is None:
        app = open_page("chat")
        app.selectbox(key="team-new").set_value("tools").run()
    app.chat_input[0].set_value("What do they cost?").run()
    assert not app.exception, app.exception[0].stack_trace
    press(app, "option-1", until_asked(app, run_of(app)))
    return settle(app)


def run_of(app: AppTest) -> Run[Any]:
    """The latest run of the chat that the page shows."""
    of_chat = [run for run in runs._registry.values() if run.chat_id == chat_of(app)]
    return of_chat[-1]


def chat_of(app: AppTest) -> str:
    return str(app.query_params["chat"])


def pictures(app: AppTest) -> list[str]:
    return [image.alt for element in app.get("image") for image in element.proto.imgs]


def tables(app: AppTest) -> list[Any]:
    """Those of cells."""
    return [one for one in app.dataframe if "euros" in one.value]


def again(app: AppTest) -> AppTest:
    app.button(key=f"cells-again-{chat_of(app)}").click().run()
    assert not app.exception, app.exception[0].stack_trace
    return settle(app)


@pytest.mark.parametrize("level", ["answer", "calls", "everything"])
def test_what_cells_gave_stands_above_the_answer(
    workspace: ScriptableWorkspace, level: str
) -> None:
    app = ask(workspace, LOAD, PLOT, CHART)
    app.segmented_control(key="level-choice").set_value(level).run()
    (table,) = tables(app)
    assert table.value.to_dict("list") == {"day": [1, 2], "euros": [3, 4]}
    assert pictures(app) == ["Plot: Fares by day"]
    (chart,) = app.get("vega_lite_chart")
    assert chart.proto.alt == "Chart: day, euros"
    (button,) = app.download_button
    assert button.label.replace("\\", "").startswith("fares.csv · ")
    assert "All done." in texts(app)


def test_steps_unfold_with_code_and_output(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, LOAD, "fares.nothing")
    run = run_of(app)
    app.session_state[f"steps-{run.id}"] = True
    app.run()
    labels = [expander.label for expander in app.expander]
    assert any(label.startswith("Ran Python · AttributeError · ") for label in labels)
    open_cells(app, run)
    shown = [code.value for code in app.code]
    assert LOAD in shown
    assert "loaded" in shown
    assert any("no attribute 'nothing'" in text for text in shown)
    assert len(tables(app)) == 2, "in the step, and above the answer"


def test_what_is_alive_is_named_until_the_person_ends_it(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, LOAD)
    (line,) = [one for one in app.get("popover") if one.proto.popover.label.startswith("Python")]
    assert line.proto.popover.label == "Python kernel · 1 variable"
    (variables,) = [one for one in app.dataframe if "name" in one.value]
    assert variables.value.to_dict("list") == {
        "name": ["fares"],
        "type": ["DataFrame"],
        "size": ["2 × 2"],
    }
    app.button(key=f"end-kernel-{chat_of(app)}").click().run()
    assert shared_pool().alive() == []
    assert "The kernel has ended:** you ended it. Gone: fares (DataFrame, 2 × 2)." in texts(app)


def test_after_a_restart_what_is_gone_is_named_and_cells_run_again(
    workspace: ScriptableWorkspace, tmp_path: Path
) -> None:
    app = ask(workspace, LOAD, "1 / 0", PLOT)
    shared_pool().forget(tmp_path)  # as by a restart
    app = open_page("chat", chat=chat_of(app))
    told = "The kernel has ended:** the app was started again. Gone: fares (DataFrame, 2 × 2)."
    assert told in texts(app)
    assert shared_pool().alive() == [], "nothing runs by itself"
    again(app)
    assert shared_pool().alive() == [chat_of(app)]
    assert "Run the cells again (2 cells)" in texts(app)
    assert "2 cells ran again." in texts(app)
    meter = [one.proto.popover.label for one in app.get("popover")]
    assert any(label.endswith("tokens") for label in meter), "what the chat takes is still told"
    assert pictures(app) == ["Plot: Fares by day"] * 2
    assert told not in texts(app)
    assert not [button for button in app.button if button.label == "Try again"]


def test_another_branch_has_no_kernel_and_runs_its_cells_again(
    workspace: ScriptableWorkspace,
) -> None:
    app = ask(workspace, LOAD)
    chat = workspace.ledger.chat(OWNER, chat_of(app))
    ask(workspace, "fares = 'other'", app=app)
    told = "This branch has no kernel:** the kernel of this chat held what another branch made."
    assert not any(told in text for text in texts(app))
    with workspace.database.transaction():
        changed = [chat.head_id, chat.id]
        workspace.database.execute("update chats set head_id = ? where id = ?", changed)
    app = open_page("chat", chat=chat.id)
    assert f"{told} Gone: fares (DataFrame, 2 × 2)." in texts(app)
    again(app)
    assert not any(told in text for text in texts(app))
    (variables,) = [one for one in app.dataframe if "name" in one.value]
    assert variables.value.to_dict("list")["type"] == ["DataFrame"]


def test_a_cell_that_fails_when_it_runs_again_is_told(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, "open('once', 'x').close()", "x = 1")
    shared_pool().end(chat_of(app))
    again(app.run())
    assert "Cell 1 did not go well: FileExistsError" in texts(app)
    assert not [button for button in app.button if button.label == "Try again"]


def test_a_kernel_that_died_is_told_above_the_answer(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, LOAD, "import os\nos._exit(1)")
    assert "The kernel ended, and with it all variables: its process ended." in texts(app)
    assert "Gone: fares (DataFrame, 2 × 2)." in texts(app)
    app = ask(workspace, "print('on')", app=app)
    assert "Gone: fares" not in texts(app), "there is a new one"


def test_a_cell_that_wants_too_much_memory_is_told_with_a_way_to_go_on(
    workspace: ScriptableWorkspace,
) -> None:
    app = ask(workspace, "x = bytearray(700_000_000)\ny = bytearray(5_000_000_000)")
    assert "A cell needed more memory than the kernel may take (1,024 MB)." in texts(app)
    app.button(key=f"end-kernel-{chat_of(app)}").click().run()
    ask(workspace, "bytearray(500_000_000)[:1]", app=app)
    ran = [one.event for one in run_of(app).events() if isinstance(one.event, CodeRan)]
    assert [event.exit_code for event in ran] == [0]


def test_what_was_left_out_is_told_above_the_answer(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, "for _ in range(100):\n    print('x' * 1_000_000)")
    assert "Text left out (" in texts(app)


def test_many_results_are_folded_but_the_latest(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, LOAD, *["display(fares)\ndisplay(fares)"] * 5)
    assert "3 earlier results" in [expander.label for expander in app.expander]
    assert len(tables(app)) == 8


def test_what_a_cell_puts_out_is_seen_while_it_runs(workspace: ScriptableWorkspace) -> None:
    code = "print('begun', flush=True)\nimport time\ntime.sleep(1000)"
    workspace.script(f"```python\n{code}\n```")
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("tools").run()
    app.chat_input[0].set_value("Slowly?").run()
    run = run_of(app)
    press(app, "option-0", until_asked(app, run))
    next(one for one in run if isinstance(one.event, CodeOutput))
    app.run()
    assert "begun" in [code.value for code in app.code]
    assert "Running Python" in [expander.label for expander in app.expander]
    run.stop()
    settle(app)
    kinds = [type(one.event) for one in run.events()]
    assert kinds.index(CodeBegan) < kinds.index(CodeRan)


def test_a_picture_that_is_gone_is_told(workspace: ScriptableWorkspace) -> None:
    app = ask(workspace, LOAD, PLOT)
    shown = workspace.settings.data / "kernels" / chat_of(app) / "shown"
    for file in shown.iterdir():
        file.unlink()
    app.run()
    assert not app.exception
    assert "The chat does not keep this any more." in texts(app)
