"""Burn-in: what is asked for becomes a plan, or is refused in one line that says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.operate.burnin import devices, options, workers
from shakedown.operate.burnin.records import BurninPlan, Device
from shakedown.operate.health.node_access import NodeAccess


class Machine(NodeAccess):
    """Two cores of two threads each, 8 GiB free."""

    def which(self, name: str) -> str | None:
        return None


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    return Machine(str(tmp_path))


def plan(machine: Machine, **words: object) -> BurninPlan:
    return options.plan(options.BurninOptions(**words), machine, (0, 1, 2, 3))  # type: ignore[arg-type]


def test_a_device_is_a_core_and_knows_all_its_threads(machine: Machine) -> None:
    found = plan(machine).devices
    assert [(one.id, one.cpus) for one in found] == [("cpu:0", (0, 2)), ("cpu:1", (1, 3))]
    (one,) = plan(machine, devices="cpu:3").devices
    assert one.id == "cpu:1"


def test_a_core_whose_first_thread_may_not_be_used_runs_on_the_other(machine: Machine) -> None:
    (one,) = devices.cores(machine, (2,))
    assert (one.id, one.cpus) == ("cpu:2", (0, 2))


def test_a_plan_knows_how_much_the_node_has(machine: Machine, tmp_path: Path) -> None:
    assert plan(machine).there == {}  # the kernel does not tell
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-3\n")
    assert plan(machine, devices="cpu:3").there == {"core": 2}
    assert options.plan(options.BurninOptions(), machine, (0,)).there == {
        "core": 2
    }  # as under taskset, or in a part of a node
    pci = tmp_path / "sys/bus/pci/devices/0000:9b:00.0"
    pci.mkdir(parents=True)
    (pci / "vendor").write_text("0x10de\n")
    (pci / "class").write_text("0x030200\n")
    assert plan(machine, devices="cpu").there == {"core": 2, "GPU": 1}


def test_lists_of_devices(machine: Machine) -> None:
    assert [one.id for one in plan(machine, devices="cpu:0-1").devices] == ["cpu:0", "cpu:1"]
    assert [one.id for one in plan(machine, devices="cpu:1,0").devices] == ["cpu:1", "cpu:0"]
    assert [one.id for one in plan(machine, devices="all").devices] == ["cpu:0", "cpu:1"]
    for words in ("", "tpu:0", "cpu:", "cpu:0-", "0", "cpu,0", "cpu:9", "cpu:3-1"):
        with pytest.raises(BadInput):
            plan(machine, devices=words)
    with pytest.raises(Unavailable, match="no gpu"):
        plan(machine, devices="gpu:0")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("30min", 1800), ("1.5h", 5400), ("3d", 259200)]
)
def test_times(text: str, seconds: float) -> None:
    assert options.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1h", "0", "5w", "1e9d", "0.1s", "nan"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(BadInput, match="not a valid duration for a burn-in"):
        options.duration(text)


def test_memory_is_shared_by_the_cores(machine: Machine) -> None:
    assert plan(machine).memory_bytes == 2 << 30
    assert plan(machine, memory="80%").memory_bytes == int(0.8 * 4096) << 20
    assert plan(machine, memory="1 GiB").memory_bytes == 1 << 30
    assert plan(machine, memory="0").memory_bytes == 0
    for words in ("5 GiB", "95%", "much", "-1"):
        with pytest.raises(BadInput):
            plan(machine, memory=words)


def test_short_runs_see_every_stage(machine: Machine) -> None:
    assert sum(one.seconds for one in plan(machine, time="8s").stages) == pytest.approx(8)
    assert {one.work for one in plan(machine, time="8s").stages} == {"product", "steps", "memory"}
    assert [one.seconds for one in plan(machine, time="1d").stages] == [60, 30, 30]
    assert [one.work for one in plan(machine, stages="memory:5,product:1.5").stages] == ["memory", "product"]
    for words in ("memory", "memory:x", "burn:5", "memory:0", "memory:nan", "product:1e9"):
        with pytest.raises(BadInput):
            plan(machine, stages=words)
    for words in ("", "x", "0.001", "1,nan"):
        with pytest.raises(BadInput):
            plan(machine, periods=words)


def test_drills(machine: Machine) -> None:
    found = plan(machine, inject=("cpu:1=result@30", "cpu:0=die")).drills
    assert [(one.device, one.kind, one.after_s) for one in found] == [("cpu:1", "result", 30), ("cpu:0", "die", 1)]
    for words in ("result", "cpu:1", "cpu:7=result", "cpu:1=explode", "cpu:1=result@soon", "cpu:1=die;ls"):
        with pytest.raises(BadInput):
            plan(machine, inject=(words,))


def test_other_words_that_are_refused(machine: Machine) -> None:
    for words in ({"stop": "soon"}, {"hang_s": 0.0}, {"look_s": 0.0}, {"gpu_memory": "most"}):
        with pytest.raises(BadInput):
            plan(machine, **words)


def test_a_worker_is_told_what_the_plan_says(machine: Machine) -> None:
    made = plan(machine, time="120s", inject=("cpu:1=result@30",), isa="avx2")
    words = workers.command("burnin", made, made.devices[1], 123, 0.0, 7)
    pairs = dict(zip(words[1::2], words[2::2], strict=True))
    assert pairs["--device"] == "cpu:1" and pairs["--start"] == "123" and pairs["--seconds"] == "120.000"
    assert pairs["--stages"] == "product:60,steps:30,memory:30" and pairs["--periods"] == "1,0.1,0.01"
    assert pairs["--memory"] == str(made.memory_bytes) and pairs["--isa"] == "avx2"
    assert (pairs["--drill"], pairs["--drill-after"]) == ("result", "30")
    assert "--drill" not in workers.command("burnin", made, made.devices[0], 123, 0.0, 7)
    assert "--drill" not in workers.command("burnin", made, made.devices[1], 123, 31.0, 7)
    gpu = Device(id="gpu:0", title="GPU", pci="0000:9b:00", index=0)
    pairs = dict(zip((of_gpu := workers.command("burnin", made, gpu, 1, 0.0, 1))[1::2], of_gpu[2::2], strict=True))
    assert pairs["--memory"] == "auto" and pairs["--pci"] == "0000:9b:00" and "--isa" not in pairs
