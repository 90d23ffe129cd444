"""Bytes of unknown encoding."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.documents.decoding import clean, decode, is_text

FRENCH = (
    "L’été, les élèves naïfs dégustaient des crêpes à la crème près du château où régnait un"
    " garçon.\n" * 4
)
GERMAN = (
    "Die Straße über die Brücke führt zu größeren Gebäuden; Äpfel und Öl gibt es täglich für jeden"
    " Käufer.\n" * 4
)
RUSSIAN = (
    "Маяк на мысе Аркона был построен в тысяча восемьсот двадцать седьмом году для кораблей.\n" * 4
)
JAPANESE = "アルコナ岬の灯台は千八百二十七年に建てられました。海から見えます。\n" * 4
CHINESE = "阿科纳角的灯塔建于一八二七年，从海上可以看到它的光芒。今天它是一座博物馆。\n" * 4
POLISH = (
    "Zażółć gęślą jaźń. Święto było w środę, a książę wysłał łódź po żółte jabłka i pięć śliwek.\n"
    * 4
)


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"]
)
def test_unicode_in_all_its_forms(encoding: str) -> None:
    assert decode(("Café costs 5 €.\r\n" * 3).encode(encoding)) == "Café costs 5 €.\n" * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (FRENCH, "cp1252"),
        (GERMAN, "cp1252"),
        (POLISH, "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc-jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_legacy_encodings_are_detected(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("text", ["naïve café", "Müller", "5 € – “yes”", "Größe: 3 µm"])
def test_short_western_texts(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


def test_a_broken_byte_does_not_spoil_a_utf8_file() -> None:
    assert decode((GERMAN * 3).encode() + b"\xff" + b" Ende") == GERMAN * 3 + "\ufffd Ende"


def test_a_declared_encoding_is_believed_where_utf8_fails() -> None:
    assert decode("Zażółć".encode("iso-8859-2"), "iso-8859-2") == "Zażółć"
    assert decode("Größe".encode("cp1252"), "no-such-encoding") == "Größe"


@given(st.binary(max_size=400), st.sampled_from([b"", codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE]))
def test_any_bytes_give_clean_text(data: bytes, mark: bytes) -> None:
    text = decode(mark + data)
    text.encode()
    assert not set(text) & {"\0", "\r", "\ufeff", "\x1b"}
    assert clean(text) == text


@given(st.text().map(clean))
def test_utf8_comes_back(text: str) -> None:
    data = text.encode()
    if b"\0" not in data:
        assert decode(data) == text


def test_text_is_told_from_binary() -> None:
    assert is_text(FRENCH.encode("cp1252"))
    assert is_text("wide".encode("utf-16"))
    assert is_text(b"line\x1b[0m colour\n" * 100)
    assert not is_text(bytes(range(256)) * 8)
    assert not is_text(b"\x7fELF\x02\x01\x01" + bytes(64))
