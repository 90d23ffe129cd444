"""A page that changes by itself is not drawn anew under an open dialog."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    import streamlit as st

    from agentkit.ui.shared import dialogs

    @dialogs.dialog("Rename")
    def rename(of: str) -> None:
        st.text_input(f"Another name for {of}")
        if st.button("Keep"):
            dialogs.close()
            st.rerun()

    dialogs.turn_to(page="one")
    st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
    st.button("Ask", on_click=dialogs.ask, args=("rename", "the chat"))
    elsewhere = st.checkbox("Something else is shown")
    if dialogs.read_open()[0] == "rename" and not elsewhere:
        rename(dialogs.read_open()[1])
    if st.session_state["drawn"] < 9:  # as a watcher of what has ended does
        dialogs.redraw()


def _open() -> AppTest:
    page = AppTest.from_function(_page)
    page.session_state["drawn"] = 8
    page.run().button[0].click().run()
    assert page.text_input[0].label == "Another name for the chat"
    page.session_state["drawn"] = 0
    return page


def test_it_waits_while_a_dialog_is_open_and_is_made_up_for() -> None:
    page = _open()
    page.run().run()
    assert page.session_state["drawn"] == 2
    next(one for one in page.button if one.label == "Keep").click().run()
    assert page.session_state["drawn"] == 9
    assert not page.text_input


def test_a_dialog_that_is_open_and_has_no_place_on_the_page_holds_nothing_up() -> None:
    page = _open()
    page.checkbox[0].check().run()
    assert page.session_state["drawn"] == 9
