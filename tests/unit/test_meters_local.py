"""The meters of one machine: what is refused, absent, reset, stale, lost or hung is a status, and never a zero."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.hosts.access import LocalHost, ReplayHost
from shakedown.metering.meters import Channel, Status, _local, _perf, hwmon, rapl
from support.copies import RECORDINGS, copy
from support.sources import by_id, channel, opened

# ------------------------------------------------------------------------------------------------------- files held open


def test_a_held_file_is_read_anew_each_time_and_survives_its_device(tmp_path: Path) -> None:
    path = tmp_path / "energy_uj"
    path.write_text("1\n")
    held = _local.Held(LocalHost(), str(path))
    assert held.read() == b"1\n"
    path.write_text("23\n")
    assert held.read() == b"23\n"
    held.close()
    path.unlink()
    assert held.read() is Status.GAP
    path.write_text("4\n")
    assert held.read() == b"4\n"
    held.close()


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (errno.EACCES, Status.REFUSED),
        (errno.EPERM, Status.REFUSED),
        (errno.ENODATA, Status.UNSUPPORTED),
        (errno.EOPNOTSUPP, Status.UNSUPPORTED),
        (errno.EIO, Status.GAP),
        (errno.ENODEV, Status.GAP),
        (errno.EAGAIN, Status.GAP),
    ],
)
def test_why_a_read_failed_is_told_apart(
    number: int, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy("hwmon-epyc-mi250", tmp_path) / "sys/class/hwmon"
    source = opened(f"hwmon:{folder}?read=power")
    calm = by_id(source)
    assert all(one.status is Status.OK for one in calm.values())

    def fail(*_: object) -> bytes:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", fail)
        assert {(one.status, one.value) for one in source.read()} == {(status, None)}
    assert by_id(source).keys() == calm.keys()
    assert all(one.status is Status.OK for one in source.read())  # it answers again
    source.close()


@given(st.binary(max_size=40))
def test_what_is_no_number_is_a_gap(said: bytes) -> None:
    door = SimpleNamespace(now_ns=lambda: 0, read_bytes=lambda _: said, list=lambda _: [])
    one = Channel(id="x/y", title="t", quantity="power", unit="W", scope="point", place="node")
    (reading,) = _local.FileSource(door, [one], ["/f"], [1e-6]).read()  # type: ignore[arg-type]
    try:
        expected: float | None = int(said) * 1e-6
    except ValueError:
        expected = None
    assert reading.value == expected and reading.status is (Status.OK if expected is not None else Status.GAP)


def test_a_local_meter_takes_no_host() -> None:
    for text in ("rapl://bmc7/x", "hwmon://bmc7", "cray://node7", "nvml://node7", "amdsmi:/dev/kfd"):
        with pytest.raises(BadInput) as told:
            opened(text)
        assert told.value.hint
    with pytest.raises(BadInput, match="unknown value of via 'perff'") as told:
        opened("rapl?via=perff")
    assert "'perf'" in told.value.hint
    for text in ("nvml?limit=soon", "nvml?limit=-1", "nvml?limit=nan"):
        with pytest.raises(BadInput, match="not a number of seconds"):
            opened(text)
    with pytest.raises(BadInput, match="unknown quantity 'pwoer'"):
        opened("hwmon?read=pwoer")


# ------------------------------------------------------------------------------------------------------------------ RAPL


@pytest.mark.parametrize(
    ("range_uj", "unit_uj"),
    [(262_143_328_850, 61.035), (65_532_610_987, 15.258), (65_712_999_613, 15.300), (4_294_967_295_000_000, 1e6)],
)
def test_the_modulus_is_one_unit_past_the_range(range_uj: int, unit_uj: float) -> None:
    unit = rapl.unit_j(range_uj)
    assert unit == pytest.approx(unit_uj * 1e-6, rel=1e-12)
    assert -1e-9 < rapl.COUNTS * unit - range_uj * 1e-6 - unit < 1.001e-6  # the kernel cuts the range to microjoules


def test_no_range_means_no_modulus() -> None:
    assert (
        rapl.unit_j(None) is None
        and rapl.unit_j(0) is None
        and rapl.unit_j(1000) is None
        and rapl.unit_j(2**64) is None
    )


def test_rapl_zones_nest_as_the_power_does() -> None:
    source = opened("rapl", ReplayHost(RECORDINGS / "rapl-two-sockets"))
    package = channel(source, "rapl/package-0")
    assert package.within == "" and channel(source, "rapl/package-0-dram").within == ""  # dram is beside
    assert package.most_w == 2 * 525.0 and channel(source, "rapl/package-0-dram").most_w == 2 * 61.5
    assert package.modulus == pytest.approx(262_143.328850 + 61.035e-6, abs=1e-6)
    assert package.driver == "Linux 5.14.0-362.el9.x86_64" and package.firmware == "microcode 0xd0003b9"
    refused = channel(source, "rapl/package-1-dram")
    assert "CVE-2020-8694" in refused.note and "via=perf" in refused.note

    source = opened("rapl", ReplayHost(RECORDINGS / "rapl-psys"))
    assert [one.id for one in source.channels if "mmio" in one.title] == [] and len(source.channels) == 4
    assert channel(source, "rapl/package-0-core").within == "rapl/package-0"
    assert channel(source, "rapl/package-0").within == "rapl/psys"
    assert channel(source, "rapl/psys").within == "" and channel(source, "rapl/psys").place == "board"


def test_a_counter_that_repeats_its_sibling_is_not_counted_twice(tmp_path: Path) -> None:
    root = copy("rapl-threadripper", tmp_path)
    source = opened("rapl", ReplayHost(root))
    assert [one.id for one in source.channels] == ["rapl/package-0-die-0", "rapl/package-0-die-0-core"]
    first = source.channels[0]
    assert "intel-rapl:1 repeats this counter" in first.note and "1000 W assumed" in first.note
    assert "one single core" in source.channels[1].note
    # Two dies that count for themselves stay two, as on Cascade Lake-AP.
    (root / "sys/class/powercap/intel-rapl:1/energy_uj").write_text("9000000000\n")
    assert len(opened("rapl", ReplayHost(root)).channels) == 4


def test_two_zones_of_one_name_stay_apart(tmp_path: Path) -> None:
    root = copy("rapl-two-sockets", tmp_path)
    (root / "sys/class/powercap/intel-rapl:1/name").write_text("package-0\n")
    ids = [one.id for one in opened("rapl", ReplayHost(root)).channels]
    assert ids == [
        "rapl/package-0",
        "rapl/package-0-dram",
        "rapl/package-0@intel-rapl:1",
        "rapl/package-0@intel-rapl:1-dram",
    ]


def test_find_takes_rapl_though_it_is_refused() -> None:
    assert [str(one) for one in rapl.find(ReplayHost(RECORDINGS / "rapl-two-sockets"))] == ["rapl"]


def perf_tree(folder: Path, event: str = "event=0x00", scale: str = "1e-9") -> Path:
    """The kernel's software clock (event 0 of PMU 1: nanoseconds of a CPU) dressed as an energy counter of one watt."""
    pmu = folder / "power"
    (pmu / "events").mkdir(parents=True)
    (pmu / "type").write_text("1\n")
    (pmu / "cpumask").write_text(f"{min(os.sched_getaffinity(0))}\n")
    for name, text in (("", event), (".scale", scale), (".unit", "Joules")):
        (pmu / "events" / f"energy-pkg{name}").write_text(f"{text}\n")
        (pmu / "events" / f"energy-cores{name}").write_text(f"{text}\n")
    (pmu / "events" / "energy-odd").write_text("event=0x05\n")
    (pmu / "events" / "energy-odd.unit").write_text("Furlongs\n")
    return folder


def test_perf_events_count_by_the_kernels_own_door(tmp_path: Path) -> None:
    tree = perf_tree(tmp_path)
    try:
        source = opened(f"rapl:{tree}?via=perf")
    except CannotMeasure as error:
        assert "paranoid" in error.hint
        pytest.skip("the kernel refuses perf events here")
    assert [one.id for one in source.channels] == ["rapl/package-0-core", "rapl/package-0"]
    assert source.channels[0].within == "rapl/package-0" and source.channels[1].within == ""
    assert source.channels[1].modulus == 2.0**64 * 1e-9
    first = source.read()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.02:
        pass
    second = source.read()
    for before, after in zip(first, second, strict=True):
        assert before.status is after.status is Status.OK and before.value is not None and after.value is not None
        assert 0.019 < after.value - before.value <= (after.after_ns - before.before_ns) * 1e-9 + 1e-3
    source.close()
    source.close()
    assert {one.status for one in source.read()} == {Status.GAP}


def test_perf_events_that_are_refused_or_absent_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="no energy events"):
        opened(f"rapl:{tmp_path}?via=perf")
    tree = perf_tree(tmp_path)
    kind, cpus, events = _perf.events(LocalHost(), str(tree))
    assert kind == 1 and len(cpus) == 1 and {one.name for one in events} == {"pkg", "cores"}

    def refuse(*_: object) -> int:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(_perf, "perf_event_open", refuse)
    assert not _perf.allowed(LocalHost(), str(tree))
    with pytest.raises(CannotMeasure, match="refuses") as told:
        opened(f"rapl:{tree}?via=perf")
    assert "CAP_PERFMON" in told.value.hint


# ----------------------------------------------------------------------------------------------------------------- hwmon


def test_grace_rails_nest_and_tell_their_window() -> None:
    source = opened("hwmon", ReplayHost(RECORDINGS / "hwmon-grace-hopper"))
    within = {one.id: one.within for one in source.channels}
    module, grace, cpu, sysio = (
        f"hwmon/power_meter-{rail}-power-socket-0/average" for rail in ("module", "grace", "cpu", "sysio")
    )
    assert (within[cpu], within[sysio], within[grace], within[module]) == (grace, grace, module, "")
    one = channel(source, module)
    assert one.window_s == 0.05 and one.scope == "last" and one.place == "board"
    assert one.accuracy is not None and one.accuracy.reading == pytest.approx(0.05)  # 95 % right
    assert "cat " in channel(source, sysio).note


def test_hwmon_tells_chips_of_one_kind_apart_and_leaves_cores_out() -> None:
    door = ReplayHost(RECORDINGS / "hwmon-epyc-mi250")
    ids = {one.id for one in opened("hwmon", door).channels}
    assert "hwmon/amdgpu@0000:c1:00.0-ppt/average" in ids and "hwmon/amd_energy-ecore000/energy" not in ids
    cores = opened("hwmon?cores=1", door)
    assert channel(cores, "hwmon/amd_energy-ecore000/energy").within == "hwmon/amd_energy-esocket0/energy"
    assert "hwmon/k10temp-tctl/temperature" in ids and "hwmon/k10temp-tccd1/temperature" not in ids
    source = opened("hwmon?read=power", door)
    assert {one.quantity for one in source.channels} == {"power"}
    assert (
        channel(source, "hwmon/psu-pin/power").place == "node"
        and channel(source, "hwmon/psu-pin/power").full_scale == 2000.0
    )
    assert channel(source, "hwmon/psu-pout1/power").within == "hwmon/psu-pin/power"
    assert "power cap 500 W" in channel(source, "hwmon/amdgpu@0000:c1:00.0-ppt/average").note
    with pytest.raises(Unavailable, match="temperature"):
        opened("hwmon?read=temperature", ReplayHost(RECORDINGS / "rapl-psys"))


def test_temperatures_alone_are_no_meter(tmp_path: Path) -> None:
    chip = tmp_path / "sys/class/hwmon/hwmon0"
    chip.mkdir(parents=True)
    (chip / "name").write_text("acpitz\n")
    (chip / "temp1_input").write_text("41000\n")
    assert hwmon.find(ReplayHost(tmp_path)) == ()
    assert by_id(opened("hwmon", ReplayHost(tmp_path)))["hwmon/acpitz-temp1/temperature"].value == 41.0
