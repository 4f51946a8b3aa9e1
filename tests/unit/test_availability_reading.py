"""Histories as they are found: a batch engine's events, our watch, tables, reporting files; recorded and broken ones."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import ReplayHost
from shakedown.operate.availability import evaluate, reading
from shakedown.operate.availability.contract import DownRule
from shakedown.operate.availability.history import OPEN_S
from shakedown.operate.availability.reading import table
from support.availabilities import EVENTS, WATCH, T, contract, inventory, lost, read, rows

HEAD = "Cluster|NodeName|TimeStart|TimeEnd|StateRaw|State|TRES|Cluster Nodes|User|Reason\n"


# ------------------------------------------------------------------------------------------------------- Slurm's events


def test_recorded_events_of_a_real_slurm() -> None:
    history = read(EVENTS)
    assert inventory(history) == {(f"node{at}", 1795304735, OPEN_S, 4, 4) for at in (1, 2, 3, 4)}
    assert ("node2", 1795307942, 1795307951, "silent", "Not responding") in rows(history)
    assert ("node1", 1795305057, 1795305061, "drained", "HC: gpu 2 fell off; weird|pipe") in rows(history)
    assert len(history.events) == 6
    # Seen as far as the file tells: to the end of its last event.
    assert history.seen == ((1795304735, 1795307956),)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("source", [EVENTS, WATCH])
def test_histories_that_were_packed_away(source: Path, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plain = read(source)
    packed = tmp_path / "packed"
    packed.write_bytes(pack(source.read_bytes()))
    found = read(packed)
    assert rows(found) == rows(plain) and inventory(found) == inventory(plain) and found.seen == plain.seen
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(BadInput, match=r"ends in the middle|is damaged"):
        read(packed)


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
        reading.read(["slurm"], ReplayHost(tmp_path), begin_s=None, end_s=None)


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
