"""Children of a health call: their answers, those that hang or die, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.operate.health import children
from shakedown.operate.health.children import Gone, Task
from support.waiting import until


def test_children_answer_and_more_tasks_come_of_answers() -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        return f"{task.check}{task.part}".encode() * 50_000  # more than a pipe holds

    def more(task: Task, data: bytes) -> list[Task]:
        return [Task("a", "1"), Task("a", "2")] if task == Task("a") else []

    found = children.run([Task("a"), Task("b")], work, 300.0, more)
    assert {task: len(data) for task, data in found.items() if isinstance(data, bytes)} == {
        Task("a"): 50_000,
        Task("b"): 50_000,
        Task("a", "1"): 100_000,
        Task("a", "2"): 100_000,
    }


@pytest.mark.timing  # the others must answer within the limit that ends the one
def test_a_child_that_reads_a_device_that_says_nothing_is_named_and_ended(tmp_path: Path) -> None:
    fifo = str(tmp_path / "device")
    os.mkfifo(fifo)

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "well":
            return b"yes"
        note(f"reading {fifo}")
        return Path(fifo).read_bytes()

    found = children.run([Task("stuck"), Task("well")], work, 0.5)
    assert found[Task("well")] == b"yes"
    gone = found[Task("stuck")]
    assert isinstance(gone, Gone) and gone.why == "no answer within 0.5 s" and gone.touched == f"reading {fifo}"
    assert gone.started == "" and not Path(f"/proc/{gone.pid}").exists()


@pytest.mark.timing  # the others must answer within the limit that ends the one
def test_all_that_hang_do_not_keep_the_others_from_being_begun(tmp_path: Path) -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "stuck":
            time.sleep(60)
        return b"yes"

    tasks = [Task("stuck", str(n)) for n in range(2 * children.AT_ONCE)] + [Task("well", str(n)) for n in range(5)]
    found = children.run(tasks, work, 1.2)
    assert [found[task] for task in tasks if task.check == "well"] == [b"yes"] * 5


def zombies() -> set[int]:
    """The children of this process that have ended and were not waited for."""
    found = set()
    for word in filter(str.isdigit, os.listdir("/proc")):
        fields = children._stat(int(word))
        if fields and fields[0] == "Z" and fields[1] == str(os.getpid()):
            found.add(int(word))
    return found


def test_what_was_given_up_and_ends_later_leaves_no_zombie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that no signal ends while the call lasts, as one that hangs in a driver, and one that is slow to end."""
    before = zombies()

    def never(pid: int, number: int) -> None:
        pass

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        if task.check == "stuck":
            time.sleep(600)
        return b"yes"

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", never)
        patched.setattr(os, "killpg", never)
        gone = children.run([Task("stuck"), Task("well")], work, 0.3)[Task("stuck")]
    assert isinstance(gone, Gone) and gone.started, "it is still there"
    os.kill(gone.pid, signal.SIGKILL)
    until(lambda: gone.pid in zombies(), what="it has ended, and nobody has waited for it yet", every_s=0.01)
    assert children.run([Task("well")], work, 300.0) == {Task("well"): b"yes"}
    until(lambda: not children.reap(), what="a child is left", every_s=0.01)
    assert zombies() <= before and not Path(f"/proc/{gone.pid}").exists()


def test_a_child_that_dies_is_told() -> None:
    def work(task: Task, note: Callable[[str], None]) -> bytes:
        note("the driver's library")
        os.kill(os.getpid(), signal.SIGSEGV)
        return b""

    gone = children.run([Task("a")], work, 300.0)[Task("a")]
    assert isinstance(gone, Gone) and "without an answer" in gone.why and gone.touched == "the driver's library"


def test_whatever_a_child_starts_ends_with_it() -> None:
    reader, writer = os.pipe()

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        child = subprocess.Popen(["sleep", "600"])
        note(str(child.pid))
        time.sleep(600)
        return b""

    gone = children.run([Task("a")], work, 6.0)[Task("a")]
    os.close(reader)
    os.close(writer)
    assert isinstance(gone, Gone)
    pid = int(gone.touched)
    until(lambda: children.started(pid) is None, what="what it started still runs", every_s=0.02)


def test_a_program_that_outlives_its_child_is_what_is_named() -> None:
    """As nvidia-smi does that hangs in the driver: here one that leaves the group's leader, which ends at once."""

    def work(task: Task, note: Callable[[str], None]) -> bytes:
        subprocess.Popen(["sleep", "600"])
        os._exit(1)

    gone = children.run([Task("a")], work, 5.0)[Task("a")]
    assert isinstance(gone, Gone) and gone.started
    try:
        assert Path(f"/proc/{gone.pid}/comm").read_text() == "sleep\n"
    finally:
        os.kill(gone.pid, signal.SIGKILL)


def test_an_answer_that_breaks_off_is_none() -> None:
    code = """
import os
from shakedown.operate.health import children
write = os.write
def torn(descriptor, data):
    write(descriptor, data[:20])
    os._exit(0)
children.os.write = torn
print(children.run([children.Task("a")], lambda task, note: b"x" * 100, 300.0)[children.Task("a")].why)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "its child ended without an answer\n"


def test_our_output_ends_though_a_child_is_left_behind(tmp_path: Path) -> None:
    """Whoever reads what we print must see its end, though a child of ours cannot end: here, one that was not killed."""
    code = """
import os, sys, time
from shakedown.operate.health import children
children.os.kill = children.os.killpg = lambda pid, number: None
found = children.run([children.Task("a")], lambda task, note: time.sleep(30), 0.3)
print(found[children.Task("a")].pid, found[children.Task("a")].started != "")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    pid, left = done.stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    assert left == "True"
