"""The rooms of src/shakedown and what imports what, read from the source; drawn as docs/images/rooms.svg by `make docs`.

    python scripts/rooms.py [--check]

A room is a folder of the package, or a module at its top. It stands above every room that it imports. Arrows that follow
from others are left out: where A imports B and B imports C, A may import C too.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.house import House  # noqa: E402

PACKAGE = ROOT / "src" / "shakedown"
PICTURE = ROOT / "docs" / "images" / "rooms.svg"

#: The way of a sample, room by room, and what happens to it there.
WAY = (
    ("campaign", "what is asked, and its runs"),
    ("workloads", "a run's command"),
    ("launchers", "the MPI's launcher in front"),
    ("run", "when it runs, and where"),
    ("hosts", "the process and its output"),
    ("programs", "native events: samples, work, residuals"),
    ("results", "a Measurement in the run directory"),
    ("analysis", "a Finding with its interval; a Verdict"),
    ("report", "the page"),
)


def neighbours(house: House) -> dict[str, set[str]]:
    """Room -> the rooms that it imports at run time."""
    found: dict[str, set[str]] = {module.room: set() for module in house.modules.values()}
    for name, imports in house.imports.items():
        here = house.modules[name].room
        found[here] |= {house.modules[one.module].room for one in imports} - {here}
    return {room: others - {""} for room, others in found.items() if room not in ("", "__main__")}


def floors(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The rooms by floor, the lowest first: each as low as what it imports allows. Needs a graph without circles."""

    @cache
    def height(node: str) -> int:
        return 1 + max(map(height, edges[node]), default=-1)

    stacked: dict[int, list[str]] = defaultdict(list)
    for node in sorted(edges):
        stacked[height(node)].append(node)
    return [stacked[level] for level in sorted(stacked)]


def direct(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others (the transitive reduction)."""

    @cache
    def reach(node: str) -> frozenset[str]:
        return frozenset(edges[node]).union(*(reach(other) for other in edges[node]))

    return {node: {b for b in edges[node] if not any(b in reach(c) for c in edges[node] if c != b)} for node in edges}


def about(house: House, room: str) -> str:
    """The opening sentence of a room, up to its first semicolon or full stop."""
    text = (
        (ast.get_docstring(house.modules[f"{house.root.name}.{room}"].tree) or "").split("\n\n")[0].replace("\n", " ")
    )
    return re.split(r"\.(?: |$)|; ", text)[0].replace("`", "")


WIDTH, BOX, HIGH, GAP, ROW = 1000, 220, 70, 20, 104

STYLE = """
text { font: 9.5px sans-serif; fill: #555 } .name { font: bold 13px sans-serif; fill: #111 }
.step { font: 12px sans-serif; fill: #0b5a8f } rect { fill: #f6f7f8; stroke: #9aa3ab } .page { fill: #fff; stroke: none }
.way { fill: #e3f0f9; stroke: #0b5a8f; stroke-width: 1.6 } path { fill: none; stroke: #b9c1c8 }
"""


def picture(house: House) -> str:
    """The SVG: a row a floor, the lowest at the bottom; the way of a sample numbered."""
    edges = neighbours(house)
    rows = [row[i : i + 6] for row in reversed(floors(edges)) for i in range(0, len(row), 6)]
    places = {}
    for y, row in enumerate(rows):
        left = (WIDTH - len(row) * BOX - (len(row) - 1) * GAP) / 2
        places.update({name: (left + x * (BOX + GAP), 20 + y * ROW) for x, name in enumerate(row)})
    numbers = {name: str(number) for number, (name, _) in enumerate(WAY, 1)}
    parts = []
    for name, others in direct(edges).items():
        for other in sorted(others):
            (x0, y0), (x1, y1) = places[name], places[other]
            a, b = (x0 + BOX / 2, y0 + HIGH), (x1 + BOX / 2, y1)
            bend = (b[1] - a[1]) / 2
            points = (a, (a[0], a[1] + bend), (b[0], b[1] - bend), b)
            start, *rest = (f"{px:.0f} {py:.0f}" for px, py in points)
            parts.append(f'<path d="M{start}C{" ".join(rest)}"/>')
    for name, (x, y) in places.items():
        chosen = ' class="way"' if name in numbers else ""
        parts.append(f'<rect{chosen} x="{x:.0f}" y="{y:.0f}" width="{BOX}" height="{HIGH}" rx="6"/>')
        label = f"{numbers[name]}  {name}" if name in numbers else name
        parts.append(f'<text class="name" x="{x + 10:.0f}" y="{y + 18:.0f}">{escape(label)}</text>')
        for line, words in enumerate(textwrap.wrap(about(house, name), 40, max_lines=4, placeholder="...")):
            parts.append(f'<text x="{x + 10:.0f}" y="{y + 32 + 11 * line:.0f}">{escape(words)}</text>')
    below = 20 + len(rows) * ROW
    for number, (name, what) in enumerate(WAY):
        x, y = 30 + (number % 3) * 340, below + 24 + (number // 3) * 18
        parts.append(f'<text class="step" x="{x:.0f}" y="{y:.0f}">{number + 1}  {name}: {escape(what)}</text>')
    height = below + 24 + 18 * ((len(WAY) + 2) // 3)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="The rooms">'
    return "\n".join(
        [head, f"<style>{STYLE}</style>", '<rect class="page" width="100%" height="100%"/>', *parts, "</svg>", ""]
    )


def main() -> int:
    """Write the picture; with --check say whether it is what the source says (exit code 1 where it is not)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check, drawn = parser.parse_args().check, picture(House(PACKAGE))
    if check:
        return 0 if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn else 1
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
