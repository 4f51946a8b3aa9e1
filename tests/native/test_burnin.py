"""Burn-in with real workers: faults on purpose are found and placed, whoever hangs or dies takes nobody with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.gpu_state import GpuState as Gpu
from shakedown.operate.burnin import journal, options
from shakedown.operate.burnin.records import BurninPlan, BurninReport, Device, Stage, Turn
from shakedown.operate.burnin.supervise import Session
from shakedown.operate.health.node_access import NodeAccess
from shakedown.programs import events
from support import natives
from support.waiting import until

LIMIT_S = 300
CPUS = sorted(os.sched_getaffinity(0))


class Machine(NodeAccess):
    """This machine, but for the kernel's log, which a test writes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = ["6,1,100,-;begin"]

    def kernel_log(self) -> list[str] | None:
        return self.lines

    def which(self, name: str) -> str | None:
        return None

    def nvml(self) -> object:
        return None


def plan(*inject: str, devices: int = 2, seconds: float = 2.0, **changes: object) -> BurninPlan:
    """Two workers; on a machine with one CPU both run there."""
    natives.path("burnin")
    asked = options.BurninOptions(time=f"{seconds}s", devices="cpu", memory="4 MiB", look_s=0.2, hang_s=20.0, meters=())
    made = options.plan(asked, NodeAccess(), CPUS)
    named = tuple(
        Device(id=f"cpu:{CPUS[at % len(CPUS)]}", title=f"device {at}", cpus=(CPUS[at % len(CPUS)],))
        for at in range(min(devices, len(CPUS)))
    )
    drills = tuple(options.drill(word, named) for word in inject)
    return msgspec.structs.replace(made, devices=named, drills=drills, **changes)


def burn(
    folder: Path,
    planned: BurninPlan,
    senses: NodeAccess | None = None,
    watched: Callable[[Session], None] = lambda session: None,
) -> BurninReport:
    journal.create(folder, planned)
    return options.carry_out(folder, planned, senses or Machine(), lambda text: None, watched)


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """No worker outlives its burn-in."""
    before = set(_children())
    yield
    until(lambda: not set(_children()) - before, what="all workers end", every_s=0.05)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.timing
def test_a_sound_machine_passes(tmp_path: Path) -> None:
    with nothing_left():
        found = burn(tmp_path / "b", plan())
    assert (found.judgement, found.exit_code, found.why) == ("passed", 0, "time")
    for device in found.devices:
        assert device.done.products > 10 and device.done.passes > 0 and device.done.faults == 0
        assert device.rate_flops and device.state == "ended"
    assert options.again(tmp_path / "b") == found
    assert json.loads((tmp_path / "b" / "report.json").read_bytes())["judgement"] == "passed"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("result", ("C(", "bit 21", "(soft)", "tile")),
        ("result-always", ("C(", "bit 21", "(hard)")),
        ("operand", ("A(", "bit 21", "an operand changed")),
        ("memory", ("memory at offset", "bit 42", "(soft)", "pattern")),
        ("memory-always", ("memory at offset", "bit 42", "(hard)")),
    ],
)
def test_a_flipped_bit_is_found_placed_and_told_apart(tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    stages = tuple(Stage(work=work, seconds=0.5) for work in ("memory", "product"))  # type: ignore[arg-type]
    planned = plan(f"cpu:{CPUS[0]}={kind}@0.1", stages=stages, seconds=LIMIT_S, stop="first")
    found = burn(tmp_path / "b", planned)
    assert (found.judgement, found.exit_code, found.drill) == ("failed", 1, True)
    assert found.devices[0].judgement == "failed" and found.why == "first symptom"
    assert all(device.judgement != "failed" for device in found.devices[1:])
    first = found.first
    assert first is not None and (first.device, first.kind) == (f"cpu:{CPUS[0]}", "corruption")
    for word in words:
        assert word in first.what
    assert set(first.doing) == set(planned.by_id) and first.drill
    assert first.since_start_s >= 0 and first.fault is not None and first.fault["drill"]


@pytest.mark.timing
def test_a_worker_that_dies_is_a_state_and_the_others_go_on(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(session: Session) -> None:
        worker = session.workers.get(f"cpu:{CPUS[0]}")
        if worker is not None and worker.done.products > 0 and not killed:
            killed.append(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)

    with nothing_left():
        found = burn(tmp_path / "b", plan(), watched=kill)
    first = found.first
    assert first is not None and first.kind == "died" and "SIGKILL" in first.what
    assert (found.devices[0].judgement, found.devices[0].state) == ("failed", "died")
    assert all(device.judgement == "passed" and device.done.passes > 0 for device in found.devices[1:])


@pytest.mark.timing
def test_a_worker_that_stops_is_silent_and_the_verdict_still_comes(tmp_path: Path) -> None:
    with nothing_left():
        found = burn(tmp_path / "b", plan(f"cpu:{CPUS[0]}=stop@0.2", seconds=6.0, hang_s=3.0))
    first = found.first
    assert first is not None and first.kind == "silent" and "it was stopped" in first.what
    assert (found.devices[0].judgement, found.devices[0].state) == ("failed", "silent")
    assert all(device.judgement == "passed" for device in found.devices[1:])
    assert found.why == "time" and found.burnt_s >= 0.98 * 6


@pytest.mark.timing
def test_a_worker_that_wakes_up_again_is_told(tmp_path: Path) -> None:
    def wake(session: Session) -> None:
        worker = session.workers.get(f"cpu:{CPUS[0]}")
        if worker is not None and worker.state == "silent":
            worker.signal(signal.SIGCONT)

    found = burn(tmp_path / "b", plan(f"cpu:{CPUS[0]}=stop@0.2", seconds=6.0, hang_s=3.0), watched=wake)
    assert found.devices[0].judgement == "failed" and found.devices[0].state == "ended"
    turns = [entry for entry in journal.entries(tmp_path / "b") if isinstance(entry, Turn)]
    states = [entry.state for entry in turns if entry.device == f"cpu:{CPUS[0]}"]
    assert states == ["running", "silent", "running", "ended"]


def test_lines_of_the_kernel_count_from_the_start_on_and_name_their_device(tmp_path: Path) -> None:
    planned = plan(seconds=LIMIT_S, stop="first")
    owner = msgspec.structs.replace(planned.devices[0], pci="0000:07:00")  # a core plays the GPU at that address
    planned = msgspec.structs.replace(planned, devices=(owner, *planned.devices[1:]))
    machine = Machine()
    machine.lines.append("3,2,200,-;NVRM: Xid (PCI:0000:07:00): 79, an old one")

    def say(session: Session) -> None:
        if any(worker.done.products > 0 for worker in session.workers.values()) and len(machine.lines) == 2:
            double_bit = "48, An uncorrectable double bit error has been detected on GPU (00 03 00)"
            machine.lines.append(f"3,3,300,-;NVRM: Xid (0000:07:00): {double_bit}")

    found = burn(tmp_path / "b", planned, machine, say)
    first = found.first
    assert first is not None and first.device == owner.id and first.kind == "kernel"
    assert "Xid 48" in first.what and "double bit" in first.what and first.action
    assert found.devices[0].symptoms == {"kernel": 1}


class Driver(Machine):
    """A driver that is made up: one GPU, whose state a test changes."""

    gpu = Gpu(index=0, pci="0000:07:00", temperature_c=70.0, power_w=230.0, uncorrected=0, corrected=0)


@pytest.mark.parametrize(
    ("changes", "kind", "judgement"),
    [
        ({"uncorrected": 1}, "ecc-uncorrected", "failed"),
        ({"slowed": 0x40}, "slowed", "failed"),
        ({"slowed": 0x80}, "slowed", "failed"),
        pytest.param({"corrected": 5}, "ecc-corrected", "passed", marks=pytest.mark.timing),
        ({"lost": "GPU is lost"}, "lost", "failed"),
    ],
)
def test_what_the_driver_tells_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], kind: str, judgement: str
) -> None:
    # Whoever fails has ended by that; who passes has to have had the processor meanwhile.
    planned = plan(seconds=LIMIT_S, stop="first") if judgement == "failed" else plan()
    owner = msgspec.structs.replace(planned.devices[0], pci="0000:07:00")
    planned = msgspec.structs.replace(planned, devices=(owner, *planned.devices[1:]))
    state = {"gpu": Driver.gpu}
    monkeypatch.setattr("shakedown.operate.burnin.monitor.has_gpus", lambda senses: True)
    monkeypatch.setattr("shakedown.operate.burnin.monitor.gpu_check.ask", lambda senses: ((state["gpu"],), ""))

    def change(session: Session) -> None:
        if any(worker.done.products > 0 for worker in session.workers.values()):
            state["gpu"] = msgspec.structs.replace(Driver.gpu, **changes)

    found = burn(tmp_path / "b", planned, Driver(), change)
    assert found.devices[0].judgement == judgement and found.devices[0].symptoms == {kind: 1}
    (symptom,) = found.symptoms
    assert symptom.device == owner.id and symptom.kind == kind
    assert "230 W" in symptom.doing[owner.id] or kind == "lost"


@pytest.mark.timing
def test_stop_at_the_first_symptom(tmp_path: Path) -> None:
    planned = plan(f"cpu:{CPUS[0]}=result@0.3", seconds=30.0, stop="first")
    begin = time.monotonic()
    found = burn(tmp_path / "b", planned)
    assert time.monotonic() - begin < 20
    assert (found.why, found.judgement) == ("first symptom", "failed")


def test_a_worker_that_cannot_begin_says_why(tmp_path: Path) -> None:
    planned = plan(seconds=30.0)
    found = burn(tmp_path / "b", msgspec.structs.replace(planned, memory_bytes=1 << 50))
    assert (found.judgement, found.exit_code) == ("not tested", 3)
    turns = [entry for entry in journal.entries(tmp_path / "b") if isinstance(entry, Turn)]
    assert all(entry.state == "refused" and "memory patterns need" in entry.why for entry in turns) and turns
    assert found.why == "nobody left" or found.why == "time"


def test_a_journal_that_cannot_be_kept_ends_it_and_leaves_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: journal.Journal, entry: object) -> None:
        if isinstance(entry, Turn):
            raise CannotMeasure("cannot be written: No space left on device", where=str(self.path))

    monkeypatch.setattr(journal.Journal, "add", full)
    with nothing_left(), pytest.raises(CannotMeasure, match="No space left"):
        burn(tmp_path / "b", plan(seconds=30.0))


@pytest.mark.timing
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_gives_the_verdict_so_far_and_it_can_go_on(tmp_path: Path, number: int) -> None:
    sent: list[int] = []

    def end(session: Session) -> None:
        if not sent and all(worker.done.products > 0 for worker in session.workers.values()):
            sent.append(number)
            os.kill(os.getpid(), number)

    planned = plan(seconds=6.0)
    with nothing_left():
        found = burn(tmp_path / "b", planned, watched=end)
    assert (found.why, found.judgement, found.exit_code) == ("signal", "unfinished", 3)
    assert all(device.done.products > 0 for device in found.devices)
    again = options.carry_out(tmp_path / "b", planned, Machine(), lambda text: None)
    assert (again.sessions, again.judgement) == (2, "passed") and again.burnt_s >= 0.98 * 6
    assert all(a.done.products > b.done.products for a, b in zip(again.devices, found.devices, strict=True))
    with pytest.raises(BadInput, match="nothing is left"):
        options.carry_out(tmp_path / "b", planned, Machine(), lambda text: None)


def test_workers_end_with_whoever_watches_them_and_the_journal_has_the_verdict_so_far(tmp_path: Path) -> None:
    natives.path("burnin")
    words = ["--time", "900", "--devices", f"cpu:{CPUS[0]}", "--memory", "0", "--inject", f"cpu:{CPUS[0]}=result@0.2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shakedown.operate.burnin", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(
            lambda: any("corruption" in path.read_text() for path in tmp_path.glob("burnin-*/journal.jsonl")),
            LIMIT_S,
            every_s=0.1,
        )
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            workers = [int(word) for word in file.read().split()]
    finally:
        process.kill()
        process.wait()
    found = options.again(next(tmp_path.glob("burnin-*/journal.jsonl")).parent)
    assert (found.judgement, found.exit_code) == ("failed", 1) and found.drill
    assert workers
    until(lambda: not any(_runs(pid) for pid in workers), what="the workers end", every_s=0.05)


def _runs(pid: int) -> bool:
    try:
        return "burnin" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.timing
def test_a_campaign_reads_it(tmp_path: Path) -> None:
    natives.path("burnin")
    for drill, code in (("", 0), (f"cpu:{CPUS[0]}=result@0.3", 1)):
        words = ["--time", "2", "--devices", f"cpu:{CPUS[0]}", "--memory", "4 MiB", "--inject", drill]
        folder = tmp_path / f"run{code}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "shakedown.operate.burnin", *words], cwd=folder, capture_output=True, timeout=LIMIT_S
        )
        found = events.parse(done.stdout)
        assert (done.returncode, found.ended, found.garbage) == (code, True, ""), done.stderr.decode()
        kernels = {case.kernel: case for case in found.cases}
        assert set(kernels) == {"burnin_product", "burnin_memory"}
        for case in kernels.values():
            assert case.residual is not None and case.residual.passed == (code == 0)
        assert {notice.code for notice in found.notices} == (
            {"burnin-first-symptom", "burnin-drill"} if code else {"burnin-part"}
        )


@pytest.mark.parametrize(
    "words",
    [
        ["--device", "tpu:0"],
        ["--device", "cpu"],
        ["--device", "cpu:0-1"],
        ["--stages", "burn:3"],
        ["--periods", "x"],
        ["--memory", "much"],
        ["--isa", "mmx"],
        ["--secnds", "1"],
    ],
)
def test_a_worker_refuses_what_it_does_not_understand(words: list[str]) -> None:
    code, out, err = natives.run("burnin", *words)
    assert code == 2 and "burnin: " in err and not out


ON_HOST = ["--device", "gpu:0", "--backend", "host", "--order", "64", "--memory", "1MiB", "--seconds", "2"]


@pytest.mark.parametrize(
    ("kind", "where", "hard"),
    [
        ("", "", False),
        ("result", "result", False),
        ("result-always", "result", True),
        ("operand", "left", False),
        ("memory", "memory", False),
        ("memory-always", "memory", True),
    ],
)
def test_the_gpu_s_worker_on_the_host_backend(kind: str, where: str, hard: bool) -> None:
    words = [
        *ON_HOST,
        "--stages",
        "product:0.2,memory:0.2",
        *(("--drill", kind, "--drill-after", "0.1") if kind else ()),
    ]
    code, out, err = natives.run("burnin", *words)
    assert code == (1 if kind else 0), err
    told = [json.loads(line) for line in out.splitlines()]
    faults = [event for event in told if event["event"] == "fault"]
    assert {(fault["where"], fault["hard"]) for fault in faults} == ({(where, hard)} if kind else set())
    kernels = {event["kernel"]: event for event in told if event["event"] == "case"}
    assert kernels["burnin_product"]["work"]["flop"] > 0 and kernels["burnin_memory"]["work"]["bytes_moved"] > 0


def test_a_gpu_that_is_not_there_says_so() -> None:
    absent = ["--device", "gpu:0", "--driver", "/nowhere/libcuda.so.1", "--seconds", "1"]
    code, _, err = natives.run("burnin", *absent)
    assert code == 3 and "no CUDA driver" in err and "next:" in err
    given = {"CUDA_VISIBLE_DEVICES": "GPU-5f1c,GPU-77aa"}  # a job's own: numbers count among them
    code, _, err = natives.run("burnin", *absent, "--device", "gpu:2", env=given)
    assert code == 3 and "none of those that this process may use: GPU-5f1c,GPU-77aa" in err
    code, _, err = natives.run("burnin", *ON_HOST, "--device", "gpu:7")
    assert code == 2 and "no device '7'" in err
