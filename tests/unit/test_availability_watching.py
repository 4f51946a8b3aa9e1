"""Watches of nodes, and Grid Engine's reports."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import LocalHost, Result
from shakedown.operate.availability import evaluate, heartbeat, watching
from shakedown.operate.availability.contract import DownRule, ExcludeRule
from shakedown.operate.availability.history import OPEN_S, History
from support import clocks
from support.availabilities import EVENTS, RECORDINGS, WATCH, T, contract, inventory, lost, read, rows

REPORTING = RECORDINGS / "gridengine-8.1.9-reporting"


# --------------------------------------------------------------------------------------------------------------- watches


def test_a_recorded_watch_sees_an_outage_at_once_and_its_own_gap() -> None:
    history = read(WATCH)
    outage = [one for one in rows(history) if one[0] == "node2"]
    # Switched off at ...909.4: silent in the look of ...910, one look before Slurm's mark, 32 s before Slurm's DOWN.
    assert outage[0][1:4] == (1795307910, 1795307944, "silent")
    assert outage[-1][2] == 1795307952
    assert int(history.events.late[0]) == 2
    # slurmctld was away from ...960 to ...968: sinfo hung, and the states that it then gave were unknown until ...972.
    assert history.seen == ((1795307904, 1795307960), (1795307968, 1795307988))
    (reservation,) = [one for one in history.reservations if one.name == "upd"]
    assert reservation.first_seen_s == 1795307910 and reservation.flags == ("MAINT", "SPEC_NODES")
    assert lost(history, 1795307904, 1795307988) == (4 * (42 + 6), 4 * 4 * (8 + 4))


def test_a_watch_beside_the_engine_moves_the_begin_and_measures_the_delay() -> None:
    both = read(EVENTS, WATCH)
    told, found = evaluate.evaluate(both, contract(), 1795307904, 1795307956)
    delay = next(one for one in told.delays if one.measured)
    assert delay.high_s == 1795307942 - 1795307910
    # By Slurm node2 was out from ...942 to ...951 and node1 from ...951 to ...956; by the watch from ...910 to ...952, and
    # from ...952 to ...958.
    assert lost(read(EVENTS), 1795307904, 1795307956)[0] == 4 * (9 + 5)
    assert lost(both, 1795307904, 1795307956)[0] == 4 * (42 + 5)
    node2 = found.outages.node == both.names.index("node2")
    assert int(np.count_nonzero(node2)) == 1  # two sources, one outage


def line(t: int, **more: object) -> str:
    base = {"watch": watching.MARK, "t_s": t, "steady_ns": t * 10**9, "boot": "b", "every_s": 10.0}
    return json.dumps({**base, **more}, separators=(",", ":"))


def watched(path: Path, *lines: str) -> History:
    path.write_text("\n".join(lines) + "\n")
    return read(path)


WHOLE = {"full": True, "states": {"idle": "n[1-2]"}, "sizes": {"n[1-2]": [8, 0]}}


def test_gaps_failed_looks_and_damaged_lines_are_not_observed(tmp_path: Path) -> None:
    history = watched(
        tmp_path / "w",
        line(T, **WHOLE),
        line(T + 10, states={"down": "n1"}, reasons={"n1": "PSU"}),
        line(T + 20),
        line(T + 100, **WHOLE),  # the watch stood still
        line(T + 110),
        line(T + 120, failed="sinfo: no answer"),
        line(T + 130, **WHOLE),
        line(T + 140)[:30],  # a power cut
        line(T + 150, states={"down": "n2"}),
        line(T + 160),
    )
    assert history.seen == ((T, T + 20), (T + 100, T + 110), (T + 130, T + 160))
    assert [one[:4] for one in rows(history)] == [("n1", T + 10, T + 20, "down"), ("n2", T + 150, T + 160, "down")]
    assert "damaged-watch" in [one.code for one in history.notices]
    assert lost(history, T, T + 160) == (8 * 20, 2 * 8 * (80 + 20))


def test_a_wall_clock_that_was_set_leaves_a_gap(tmp_path: Path) -> None:
    back = watched(tmp_path / "w", line(T, **WHOLE), line(T + 10), line(T - 500, **WHOLE), line(T - 490))
    assert back.seen == ((T - 500, T - 490), (T, T + 10))
    ahead = watched(
        tmp_path / "w",
        line(T, **WHOLE),
        line(T + 10),
        line(T + 30, steady_ns=(T + 12) * 10**9, full=True, states={"idle": "n[1-2]"}),
        line(T + 40, steady_ns=(T + 22) * 10**9),
    )
    assert ahead.seen == ((T, T + 10), (T + 30, T + 40))


def test_one_missed_heartbeat_is_nothing_and_two_are_an_outage_from_the_first(tmp_path: Path) -> None:
    history = watched(
        tmp_path / "w",
        line(T, **WHOLE),
        line(T + 10, silent="n1"),
        line(T + 20, silent="n2"),
        line(T + 30, silent="n2"),
        line(T + 40),
    )
    assert [one[:4] for one in rows(history)] == [("n2", T + 20, T + 40, "silent")]


def test_a_node_that_leaves_the_list_is_not_there(tmp_path: Path) -> None:
    history = watched(tmp_path / "w", line(T, **WHOLE), line(T + 10, states={"": "n2"}), line(T + 20))
    assert inventory(history) == {("n1", T, OPEN_S, 8, 0), ("n2", T, T + 10, 8, 0)}


def test_notice_of_a_reservation_is_what_the_watch_saw(tmp_path: Path) -> None:
    made = {"name": "upd", "begin_s": T + 50, "end_s": T + 90, "nodes": "n[1-2]", "flags": ["MAINT"]}
    history = watched(
        tmp_path / "w",
        line(T, **WHOLE),
        line(T + 10, reservations=[made]),
        *(line(T + at, **({"states": {"maint": "n[1-2]"}} if at == 50 else {})) for at in range(20, 110, 10)),
    )
    agreed = contract(exclude=(ExcludeRule(name="m", flags=("MAINT",), notice="40 s"),))
    found = evaluate.prepare(history, agreed, T, T + 100)
    assert found.course.scheduled[-1] == 2 * 8 * 60 and not found.told.refused
    late = evaluate.prepare(
        history, contract(exclude=(ExcludeRule(name="m", flags=("MAINT",), notice="41 s"),)), T, T + 100
    )
    assert late.course.scheduled[-1] == 2 * 8 * 100 and "announced" in late.told.refused[0].refused


def test_begin_when_last_seen_well_moves_a_watchs_outages_to_the_look_before(tmp_path: Path) -> None:
    history = watched(
        tmp_path / "w",
        line(T, **WHOLE),
        line(T + 10, states={"down": "n1"}),
        line(T + 20, states={"idle": "n1"}),
        line(T + 30),
    )
    assert lost(history, T, T + 30)[0] == 8 * 10
    assert lost(history, T, T + 30, contract(down=DownRule(begins="when last seen well")))[0] == 8 * 20


def test_sinfo_by_cron(tmp_path: Path) -> None:
    text = "".join(
        f"{T + at} n{n} {'drained' if n == 1 and 60 <= at < 180 else 'idle'} 16 gpu:a100:4(S:0-1)\n"
        for at in (0, 60, 120, 180, 240, 600, 660)
        for n in (1, 2)
    )
    (tmp_path / "states.log").write_text(text)
    history = read(tmp_path / "states.log")
    assert [one[:4] for one in rows(history)] == [("n1", T + 60, T + 180, "drained")]
    assert history.seen == ((T, T + 240), (T + 600, T + 660))
    assert {one[3:] for one in inventory(history)} == {(16, 4)}


# ----------------------------------------------------------------------------------------------------------- Grid Engine


def test_a_recorded_reporting_file() -> None:
    history = read(REPORTING, nodes="node[1-3] processors=2")
    assert rows(history) == [
        ("node1", 1795305368, 1795305371, "silent", "does not answer the qmaster"),
        ("node2", 1795305368, 1795305371, "silent", "does not answer the qmaster"),
        ("node3", 1795305368, 1795305371, "silent", "does not answer the qmaster"),
        ("node1", 1795305375, 1795305414, "drained", "queues disabled"),
        ("node2", 1795305396, 1795305420, "silent", "does not answer the qmaster"),
    ]
    assert history.seen == ((1795305368, 1795305420),)


def test_a_host_is_as_well_as_its_best_queue(tmp_path: Path) -> None:
    (tmp_path / "reporting").write_text(
        f"{T}:queue:a.q:h1:{T}:\n{T}:queue:b.q:h1:{T}:\n{T + 10}:queue:a.q:h1:{T + 10}:d\n"
        f"{T + 20}:queue:b.q:h1:{T + 20}:E\n{T + 30}:queue:b.q:h1:{T + 30}:\n{T + 40}:host:h1:{T + 40}:X:load=1\n"
    )
    history = read(tmp_path / "reporting")
    assert rows(history) == [("h1", T + 20, T + 30, "drained", "queues disabled")]


# -------------------------------------------------------------------------------------------------------------- watching


class Engine(LocalHost):
    """A batch engine whose sinfo says what it is told to; None: it does not answer."""

    def __init__(self, *says: str | None) -> None:
        self._says = list(says)

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        if "sinfo" not in argv:
            return Result(0, "", "")
        said = self._says.pop(0) if len(self._says) > 1 else self._says[0]
        return Result(1, "", "no route") if said is None else Result(0, said, "")


IDLE = "n1|idle|8|gpu:4|n1|none\nn2|idle|8|(null)|n2|none\n"


def watch(path: Path, engine: Engine, looks: int) -> int:
    return watching.watch(path, "slurm", engine, every_s=10, looks=looks, clock=clocks.fake())


def test_a_watch_appends_what_changed_and_goes_on_after_a_silence(tmp_path: Path) -> None:
    path = tmp_path / "w"
    assert watch(path, Engine(IDLE, IDLE, None, IDLE.replace("n1|idle", "n1|down*")), 4) == 3
    lines = [json.loads(one) for one in path.read_text().splitlines()]
    assert [one.get("full", False) for one in lines] == [True, False, False, True]
    assert lines[0]["states"] == {"idle": "n[1-2]"} and lines[0]["sizes"] == {"n1": [8, 4], "n2": [8, 0]}
    assert "states" not in lines[1] and "no route" in lines[2]["failed"]
    assert lines[3]["states"] == {"down*": "n1", "idle": "n2"}
    # A later watch goes on in the same file, and mends a line that was cut short.
    with open(path, "a") as file:
        file.write('{"watch":"shak')
    assert watch(path, Engine(IDLE), 1) == 1
    assert json.loads(path.read_text().splitlines()[-1])["full"] is True


def test_a_second_watch_of_one_file_is_refused_and_a_rotated_file_begins_whole(tmp_path: Path) -> None:
    path = tmp_path / "w"
    tries = 0

    def rotate(seconds: float) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            with pytest.raises(BadInput, match="another watch"):
                watch(path, Engine(IDLE), 1)
            path.rename(tmp_path / "old")

    watching.watch(path, "slurm", Engine(IDLE), every_s=10, looks=3, clock=clocks.fake(at_sleep=rotate))
    assert json.loads((tmp_path / "old").read_text().splitlines()[0])["full"] is True
    assert [json.loads(one).get("full", False) for one in path.read_text().splitlines()] == [True, False]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "w").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotMeasure):
        watch(tmp_path / "w", Engine(IDLE), 1)


def test_who_takes_or_refuses_a_connection_is_alive_and_who_is_silent_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taker = threading.Thread(target=lambda: server.accept()[0].close())
        taker.start()
        found = heartbeat.answering({"here": "127.0.0.1", "nowhere": "host.invalid"}, port, limit_s=5)
        taker.join()
    assert found == {"here": True, "nowhere": None}
    assert heartbeat.answering({"here": "127.0.0.1"}, port, limit_s=5) == {"here": True}  # refused: it lives


def test_who_is_silent_is_given_up_after_the_limit() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        place = server.getsockname()
        # Nobody accepts: once its queue is full, it answers no more.
        held = [socket.socket() for _ in range(4)]
        for one in held:
            one.setblocking(False)
            one.connect_ex(place)
        try:
            assert heartbeat.answering({"gone": "127.0.0.1"}, place[1], limit_s=0.3) == {"gone": False}
        finally:
            for one in held:
                one.close()
