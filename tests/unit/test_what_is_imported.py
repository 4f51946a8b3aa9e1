"""What is loaded when: help is instant, and the harness carries nothing heavy while it measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shakedown import cli
from shakedown.cli._verbs import VERBS, Verb


def loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_help_loads_no_analysis() -> None:
    every_verb = "from shakedown.cli import app\nsys.argv = ['shakedown', '--help']"
    assert not {"numpy", "duckdb", "vl_convert", "jinja2", "msgspec"} & called(every_verb)


def called(code: str) -> set[str]:
    """What is loaded once the command was called."""
    return loaded(f"import sys\n{code}\ntry:\n    app.main()\nexcept SystemExit as end:\n    assert not end.code")


@pytest.mark.parametrize(
    ("words", "loads"),
    [
        (["--version"], set()),
        (["native", "--help"], {"native"}),
        (["checkpoint", "plan", "--help"], {"checkpoint", "checkpoint_plan"}),
    ],
)
def test_a_verb_loads_no_other(words: list[str], loads: set[str]) -> None:
    modules = called(f"from shakedown.cli import app\nsys.argv = ['shakedown', *{words}]")
    verbs = {name.removeprefix("shakedown.cli.") for name in modules if name.startswith("shakedown.cli.")}
    assert verbs - {"app", "common", *(name for name in verbs if name.startswith("_"))} == loads


def test_every_file_of_verbs_is_one() -> None:
    def modules(verb: Verb) -> set[str]:
        return {verb.module}.union(*(modules(part) for _, part in verb.parts))

    files = {path.stem for path in Path(cli.__path__[0]).glob("[!_]*.py")}
    assert set().union(*map(modules, VERBS.values())) == files - {"app", "common", "progress"}


def test_the_harness_loads_nothing_heavy() -> None:
    assert not {"numpy", "duckdb", "vl_convert", "jinja2"} & loaded(
        "import shakedown.run.session, shakedown.cli.run, shakedown.campaign.plan"
    )


def test_workloads_are_listed_without_reading_their_tables() -> None:
    code = """
from shakedown import workloads
from shakedown.workloads.common import table
table.strict.read_text = None
assert all(workloads.get(name).title for name in workloads.names())
"""
    assert "shakedown.workloads.stream" in loaded(code)
