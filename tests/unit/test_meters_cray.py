"""Meters of a Cray, and Slurm's."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.hosts.access import ReplayHost, Result
from shakedown.metering.meters import Status, cray, slurm
from support.copies import RECORDINGS, copy
from support.sources import by_id, channel, opened

# ------------------------------------------------------------------------------------------------------------------ Cray


def test_cray_carries_the_device_stamp_and_its_place() -> None:
    source = opened("cray", ReplayHost(RECORDINGS / "cray-mi250x"))
    assert by_id(source)["cray/node/power"].device_ns == 1_784_929_200_356_706_000
    assert channel(source, "cray/accel0/power").within == "cray/node/power"
    assert channel(source, "cray/cpu/energy").within == "cray/node/energy"
    node = channel(source, "cray/node/power")
    assert node.place == "board" and node.refresh_s == 0.1 and node.firmware == "pm_counters version 3"


def test_cray_says_when_its_controller_began_anew(tmp_path: Path) -> None:
    root = copy("cray-mi250x", tmp_path) / "sys/cray/pm_counters"
    source = opened(f"cray:{root}")
    assert {one.status for one in source.read()} == {Status.OK}
    (root / "generation").write_text("5\n")  # the power cap changed: no reset
    assert {one.status for one in source.read()} == {Status.OK}
    (root / "startup").write_text("1790000000000000\n")
    said = by_id(source)
    assert said["cray/node/energy"].status is Status.RESET and said["cray/node/energy"].value is None
    assert said["cray/node/power"].status is Status.OK
    assert by_id(source)["cray/node/energy"].status is Status.OK  # joins its own later ones
    source.close()


def test_cray_reads_again_when_a_scan_falls_between(tmp_path: Path) -> None:
    root = copy("cray-mi250x", tmp_path)
    scans = iter([b"1", b"2", b"2", b"2", b"2"])
    taken = []

    class Moving(ReplayHost):
        def read_bytes(self, path: str) -> bytes | None:
            taken.append(path.rpartition("/")[2])
            return next(scans) if path.endswith("freshness") else super().read_bytes(path)

    source = opened("cray", Moving(root))
    taken.clear()
    assert {one.status for one in source.read()} == {Status.OK}
    assert taken.count("power") == 2 and taken.count("freshness") == 4


def test_cray_is_stale_when_its_controller_stands_still() -> None:
    clock = [0]

    class Clock(ReplayHost):
        def now_ns(self) -> int:
            return clock[0]

    source = opened("cray", Clock(RECORDINGS / "cray-mi250x"))
    assert {one.status for one in source.read()} == {Status.OK}
    clock[0] += 900_000_000
    assert {one.status for one in source.read()} == {Status.OK}
    clock[0] += 400_000_000
    assert {(one.status, one.value) for one in source.read()} == {(Status.STALE, None)}


def test_cray_takes_no_line_that_it_does_not_know(tmp_path: Path) -> None:
    assert cray.parse(b"495 W 17 us") == (495.0, "W", 17_000)
    assert cray.parse(b"495 W\n") == (495.0, "W", None)
    for line in (
        b"",
        b"495",
        b"W",
        b"495 kW",
        b"495 W 17 ms",
        b"nan W 17 us",
        b"495 W 17 us extra",
        b"x W",
        b"1 W x us",
    ):
        assert cray.parse(line) is None
    root = copy("cray-mi250x", tmp_path) / "sys/cray/pm_counters"
    (root / "cpu_power").write_text("35 J 17 us\n")
    (root / "memory_power").write_text("broken\n")
    for name in ("accel2_power", "accel2_energy"):
        (root / name).write_text(f"0 {'W' if name.endswith('power') else 'J'} 17 us\n")
    said = by_id(opened(f"cray:{root}"))
    assert said["cray/cpu/power"].status is Status.UNSUPPORTED
    assert said["cray/memory/power"].status is Status.GAP
    assert "cray/accel2/power" not in said and "cray/accel3/power" in said  # an empty slot


# ----------------------------------------------------------------------------------------------------------------- Slurm


def slurm_door(**changed: Result | str) -> ReplayHost:
    at = RECORDINGS / "slurm-ipmi"
    job = ("sacct", "-n", "-P", "--noconvert", "-j", "4711", "-o", "JobID,State,ConsumedEnergyRaw")
    commands: dict[tuple[str, ...], Result | str] = {
        ("scontrol", "show", "config"): (at / "config.txt").read_text(),
        ("scontrol", "-o", "show", "node", "nid001234"): (at / "node.txt").read_text(),
        job: (at / "job.txt").read_text(),
    }
    for key, value in changed.items():
        found = next(
            words for words in commands if words[0] == key.split("_")[0] and words[-1].startswith(key.split("_")[1])
        )
        commands[found] = value
    return ReplayHost(at, name="nid001234.cluster.example", commands=commands)


@pytest.mark.parametrize("word", ["n/s", "n/a", "", "0", "-1", "4294967294", "18446744073709551614", "many"])
def test_slurms_words_for_nothing_are_not_zero(word: str) -> None:
    assert slurm.value_of(word) == (None, Status.UNSUPPORTED)


def test_slurm_knows_its_own_node_and_where_the_plug_in_looks() -> None:
    source = opened("slurm", slurm_door())
    assert {one.id: (one.host, one.place, one.refresh_s) for one in source.channels} == {
        "slurm/node/current": ("", "node", 30.0),
        "slurm/node/average": ("", "node", 30.0),
    }
    assert [str(one) for one in slurm.find(slurm_door())] == ["slurm"]
    assert opened("slurm:nid001234", slurm_door()).channels[0].host == "nid001234"


def test_slurm_without_energy_or_without_the_job_says_so() -> None:
    with pytest.raises(Unavailable, match="accounts no energy") as told:
        opened("slurm", slurm_door(scontrol_config="AcctGatherEnergyType = acct_gather_energy/none\n"))
    assert "AcctGatherEnergyType" in told.value.hint
    with pytest.raises(CannotMeasure, match="no job"):
        opened("slurm?job=4711", slurm_door(sacct_JobID=""))
    with pytest.raises(CannotMeasure, match="nid9"):
        opened("slurm:nid9", slurm_door())
    for text in ("slurm:a;b", "slurm?job=1;2", "slurm:nid001234?job=4711"):
        with pytest.raises(BadInput):
            opened(text, slurm_door())


def test_slurm_failing_later_is_a_gap_or_a_refusal() -> None:
    door = slurm_door()
    source = opened("slurm", door)
    door._commands[("scontrol", "-o", "show", "node", "nid001234")] = Result(
        1, "", "Unable to contact slurm controller"
    )
    assert {one.status for one in source.read()} == {Status.GAP}
    door._commands[("scontrol", "-o", "show", "node", "nid001234")] = Result(1, "", "Access/permission denied")
    assert {one.status for one in source.read()} == {Status.REFUSED}


def test_a_running_job_has_no_energy_yet() -> None:
    source = opened("slurm?job=4711", slurm_door(sacct_JobID="4711|RUNNING|\n4711.batch|RUNNING|\n"))
    (reading,) = source.read()
    assert reading.status is Status.UNSUPPORTED and reading.value is None
