"""The text that users read, in the sources and in the documentation, and words in it that have a better one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_SQL = re.compile(
    r"\s*[({\"]*\s*(select|insert|create|update|copy|describe|set|case|coalesce|when|where|partition by|count)\b", re.I
)


class Text(NamedTuple):
    """One text: where it stands, and what it says. A value in an f-string shows as ``{}``."""

    path: Path
    line: int
    text: str


class Found(NamedTuple):
    """A word that has a better one."""

    at: Text
    word: str
    better: str

    def __str__(self) -> str:
        return f"{self.at.path}:{self.at.line}: {self.word!r}: better {self.better}: {self.at.text[:120]!r}"


def of_source(path: Path) -> Iterator[Text]:
    """The strings of a Python file that a user may read: literals of several words outside docstrings and SQL, and the
    docstrings of verbs, which are their help."""
    tree = ast.parse(path.read_text())
    verbs = set()
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.decorator_list and path.parent.name == "cli":
            verbs.add(id(node.body[0]))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and id(node) not in verbs:
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        text = _text(node)
        if text is not None and id(node) not in skipped and " " in text.strip() and not _SQL.match(text):
            yield Text(path, getattr(node, "lineno", 0), text)


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


#: A C++ comment, an include, or a string literal: the first of them that begins decides.
_NATIVE = re.compile(r'//[^\n]*|/\*.*?\*/|^#include[^\n]*|"((?:[^"\\\n]|\\.)*)"', re.MULTILINE | re.DOTALL)


def of_native(path: Path) -> Iterator[Text]:
    """The string literals of several words of a C++ source, but for those of tests, fakes and peers, which no user reads."""
    if re.search(r"(^|_)(test|fake)|_peers", path.name) or "testing" in path.parts:
        return
    source = path.read_text()
    for found in _NATIVE.finditer(source):
        if found[1] is not None and " " in found[1].strip():
            yield Text(path, source.count("\n", 0, found.start()) + 1, found[1])


def of_page(path: Path) -> Iterator[Text]:
    """The lines of a page in Markdown."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield Text(path, number, line)


def search(texts: Iterator[Text], better: Mapping[str, str]) -> Iterator[Found]:
    """Each word of the table that occurs: patterns of whole words, beside each the better one."""
    patterns = [(re.compile(rf"\b(?:{pattern})\b", re.I), instead) for pattern, instead in better.items()]
    any_of_them = re.compile("|".join(pattern.pattern for pattern, _ in patterns), re.I)
    for one in texts:
        for pattern, instead in patterns if any_of_them.search(one.text) else ():
            for match in pattern.finditer(one.text):
                yield Found(one, match[0], instead)
