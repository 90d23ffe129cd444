"""Words looked for in what was said: what is found, the snippet, and the branch of a message."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentkit.errors import NotFound
from agentkit.ledger import Chat, Ledger
from agentkit.ledger.message_search import fold, make_snippet, read_terms
from tests.ledger.conftest import NOON, OWNER, record, say


def _found(ledger: Ledger, words: str, chat_id: str = "", limit: int = 30) -> list[str]:
    return [one.message_id for one in ledger.find_messages(OWNER, words, chat_id, limit)]


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("Über  DEN Fluß", ["uber", "den", "fluß"]),
        ('rain "in  the Night" rain', ["rain", "in the night"]),
        ('"not closed', ["not closed"]),
        ('"" \u0301', []),
        (" ", []),
    ],
)
def test_terms_are_words_and_phrases(words: str, terms: list[str]) -> None:
    assert read_terms(words) == terms


def test_accents_and_capitals_do_not_matter() -> None:
    assert fold("Žluťoučký KŮŇ, Übung, İ") == "zlutoucky kun, ubung, i"


def test_greek_words_are_found_in_whatever_letters(ledger: Ledger) -> None:
    chat = ledger.create_chat(OWNER, "Η ΟΔΟΣ 7", "answer", "offline", "Documents")
    record(ledger, [say("m1", None, "ΟΔΟΣ και οδός, ΟΔΟΣΑ")], chat_id=chat.id)
    for folded in ("folded", "'οδος και οδος, οδοσα'", "null"):  # now, before, and long before
        ledger.database.execute(f"update messages set folded = {folded}")
        for words in ("ΟΔΟΣ", "οδός", "οδοσ", "ΟΔΟΣΑ"):
            assert _found(ledger, words) == ["m1"], (folded, words)
    assert [one.id for one in ledger.chats(OWNER, "ΟΔΟΣ 7", in_title=True)] == [chat.id]
    assert make_snippet("Η ΟΔΟΣ", read_terms("οδος")) == (("Η ", False), ("ΟΔΟΣ", True))


def test_all_words_are_needed_in_one_message(ledger: Ledger, chat: Chat) -> None:
    first = say("m1", None, "Die ÜBUNG begann am Fluss, 100% of it_")
    record(ledger, [first, say("m2", "m1", "Fluss in the night")], chat_id=chat.id)
    assert _found(ledger, "ubung fluss") == ["m1"]
    assert _found(ledger, "Night übung") == []
    assert _found(ledger, '"the night"') == ["m2"]
    assert _found(ledger, '"night the"') == []
    assert _found(ledger, "0% _") == ["m1"]
    assert _found(ledger, "") == []
    assert _found(ledger, "x" * 10_000) == []


def test_what_an_older_version_stored_is_found_too(ledger: Ledger, chat: Chat) -> None:
    record(ledger, [say("m1", None, "Über den Fluss")], chat_id=chat.id)
    ledger.database.execute("update messages set folded = null")
    assert _found(ledger, "uber FLUSS") == ["m1"]


def test_the_newest_come_first_and_one_chat_does_not_fill_the_list(
    ledger: Ledger, chat: Chat
) -> None:
    for number in range(6):
        at = NOON + timedelta(hours=number)
        record(ledger, [say(f"m{number}", None, "rain")], chat_id=chat.id, at=at)
    other = ledger.create_chat(OWNER, "Lakes", "answer", "offline", "Documents")
    record(ledger, [say("o", None, "rain")], chat_id=other.id)
    assert _found(ledger, "rain") == ["m5", "m4", "m3", "o"]
    assert _found(ledger, "rain", limit=2) == ["m5", "m4"]
    assert _found(ledger, "rain", chat.id) == ["m5", "m4", "m3", "m2", "m1", "m0"]


def test_nothing_of_others_or_of_deleted_chats_is_found(ledger: Ledger, chat: Chat) -> None:
    record(ledger, [say("m1", None, "rain")], chat_id=chat.id)
    assert ledger.find_messages("other", "rain") == []
    assert ledger.find_messages("other", "rain", chat.id) == []
    ledger.discard_chats(OWNER, [chat.id])
    assert _found(ledger, "rain") == []
    assert ledger.chats(OWNER, "rain") == []
    ledger.bring_back_chats(OWNER, [chat.id])
    assert _found(ledger, "rain") == ["m1"]


def test_a_snippet_marks_the_words_in_a_line_around_the_first() -> None:
    text = f"{'before ' * 30}\nÜbung <b>macht</b> den Meister {'after ' * 50}"
    parts = make_snippet(text, ["ubung", "meister"])
    assert [piece for piece, marked in parts if marked] == ["Übung", "Meister"]
    line = "".join(piece for piece, _ in parts)
    assert (line[0], line[-1]) == ("…", "…")
    assert "\n" not in line
    assert len(line) <= 202
    assert make_snippet("", ["x"]) == ()


def test_the_branch_of_a_message_is_shown(ledger: Ledger, chat: Chat) -> None:
    said = [say("q", None), say("a", "q"), say("b", "q"), say("b2", "b"), say("b3", "b2")]
    record(ledger, said, chat_id=chat.id)
    assert ledger.show_message(OWNER, chat.id, "a").head_id == "a"
    assert [one.id for one in ledger.thread(OWNER, chat.id)] == ["q", "a"]
    assert ledger.show_message(OWNER, chat.id, "q").head_id == "a", "it is in the one shown"
    assert ledger.show_message(OWNER, chat.id, "b").head_id == "b3"
    with pytest.raises(NotFound):
        ledger.show_message(OWNER, chat.id, "gone")
    with pytest.raises(NotFound):
        ledger.show_message("other", chat.id, "a")
