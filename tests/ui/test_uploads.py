"""Uploads are stored by number, whatever they are called."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.errors import StoreError
from agentkit.settings import Settings
from agentkit.ui.shared.uploads import to_disk


class Upload(BytesIO):
    """As Streamlit hands a file over."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(data)
        self.name = name


def test_the_name_is_data_and_the_path_a_number(tmp_path: Path) -> None:
    names = [
        "a/b.txt",
        "報" * 300,
        "..",
        "../../x.txt",
        "a\0b",
        "\ud800",
        "C:\\x.txt",
        "",
        "a\u202eb",
    ]
    found = to_disk(
        [Upload(name, name.encode("utf-8", "replace")) for name in names], Settings(data=tmp_path)
    )
    assert [source.path.name for source in found] == [str(number) for number in range(len(names))]
    assert len({source.path.parent for source in found}) == 1
    assert found[0].path.parents[1] == tmp_path / "uploads"
    assert [source.name for source in found] == [
        "a/b.txt",
        "報" * 300,
        "..",
        "../../x.txt",
        "ab",
        "\N{REPLACEMENT CHARACTER}",
        "C:/x.txt",
        ".",
        "ab",
    ]
    assert len({source.origin for source in found}) == len(names), "each is a document of its own"
    assert found[0].origin == "upload:a/b.txt"


def test_two_files_of_one_name_are_two_documents(tmp_path: Path) -> None:
    files = [
        Upload("a.txt", b"one"),
        Upload("a.txt", b"two"),
        Upload("a (2).txt", b"three"),
        Upload("a.txt", b"four"),
    ]
    found = to_disk(files, Settings(data=tmp_path))
    assert [(source.name, source.path.read_bytes()) for source in found] == [
        ("a.txt", b"one"),
        ("a (2).txt", b"two"),
        ("a (2) (2).txt", b"three"),
        ("a (3).txt", b"four"),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters()), max_size=5))
def test_any_names(tmp_path: Path, names: list[str]) -> None:
    files = [Upload(name, str(number).encode()) for number, name in enumerate(names)]
    found = to_disk(files, Settings(data=tmp_path))
    assert [source.path.read_bytes() for source in found] == [
        str(n).encode() for n in range(len(names))
    ]
    assert len({source.origin for source in found}) == len(names)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be copied into .*uploads .*check free space"):
        to_disk([Upload("a.txt", b"one")], Settings(data=tmp_path))
