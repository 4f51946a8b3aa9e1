"""Words of a command that cannot be meant: one error that says what is wrong and what to do, and its exit code."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, StoreFailed
from shakedown.operate.health import calling, clearing
from shakedown.operate.health.records import KeptState, Occasion
from shakedown.results.run_directory import RunDirectory
from support.command import called


def refused(*words: str | Path) -> tuple[int, str]:
    done = called(*words)
    assert "Traceback" not in done.stderr and not done.stdout
    return done.returncode, done.stderr


def test_a_folder_that_is_no_acceptance_is_called_so(tmp_path: Path) -> None:
    code, said = refused("accept", "run", tmp_path)
    assert code == 2 and "not an acceptance directory" in said and "accept begin" in said


def test_faults_of_a_state_that_is_not_there_are_not_held_by_another_call(tmp_path: Path) -> None:
    code, said = refused("health", "clear", "all", "--state", tmp_path / "none", "--host", "node1")
    assert code == 2 and "is not there" in said and "another call" not in said


def test_a_folder_is_no_state_and_no_trace(tmp_path: Path) -> None:
    code, said = refused("health", "correlate", tmp_path)
    assert code == 2 and "cannot be read: Is a directory" in said and "Errno" not in said
    code, said = refused("energy", "of", tmp_path)
    assert code == 2 and "is a folder, not a trace" in said


@pytest.mark.parametrize("name", ["", "none"])
def test_a_node_is_not_learnt_from_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="neither proc nor sys"):
        calling.carry_out(calling.HealthOptions(state="none", plan="none", root=str(tmp_path / name)))


def test_no_words_clear_no_fault_and_no_lines_are_no_log(tmp_path: Path) -> None:
    """An empty word is in every name: it must not stand for all faults; an empty log tells of no health."""
    held = Occasion(kind="oom", item="nbody", first_s=1.0, last_s=1.0)
    kept = KeptState(host="node1", checks={"kernellog": {"occasions": [msgspec.to_builtins(held)]}})
    for words in ([""], ["  ", ""]):
        with pytest.raises(BadInput, match="no fault in force"):
            clearing.clear(kept, words)
    assert clearing.clear(kept, ["nbody"])[1] == ("nbody oom",)
    empty = tmp_path / "dmesg"
    empty.write_text("")
    code, said = refused("health", "log", empty)
    assert code == 2 and "contains no line of a kernel log" in said and "journalctl -k" in said


def test_a_file_is_no_run_directory(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{}")
    with pytest.raises(StoreFailed, match="is a file, not a run directory") as caught:
        RunDirectory.open(file)
    assert caught.value.hint
