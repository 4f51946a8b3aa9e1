"""Histories as they are found: a batch engine's events, our watch, tables, reporting files; recorded and broken ones."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import RealHost, RecordedHost, Result
from shakedown.operate.availability import cumulative_downtime, evaluate, heartbeat, reading, watching
from shakedown.operate.availability.contract import Contract, DownRule, ExcludeRule, WindowRule
from shakedown.operate.availability.history import OPEN_S, History
from shakedown.operate.availability.reading import table
from shakedown.operate.availability.words import STATES

RECORDINGS = Path(__file__).parent.parent / "recordings" / "availability"
EVENTS = RECORDINGS / "slurm-22.05-events.txt"
WATCH = RECORDINGS / "watch-slurm-22.05.jsonl"
REPORTING = RECORDINGS / "gridengine-8.1.9-reporting"
HEAD = "Cluster|NodeName|TimeStart|TimeEnd|StateRaw|State|TRES|Cluster Nodes|User|Reason\n"
T = 1_700_000_000


def contract(**changed: object) -> Contract:
    plain = Contract(name="t", title="t", source="t", at_least="97 %", window=WindowRule(length="1 h"))
    return msgspec.structs.replace(plain, **changed)


def read(*sources: Path | str, zone: str = "", nodes: str = "") -> History:
    return reading.read([str(one) for one in sources], RealHost(), begin_s=None, end_s=None, zone=zone, nodes=nodes)


def rows(history: History) -> list[tuple[str, int, int, str, str]]:
    one = history.events
    return [
        (history.names[n], int(a), int(b), STATES[s], history.causes[c].what)
        for n, a, b, s, c in zip(one.node, one.begin, one.end, one.state, one.cause, strict=True)
    ]


def inventory(history: History) -> set[tuple[str, int, int, int, int]]:
    one = history.presence
    return {
        (history.names[n], int(a), int(b), int(c), int(g))
        for n, a, b, c, g in zip(one.node, one.begin, one.end, one.cpus, one.gpus, strict=True)
    }


def lost(history: History, begin: int, end: int, agreed: Contract | None = None) -> tuple[float, float]:
    found = evaluate.prepare(history, agreed or contract(), begin, end)
    window = cumulative_downtime.window(found.course, begin, end)
    return window.lost, window.unobserved


# ------------------------------------------------------------------------------------------------------- Slurm's events


def test_recorded_events_of_a_real_slurm() -> None:
    history = read(EVENTS)
    assert inventory(history) == {(f"node{at}", 1795304735, OPEN_S, 4, 4) for at in (1, 2, 3, 4)}
    assert ("node2", 1795307942, 1795307951, "silent", "Not responding") in rows(history)
    assert ("node1", 1795305057, 1795305061, "drained", "HC: gpu 2 fell off; weird|pipe") in rows(history)
    assert len(history.events) == 6
    # Seen as far as the file tells: to the end of its last event.
    assert history.seen == ((1795304735, 1795307956),)


def write(path: Path, *lines: str, head: str = HEAD) -> Path:
    path.write_text(head + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def cluster(begin: int, end: object, nodes: str, tres: str) -> str:
    return f"c||{begin}|{end}|0||{tres}|{nodes}||Cluster Registered TRES"


def node(name: str, begin: object, end: object, raw: int, why: str, cpus: int = 4) -> str:
    return f"c|{name}|{begin}|{end}|{raw}||cpu={cpus}||root(0)|{why}"


def test_a_reason_of_several_lines_stays_one_record(tmp_path: Path) -> None:
    file = write(tmp_path / "e", cluster(T, T + 100, "a", "cpu=4"), node("a", T + 5, T + 9, 1, "first\nsecond|half"))
    assert rows(read(file)) == [("a", T + 5, T + 9, "down", "first second|half")]
    twice = write(
        tmp_path / "e",
        cluster(T, T + 100, "a", "cpu=4"),
        node("a", T + 5, T + 9, 1, "PSU"),
        node("a", T + 10, T + 11, 514, "drain"),
        node("a", T + 15, T + 19, 1, "PSU\n\nand more\nof it"),
        node("a", T + 25, T + 29, 1, "PSU"),
    )
    assert [one[4] for one in rows(read(twice))] == ["PSU", "drain", "PSU and more of it", "PSU"]


def test_an_event_that_was_never_ended_ends_where_the_next_begins(tmp_path: Path) -> None:
    file = write(
        tmp_path / "e",
        cluster(T, T + 1000, "a", "cpu=4"),
        node("a", T + 10, "Unknown", 1, "lost row"),
        node("a", T + 100, T + 110, 1, "later"),
        node("a", T + 900, "Unknown", 1, "still"),
    )
    history = read(file)
    assert [one[1:3] for one in rows(history)] == [(T + 10, T + 100), (T + 100, T + 110), (T + 900, OPEN_S)]
    assert history.notices[0].code == "stale-events"


def test_nodes_come_and_go_with_the_clusters_rows(tmp_path: Path) -> None:
    file = write(
        tmp_path / "e",
        cluster(T, T + 100, "n[1-2]", "cpu=8,gres/gpu=2"),
        cluster(T + 100, T + 300, "n[1-3]", "cpu=24,gres/gpu=3"),
        node("n3", T + 150, T + 160, 1, "DIMM", cpus=16),
    )
    assert inventory(read(file)) == {
        ("n1", T, T + 300, 4, 1),
        ("n2", T, T + 300, 4, 1),
        ("n3", T + 100, T + 300, 16, 1),
    }


def test_processors_that_cannot_be_told_apart_still_add_up(tmp_path: Path) -> None:
    history = read(write(tmp_path / "e", cluster(T, T + 100, "n[1-3]", "cpu=10")))
    assert sorted(one[3] for one in inventory(history)) == [3, 3, 4]
    assert "spread" in [one.code for one in history.notices]


def test_a_controller_that_was_away_is_not_observed_or_down_as_agreed(tmp_path: Path) -> None:
    file = write(
        tmp_path / "e",
        cluster(T, T + 1000, "n[1-2]", "cpu=8"),
        node("n1", T + 50, T + 150, 1, "PSU"),
        f"c||{T + 100}|{T + 200}|1||cpu=8|||slurmctld disconnect",
    )
    history = read(file)
    # n1 was down for 100 s: for 50 of them, nobody would have seen it come back, but the event says so.
    assert lost(history, T, T + 1000) == (4 * 100, 4 * 50 + 4 * 100)
    assert lost(history, T, T + 1000, contract(down=DownRule(controller="down"))) == (4 * 150 + 4 * 100, 0)
    assert lost(history, T, T + 1000, contract(down=DownRule(controller="up"))) == (4 * 100, 0)


def test_an_event_cut_in_two_by_a_change_of_the_cluster_is_one_outage(tmp_path: Path) -> None:
    file = write(
        tmp_path / "e",
        cluster(T, T + 100, "n[1-2]", "cpu=8"),
        cluster(T + 100, T + 300, "n[1-2]", "cpu=8"),
        node("n1", T + 50, T + 100, 1, "PSU"),
        node("n1", T + 100, T + 200, 1, "PSU"),
    )
    found = evaluate.prepare(read(file), contract(), T, T + 300)
    assert len(found.outages) == 1
    assert (int(found.outages.begin[0]), int(found.outages.end[0])) == (T + 50, T + 200)


def test_local_times_need_their_zone(tmp_path: Path) -> None:
    # In Berlin, 02:30 came twice on 2026-10-25.
    lines = (
        "c||2026-10-25T00:00:00|Unknown|0||cpu=4|n1||x",
        "c|n1|2026-10-25T01:30:00|2026-10-25T03:30:00|1||cpu=4||r|PSU",
    )
    file = write(tmp_path / "e", *lines)
    with pytest.raises(BadInput, match="local time without a zone"):
        read(file)
    ((_, begin, end, _, _),) = rows(read(file, zone="Europe/Berlin"))
    assert end - begin == 3 * 3600


def test_events_without_the_clusters_rows_need_an_inventory(tmp_path: Path) -> None:
    file = write(tmp_path / "e", node("n1", T, T + 10, 1, "PSU"))
    with pytest.raises(BadInput, match="which nodes there were"):
        read(file)
    assert len(read(file, nodes="n[1-2] processors=8 gpus=2").presence.node) == 2


def test_events_of_several_clusters_are_not_mixed(tmp_path: Path) -> None:
    file = write(tmp_path / "e", cluster(T, T + 10, "a", "cpu=1"), f"other||{T}|{T + 10}|0||cpu=1|a||x")
    with pytest.raises(BadInput, match="several clusters: c, other"):
        read(file)


def test_what_sacctmgr_prints_unasked_is_read_with_an_inventory(tmp_path: Path) -> None:
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    lines = (
        "c||2026-01-01T00:00:00|Unknown||Cluster Registered TRES|",
        "c|n1|2026-01-02T00:00:00|Unknown|DOWN*|Not responding|root(0)",
    )
    history = read(write(tmp_path / "e", *lines, head=head), zone="UTC", nodes="n[1-2]")
    assert [one[3:] for one in rows(history)] == [("silent", "Not responding")]
    assert inventory(history) == {("n1", 0, OPEN_S, 1, 0), ("n2", 0, OPEN_S, 1, 0)}


def test_a_silent_engine_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="sacctmgr"):
        reading.read(["slurm"], RecordedHost(tmp_path), begin_s=None, end_s=None)


# -------------------------------------------------------------------------------------------------------------- tables

TABLE = "node,start,end,kind,what,note,share,gpus,announced,processors\n"


def csv(path: Path, *lines: str) -> Path:
    path.write_text(TABLE + "".join(f"{line}\n" for line in lines))
    return path


def test_a_table_with_its_own_inventory(tmp_path: Path) -> None:
    file = csv(
        tmp_path / "o.csv",
        f"n[1-3],{T},,present,,,,4,,16",
        f"*,{T},{T + 1000},observed,,,,,,",
        f"n1,{T + 10},{T + 20},power,PDU 7,ticket 1,,,,",
        f'n2,{T + 30},,gpu,Xid 79,,,"0,2",,',
        f"n3,{T + 40},{T + 50},outage,half of it,,1/2,,,",
        f"*,{T + 60},{T + 70},maintenance,firmware,,,,{T - 100},",
        f"n3,{T + 80},{T + 90},not observed,,,,,,",
    )
    history = read(file)
    assert lost(history, T, T + 1000) == (16 * (10 + 970 / 2 + 5 + 10 / 2 + 2 * 10), 16 * 10)
    maintenance = [one for one in rows(history) if one[3] == "maintenance"]
    assert len(maintenance) == 3 and history.events.announced.max() == T - 100


def test_a_table_beside_a_watch_fills_no_gap_that_it_does_not_speak_of(tmp_path: Path) -> None:
    remarks = csv(tmp_path / "o.csv", f"node1,{1795307910},{1795307920},gpu,Xid 79,seen by hand,,1,,")
    both = read(WATCH, remarks)
    assert both.seen == read(WATCH).seen
    assert lost(both, 1795307904, 1795307988) == (4 * (42 + 6) + 10, 4 * 4 * (8 + 4))
    assert "taken-as-complete" not in [one.code for one in both.notices]


def test_a_table_is_read_by_the_zone_and_an_end_in_the_hour_that_comes_twice_is_after_its_start(tmp_path: Path) -> None:
    file = csv(tmp_path / "o.csv", "n1,2026-10-25 02:50,2026-10-25 02:10,power,PDU,,,,,")
    ((_, begin, end, _, _),) = rows(read(file, zone="Europe/Berlin", nodes="n1"))
    assert end - begin == 20 * 60


@pytest.mark.parametrize(
    "line, says",
    [
        ("n9,1,2,power,,,,,,", "no node 'n9'.*did you mean 'n1'"),
        ("n1,1,2,power,,,150 %,,,", "share '150 %'"),
        ("n1,5,2,power,,,,,,", "ends before it begins"),
        ("n1,yesterday,,power,,,,,,", "not a valid time"),
        ("n1,2026-01-01T00:00,,power,,,,,,", "does not say its zone"),
        ("n1,,2,power,,,,,,", "has no start"),
        ("n1,1,2,gpu,,,,x,,", "not a GPU number"),
        ("n1,1,2,gpu,,,,7,,", "has 4 GPUs"),
        ("n[1-,1,2,power,,,,,,", "brackets"),
        (",1,2,power,,,,,,", "names no node"),
        ("n1,1,2,gpu,,,,0,2,,,,,", "more fields than the head"),
        ("n1,1,2,maintainance,,,,,,", "did you mean 'maintenance'"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    file = csv(tmp_path / "o.csv", "n1,,,present,,,,4,,4", line)
    with pytest.raises(BadInput, match=f"(?s)o.csv:3.*{says}|{says}.*"):
        read(file)


def test_an_unknown_column_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("node,start,end,knd\nn1,1,2,power\n")
    with pytest.raises(BadInput, match="did you mean 'kind'"):
        read(tmp_path / "o.csv")


def test_what_import_writes_says_the_same_again(tmp_path: Path) -> None:
    history = read(EVENTS, WATCH)
    kinds = evaluate.exclusions.kinds_of(history, contract())
    table.write(tmp_path / "kept.csv", history, kinds)
    again = read(tmp_path / "kept.csv")
    low, high = history.seen[0][0], history.seen[-1][1]
    first, _ = evaluate.evaluate(history, contract(), low, high)
    second, _ = evaluate.evaluate(again, contract(), low, high)
    for name in ("whole", "judged", "verdict", "causes", "rates", "observed", "processors"):
        assert getattr(first, name) == getattr(second, name), name


def test_a_file_that_is_no_history_says_what_would_be_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    with pytest.raises(BadInput, match="not a known format of histories"):
        read(tmp_path / "x")
    with pytest.raises(BadInput, match="cannot be read"):
        read(tmp_path / "absent")


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


class Engine(RealHost):
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
    return watching.watch(path, "slurm", engine, every_s=10, looks=looks, sleep=lambda seconds: None)


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

    def sleep(seconds: float) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            with pytest.raises(BadInput, match="another watch"):
                watch(path, Engine(IDLE), 1)
            path.rename(tmp_path / "old")

    watching.watch(path, "slurm", Engine(IDLE), every_s=10, looks=3, sleep=sleep)
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
