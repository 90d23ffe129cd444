"""Graphs of who may speak after whom: AutoGen's functions over them, and a picture."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import contains
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.agents.group.transitions import Transitions, build_transitions, check_transitions
from agentkit.conversation.agent import Agent

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

Point = tuple[float, float]

_WIDTH, _HEIGHT = 960, 720
_MIDDLE = (_WIDTH / 2, _HEIGHT / 2)
_NODE = 28  # radius
_HEAD = 14  # length of an arrow's head
_INK, _FILL, _PAPER = "#1f2937", "#cfe3f5", "#ffffff"


def has_self_loops(allowed_speaker_transitions: Mapping[Agent, Sequence[Agent]]) -> bool:
    """Whether anybody may speak twice in a row."""
    edges = allowed_speaker_transitions
    return any(map(contains, edges.values(), edges))


def check_graph_validity(
    allowed_speaker_transitions_dict: Mapping[Agent, Sequence[Agent]], agents: Sequence[Agent]
) -> None:
    """Raise WrongArgument (a ValueError) unless it is a graph over these agents; warn of what is
    odd in it.
    """
    check_transitions(allowed_speaker_transitions_dict, agents)


def invert_disallowed_to_allowed(
    disallowed_speaker_transitions_dict: Mapping[Agent, Sequence[Agent]], agents: Sequence[Agent]
) -> Transitions:
    """Everybody may follow everybody, themselves too, but for those given; raises WrongArgument."""
    return build_transitions(agents, True, disallowed_speaker_transitions_dict, "disallowed")


def visualize_speaker_transitions_dict(
    speaker_transitions_dict: Mapping[Agent, Sequence[Agent]],
    agents: Sequence[Agent],
    export_path: str | Path | None = None,
) -> None:
    """Draw who may speak after whom: agents in a circle, an arrow to each who may follow.

    The picture goes to `export_path`, whose ending says in which form (.png, .jpg, .pdf); without
    one it is shown, in a notebook below the cell. Raises OSError for a file that cannot be written,
    ValueError for an ending that says nothing.
    """
    picture = _draw(speaker_transitions_dict, agents)
    if export_path is not None:
        picture.save(export_path)
    elif _is_in_notebook():
        from IPython.display import display

        display(picture)  # type: ignore[no-untyped-call]
    else:
        picture.show()


def _is_in_notebook() -> bool:
    """Whether a notebook's kernel runs this program; one may be loaded only to be started."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    return getattr(ipython.get_ipython(), "kernel", None) is not None


def _draw(transitions: Mapping[Agent, Sequence[Agent]], agents: Sequence[Agent]) -> Image:
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
    draw = ImageDraw.Draw(picture)
    drawn = chain(agents, transitions, *transitions.values())
    names = list(dict.fromkeys(agent.name for agent in drawn))
    places = dict(zip(names, _place_in_circle(len(names)), strict=True))
    for agent, followers in transitions.items():
        for follower in followers:
            _draw_arrow(draw, places[agent.name], places[follower.name])
    for name, place in places.items():
        _draw_node(draw, name, place)
    return picture


def _place_in_circle(count: int) -> list[Point]:
    """So many places around the middle, the first above it."""
    across, down = _MIDDLE[0] - 5 * _NODE, _MIDDLE[1] - 3 * _NODE
    places: list[Point] = []
    for number in range(count):
        angle = 2 * math.pi * number / count - math.pi / 2
        at = (
            _MIDDLE[0] + across * math.cos(angle),
            _MIDDLE[1] + down * math.sin(angle),
        )
        places.append(at)
    return places


def _draw_arrow(draw: ImageDraw, start: Point, end: Point) -> None:
    if start == end:  # a loop, at the outer side
        x, y = end[0] + math.copysign(_NODE, end[0] - _MIDDLE[0]), end[1]
        size = _NODE * 0.6
        draw.ellipse((x - size, y - size, x + size, y + size), outline=_INK, width=2)
        return
    tip, tail = _move_towards(end, start, _NODE), _move_towards(start, end, _NODE)
    draw.line((tail, tip), fill=_INK, width=2)
    back = math.atan2(start[1] - end[1], start[0] - end[0])
    wings = [
        (tip[0] + _HEAD * math.cos(back + turn), tip[1] + _HEAD * math.sin(back + turn))
        for turn in (-0.4, 0.4)
    ]
    draw.polygon([tip, *wings], fill=_INK)


def _move_towards(start: Point, end: Point, distance: float) -> Point:
    """The point at that distance from the start on the way to the end."""
    length = math.dist(start, end) or 1.0
    return (
        start[0] + (end[0] - start[0]) * distance / length,
        start[1] + (end[1] - start[1]) * distance / length,
    )


def _draw_node(draw: ImageDraw, name: str, place: Point) -> None:
    x, y = place
    draw.ellipse((x - _NODE, y - _NODE, x + _NODE, y + _NODE), fill=_FILL, outline=_INK, width=2)
    outside = (x, y + math.copysign(_NODE + 16, y - _MIDDLE[1]))
    draw.rectangle(draw.textbbox(outside, name, anchor="mm", font_size=20), fill=_PAPER)
    draw.text(outside, name, fill=_INK, anchor="mm", font_size=20)
