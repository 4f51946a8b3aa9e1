"""The sampler's raw files, its clocks, and what it is asked."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.errors import BadInput, StoreFailed
from shakedown.hosts.access import LocalHost, ReplayHost
from shakedown.metering import meters, raw_files, sampler_process
from shakedown.metering import sampler as sampling
from shakedown.metering import trace as traces
from shakedown.metering.meters import Channel, Reading, Status, Target, parse_target
from support.samplings import simulated

S = 10**9


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
    with pytest.raises(BadInput, match="is not a valid interval"):
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
    found = sampling.resolve([word, "auto", word], ReplayHost(tmp_path))
    assert found == (parse_target(word),)
    with pytest.raises(BadInput, match="unknown meter"):
        sampling.resolve(["raple"], LocalHost())


def test_spare_cpus_are_on_cores_that_are_left_alone(tmp_path: Path) -> None:
    for cpu in range(8):
        path = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        path.mkdir(parents=True)
        (path / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    door = ReplayHost(tmp_path, affinity=tuple(range(8)))
    assert sampling.spare_cpus([0, 1, 2], door) == (3, 7)
    assert sampling.spare_cpus([0, 1, 2, 3], door) == (4, 5, 6, 7)
    assert sampling.spare_cpus(range(8), door) is None
