"""One fact, one home: what a module has a home for is done nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import shakedown

ROOT = Path(shakedown.__file__).parent

#: What is done -> its home, and who may do it besides, each for a reason.
HOMES: dict[str, tuple[str, ...]] = {
    "os.replace": ("files/atomic.py",),
    "os.fsync": (
        "files/atomic.py",
        "operate/health/node_access.py",  # tries whether the disk writes
        "functional_tests/_exchange_tree.py",  # what is moved must lie on the disk
        "functional_tests/spark/files.py",  # the time until files are on the device is what is measured
        "metering/sampler_process.py",  # the raw readings at the end
    ),
    "os.fdatasync": ("files/journal.py",),
    "fcntl.flock": ("files/locks.py",),
    "pynvml": ("hosts/nvidia.py",),
    "ZoneInfo": (
        "times.py",
        "operate/accounting/readers/table.py",  # a stamp of each row: made once
    ),
    "datetime.fromisoformat": ("times.py", "results/imported.py"),
    "time.mktime": ("times.py",),
    "calendar.timegm": ("times.py",),
    "time.localtime": ("times.py",),
    "time.gmtime": ("times.py",),
}


def uses(tree: ast.AST) -> Iterator[str]:
    """Names as they are written where they are called or imported: ``os.replace``, ``datetime.fromisoformat``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            yield f"{name}.{node.func.attr}"


@pytest.fixture(scope="module")
def used() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        for name in uses(ast.parse(path.read_text())):
            if name in HOMES:
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("what", sorted(HOMES))
def test_what_has_a_home_is_done_there_alone(used: dict[str, set[str]], what: str) -> None:
    elsewhere = used.get(what, set()) - set(HOMES[what])
    assert not elsewhere, f"{what}: use {HOMES[what][0]}"


def test_every_home_is_one(used: dict[str, set[str]]) -> None:
    """What nobody does any more needs no exception."""
    assert {(what, place) for what, places in HOMES.items() for place in places if place not in used.get(what, ())} <= {
        ("calendar.timegm", "times.py"),
        ("time.gmtime", "times.py"),
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import os\nos.replace('a', 'b')", "os.replace"),
        ("from zoneinfo import ZoneInfo\nZoneInfo('UTC')", "ZoneInfo"),
        ("import datetime\ndatetime.datetime.fromisoformat('x')", "datetime.fromisoformat"),
        ("def f():\n    import pynvml", "pynvml"),
    ],
)
def test_a_use_is_seen(text: str, name: str) -> None:
    assert name in set(uses(ast.parse(text)))
