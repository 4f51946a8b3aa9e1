"""Use held against what there was: utilisation, use above the capacity and its likely causes, the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown import times
from shakedown.hosts.access import LocalHost
from shakedown.operate.accounting import capacity, page, readers, report, simulate
from shakedown.operate.accounting.loading import Store
from shakedown.operate.accounting.records import AccountingReport
from support.job_runs import DAY, T0, run, stored, whole

# -------------------------------------------------------------------------------------------------------------- capacity


def test_utilisation_is_of_what_there_was_and_of_what_was_up(tmp_path: Path) -> None:
    begin, end = T0, T0 + DAY
    (tmp_path / "outages.csv").write_text(
        "node,start,end,kind,what,note,share,gpus,announced,processors\n"
        "node[1-2],,,present,,,,2,,4\n"
        f"*,{begin},{end},observed,,,,,,\n"
        f"node2,{begin},{begin + DAY // 2},power,PDU,,,,,\n"
    )
    with stored([run(1, begin, begin + DAY // 2, cpus=4, gpus=1)]) as store:
        one = whole(store, begin, end)
    given_ = capacity.find("node[1-2] processors=4 gpus=2", (), LocalHost(), begin_s=begin, end_s=end, zone="UTC")
    plain = capacity.judged(given_, one, begin, end)
    assert plain is not None and (plain.cpu_utilisation, plain.gpu_utilisation, plain.node_utilisation) == (
        0.25,
        0.125,
        0.25,
    )
    assert plain.cpu_utilisation_up is None and plain.down_cpu_s is None
    table_ = capacity.find("", (str(tmp_path / "outages.csv"),), LocalHost(), begin_s=begin, end_s=end, zone="UTC")
    told = capacity.judged(table_, one, begin, end)
    assert told is not None and told.down_cpu_s == 4 * DAY // 2
    assert told.cpu_utilisation_up == pytest.approx(1 / 3)


def over(rows: list[dict[str, Any]], nodes: str, days: int) -> tuple[AccountingReport, str]:
    """A report of so many days, and what it says of use above capacity: its text and its advice."""
    begin, end = (times.stamp(T0 + day * DAY, "UTC") for day in (0, days))
    with stored(rows) as store:
        told = report.make(store, report.ReportOptions(nodes=nodes, begin=begin, end=end), LocalHost())
    return told, " | ".join(f"{one.text} > {one.advice}" for one in told.notices if one.code == "over-capacity")


def full(*cpus: int) -> list[dict[str, Any]]:
    """Each day a run that takes so many CPUs for all of it."""
    return [run(day + 1, T0 + day * DAY, T0 + (day + 1) * DAY, cpus=of, gpus=0) for day, of in enumerate(cpus)]


def test_use_above_the_capacity_names_the_likely_cause_first() -> None:
    told, said = over(full(16, 15, 16, 14), "node[1-2] processors=4", 4)
    assert told.capacity is not None and told.capacity.cpu_utilisation == pytest.approx(61 / 32)
    assert "191 % of the capacity on the whole" in said and "likely the engine counts hyperthreads" in said
    assert "--nodes names fewer nodes" in said and "the capacity changed" in said, "the others are named as well"
    lead = page.lead(told)
    assert len(lead) == 2 and lead[1].startswith("More CPU hours were used than there were: 191 % of the capacity")

    grown = over(full(8, 7, 12, 12), "node[1-2] processors=4", 4)[1]
    assert "likely the capacity changed within the window (from 20" in grown
    wrong = over(full(40, 3, 40, 40), "node[1-2] processors=4", 4)[1]
    assert "likely --nodes names fewer nodes, or fewer processors" in wrong


def test_a_day_above_the_capacity_is_said_where_the_window_is_not() -> None:
    told, said = over(full(1, 16, 1, 1), "n1 processors=8", 4)
    assert told.capacity is not None and (told.capacity.cpu_utilisation or 0) < 1
    assert "above 100 % in 1 of 5 days" in said


def test_full_use_is_no_excess() -> None:
    told, said = over(full(8, 8, 8), "n1 processors=8", 3)
    assert told.capacity is not None and told.capacity.cpu_utilisation == 1 and not said


def test_gpus_in_parts_and_shared_nodes_have_causes_of_their_own() -> None:
    said = over([run(job, T0, T0 + DAY, cpus=1, gpus=7, nodes=1) for job in range(2)], "n1 processors=8 gpus=8", 1)[1]
    assert "MIG instances" in said and "more GPU hours" in said and "more CPU hours" not in said
    assert "nodes that several runs share count for each" in said


# ----------------------------------------------------------------------------------------------------------------- page


def made(tmp_path: Path) -> AccountingReport:
    path = tmp_path / "sacct.txt"
    known = simulate.write(path, 400, seed=2)
    asked = report.ReportOptions(
        sources=(str(path),), begin="2026-10", end="2026-11", zone=known.zone, nodes="node[1-3] processors=128 gpus=4"
    )
    with Store(zone=known.zone, lean=True) as store:
        report.load(store, asked, LocalHost())
        return report.make(store, asked, LocalHost())


def test_the_page_needs_no_network_and_its_figures_add_up(tmp_path: Path) -> None:
    told = made(tmp_path)
    text = page.render(told)
    assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    for title in ("CPUs in use by project", "GPUs in use by project", "Utilisation", "Waiting", "Sizes of jobs"):
        assert title in text
    assert sum(one.cpu_s for one in told.courses) == told.whole.cpu_s
    assert sum(one.gpu_s for one in told.courses) == told.whole.gpu_s
    assert sum(one.runs for one in told.waits[0].bins) == told.whole.started
    assert sum(one.runs for one in told.endings) == told.whole.ended
    assert readers.get(told.sources[0].reader).title in text
