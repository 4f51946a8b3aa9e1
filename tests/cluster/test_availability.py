"""Availability on a real Slurm: months in its database beside sreport's own sums, and outages that are made here."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shakedown as package
from shakedown.hosts.access import Result
from shakedown.rehearsal_cluster import RehearsalCluster
from support.labs import sql
from support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.slow]

SOURCE = Path(package.__file__).resolve().parent.parent
COMMAND = (sys.executable, "-c", "from shakedown.cli.availability import app; app()")
HOUR, DAY = 3600, 86400
DAYS = 60
TRES = "1=4,2=4000,4=1,5=4,1001=4"
DOWN, SILENT, DRAINED, IDLE = 1, 2049, 514, 2
MAINT, CLOUD, POWERED_DOWN, FUTURE = 1 << 15, 1 << 7, 1 << 12, 6


class Event(NamedTuple):
    node: str
    begin: int  # seconds after the history's begin
    end: int
    state: int
    reason: str


#: What sreport and we define alike: seconds, over midnights and hours, a death that became a drain, a day of all nodes.
PLAIN = (
    Event("node1", 1 * DAY + 17, 1 * DAY + 7230, DOWN, "PSU"),
    Event("node2", 2 * DAY + 1, 3 * DAY + 1, SILENT, "Not responding"),
    Event("node2", 3 * DAY + 1, 3 * DAY + 4001, DRAINED, "HC: mount /scratch | stale"),
    Event("node3", 20 * DAY - 30, 20 * DAY + 31, DRAINED, "kill task failed"),
    *(Event(f"node{at}", 30 * DAY, 31 * DAY, DOWN, "power: PDU 7") for at in (1, 2, 3, 4)),
    Event("node4", 45 * DAY + 1, 45 * DAY + 2, DOWN, "one second"),
    Event("node4", (DAYS - 1) * DAY, DAYS * DAY + 3 * HOUR, DOWN, "not over at the end"),
)
#: What they define otherwise.
OTHERWISE = (
    Event("node3", 5 * DAY, 5 * DAY + 7777, DOWN | MAINT, "firmware"),
    Event("node4", 6 * DAY + 5, 6 * DAY + HOUR + 5, DRAINED, "drained"),
    Event("node4", 6 * DAY + 1005, 6 * DAY + 2 * HOUR, DOWN, "and down: it overlaps"),
    Event("node1", 8 * DAY, 9 * DAY, IDLE | POWERED_DOWN, "power saving"),
    Event("node2", 12 * DAY, 13 * DAY, IDLE | POWERED_DOWN | CLOUD, "power saving in a cloud"),
    Event("node3", 15 * DAY, 15 * DAY + HOUR, FUTURE, "future"),
    Event("node3", 10 * DAY, 10 * DAY + 5 * HOUR, DOWN, "down before and after its maintenance"),
)


ENVIRONMENT = {"PYTHONPATH": str(SOURCE), "LC_ALL": "C"}


def shakedown(lab: RehearsalCluster, *words: object) -> Result:
    return lab.run([*COMMAND, *(str(one) for one in words)], env=ENVIRONMENT)


@contextlib.contextmanager
def watching(lab: RehearsalCluster, output: Path, *words: str) -> Iterator[None]:
    """A watch that looks until the block ends; at least three of its looks found the engine when that begins."""
    argv = [*COMMAND, "watch", "--output", str(output), *words]
    watch = subprocess.Popen(lab.argv(argv, env=ENVIRONMENT), start_new_session=True)
    try:
        until(lambda: sum(not one.get("failed") for one in looks(output)) >= 3)
        yield
    finally:
        os.killpg(watch.pid, signal.SIGKILL)
        watch.wait()


def looks(output: Path) -> list[dict[str, Any]]:
    lines = output.read_text().splitlines(keepends=True) if output.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


class Past:
    """Months that the database of the rehearsal cluster is given, and taken away again."""

    def __init__(self, lab: RehearsalCluster) -> None:
        self.lab = lab
        self.end = int(time.time()) // HOUR * HOUR - HOUR
        self.begin = self.end - DAYS * DAY
        self.cluster = lab.run(["sacctmgr", "-n", "-P", "show", "cluster", "format=cluster"]).out.split()[0]
        query = f"select time_start from {self.cluster}_event_table where node_name='' and time_end=0"
        self._since = sql(lab, query).split()[0]

    def make(self, events: tuple[Event, ...], *, maintenance: tuple[int, int, str] | None = None) -> None:
        rows = ", ".join(
            f"({self.begin + one.begin}, {self.begin + one.end}, '{one.node}', '', '{one.reason}', 0, {one.state}, "
            f"'{TRES}')"
            for one in events
        )
        text = f"update {self.cluster}_event_table set time_start={self.begin} where node_name='' and time_end=0; "
        text += f"insert into {self.cluster}_event_table "
        text += f"(time_start, time_end, node_name, cluster_nodes, reason, reason_uid, state, tres) values {rows}; "
        if maintenance:
            low, high, node = maintenance
            text += (
                f"insert into {self.cluster}_resv_table (id_resv, flags, nodelist, node_inx, resv_name, time_start, "
            )
            text += f"time_end, tres, assoclist) values (770077, 1, '{node}', '2', 'firmware', {self.begin + low}, "
            text += f"{self.begin + high}, '1=4', ''); "
        self._apply(text, self.begin)

    def unmake(self) -> None:
        text = f"delete from {self.cluster}_event_table where node_name<>''; "
        text += f"update {self.cluster}_event_table set time_start={self._since} where node_name='' and time_end=0; "
        text += f"delete from {self.cluster}_resv_table where id_resv=770077; "
        self._apply(text, int(self._since))

    def _apply(self, text: str, rolled: int) -> None:
        """Change the tables while slurmdbd is away, and have it add the hours up anew."""
        self.lab.daemon("slurmdbd", "stop")
        for table in ("hour", "day", "month"):
            text += f"delete from {self.cluster}_usage_{table}_table; "
        reached = ", ".join(f"{one}_rollup={rolled}" for one in ("hourly", "daily", "monthly"))
        text += f"update {self.cluster}_last_ran_table set {reached}"
        sql(self.lab, text)
        self.lab.daemon("slurmdbd", "start")

    def sreport(self) -> dict[str, int]:
        """What sreport says, once its rollup has reached the end."""
        low, high = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(one)) for one in (self.begin, self.end))
        words = ("sreport", "-P", "-t", "Seconds", "-T", "cpu", "cluster", "utilization", f"start={low}", f"end={high}")

        def said() -> dict[str, str]:
            lines = [line.split("|") for line in self.lab.run(list(words)).out.splitlines() if "|" in line]
            found = dict(zip(*lines, strict=True)) if len(lines) == 2 else {}
            return found if int(found.get("Reported", -1)) == 16 * (self.end - self.begin) else {}

        found = until(said, what="sreport's rollup reaches the end of the history", every_s=1)
        return {name: int(value) for name, value in found.items() if value.isdigit()}

    def report(self, *words: object) -> dict[str, Any]:
        done = shakedown(
            self.lab, "report", "--from", "slurm", "--begin", self.begin, "--end", self.end, "--json", *words
        )
        assert done.code in (0, 1, 4), done.err
        found: dict[str, Any] = json.loads(done.out)
        return found


@pytest.fixture
def past(lab: RehearsalCluster) -> Iterator[Past]:
    made = Past(lab)
    try:
        yield made
    finally:
        made.unmake()


def test_two_months_in_the_database_are_sreports_down_time_to_the_second(past: Past, tmp_path: Path) -> None:
    past.make(PLAIN)
    said = past.sreport()
    (tmp_path / "mine.toml").write_text('name="m"\ntitle="m"\nsource="m"\nat_least="97 %"\n')
    told = past.report("--contract", tmp_path / "mine.toml")
    known = 4 * sum(min(one.end, DAYS * DAY) - one.begin for one in PLAIN)
    assert said["Down"] == known
    assert told["whole"]["lost"] == known
    assert told["whole"]["scheduled"] == said["Reported"] == 16 * DAYS * DAY
    beside = told["beside"]
    assert (beside["ours"], beside["expected"], beside["sreport"], beside["unexplained"]) == (known, known, known, 0)
    assert "steps" not in beside  # nothing is defined otherwise
    assert told["whole"]["level"] == 1 - known / (16 * DAYS * DAY)
    # The day of all nodes alone is 1/30 of a window: only one that has left a part of it behind meets 97 %.
    assert told["verdict"] == "met" and told["worst"]["level"] < 1 - 1 / 30
    outages = next(one for one in told["rates"] if one["name"] == "MTBF, node")
    assert outages["events"] == len(PLAIN) - 1  # node2's two events are one outage


def test_every_difference_in_definition_is_explained(past: Past) -> None:
    past.make((*PLAIN, *OTHERWISE), maintenance=(10 * DAY + HOUR, 10 * DAY + 3 * HOUR, "node3"))
    said = past.sreport()
    told = past.report()["beside"]
    assert (told["sreport"], told["planned"]) == (said["Down"], said["PLND Down"])
    assert (told["expected"], told["expected_planned"]) == (said["Down"], said["PLND Down"])
    assert told["unexplained"] == 0
    assert told["ours"] + sum(amount for _, amount in told["steps"]) == said["Down"]
    assert len(told["steps"]) == 4


def test_an_outage_that_is_made_is_seen_at_once_by_the_watch_and_late_by_slurm(lab: RehearsalCluster) -> None:
    watched = lab.shared / "watch.jsonl"
    port = ["--heartbeat", "6818"] if lab.namespaced else []
    # Every look waits two seconds for the node that is silent: less often than that, and no look is late.
    with watching(lab, watched, "--every", "4 s", *port):
        failed = time.time()
        lab.fail("node2")
        until(lambda: lab.slurm_nodes()["node2"][0].upper().startswith("DOWN"), every_s=0.5)
        noticed = time.time()
        time.sleep(3)  # else Slurm's own event begins and ends in one second, and says nothing
        lab.start("node2")
        # An outage that is not over yet is no measured one.
        until(lambda: not lab.slurm_nodes()["node2"][0].upper().startswith("DOWN"), every_s=0.5)
        whole = len(looks(watched))
        until(lambda: len(looks(watched)) >= whole + 3)

    def report() -> dict[str, Any] | None:
        done = shakedown(lab, "report", "--from", "slurm", "--from", watched, "--begin", int(failed) - 2, "--json")
        assert done.code == 4, done.err  # a minute is no window of thirty days
        found: dict[str, Any] = json.loads(done.out)
        return found if any(one.get("measured") for one in found["delays"]) else None

    told = until(report, what="Slurm's database has the outage", every_s=2)  # slurmctld tells it when it comes to that
    assert told is not None
    (delay,) = [one for one in told["delays"] if one.get("measured")]
    at_s = [one["t_s"] for one in looks(watched)]
    apart_s = max(later - earlier for earlier, later in itertools.pairwise(at_s)) + 1
    if lab.namespaced:  # the heartbeat sees it at the next look, slurmctld after SlurmdTimeout
        late_s = noticed - failed
        assert late_s - apart_s - 2 <= delay["high_s"] <= late_s + apart_s + 1
    (outage,) = [one for one in told["incidents"] if one["nodes"] == "node2"]
    assert outage["begin_s"] <= (failed if lab.namespaced else noticed) + apart_s
    assert told["rates"][0]["events"] == 1
    watched.unlink()


def test_while_the_controller_is_away_nothing_is_observed(lab: RehearsalCluster) -> None:
    watched = lab.shared / "away.jsonl"
    with watching(lab, watched, "--every", "1 s"):
        lab.daemon("slurmctld", "stop")
        until(lambda: sum(bool(one.get("failed")) for one in looks(watched)) >= 6)
        lab.daemon("slurmctld", "start")
        # Two: what is observed reaches from one look to the next, and the gap before a single one is behind all of it.
        until(lambda: not any(one.get("failed") for one in looks(watched)[-2:]))
    told = json.loads(shakedown(lab, "report", "--from", watched, "--json").out)
    assert told["whole"]["unobserved"] >= 16 * 4
    assert told["whole"]["lost"] == 0
    watched.unlink()
