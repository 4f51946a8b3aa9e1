"""The sampler: what it keeps when sources, itself or its parent fail, and what it makes of a clock that is set."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure, StoreFailed
from shakedown.hosts.access import RealHost, RecordedHost
from shakedown.metering import meters, raw_files, sampler_process
from shakedown.metering import sampler as sampling
from shakedown.metering import trace as traces
from shakedown.metering.meters import Channel, Reading, Status, Target, parse_target
from support.waiting import until

S = 10**9


def simulated(folder: Path, name: str = "load", **script: object) -> Target:
    """A target whose power rises from 100 to 300 W, with faults as told."""
    path = folder / f"{name}.json"
    channels = [{"id": f"simulated/{name}", "truth": {"refresh_s": 0.01, "window_s": 0.01}}]
    path.write_text(json.dumps({"load": {"t_s": [0, 0.3], "w": [100, 300]}, "channels": channels, **script}))
    return parse_target(f"simulated:{path}?interval=0.01")


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
    with sampling.start([parse_target(f"csv:{pipe}"), simulated(tmp_path)], tmp_path / "out", limit_s=0.3) as sampler:
        assert len(sampler.opened) == 1
        assert "no answer within 0.3 s" in sampler.refused[0].why


def test_a_source_that_breaks_leaves_gaps_and_is_asked_again(tmp_path: Path) -> None:
    target = simulated(tmp_path, faults=[{"kind": "raise", "begin_s": 0.05, "end_s": 0.15}])
    with sampling.start([target], tmp_path / "out") as sampler:
        until(lambda: len(records(tmp_path / "out")) > 40, every_s=0.01)
    (found,) = sampling.collect(tmp_path / "out")
    assert set(found.status.tolist()) == {Status.OK, Status.GAP}
    assert found.status[0] == found.status[-1] == Status.OK
    assert sampler.ending is not None and "simulated source broke" in sampler.ending.courses[0].error


def test_ticks_that_are_missed_are_skipped_not_bunched(tmp_path: Path) -> None:
    target = simulated(tmp_path, faults=[{"kind": "slow", "begin_s": 0.05, "end_s": 0.2, "seconds": 0.2}])
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
        f"from shakedown.metering.meters import parse_target\nkept = []\n{begin}\ntime.sleep(0.5)\n"
        "print(kept[0].pid, kept[0].alive, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
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
    thread = sampler_process._Thread(0, config.targets[0], config, RealHost(), threading.Event(), 1)
    thread.descriptor = os.open("/dev/full", os.O_WRONLY)
    thread._keep(0, [Reading(0, 1, 2, None, 3.0)] * 3, 1)
    os.close(thread.descriptor)
    course = thread.course()
    assert (course.readings, course.lost) == (0, 3) and "No space" in course.error


# ------------------------------------------------------------------------------------------------------------ raw files


def channel(name: str = "x") -> Channel:
    return Channel(id=f"simulated/{name}", title=name, quantity="power", unit="W", scope="point", place="node")


def folder_of(path: Path, readings: list[tuple[Reading, int]], looks: list[tuple[int, int, int]] | None = None) -> Path:
    """A folder as a sampler leaves it. ``looks``: CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME."""
    path.mkdir(exist_ok=True)
    header = raw_files.Header(
        target="simulated:x", meter="simulated", channels=(channel(),), interval_s=1.0, opened_ns=0
    )
    (path / "00-simulated.json").write_bytes(msgspec.json.encode(header))
    (path / "00-simulated.raw").write_bytes(
        b"".join(raw_files.pack(n, one, raw) for n, (one, raw) in enumerate(readings))
    )
    (path / raw_files.CLOCK_FILE).write_bytes(b"".join(raw_files.CLOCK.pack(*look, 500, 0.1) for look in looks or []))
    return path


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.integers(0, 10**12),
            st.one_of(st.none(), st.integers(0, 2**62)),
            st.floats(allow_nan=False),
            st.sampled_from(Status),
        ),
        max_size=20,
    ),
    st.integers(0, 2 * raw_files.RECORD.size),
)
def test_records_come_back_as_they_were_and_a_cut_costs_only_what_it_cut(
    rows: list[tuple[int, int, int | None, float, Status]], cut: int
) -> None:
    readings = [
        Reading(0, before, before + took, device, value if state is Status.OK else None, state)
        for before, took, device, value, state in rows
    ]
    data = b"".join(raw_files.pack(n, one, n) for n, one in enumerate(readings))
    kept = raw_files.unpack(data[: max(0, len(data) - cut)])
    whole = max(0, len(data) - cut) // raw_files.RECORD.size
    assert [one for one, _ in kept] == readings[:whole]


def test_a_cut_file_and_a_hole_of_zeros_lose_only_themselves(tmp_path: Path) -> None:
    readings = [(Reading(0, n * S, n * S, None, float(n)), n * S) for n in range(1, 11)]
    folder = folder_of(tmp_path / "cut", readings)
    data = bytearray((folder / "00-simulated.raw").read_bytes())
    size = raw_files.RECORD.size
    data[3 * size : 5 * size] = bytes(2 * size)
    (folder / "00-simulated.raw").write_bytes(data[:-7])
    (found,) = sampling.collect(folder)
    assert found.value.tolist() == [1, 2, 3, 6, 7, 8, 9]


def test_a_parquet_file_alone_is_enough(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", [(Reading(0, S, S, None, 5.0), S)])
    (found,) = sampling.collect(folder)
    for path in (*folder.glob("*.raw"), *folder.glob("*.json")):
        path.unlink()
    assert sampling.collect(folder)[0].value.tolist() == found.value.tolist() == [5.0]
    with pytest.raises(StoreFailed):
        sampling.collect(tmp_path / "nothing")


def test_two_sources_with_channels_of_one_name_stay_apart(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run", [(Reading(0, S, S, None, 5.0), S)])
    for end in ("json", "raw"):
        (folder / f"01-simulated.{end}").write_bytes((folder / f"00-simulated.{end}").read_bytes())
    assert [one.channel.id for one in sampling.collect(folder)] == ["simulated/x", "simulated/x#2"]
    assert [len(one) for one in traces.read(folder / sampling.TRACE_FILE)] == [1, 1]


# --------------------------------------------------------------------------------------------------------------- clocks


def stepped(path: Path, step_s: float, *, stamped: bool = False) -> Path:
    """Ten seconds at 2 Hz during which the system's clock is set at 4.6 s by ``step_s``."""
    zero = 1_800_000_000 * S

    def real(raw: int) -> int:
        return zero + raw + (round(step_s * S) if raw >= round(4.6 * S) else 0)

    readings = []
    for n in range(20):
        raw = n * S // 2 + 1000
        device = zero + raw if stamped else None
        readings.append((Reading(0, real(raw - 100), real(raw), device, float(n)), raw))
    looks = [(n * S + 500, real(n * S + 500), 7 * S + n * S + 500) for n in range(11)]
    return folder_of(path, readings, looks)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0, 0.3, -0.3])
def test_a_clock_that_is_set_shows_and_is_taken_out(tmp_path: Path, step_s: float) -> None:
    folder = stepped(tmp_path / "run", step_s)
    (step,) = sampling.clock_steps(folder)
    assert step.kind == "step" and step.step_s == pytest.approx(step_s, abs=1e-6)
    (found,) = sampling.collect(folder)
    assert found.value.tolist() == list(range(20)), "in the order in which they were read"
    assert np.all(np.diff(found.t_ns) == S // 2)
    assert "clock was set" in found.channel.note


def test_a_devices_own_stamps_are_left_alone(tmp_path: Path) -> None:
    folder = stepped(tmp_path / "run", 3600.0, stamped=True)
    (found,) = sampling.collect(folder)
    assert np.all(np.diff(found.t_ns) == S // 2) and not found.channel.note


def test_a_clock_that_is_set_during_an_answer(tmp_path: Path) -> None:
    zero = 1_800_000_000 * S
    readings = [
        (Reading(0, zero + 1 * S, zero + 1 * S, None, 1.0), 1 * S),
        (Reading(0, zero + 2 * S, zero + 2 * S + 3600 * S, None, 2.0), 2 * S),
        (Reading(0, zero + 3603 * S, zero + 3603 * S, None, 3.0), 3 * S),
    ]
    looks = [(0, zero, 0), (5 * S // 2, zero + 3600 * S + 5 * S // 2, 5 * S // 2), (4 * S, zero + 3604 * S, 4 * S)]
    (found,) = sampling.collect(folder_of(tmp_path / "run", readings, [(raw + 1, *rest) for raw, *rest in looks]))
    assert np.abs(found.t_ns - zero - np.array([1, 2, 3]) * S).max() < 10
    assert found.half_ns.max() < S


def test_sleep_and_steering_are_no_steps(tmp_path: Path) -> None:
    zero = 1_800_000_000 * S
    raws = [n * S for n in range(1, 11)]
    steered = [(raw, zero + raw + raw // 20, raw + raw // 20) for raw in raws]  # 5 %, as chrony may
    assert sampling.clock_steps(folder_of(tmp_path / "steered", [], steered)) == ()
    slept = [(raw, zero + raw + 600 * S * (raw > 5 * S), raw + 600 * S * (raw > 5 * S)) for raw in raws]
    readings = [(Reading(0, real, real, None, 1.0), raw) for raw, real, _ in slept]
    folder = folder_of(tmp_path / "slept", readings, slept)
    (sleep,) = sampling.clock_steps(folder)
    assert sleep.kind == "suspend" and sleep.step_s == pytest.approx(600)
    assert sampling.collect(folder)[0].t_ns.tolist() == [real for _, real, _ in slept]


def test_a_devices_own_stamp_is_exact_and_a_hosts_is_as_uncertain_as_the_asking(tmp_path: Path) -> None:
    zero = 1_800_000_000 * S
    looks = [(0, zero, 0), (9 * S, zero + 9 * S, 9 * S)]
    for device, half in ((zero + S, 0), (None, S // 20)):
        readings = [(Reading(0, zero + n * S, zero + n * S + S // 10, device, 1.0), n * S) for n in range(1, 4)]
        (found,) = sampling.collect(folder_of(tmp_path / str(half), readings, looks))
        assert found.half_ns.tolist() == [half] * 3


def test_what_was_collected_is_not_written_again_until_there_is_more(tmp_path: Path) -> None:
    zero = 1_800_000_000 * S
    folder = folder_of(tmp_path / "run", [(Reading(0, zero, zero, None, 1.0), S)], [(S, zero, S), (9 * S, zero + S, S)])
    (first,) = sampling.collect(folder)
    file = folder / sampling.TRACE_FILE
    os.utime(file, ns=(file.stat().st_mtime_ns + S, file.stat().st_mtime_ns + S))
    made = file.stat().st_mtime_ns
    (again,) = sampling.collect(folder)
    assert file.stat().st_mtime_ns == made
    assert again.t_ns.tolist() == first.t_ns.tolist() and again.channel == first.channel
    raw = next(folder.glob("0*.raw"))
    raw.write_bytes(raw.read_bytes() + raw_files.pack(2, Reading(0, zero + S, zero + S, None, 2.0), 2 * S))
    os.utime(raw, ns=(made + S, made + S))
    assert [len(one) for one in sampling.collect(folder)] == [2]


# ----------------------------------------------------------------------------------------------------------- what is asked


def test_how_often_a_meter_is_read() -> None:
    meter = msgspec.structs.replace(meters.get("simulated"), poll_s=1.0, least_poll_s=0.1)
    counter = msgspec.structs.replace(
        channel(), quantity="energy", unit="J", scope="counter", modulus=300.0, most_w=200.0
    )
    plain = Target(meter="simulated")
    own = Target(meter="simulated", options={"interval": "0.2"})
    assert sampler_process.interval(meter, plain, None) == (1.0, ())
    assert sampler_process.interval(meter, plain, 0.5) == (0.5, ())
    assert sampler_process.interval(meter, own, 0.5) == (0.2, ())
    seconds, notes = sampler_process.interval(meter, plain, 0.01)
    assert seconds == 0.1 and "disturbs" in notes[0]
    seconds, notes = sampler_process.interval(meter, plain, None, [counter])
    assert seconds == 0.5 and "wraps" in notes[0]


@pytest.mark.parametrize("interval", ["0", "-1", "soon", "0.0001", "nan", "1e9"])
def test_an_interval_that_is_none_or_too_short_is_refused(tmp_path: Path, interval: str) -> None:
    with pytest.raises(BadInput, match="not a valid interval"):
        sampling.start([parse_target(f"simulated:x.json?interval={interval}")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    target = simulated(tmp_path)
    with pytest.raises(BadInput, match="no meter"):
        sampling.start([], tmp_path / "out")
    with pytest.raises(BadInput, match="named twice"):
        sampling.start([target, target], tmp_path / "out")
    with pytest.raises(BadInput, match="interval of"):
        sampling.start([target], tmp_path / "out", interval_s=-1)
    folder_of(tmp_path / "used", [])
    with pytest.raises(BadInput, match="holds readings"):
        sampling.start([target], tmp_path / "used")


def test_targets_are_named_once_and_auto_never_fails(tmp_path: Path) -> None:
    word = f"simulated:{tmp_path}/x.json"
    found = sampling.resolve([word, "auto", word], RecordedHost(tmp_path))
    assert found == (parse_target(word),)
    with pytest.raises(BadInput, match="unknown meter"):
        sampling.resolve(["raple"], RealHost())


def test_spare_cpus_are_on_cores_that_are_left_alone(tmp_path: Path) -> None:
    for cpu in range(8):
        path = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        path.mkdir(parents=True)
        (path / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    door = RecordedHost(tmp_path, affinity=tuple(range(8)))
    assert sampling.spare_cpus([0, 1, 2], door) == (3, 7)
    assert sampling.spare_cpus([0, 1, 2, 3], door) == (4, 5, 6, 7)
    assert sampling.spare_cpus(range(8), door) is None
