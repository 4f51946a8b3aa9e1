"""The sampler: what it keeps when sources, itself or its parent fail, and what it makes of a clock that is set."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from shakedown.errors import CannotMeasure
from shakedown.hosts.access import LocalHost
from shakedown.metering import raw_files, sampler_process
from shakedown.metering import sampler as sampling
from shakedown.metering import trace as traces
from shakedown.metering.meters import Reading, Status, parse_target
from support.samplings import simulated
from support.waiting import until


def records(folder: Path, name: str = "00-simulated") -> list[tuple[Reading, int]]:
    path = folder / f"{name}.raw"
    return raw_files.unpack(path.read_bytes()) if path.exists() else []


# -------------------------------------------------------------------------------------------------------------- the course


def test_what_was_opened_is_recorded_and_what_was_refused_has_its_reason(tmp_path: Path) -> None:
    good, other = simulated(tmp_path, "a"), simulated(tmp_path, "b")
    absent = parse_target("simulated:/nowhere.json")
    cpu = min(os.sched_getaffinity(0))
    with sampling.start([good, absent, other], tmp_path / "out", cpus=[cpu]) as sampler:
        assert [one.channels[0].id for one in sampler.opened] == ["simulated/a", "simulated/b"]
        assert sampler.opened[0].interval_s == 0.01
        (refusal,) = sampler.refused
        assert refusal.what == str(absent) and "cannot be read" in refusal.why and "next:" in refusal.why
        until(lambda: len(records(tmp_path / "out")) > 60, every_s=0.01)
        assert {channel.id for channel, _ in sampler.latest()} == {"simulated/a", "simulated/b"}
        assert sampler.alive
    assert not sampler.alive
    ending = sampler.ending
    assert ending is not None and ending.why == "stopped" and ending.cpus == (cpu,)
    assert 0 < ending.cpu_s < ending.wall_s and 0 < ending.share < 1
    assert ending.peak_bytes < 40e6
    found = sampling.collect(tmp_path / "out")
    assert [one.channel.id for one in found] == ["simulated/a", "simulated/b"]
    for one, course in zip(found, ending.courses, strict=True):
        assert len(one) == course.readings and one.ok.all()
        assert one.value[0] == pytest.approx(100) and one.value[-1] == pytest.approx(300)
        assert np.all(np.diff(one.t_ns) > 0)
        assert not course.hung and not course.error and not course.lost
    again = traces.read(tmp_path / "out" / sampling.TRACE_FILE)
    assert [one.value.tolist() for one in again] == [one.value.tolist() for one in found]
    assert sampler.stop() == tuple(tmp_path / "out" / f"0{n}-simulated.raw" for n in (0, 2))


def test_the_process_carries_nothing_heavy(tmp_path: Path) -> None:
    with sampling.start([simulated(tmp_path)], tmp_path / "out") as sampler:
        until(lambda: records(tmp_path / "out"), every_s=0.01)
        maps = Path(f"/proc/{sampler.pid}/maps").read_text()
        assert "numpy" not in maps and "duckdb" not in maps


def test_a_source_that_hangs_holds_up_nobody_and_leaves_a_gap(tmp_path: Path) -> None:
    hanging = simulated(tmp_path, "hangs", faults=[{"kind": "slow", "begin_s": 0.05, "seconds": 60}])
    out = tmp_path / "out"
    with sampling.start([hanging, simulated(tmp_path, "goes")], out) as sampler:
        until(lambda: len(records(out, "01-simulated")) > 50, every_s=0.01)
    assert sampler.ending is not None
    assert [course.hung for course in sampler.ending.courses] == [True, False]
    stuck, going = sampling.collect(out)
    assert stuck.status[-1] == Status.GAP and np.all(stuck.status[:-1] == Status.OK)
    assert stuck.t_ns[-1] + stuck.half_ns[-1] >= going.t_ns[-1]  # until the end it was waited for
    assert len(going) > 50 and going.ok.all()


def test_a_source_that_does_not_open_holds_up_the_start_only_so_long(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # opening it for reading waits for a writer
    with sampling.start([parse_target(f"csv:{pipe}"), simulated(tmp_path)], tmp_path / "out", limit_s=5.0) as sampler:
        assert len(sampler.opened) == 1
        assert "no answer within 5 s" in sampler.refused[0].why


def test_a_source_that_breaks_leaves_gaps_and_is_asked_again(tmp_path: Path) -> None:
    target = simulated(tmp_path, faults=[{"kind": "raise", "begin_s": 1.0, "end_s": 2.0}])

    def statuses() -> list[Status]:
        return [reading.status for reading, _ in records(tmp_path / "out")]

    with sampling.start([target], tmp_path / "out") as sampler:
        until(lambda: Status.GAP in statuses() and statuses()[-1] is Status.OK, every_s=0.01)
    (found,) = sampling.collect(tmp_path / "out")
    assert set(found.status.tolist()) == {Status.OK, Status.GAP}
    assert found.status[0] == found.status[-1] == Status.OK
    assert sampler.ending is not None and "simulated source broke" in sampler.ending.courses[0].error


def test_ticks_that_are_missed_are_skipped_not_bunched(tmp_path: Path) -> None:
    target = simulated(tmp_path, faults=[{"kind": "slow", "begin_s": 0.05, "end_s": 1.0, "seconds": 0.2}])
    with sampling.start([target], tmp_path / "out") as sampler:
        until(lambda: len(records(tmp_path / "out")) > 30, every_s=0.01)
    assert sampler.ending is not None
    course = sampler.ending.courses[0]
    data = (tmp_path / "out" / "00-simulated.raw").read_bytes()
    ticks = [fields[0] - 1 for fields in raw_files.RECORD.iter_unpack(data)]
    assert np.all(np.diff(ticks) > 0), "no tick is read twice"
    missed = ticks[-1] + 1 - len(ticks)
    assert 15 <= missed <= course.skipped


def test_repeats_are_kept(tmp_path: Path) -> None:
    target = simulated(tmp_path, faults=[{"kind": "repeat", "begin_s": 0.0}])
    with sampling.start([target], tmp_path / "out"):
        until(lambda: len(records(tmp_path / "out")) > 20, every_s=0.01)
    assert len(set(sampling.collect(tmp_path / "out")[0].value.tolist())) == 1


# ------------------------------------------------------------------------------------------------------------------ deaths


def test_a_sampler_that_is_killed_leaves_what_it_had(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with sampling.start([simulated(tmp_path)], out) as sampler:
        until(lambda: len(records(out)) > 30, every_s=0.01)
        os.kill(sampler.pid, signal.SIGKILL)
        until(lambda: not sampler.alive, every_s=0.01)
        kept = len(records(out))
    assert sampler.ending is None
    (found,) = sampling.collect(out)
    assert len(found) == kept > 30 and found.ok.all()
    assert raw_files.clocks(out)[-1].cpu_s > 0


@pytest.mark.parametrize("thread_ends", [False, True])
def test_it_ends_with_its_parent_and_not_with_its_thread(tmp_path: Path, thread_ends: bool) -> None:
    out = tmp_path / "out"
    target = simulated(tmp_path)
    begin = f"sampler.start([parse_target({str(target)!r})], Path({str(out)!r}))"
    if thread_ends:
        begin = f"t = threading.Thread(target=lambda: kept.append({begin})); t.start(); t.join()"
    else:
        begin = f"kept.append({begin})"
    code = (
        "import os, threading, time; from pathlib import Path; from shakedown.metering import sampler\n"
        f"from shakedown.metering.meters import parse_target\nkept = []\n{begin}\n"
        f"while not any(one.stat().st_size for one in Path({str(out)!r}).glob('[0-9][0-9]-*.raw')): time.sleep(0.02)\n"
        "print(kept[0].pid, kept[0].alive, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    pid, alive = done.stdout.split()
    assert alive == "True"
    until(lambda: (out / raw_files.ENDED_FILE).exists() and not Path(f"/proc/{pid}/cwd").exists(), every_s=0.01)
    ending = raw_files.ending(out)
    assert ending is not None and ending.why == "the parent has gone"
    assert len(sampling.collect(out)[0]) == ending.courses[0].readings > 0


def test_ctrl_c_is_the_parents_to_answer(tmp_path: Path) -> None:
    with sampling.start([simulated(tmp_path)], tmp_path / "out") as sampler:
        os.kill(sampler.pid, signal.SIGINT)
        before = len(records(tmp_path / "out"))
        until(lambda: len(records(tmp_path / "out")) > before + 5, every_s=0.01)
        os.kill(sampler.pid, signal.SIGTERM)
        until(lambda: not sampler.alive, every_s=0.01)
    assert sampler.ending is not None and sampler.ending.why == "stopped"


def test_a_process_that_does_not_come_up_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(CannotMeasure, match="it ended at once"):
        sampling.start([simulated(tmp_path)], tmp_path / "out")


def test_a_full_disk_loses_records_and_says_how_many(tmp_path: Path) -> None:
    config = sampler_process.Config(targets=(simulated(tmp_path),), folder=str(tmp_path), parent=1)
    thread = sampler_process._Thread(0, config.targets[0], config, LocalHost(), threading.Event(), 1)
    thread.descriptor = os.open("/dev/full", os.O_WRONLY)
    thread._keep(0, [Reading(0, 1, 2, None, 3.0)] * 3, 1)
    os.close(thread.descriptor)
    course = thread.course()
    assert (course.readings, course.lost) == (0, 3) and "No space" in course.error
