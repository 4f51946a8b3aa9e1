"""How a tree of Python packages hangs together, read from its syntax alone: what imports what, how long things are.

Every rule returns what breaks it, as text; none is what a tidy house gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

LONGEST_FUNCTION = 60
LONGEST_FILE = 400
MOST_AT_TOP = 6


class Import(NamedTuple):
    """One import at run time, lazy ones included."""

    line: int
    module: str  # what is loaded, as far as it is of this tree
    name: str  # what is taken from it; empty for the module itself


class Module(NamedTuple):
    name: str  # shakedown.run.loop
    path: Path
    tree: ast.Module
    is_package: bool

    @property
    def folder(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def room(self) -> str:
        """The folder or file right below the top that it is, or is in."""
        return (*self.name.split("."), "")[1]


class House:
    """The package at ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        for path in sorted(root.rglob("*.py")):
            parts = (root.name, *path.relative_to(root).with_suffix("").parts)
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            self.modules[name] = Module(name, path, _parsed(path.read_text("utf-8")), is_package)
        self.imports = {name: tuple(self._imports(module)) for name, module in self.modules.items()}

    def _imports(self, module: Module) -> Iterator[Import]:
        for node in _at_run_time(module.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.modules:
                        yield Import(node.lineno, alias.name, "")
            elif isinstance(node, ast.ImportFrom):
                base = _absolute(module, node)
                for alias in node.names:
                    if f"{base}.{alias.name}" in self.modules:
                        yield Import(node.lineno, f"{base}.{alias.name}", "")
                    elif base in self.modules:
                        yield Import(node.lineno, base, alias.name)


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All statements but those that only a type checker reads. Expressions, nine nodes in ten, import nothing."""
    only_checked = isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    for name in ("orelse",) if only_checked else ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, name, ()):
            yield child
            yield from _at_run_time(child)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    above = module.folder.split(".")
    above = above[: len(above) - (node.level - 1)]
    return ".".join([*above, *([node.module] if node.module else [])])


# --------------------------------------------------------------------------------------------------------------- circles


def circles(edges: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """The groups of nodes of which each leads to each other (Tarjan)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            group = tuple(sorted(stack[at:]))
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for node in edges:
        if node not in number:
            visit(node)
    return found


def circles_of_rooms(house: House) -> list[str]:
    """Rooms that import each other, directly or through others."""
    edges: dict[str, set[str]] = {module.room: set() for module in house.modules.values()}
    for name, imports in house.imports.items():
        room = house.modules[name].room
        edges[room] |= {other for one in imports if (other := house.modules[one.module].room) != room}
    return [" <-> ".join(group) for group in circles(edges)]


def circles_of_modules(house: House) -> list[str]:
    """Modules that import each other, directly or through others."""
    edges = {name: {one.module for one in imports} - {name} for name, imports in house.imports.items()}
    return [" <-> ".join(group) for group in circles(edges)]


# --------------------------------------------------------------------------------------------------------------- privacy


def _is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def foreign_privates(house: House) -> list[str]:
    """Modules and names that begin with an underscore and are used outside of the folder that they are in."""
    found = []
    for name, imports in house.imports.items():
        folder = house.modules[name].folder
        for one in imports:
            parts = one.module.split(".")
            private = next((at for at, part in enumerate(parts) if _is_private(part)), None)
            if private is not None:
                owner = ".".join(parts[:private])
            elif _is_private(one.name):
                owner = house.modules[one.module].folder
            else:
                continue
            if not f"{folder}.".startswith(f"{owner}."):
                found.append(f"{name}:{one.line} uses {one.module}{f'.{one.name}' if one.name else ''}")
        found += _foreign_attributes(house, name)
    return found


def _foreign_attributes(house: House, name: str) -> Iterator[str]:
    """``module._name`` of a module that lies elsewhere."""
    module = house.modules[name]
    bound: dict[str, str] = {}
    private = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                if f"{base}.{alias.name}" in house.modules:
                    bound[alias.asname or alias.name] = f"{base}.{alias.name}"
        elif isinstance(node, ast.Attribute) and _is_private(node.attr) and isinstance(node.value, ast.Name):
            private.append((node.lineno, node.value.id, node.attr))
    for line, value, attribute in private:
        other = house.modules.get(bound.get(value, ""))
        if other is not None and not f"{module.folder}.".startswith(f"{other.folder}."):
            yield f"{name}:{line} uses {other.name}.{attribute}"


# ------------------------------------------------------------------------------------------------------------------ size


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def long_functions(paths: Iterable[Path]) -> list[str]:
    """Functions of more than LONGEST_FUNCTION lines, from their ``def`` to their end."""
    return [
        f"{path}:{node.lineno} {node.name} has {length} lines"
        for path in paths
        for node in ast.walk(_parsed(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]


def long_files(paths: Iterable[Path], granted: Mapping[str, int] | None = None) -> list[str]:
    """Files of more than LONGEST_FILE lines, tables aside; ``granted``: end of a path -> how many it may have."""
    found = []
    for path in paths:
        text = path.read_text("utf-8")
        tables = sum((node.end_lineno or 0) - node.lineno + 1 for node in _parsed(text).body if _is_table(node))
        most = next((number for end, number in (granted or {}).items() if path.as_posix().endswith(end)), LONGEST_FILE)
        if (length := text.count("\n") - tables) > most:
            found.append(f"{path} has {length} lines")
    return found


def _is_table(node: ast.stmt) -> bool:
    """A constant that is written out: a dictionary, a list, a text."""
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    return isinstance(node.value, ast.Dict | ast.List | ast.Tuple | ast.Set | ast.Constant)


# ----------------------------------------------------------------------------------------------------------------- rooms


def crowded_top(house: House) -> list[str]:
    """The modules right below the top, where they are too many."""
    names = [path.name for path in sorted(house.root.glob("*.py")) if path.name != "__init__.py"]
    return [f"{len(names)} modules at the top: {', '.join(names)}"] if len(names) > MOST_AT_TOP else []


def silent_rooms(house: House) -> list[str]:
    """Folders whose ``__init__`` does not begin with a sentence on what lives there."""
    return [
        f"{module.path} says nothing of what lives there"
        for module in house.modules.values()
        if module.is_package and not re.search(r"\w+ .*\w[.:]", ast.get_docstring(module.tree) or "", re.DOTALL)
    ]
