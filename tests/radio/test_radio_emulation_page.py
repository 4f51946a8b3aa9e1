"""The page of an emulation, from directories as the forwarder and the updater leave them, whole and spoiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.document.model import Alert, Document, Figures, Lines, Table
from shakedown.errors import BadInput
from shakedown.radio.emulate import files, page
from shakedown.radio.emulate.scenario import FixedLink, Ground, Mobility, Scenario
from support.command import called

LINKED = Scenario(nodes=2, links=(FixedLink(nodes=("node1", "node2"), loss_db=95),))
MOVING = Scenario(nodes=6, terrain=Ground(rows=61, columns=61, relief_m=50), mobility=Mobility(speed_m_s=(5, 20)))
COUNTS = {"frames": 100, "bytes": 9800, **dict.fromkeys(page.FATES, 0), "delivered": 150, "by_chance": 50}


def kept(folder: Path, scenario: Scenario, updates: list[dict[str, Any]], counts: dict[str, Any] | None) -> Path:
    """A directory as it is left."""
    files.save(folder, files.Description(version="1", scenario=scenario))
    if updates:
        (folder / files.UPDATES).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in updates))
    events: list[dict[str, Any]] = [{"event": "facts", "facts": {"nodes_s": 0.1}}]
    if counts is not None:
        ends = {"late_median_s": 13e-6, "late_99_percent_s": 200e-6, "late_histogram": []}
        events.append({"event": "facts", "facts": {"counts": counts | ends}})
    (folder / files.EVENTS).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in events))
    return folder


def updates(number: int) -> list[dict[str, Any]]:
    """One network but for one update in four, 20 frames more each."""
    return [
        {"time_s": 0.5 * at, "late_s": 0.01 * (at == 3), "moved": 6, "links": 4, "skipped": int(at == 3), "unknown": 0}
        | {"pairs": 15 - at % 4, "parts": 1 + (at % 4 == 3), "largest": 6 - 2 * (at % 4 == 3)}
        | COUNTS
        | {"frames": 20 * at, "delivered": 30 * at, "by_chance": 10 * at}
        for at in range(number)
    ]


def blocks(found: Document, kind: type) -> list[Any]:
    return [one for section in found.sections for one in section.blocks if isinstance(one, kind)]


def test_what_became_of_frames_adds_up(tmp_path: Path) -> None:
    found = page.document(page.read(kept(tmp_path, LINKED, [], COUNTS)), version="1")
    (table,) = blocks(found, Table)
    rows = {row[0]: row[1:3] for row in table.rows}
    assert rows["delivered"] == ("150", "75") and rows["by chance"] == ("50", "25") and rows["too late"] == ("0", "0")
    assert "13 µs in the median" in table.caption and not blocks(found, Alert) and not blocks(found, Figures)
    assert found.lead == ("100 frames were sent, and receivers got 150: a broadcast reaches all in range.",)


def test_frames_that_were_too_late_are_an_alert(tmp_path: Path) -> None:
    found = page.document(page.read(kept(tmp_path, LINKED, [], COUNTS | {"too_late": 7})), version="1")
    (alert,) = blocks(found, Alert)
    assert "7 frames came more than 1000 ms too late" in alert.text


def test_the_network_over_time(tmp_path: Path) -> None:
    read = page.read(kept(tmp_path, MOVING, updates(9), COUNTS))
    said = " ".join(page.sentences(read))
    assert "one network in 77.8 % of 9 updates" in said and "fewer than 4 nodes" in said
    assert "at most 0.010 s behind their time, and 1 were left out" in said
    figures = [one for one in page.figures(read.updates) if isinstance(one, Lines)]
    assert [one.title for one in figures] == ["Pairs of nodes in range", "Parts of the network", "Frames a second"]
    pairs, _, rates = figures
    assert [point.y for point in pairs.series[0].points] == [15 - at % 4 for at in range(9)]
    assert {one.name: {round(point.y, 9) for point in one.points} for one in rates.series} == {
        "sent": {40.0}, "delivered": {60.0}, "by chance": {20.0},
    }  # fmt: skip


def test_files_of_a_crash_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    folder = kept(tmp_path, MOVING, updates(4), None)
    with (folder / files.UPDATES).open("ab") as log:
        log.write(b'{"time_s": 2.0, "la')
    read = page.read(folder)
    assert len(read.updates) == 4 and read.damaged == 1 and not read.counts
    said = " ".join(page.sentences(read))
    assert (
        "not ended in order" in said and "1 line of its files cannot be read" in said and "60 frames were sent" in said
    )


def test_where_nothing_was_counted_the_page_says_so(tmp_path: Path) -> None:
    files.save(tmp_path, files.Description(version="1", scenario=LINKED))
    found = page.document(page.read(tmp_path), version="1")
    assert not blocks(found, Table) and "Nothing was counted." in str(found.sections)
    with pytest.raises(BadInput, match="there is no emulation here"):
        page.read(tmp_path / "nowhere")


def test_the_verbs_write_it_with_a_map(tmp_path: Path) -> None:
    folder = kept(tmp_path, MOVING, updates(5), COUNTS)
    done = called("report", str(folder))
    assert done.returncode == 0, done.stderr
    html = (folder / "report.html").read_text()
    assert "Radios and their usable links" in html and "Frames a second" in html and "What became of frames" in html
    other = called("radio", "emulate", "report", "--directory", str(folder), "--html", str(tmp_path / "x.html"))
    assert other.returncode == 0 and "Radios and their usable links" in (tmp_path / "x.html").read_text()
    wrong = called("radio", "emulate", "report", "--directory", str(folder), "--html", str(tmp_path / "x.txt"))
    assert wrong.returncode == 2 and "does not end in .html" in wrong.stderr
