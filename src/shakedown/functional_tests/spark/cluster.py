"""A standalone cluster of Spark over the hosts of a job: nodes called together, a master, workers, one application.

The nodes (``node.py``) are started by the launcher that the allocation has, call back over TCP and prove that they know the
job's secret. Whatever happens at a node, or is said by the application, arrives in one queue: who waits for an answer
hears of a worker that died as well, and never waits for what cannot come. Ports are free ones unless a first one is named.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import AuthenticationError, connection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ... import launchers
from ...errors import CannotMeasure
from ...files import atomic
from ...hosts.process import kill_group
from ...records import Host
from ...schedulers import Allocation
from . import logs
from .installation import Installation
from .node import Answer, Order, Rendezvous

#: Until nodes have called: a launcher's start on many hosts, Python from a disk that all load at once.
CALL_S = 120.0
#: Until a JVM has started and registered, on a loaded machine too; an order that reads no data.
START_S, ORDER_S = 300.0, 120.0
_END_S = 40.0
_ENDED = "the application of Spark ended"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


class Settings(NamedTuple):
    """What a cluster is started with."""

    cores: int  # of each host
    memory_mib: int  # of the executor of each host
    scratch: str  # a folder of each host; empty: its TMPDIR
    port: int  # the first of those that may be used; 0: any that is free
    encrypt: bool
    more: Mapping[str, str]  # settings of Spark's that a user adds


def properties(asked: Settings, hosts: int, secret: str, events: Path) -> dict[str, str]:
    """Spark's settings, alike on all hosts. The address and the scratch folder of a host come by its environment."""
    port = asked.port
    found = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": str(asked.encrypt).lower(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.executor.memory": f"{asked.memory_mib}m",
        "spark.executor.cores": str(asked.cores),
        "spark.cores.max": str(asked.cores * hosts),
        "spark.driver.memory": "1g",
        "spark.port.maxRetries": "16",
        **dict(asked.more),
    }
    if port:
        ports = ("spark.driver.port", "spark.blockManager.port", "spark.driver.blockManager.port")
        found |= {name: str(port + 2 + place) for place, name in enumerate(ports)}
    return found


def config_files(settings: Mapping[str, str]) -> dict[str, str]:
    """The folder that SPARK_CONF_DIR names: settings, and a log that shows when master and worker are at work."""
    lines = [f"{name} {value}" for name, value in settings.items()]
    log = (
        "rootLogger.level = warn\nrootLogger.appenderRef.stdout.ref = console\n"
        "appender.console.type = Console\nappender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex\n"
        "logger.deploy.name = org.apache.spark.deploy\nlogger.deploy.level = info\n"
    )
    return {"spark-defaults.conf": "\n".join((*lines, "")), "log4j2.properties": log}


def environment(installation: Installation) -> dict[str, str]:
    """What each part of the cluster is started with; {SCRATCH} and {ADDRESS} are its host's."""
    more = os.environ.get("JDK_JAVA_OPTIONS", "").replace("{", "{{").replace("}", "}}")
    return {
        **installation.environment,
        "SPARK_CONF_DIR": "{SCRATCH}/conf",
        "SPARK_LOCAL_DIRS": "{SCRATCH}/local",
        "SPARK_WORKER_DIR": "{SCRATCH}/work",
        "SPARK_LOCAL_IP": "{ADDRESS}",
        "SPARK_DAEMON_MEMORY": "512m",
        "TMPDIR": "{SCRATCH}/tmp",
        # No file in /tmp that a JVM which is killed would leave.
        "JDK_JAVA_OPTIONS": f"{more} -XX:-UsePerfData -Djava.io.tmpdir={{SCRATCH}}/tmp".strip(),
        "PYSPARK_PYTHON": sys.executable,
    }


class Event(NamedTuple):
    """What has arrived: an answer of a node, the end of its connection (None), or a line of the application."""

    source: str  # the host, or "app"
    answer: Answer | None = None
    line: str = ""


class Nodes:
    """The hosts of a job, each with a node that has called."""

    def __init__(self, place: Rendezvous) -> None:
        self.place = place
        self.events: queue.Queue[Event] = queue.Queue()
        self.links: dict[str, connection.Connection] = {}
        self.addresses: dict[str, str] = {}  # host -> its address
        self.notes: list[Event] = []  # what happened at nodes while something else was waited for
        self._number = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self.links)

    def each(self, words: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The same words for every host."""
        return dict.fromkeys(self.links, words)

    def admit(self, link: connection.Connection) -> None:
        """A node that has proved itself: its first word says who it is."""
        hello = msgspec.json.decode(link.recv_bytes(), type=Answer)
        self.addresses[hello.host] = str(hello.found["address"])
        self.links[hello.host] = link
        threading.Thread(target=self._hear, args=(hello.host, link), daemon=True).start()

    def _hear(self, host: str, link: connection.Connection) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                self.events.put(Event(host, msgspec.json.decode(link.recv_bytes(), type=Answer)))
        self.events.put(Event(host))

    def ask(self, words: Mapping[str, dict[str, Any]], do: str, limit_s: float = ORDER_S) -> dict[str, dict[str, Any]]:
        """An order for each of some hosts, at the same time; what each found. Raises CannotMeasure."""
        numbers: dict[int, str] = {}
        for host, one in words.items():
            self._number += 1
            numbers[self._number] = host
            with contextlib.suppress(OSError):  # its end is in the queue
                self.links[host].send_bytes(msgspec.json.encode(Order(number=self._number, do=do, words=one)))
        found: dict[str, dict[str, Any]] = {}
        end = time.monotonic() + limit_s
        while len(found) < len(words):
            event = self.next(end, lambda: f"{', '.join(sorted(set(words) - set(found)))} did not answer ({do})")
            if event.answer is None or event.answer.number not in numbers:
                self.heed(event)
                continue
            if event.answer.failed:
                raise CannotMeasure(event.answer.failed, where=event.source, hint=next_step(event.answer.failed))
            found[event.source] = event.answer.found
        return found

    def next(self, end: float, why: Callable[[], str]) -> Event:
        """The next event. Raises CannotMeasure where none comes in time."""
        try:
            return self.events.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise CannotMeasure(f"{why()} in time", hint="look at the load and the network of that host") from None

    def heed(self, event: Event) -> None:
        """Something that nobody asked for: a part of the cluster that ended, a host that went. Raises CannotMeasure where
        the job cannot go on without."""
        self.notes.append(event)
        if event.source == "app":
            if not event.line:
                raise CannotMeasure(_ENDED, hint="its standard error, in the run's folder, says why")
            return
        if event.answer is None:
            raise CannotMeasure(
                "the host went away, or its node was killed",
                where=event.source,
                hint="its folder of scratch files is removed by the next run there",
            )
        ended = event.answer.found.get("ended")
        workers = {one.source for one in self.notes if one.answer and one.answer.found.get("ended") == "worker"}
        if ended == "master" or workers >= set(self.links):
            what = "Spark's master" if ended == "master" else "the last worker"
            raise _ended(what, event)

    def close(self) -> None:
        """The end of the connections is the end of the nodes."""
        for link in self.links.values():
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(link.fileno())) as one:
                one.shutdown(socket.SHUT_RDWR)  # a thread waits at it, for which close() alone would keep it open


def _ended(what: str, event: Event) -> CannotMeasure:
    """A part of the cluster that ended: what its log says of that, else by which signal or with which exit code."""
    assert event.answer is not None
    log, code = str(event.answer.found.get("log", "")), int(event.answer.found.get("code", 0))
    if why := logs.telling(log):
        return CannotMeasure(f"{what} ended: {why}", where=event.source, hint=next_step(log))
    if code == -signal.SIGKILL:
        hint = "the kernel's log says whether for lack of memory (memory=); else somebody ended it"
        return CannotMeasure(
            f"{what} was killed (SIGKILL), and its log says nothing of it", where=event.source, hint=hint
        )
    return CannotMeasure(f"{what} ended (exit code {code})", where=event.source, hint=next_step(log))


def next_step(text: str) -> str:
    if "No space left" in text:
        return "name another folder (scratch=, directory=), or fewer rows"
    if "BindException" in text or "Address already in use" in text or "retries" in text:
        return "port=0 takes free ports; else name the first of 20 that are free"
    if "OutOfMemory" in text or "insufficient memory" in text or "Could not reserve" in text:
        return "less memory (memory=), or fewer cores"
    return "its log says more; `shakedown machine` and the load show what else is there"


@contextlib.contextmanager
def called_together(
    host: Host, allocation: Allocation | None, hosts: Sequence[str], keep: Path | None
) -> Iterator[Nodes]:
    """A node on each host, as long as the block lasts. ``keep``: a folder that goes with them. Raises CannotMeasure."""
    secret = secrets.token_bytes(32)
    with connection.Listener(("", 0) if len(hosts) > 1 else ("127.0.0.1", 0), authkey=secret, backlog=256) as door:
        addresses = _addresses() if len(hosts) > 1 else ("127.0.0.1",)
        token = secrets.token_hex(16)
        place = Rendezvous(addresses, int(door.address[1]), secret.hex(), token, str(keep or ""))
        nodes = Nodes(place)
        path = Path(f"rendezvous-{token[:8]}.json").resolve()
        atomic.replace(path, msgspec.json.encode(place), mode=0o600)
        started: list[subprocess.Popen[bytes]] = []
        try:
            started = _start(path, host, allocation, hosts)
            _gather(door, nodes, len(hosts), started)
            path.unlink()  # nobody calls any more
            yield nodes
        finally:
            path.unlink(missing_ok=True)
            nodes.close()
            _await_end(started)


def _addresses() -> tuple[str, ...]:
    """Where other hosts may reach this one: its IPv4 addresses, the loopback left out."""
    from .. import _addresses as rtnetlink

    found = [one.address for one in rtnetlink.ask() if one.family == "ipv4" and not one.loopback and not one.fault]
    return tuple(found) or ("127.0.0.1",)


def _start(
    path: Path, host: Host, allocation: Allocation | None, hosts: Sequence[str]
) -> list[subprocess.Popen[bytes]]:
    argv = (sys.executable, "-P", "-m", "shakedown.functional_tests.spark.node", str(path))
    starts: list[launchers.Started] = [(argv, {})]
    if len(hosts) > 1:
        over = allocation or Allocation(engine="", job="", hosts=tuple(hosts))
        starts = [(one.argv, one.env) for one in launchers.reach(lambda names: argv, host, over, hosts)]
    return [
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            stderr=sys.stderr,
            env={**os.environ, **more},
            start_new_session=True,  # what ends the test's group leaves them time to clean up
        )
        for words, more in starts
    ]


def _gather(door: connection.Listener, nodes: Nodes, count: int, started: Sequence[subprocess.Popen[bytes]]) -> None:
    """Until all have called. Raises CannotMeasure."""
    arrived: queue.Queue[connection.Connection] = queue.Queue()

    def listen() -> None:
        while True:
            try:
                arrived.put(door.accept())
            except (AuthenticationError, EOFError):  # a stranger, or who only tried whether we answer
                continue
            except OSError:  # the door is closed, or a caller has gone
                if getattr(door, "_listener", None) is None:
                    return

    threading.Thread(target=listen, daemon=True).start()
    end = time.monotonic() + CALL_S
    while len(nodes.links) < count:
        try:
            nodes.admit(arrived.get(timeout=0.2))
        except queue.Empty:
            ended = [one for one in started if one.poll() not in (None, 0)]
            if time.monotonic() > end or ended:
                there = ", ".join(nodes.hosts) or "none"
                raise CannotMeasure(
                    f"{count - len(nodes.links)} of {count} hosts have no node (there: {there})",
                    hint="the run's folder must be shared by all hosts, and this host reachable from them by TCP",
                ) from None


def _await_end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + _END_S
    for one in started:
        try:
            one.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            kill_group(one.pid)
            one.wait()


def start(nodes: Nodes, first: str, installation: Installation, asked: Settings) -> str:
    """The master on the first host, a worker on each; the master's address."""
    env = environment(installation)
    spark_class = installation.starts("spark-class")
    port = str(asked.port)
    master = {
        "name": "master",
        "argv": [spark_class, _MASTER, "--host", "{ADDRESS}", "--port", port, "--webui-port", "0"],
        "env": env,
        "shows": "Starting Spark master at",
        "limit_s": START_S,
    }
    line = str(nodes.ask({first: master}, "start", START_S + ORDER_S)[first]["line"])
    url = line.rpartition(" at ")[2].strip()
    words = ["--port", str(asked.port + 1 if asked.port else 0), "--webui-port", "0"]
    words += ["--cores", str(asked.cores), "--memory", f"{asked.memory_mib}M", "--work-dir", "{SCRATCH}/work", url]
    worker = {
        "name": "worker",
        "argv": [spark_class, _WORKER, "--host", "{ADDRESS}", *words],
        "env": env,
        "shows": "Successfully registered with master",
        "limit_s": START_S,
    }
    nodes.ask(nodes.each(worker), "start", START_S + ORDER_S)
    return url
