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
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
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


class Import(NamedTuple):
    """One module that another one names, both without the leading ``shakedown.``; the package itself is the empty name."""

    module: str
    target: str
    line: int
    for_types: bool  # read by type checkers alone


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Dotted name below the package -> file."""
    named = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


def imports(package: Path = PACKAGE) -> Iterator[Import]:
    """Every import of a module of the package in another one, those inside functions too."""
    known = modules(package)
    for module, file in known.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        typing = _typing_lines(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = _base(node, module, file.name == "__init__.py", package.name)
                names = [f"{base}.{name.name}" for name in node.names]
            else:
                continue
            for name in names:
                root, _, rest = name.partition(".")
                if root == package.name:
                    target = rest if rest in known else rest.rpartition(".")[0]
                    yield Import(module, target, node.lineno, node.lineno in typing)


def _base(node: ast.ImportFrom, module: str, is_package: bool, root: str) -> str:
    """The absolute module that a ``from`` names."""
    if not node.level:
        return node.module or ""
    parts = [root, *module.split(".")] if module else [root]
    parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _typing_lines(tree: ast.AST) -> set[int]:
    """The lines below ``if TYPE_CHECKING:``."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            lines |= {inner.lineno for part in node.body for inner in ast.walk(part) if isinstance(inner, ast.stmt)}
    return lines


def room(module: str) -> str:
    return module.partition(".")[0]


def neighbours(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Room -> the rooms that it imports, what serves type checkers alone included."""
    found: dict[str, set[str]] = {room(name): set() for name in modules(package) if name}
    for one in imports(package):
        a, b = room(one.module), room(one.target)
        if a and b and a != b:
            found[a].add(b)
    return found


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of nodes of which each reaches each other (Tarjan), of two or more; empty where there is no circle."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in order:
            visit(node)
    return found


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


def about(name: str, package: Path = PACKAGE) -> str:
    """The opening sentence of a room, up to its first semicolon or full stop."""
    file = modules(package)[name]
    text = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"\.(?: |$)|; ", text)[0].replace("`", "")


WIDTH, BOX, HIGH, GAP, ROW = 1000, 220, 70, 20, 104

STYLE = """
text { font: 9.5px sans-serif; fill: #555 } .name { font: bold 13px sans-serif; fill: #111 }
.step { font: 12px sans-serif; fill: #0b5a8f } rect { fill: #f6f7f8; stroke: #9aa3ab } .page { fill: #fff; stroke: none }
.way { fill: #e3f0f9; stroke: #0b5a8f; stroke-width: 1.6 } path { fill: none; stroke: #b9c1c8 }
"""


def picture(package: Path = PACKAGE) -> str:
    """The SVG: a row a floor, the lowest at the bottom; the way of a sample numbered."""
    edges = {name: others for name, others in neighbours(package).items() if name != "__main__"}
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
        for line, words in enumerate(textwrap.wrap(about(name, package), 40, max_lines=4, placeholder="...")):
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
    if parser.parse_args().check:
        return 0 if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture() else 1
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
