"""What is loaded when: help is instant, and the harness carries nothing heavy while it measures."""

from __future__ import annotations

import subprocess
import sys


def loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_help_loads_no_analysis() -> None:
    assert not {"numpy", "duckdb", "vl_convert", "jinja2", "msgspec"} & loaded("import shakedown.cli.app")


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
