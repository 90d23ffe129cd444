"""AutoGen's functions over graphs of speakers, and the picture of one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from agentkit.agents.group.graphs import (
    check_graph_validity,
    has_self_loops,
    invert_disallowed_to_allowed,
    visualize_speaker_transitions_dict,
)
from agentkit.errors import WrongArgument
from tests.agents.group.members import members


def test_loops() -> None:
    a, b, _ = members("abc")
    assert has_self_loops({a: [b], b: [b]})
    assert not has_self_loops({a: [b], b: [a]})


def test_what_is_not_forbidden_is_allowed() -> None:
    a, b, c = members("abc")
    assert invert_disallowed_to_allowed({a: [b], b: [a, b, c]}, [a, b, c]) == {
        a: [a, c],
        b: [],
        c: [a, b, c],
    }


def test_what_is_no_graph_is_refused() -> None:
    a, b, c = members("abc")
    check_graph_validity({a: [b, c], b: [a], c: []}, [a, b, c])
    with pytest.raises(WrongArgument, match="not among the agents"):
        check_graph_validity({c: [a]}, [a, b])
    with pytest.raises(ValueError, match="must be a list of agents"):
        check_graph_validity({a: 1}, [a, b])  # type: ignore[dict-item]


@pytest.mark.parametrize("names", ["a", "ab", "abcdefgh"])
def test_the_picture_is_written(names: str, tmp_path: Path) -> None:
    agents = members(names)
    transitions = {agent: [*agents[number + 1 :], agent] for number, agent in enumerate(agents)}
    visualize_speaker_transitions_dict(transitions, agents, str(tmp_path / "graph.png"))
    with Image.open(tmp_path / "graph.png") as picture:
        assert picture.size == (960, 720)
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 3


def test_an_arrow_changes_the_picture(tmp_path: Path) -> None:
    a, b = members("ab")
    for name, transitions in {"one": {a: [b]}, "two": {a: [b], b: [b]}}.items():
        visualize_speaker_transitions_dict(transitions, [a, b], tmp_path / f"{name}.png")
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "two.png").read_bytes()


def test_it_is_shown_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))  # as others start one
    shown: list[Image.Image] = []
    monkeypatch.setattr(Image.Image, "show", lambda picture: shown.append(picture))
    a, b = members("ab")
    visualize_speaker_transitions_dict({a: [b]}, [a, b])
    assert len(shown) == 1
