"""shakedown reproduce, as a user calls it: the list, a row without a measurement, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shakedown import reproduce
from support.command import called
from support.workloads import installed


@pytest.fixture(autouse=True)
def built(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that seem built."""
    installed(tmp_path_factory.mktemp("bin"), monkeypatch, "pingpong", "hpl")


def test_the_list_shows_rows_cost_and_what_is_missing(tmp_path: Path) -> None:
    ran = called("reproduce", "iict-bas", "--list", "--json", cwd=tmp_path)
    rows = {row["id"]: row for row in json.loads(ran.stdout)["rows"]}
    assert ran.returncode == 0 and set(rows) == {row.id for row in reproduce.load("iict-bas").rows}
    assert rows["hpl"]["cost_s"] > 0 and rows["figure-2"]["nothing"] == "a photograph"
    assert "would run" in called("reproduce", "iict-bas", "--list", cwd=tmp_path).stdout
    assert not list(tmp_path.iterdir()), "nothing was run"


def test_a_row_without_a_measurement_gives_its_page_and_no_run(tmp_path: Path) -> None:
    ran = called("reproduce", "iict-bas", "--only", "figure-2", cwd=tmp_path)
    assert ran.returncode == 4 and [one.name for one in tmp_path.iterdir()] == ["reproduce-iict-bas.html"]


def test_the_run_of_something_else_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text('name = "c"\ntitle = "C"\n[[run]]\nworkload = "empty"\n')
    ran = called("reproduce", "iict-bas", "--resume", tmp_path)
    assert ran.returncode == 2 and "not a run of `shakedown reproduce iict-bas`" in ran.stderr
    ran = called("reproduce", "iict-bas", "--resume", tmp_path, "--directory", tmp_path)
    assert ran.returncode == 2 and "exclude each other" in ran.stderr


def test_an_unknown_document_is_refused_by_name() -> None:
    ran = called("reproduce", "iict-bsa", "--list")
    assert ran.returncode == 2 and "did you mean 'iict-bas'" in ran.stderr
