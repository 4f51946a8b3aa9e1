"""Spark in a job, without Spark: what is asked and refused, rows and their check, installations, nodes that are killed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from multiprocessing import connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown import workloads
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.functional_tests.spark import cluster, files, installation, node, rows
from shakedown.functional_tests.spark.cluster import Event, Nodes
from shakedown.functional_tests.spark.node import Answer, Order, Owner, Rendezvous
from shakedown.records import Params, Value
from support.machines import host, machine
from support.waiting import until
from support.workloads import params_of

WORKLOAD = workloads.get("bigdata")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(), given)


# ---------------------------------------------------------------------------------------------------------- asked for


def test_words_become_numbers_that_fit_the_machine() -> None:
    found = resolve(rows=1_000_000)
    assert found["partitions"] == 4 and found["io_bytes"] == 100_000_000 and found["cores"] == 2
    assert 512 <= int(found["memory"]) * 2**20 < host().memory.room_bytes
    assert resolve(rows=100_000_000)["partitions"] == 75, "none of more than 128 MiB"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": "spark.x=1,y=2"}, "not a setting of Spark's"),
        ({"settings": "spark.authenticate.secret=a"}, "set by the run itself"),
        ({"settings": "spark.x=1 2"}, "not a setting of Spark's"),
        ({"memory": 10_000_000}, "are free on"),
        ({"cores": 4000}, "may use"),
        ({"kernels": "sort,sing"}, "sing"),
        ({"port": 80}, "a port of the system"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(given: dict[str, Value], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        resolve(**given)


# --------------------------------------------------------------------------------------------------------------- rows

#: The first rows of seed 1 as Spark 4.3.0 wrote them.
BY_SPARK = (
    "4S4yW4YDKV0000000000000000A48C21BBC50BAC2EA48C21BBC50BAC2EA48C21BBC50BAC2EA48C21BBC50BAC2EA48C21BBC\n"
    "r5vvnTQ39U000000000000000157B7FFACD0A1AA9C57B7FFACD0A1AA9C57B7FFACD0A1AA9C57B7FFACD0A1AA9C57B7FFACD\n"
    "jjq/RdGxrD00000000000000020F65475F6A943D1D0F65475F6A943D1D0F65475F6A943D1D0F65475F6A943D1D0F65475F6\n"
)


def test_rows_are_those_that_spark_makes() -> None:
    assert rows.rows(np.arange(3, dtype=np.uint64), 1).tobytes() == BY_SPARK.encode()


def sorted_rows(count: int, seed: int = 7) -> list[bytes]:
    made = rows.rows(np.arange(count, dtype=np.uint64), seed)
    return sorted(one.tobytes() for one in made)


def verdict(parts: list[list[bytes]], count: int, seed: int = 7) -> rows.Verdict:
    found = [rows.check_sorted(io.BytesIO(b"".join(part)), seed) for part in parts]
    return rows.verdict(found, count, rows.sums(count, seed))


@given(st.integers(1, 5000), st.lists(st.integers(0, 5000), max_size=3))
def test_what_is_sorted_passes_however_it_is_cut_into_files(count: int, cuts: list[int]) -> None:
    made = sorted_rows(count)
    places = [0, *sorted(cuts), count]
    parts = [made[begin:end] for begin, end in pairwise(places)]
    assert verdict(parts, count) == rows.Verdict(0, 0, 0, 0)


@given(st.integers(0, 299), st.integers(0, 98), st.integers(1, 255))
def test_one_byte_that_changed_anywhere_is_found(place: int, column: int, change: int) -> None:
    made = sorted_rows(300)
    row = bytearray(made[place])
    row[column] ^= change
    made[place] = bytes(row)
    assert verdict([made], 300).wrong >= 1


@given(st.integers(0, 298), st.data())
def test_rows_that_changed_places_are_found(place: int, data: st.DataObject) -> None:
    made = sorted_rows(300)
    other = data.draw(st.integers(place + 1, 299))
    made[place], made[other] = made[other], made[place]
    found = verdict([made], 300)
    assert found.disorder >= 1 and found.words()


@given(st.integers(0, 299), st.integers(0, 299))
def test_a_row_that_is_lost_and_another_that_is_twice_there_are_found(lost: int, twice: int) -> None:
    made = sorted_rows(300)
    fewer = made[:lost] + made[lost + 1 :]
    assert verdict([fewer], 300).missing == 1
    if lost != twice:
        again = sorted([*fewer, made[twice]])
        assert verdict([again], 300) == rows.Verdict(0, 0, 0, 1), "the number is right, and the sum is not"


def test_files_in_the_wrong_order_and_files_that_are_cut_are_found() -> None:
    made = sorted_rows(200)
    assert verdict([made[100:], [], made[:100]], 200).disorder == 1
    cut = [*made[:-1], made[-1][:40]]
    found = verdict([cut], 200)
    assert found.wrong == 1 and found.missing == 1


def test_lines_of_the_files_are_compared_byte_by_byte() -> None:
    made = bytearray(rows.lines(5, 3, 1).tobytes())
    assert rows.check_lines(io.BytesIO(made), 1).wrong == 0
    made[70_000] ^= 1
    assert rows.check_lines(io.BytesIO(made), 1).wrong == 1
    assert rows.check_lines(io.BytesIO(made[:-10]), 2).wrong >= 2


# ------------------------------------------------------------------------------------------------------ installations


def site(folder: Path, spark: str = "3.5.1", java: str = "17.0.15") -> dict[str, str]:
    """A folder with what looks like Spark and Java, and the environment that names them."""
    for name in ("spark/bin", "spark/jars", "java/bin"):
        (folder / name).mkdir(parents=True)
    (folder / "spark/bin/spark-class").touch(0o755)
    (folder / f"spark/jars/spark-core_2.12-{spark}.jar").touch()
    program = folder / "java/bin/java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return {"PATH": "/nowhere", "SPARK_HOME": str(folder / "spark"), "JAVA_HOME": str(folder / "java")}


def test_a_sites_spark_and_java_are_found(tmp_path: Path) -> None:
    found = installation.find("auto", site(tmp_path))
    assert (found.version, found.java, found.home) == ("3.5.1", 17, tmp_path / "spark")
    assert found.java_home == tmp_path / "java"


@pytest.mark.parametrize(
    ("spark", "java", "said"),
    [
        ("4.0.0", "11.0.2", "needs Java 17 or newer, and .* is Java 11"),
        ("4.0.0", "1.8.0_452", "is Java 8"),
        ("3.5.1", "21.0.1", "needs Java 8 to 17"),
        ("2.4.8", "1.8.0_1", "3.3 or newer is needed"),
    ],
)
def test_versions_that_do_not_fit_are_refused_with_what_brings_others(
    tmp_path: Path, spark: str, java: str, said: str
) -> None:
    with pytest.raises(Unavailable, match=said) as error:
        installation.find("auto", site(tmp_path, spark, java))
    assert "pip install pyspark" in error.value.hint or "openjdk-17-jre-headless" in error.value.hint


def test_without_java_or_spark_the_command_that_brings_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = site(tmp_path)
    with pytest.raises(Unavailable, match="there is none") as error:
        installation.find("auto", {**environment, "JAVA_HOME": ""})
    assert "apt-get install openjdk-17-jre-headless" in error.value.hint
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match="no Spark here") as error:
        installation.find("auto", {**environment, "SPARK_HOME": ""})
    assert "-m pip install pyspark" in error.value.hint
    with pytest.raises(Unavailable, match="holds no Spark"):
        installation.find(str(tmp_path), environment)


# -------------------------------------------------------------------------------------------------------------- nodes


class Caller:
    """A node as its test holds it: a process, and the connection that it called by."""

    def __init__(self, folder: Path) -> None:
        secret = os.urandom(16)
        self.folder = folder
        self.keep = Path(tempfile.mkdtemp(prefix=node.PREFIX, dir=folder))
        self.door = connection.Listener(("127.0.0.1", 0), authkey=secret)
        self.place = Rendezvous(("127.0.0.1",), int(self.door.address[1]), secret.hex(), secret.hex(), str(self.keep))
        path = folder / "rendezvous"
        path.write_bytes(msgspec.json.encode(self.place))
        words = (sys.executable, "-m", "shakedown.functional_tests.spark.node", str(path))
        self.child = subprocess.Popen(words, start_new_session=True)
        self.link = self._admit()
        self.hello = self.hear()
        self.scratch = Path(self.ask("begin", scratch=str(folder), files={"a.conf": "b"}, shared="")["scratch"])

    def _admit(self) -> connection.Connection:
        while True:
            try:
                return self.door.accept()
            except (EOFError, OSError):  # it first tries whether somebody answers
                continue

    def hear(self) -> Answer:
        return msgspec.json.decode(self.link.recv_bytes(), type=Answer)

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        self.link.send_bytes(msgspec.json.encode(Order(number=1, do=do, words=words)))
        answer = self.hear()
        assert not answer.failed, answer.failed
        return answer.found

    def start(self, script: str) -> int:
        """Something in the place of a worker; its process number."""
        asked = {"argv": ["/bin/sh", "-c", script], "env": {}, "shows": "at work", "limit_s": 60}
        return int(self.ask("start", name="worker", **asked)["pid"])

    def end(self) -> None:
        self.link.close()
        self.door.close()
        self.child.kill()
        self.child.wait()


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    made = Caller(tmp_path)
    try:
        yield made
    finally:
        made.end()
        node.kill_marked(made.place.token, 10)


#: A worker that leaves a grandchild in a session of its own, which no signal to its group reaches, and that heeds no TERM.
STUBBORN = "trap '' TERM; setsid sleep 1000 & echo at work; while :; do sleep 1000; done"


def test_the_end_of_the_connection_is_the_end_of_all_that_was_started(caller: Caller) -> None:
    caller.start(STUBBORN)
    until(lambda: len(node.marked(caller.place.token)) >= 3)
    (caller.scratch / "local/block").write_bytes(b"x" * 1000)
    (caller.keep / "rows").write_bytes(b"x")
    caller.link.close()
    assert caller.child.wait() == 0
    assert node.marked(caller.place.token) == []
    assert not caller.scratch.exists() and not caller.keep.exists()


def test_a_node_that_is_killed_takes_its_worker_along_and_the_next_one_removes_its_folder(
    caller: Caller, tmp_path: Path
) -> None:
    pid = caller.start("echo at work; exec sleep 1000")
    caller.child.send_signal(signal.SIGKILL)
    caller.child.wait()
    until(lambda: not Path(f"/proc/{pid}").exists() or node.marked(caller.place.token) == [])
    assert caller.scratch.exists()
    assert node.remove_ownerless(tmp_path) == [str(caller.scratch)]
    assert not caller.scratch.exists()


def test_a_folder_whose_owner_lives_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / f"{node.PREFIX}x"
    folder.mkdir()
    owner = Owner(os.getpid(), node.process.start_ticks(os.getpid()) or 0, "t")
    (folder / "owner.json").write_bytes(msgspec.json.encode(owner))
    (tmp_path / f"{node.PREFIX}y").mkdir()  # somebody's else: without an owner of ours
    assert node.remove_ownerless(tmp_path) == [] and len(list(tmp_path.iterdir())) == 2


def test_a_worker_that_ends_is_told_with_its_log_and_one_that_does_not_start_is_refused(caller: Caller) -> None:
    pid = caller.start("echo at work; sleep 1000")
    os.killpg(pid, signal.SIGKILL)
    event = caller.hear()
    assert event.number == 0 and event.found["ended"] == "worker" and event.found["code"] == -9
    caller.link.send_bytes(
        msgspec.json.encode(
            Order(
                number=2,
                do="start",
                words={
                    "name": "worker",
                    "argv": ["/bin/sh", "-c", "echo java.net.BindException: Address already in use; exit 1"],
                    "env": {},
                    "shows": "at work",
                    "limit_s": 60,
                },
            )
        )
    )
    answer = caller.hear()
    assert "did not start" in answer.failed and "Address already in use" in answer.failed


def test_files_are_checked_and_written_out_by_a_node(caller: Caller, tmp_path: Path) -> None:
    path = tmp_path / "part-0"
    path.write_bytes(b"".join(sorted_rows(1000)))
    found = caller.ask("check", files=[str(path)], kind="sorted", seed=7, workers=2)["files"][str(path)]
    assert (found["rows"], found["wrong"], found["disorder"]) == (1000, 0, 0)
    assert "cached" in caller.ask("write_out", files=[str(path)], drop=True)


def test_who_does_not_know_the_secret_is_not_heard(caller: Caller) -> None:
    door = connection.Listener(("127.0.0.1", 0), authkey=b"right")
    place = Rendezvous(("127.0.0.1",), int(door.address[1]), b"wrong".hex(), "t")

    def refuse() -> None:
        for _ in range(2):  # a first connection tries whether somebody answers
            with pytest.raises((EOFError, OSError, connection.AuthenticationError)):
                door.accept()

    thread = threading.Thread(target=refuse)
    thread.start()
    with pytest.raises((OSError, connection.AuthenticationError)):
        node.call(place)
    thread.join()
    door.close()


def nodes_of(*hosts: str) -> Nodes:
    found = Nodes(Rendezvous(("127.0.0.1",), 1, "", "t"))
    found.links = dict.fromkeys(hosts)  # type: ignore[arg-type]
    return found


def ended(host: str, what: str, log: str = "") -> Event:
    return Event(host, Answer(number=0, host=host, found={"ended": what, "code": -9, "log": log}))


def test_one_worker_of_two_may_die_and_the_last_may_not() -> None:
    nodes = nodes_of("a", "b")
    nodes.heed(ended("a", "worker"))
    with pytest.raises(CannotMeasure, match=r"the last worker ended: java\.lang.OutOfMemoryError") as error:
        nodes.heed(ended("b", "worker", "java.lang.OutOfMemoryError: heap Exception\n"))
    assert "less memory" in error.value.hint
    with pytest.raises(CannotMeasure, match=r"master was killed \(SIGKILL\)") as killed:
        nodes_of("a", "b").heed(ended("a", "master", "12:00:01 INFO ExecutorRunner: Launch command: java\n"))
    assert "kernel's log" in killed.value.hint and "Launch command" not in killed.value.what
    with pytest.raises(CannotMeasure, match="the host went away"):
        nodes_of("a", "b").heed(Event("b"))
    with pytest.raises(CannotMeasure, match="the application of Spark ended"):
        nodes_of("a").heed(Event("app"))


def test_nobody_waits_for_an_answer_that_does_not_come() -> None:
    with pytest.raises(CannotMeasure, match="in time"):
        nodes_of("a").next(time.monotonic(), lambda: "a did not answer")


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        ("java.io.IOException: No space left on device", "scratch="),
        ("java.net.BindException: Address already in use: Service 'sparkMaster' failed after 16 retries", "port=0"),
        ("java.lang.OutOfMemoryError: Java heap space", "memory="),
    ],
)
def test_what_spark_says_leads_to_the_next_step(text: str, next_step: str) -> None:
    assert next_step in cluster.next_step(text)


def test_settings_name_ports_in_a_row_where_a_first_one_is_given(tmp_path: Path) -> None:
    asked = cluster.Settings(cores=2, memory_mib=1024, scratch="", port=40000, encrypt=True, more={"spark.x": "1"})
    found = cluster.properties(asked, 3, "secret", tmp_path)
    assert (
        found["spark.cores.max"] == "6" and found["spark.x"] == "1" and found["spark.network.crypto.enabled"] == "true"
    )
    assert {found[name] for name in found if name.endswith(".port")} == {"40002", "40003", "40004"}
    assert "spark.authenticate.secret secret" in cluster.config_files(found)["spark-defaults.conf"]


def test_a_file_system_is_named_and_a_folder_that_is_not_shared_is_seen(tmp_path: Path) -> None:
    assert files.kind(Path("/proc")) == "proc"
    (tmp_path / "token").write_text("x")
    assert files.sees(tmp_path, "x") == ""
