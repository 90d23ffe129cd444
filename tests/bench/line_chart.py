"""A line chart as an SVG that reads in light and dark, labels its lines where they end, and needs
no library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 50, 60
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #333 } .title { font-weight: 600; font-size: 16px }
.grid { stroke: #ddd } .line { fill: none; stroke: #777; stroke-width: 2 }
.accent { stroke: #0b7285 } .dashed { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .grid { stroke: #444 } .line { stroke: #aaa } .accent { stroke: #3bc9db }
}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """Values at 1, 2, 3, ..."""

    label: str
    values: Sequence[float]
    accent: bool = False
    dashed: bool = False


def svg(title: str, across: str, unit: str, lines: Sequence[Line]) -> str:
    """The chart; `across` names the horizontal axis, `unit` the vertical one."""
    count = max(len(line.values) for line in lines)
    step = _step(max(max(line.values) for line in lines))
    highest = step * -(-max(max(line.values) for line in lines) // step)

    def x(at: float) -> float:
        return LEFT + (at - 1) / (count - 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        f'<text x="{LEFT}" y="{TOP - 10}">{unit}</text>',
    ]
    for value in range(0, int(highest) + 1, int(step)):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{x(count):.0f}" y1="{y(value):.1f}"'
            f' y2="{y(value):.1f}"/>'
        )
        parts.append(
            f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:,}</text>'
        )
    parts += [
        f'<text x="{x(at):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{at}</text>'
        for at in range(1, count + 1)
    ]
    parts.append(
        f'<text x="{(LEFT + x(count)) / 2:.0f}" y="{HEIGHT - 14}"'
        f' text-anchor="middle">{escape(across)}</text>'
    )
    for line in lines:
        kind = "line" + " accent" * line.accent + " dashed" * line.dashed
        points = " ".join(
            f"{x(at):.1f},{y(value):.1f}" for at, value in enumerate(line.values, start=1)
        )
        parts.append(f'<polyline class="{kind}" points="{points}"/>')
    for line, height in zip(lines, _apart([y(line.values[-1]) for line in lines]), strict=True):
        parts.append(
            f'<text x="{x(count) + 8:.0f}" y="{height + 4:.1f}">{escape(line.label)}</text>'
        )
    told = "; ".join(
        f"{line.label}: {line.values[0]:,.0f} to {line.values[-1]:,.0f}" for line in lines
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' role="img">\n<title>{escape(title)}</title><desc>{escape(told)}'
        f" {escape(unit)}</desc>\n<style>{_STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _step(highest: float) -> float:
    """A round distance between grid lines, for four to ten of them."""
    size: float = 10.0 ** (len(str(int(highest))) - 1)
    return next(size * factor for factor in (0.2, 0.5, 1.0, 2.0) if highest / (size * factor) <= 8)


def _apart(heights: Sequence[float], least: float = 16) -> list[float]:
    """Heights of labels, moved so that none lies on another."""
    placed: dict[int, float] = {}
    above = float("-inf")
    for index in sorted(range(len(heights)), key=lambda each: heights[each]):
        above = placed[index] = max(heights[index], above + least)
    return [placed[index] for index in range(len(heights))]
