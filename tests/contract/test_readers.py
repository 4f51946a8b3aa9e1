"""Readers of foreign text: each is fuzzed, each reads what it is spoiled from, none trusts str.isdigit."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import shakedown

ROOT = Path(__file__).resolve().parents[2]
#: The product as it is imported here: installed, or in the source tree.
SOURCE = Path(shakedown.__file__).resolve().parent

#: Functions that decode and are no reader of what others write, each with the reason.
_OWN_PIPE = "words between the harness and a process of its own, over a pipe"
_OWN_ROWS = "what this process encoded itself a moment ago, from records that were read already"
_SHIPPED = "a file of this installation"
NOT_FOREIGN = {
    "metering/sampler_process.py:main": _OWN_PIPE,
    "run/multihost/agent.py:_decoded": _OWN_PIPE,
    "radio/emulate/control.py:_ask": _OWN_PIPE,
    "radio/emulate/lab.py:status": "lines that a process of our own wrote into its directory",
    "radio/emulate/files.py:load": "the description that `up` wrote, read strictly; what is none of ours is refused",
    "run/multihost/agent.py:_word_in": _OWN_PIPE,
    "metering/sampler.py:_listen": _OWN_PIPE,
    "reproduce/model.py:parse": "the documents' rows, which come with the package; a test reads each and spoils them",
    "functional_tests/_meeting.py:read": "what the processes of one job tell each other, whole or not there",
    "analysis/collectives/findings.py:_rows": _OWN_ROWS,
    "analysis/derive.py:findings": _OWN_ROWS,
    "analysis/hidden.py:__init__": _OWN_ROWS,
    "analysis/mpis.py:comparisons": _OWN_ROWS,
    "analysis/overheads.py:_rows": _OWN_ROWS,
    "site/gather.py:_defined": _OWN_ROWS,
    "site/beside.py:_interval": "a summary that was read already; one that was spoiled meanwhile has no interval",
    "functional_tests/training.py:train": "what the ranks of this very job leave, whole or not there",
    "functional_tests/language_model/rank.py:main": "the job that the parent of this process wrote a moment ago",
    "functional_tests/spark/app.py:main": _OWN_PIPE,
    "functional_tests/spark/application.py:wait": _OWN_PIPE,
    "functional_tests/spark/cluster.py:_hear": _OWN_PIPE,
    "functional_tests/spark/cluster.py:admit": _OWN_PIPE,
    "functional_tests/spark/node.py:serve": _OWN_PIPE,
    "functional_tests/spark/node.py:main": "where to meet the others: a file of this very job, with its secret",
    "analysis/pairs/read.py:_add": _OWN_ROWS,
    "analysis/pairs/read.py:_metric_and_work": _OWN_ROWS,
    "analysis/scaling/gather.py:_seen": _OWN_ROWS,
    "analysis/table.py:unpack": _OWN_ROWS,
    "analysis/trend/gather.py:params_of": _OWN_ROWS,
    "energy/importing/trace_import.py:_twice_refused": _OWN_ROWS,
    "energy/green500/rules/__init__.py:load": _SHIPPED,
    "metering/meters/_http.py:send": "a server's answer: what is read of it is fuzzed as recordings of Redfish, Prometheus",
    "radio/engine.py:_reply": _OWN_PIPE,
    "radio/engine.py:explain": _OWN_PIPE,
    "radio/models.py:read": "the table that the native program of this very build holds",
    "workloads/common/table.py:_contents": _SHIPPED,
    "run/fallback_store.py:bring_in": "a measurement that is read as measurement.json is",
    "report/formats/json.py:read": "raises by contract what it cannot decode: its caller is a test",
}


def shipped(node: ast.FunctionDef) -> bool:
    """A function without arguments that keeps its answer reads a file of this installation."""
    return not node.args.args and any("cache" in ast.unparse(one) for one in node.decorator_list)


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function of the product, as ``file:name``."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not shipped(node):
                yield f"{path.relative_to(SOURCE)}:{node.name}", node


def decodes(node: ast.AST) -> bool:
    """Whether a function turns text or bytes into records: JSON, TOML, XML, CSV or Parquet."""
    for one in ast.walk(node):
        if (
            isinstance(one, ast.Constant)
            and isinstance(one.value, str)
            and ("read_parquet(" in one.value or "read_csv(" in one.value)
        ):
            return True
        if not isinstance(one, ast.Call):
            continue
        words = ast.unparse(one.func).lower()
        if words.endswith(
            ("json.loads", "tomllib.loads", "json.decode", "elementtree.fromstring", "read_toml", "csv.reader")
        ):
            return True
        if words.endswith("decoder.decode"):
            return True
    return False


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], list[str]]:
    """The functions that ran while every reader of scripts/fuzz read its sound files, and the readers that read none."""
    sys.path.insert(0, str(ROOT / "scripts" / "fuzz"))
    try:
        import readers as table
    finally:
        sys.path.pop(0)
    ran: set[str] = set()
    prefix = f"{SOURCE}/"

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(prefix):
            ran.add(f"{frame.f_code.co_filename.removeprefix(prefix)}:{frame.f_code.co_name}")

    folder = tmp_path_factory.mktemp("seeds")
    silent = []
    readers = table.readers()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for one in readers:
            path = folder / f"input{one.suffix}"
            well = 0
            for seed in one.seeds:
                path.write_bytes(seed)
                try:
                    one.read(path)
                    well += 1
                except Exception:
                    continue
            if not well:
                silent.append(one.name)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return ran, silent


def test_every_reader_reads_a_sound_file(read: tuple[set[str], list[str]]) -> None:
    """A reader that refuses what it is spoiled from would be tried at its front door only."""
    assert read[1] == []


def test_every_function_that_decodes_is_fuzzed(read: tuple[set[str], list[str]]) -> None:
    """A new reader stands in scripts/fuzz, or here with the reason why it reads nothing that others write."""
    wanted = {name for name, node in functions() if decodes(node)}
    assert sorted(wanted - read[0] - NOT_FOREIGN.keys()) == []
    assert NOT_FOREIGN.keys() <= wanted, "an exception that is none any more"


def test_whole_numbers_of_others_have_one_home() -> None:
    """str.isdigit and its kin take what int() refuses: units.whole_number does not."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("isdigit", "isdecimal", "isnumeric")
    ]
    assert found == []


def test_what_cannot_be_decoded_has_one_name() -> None:
    """JSON that nests without end raises RecursionError, which is no DecodeError: errors.UNREADABLE is both."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and node.type and "msgspec.DecodeError" in ast.unparse(node.type)
    ]
    assert found == []
