"""Documents done again: every table and figure has a row, published values are those of the document, rows are chosen, and
what is measured is laid beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest

from shakedown import __version__, campaign, published, reproduce
from shakedown.campaign import plan
from shakedown.document.model import Dots, Figures, Lines, Table
from shakedown.errors import BadInput
from shakedown.records import Analysis, Finding, Machine, Outcome, Value
from shakedown.report.formats import html
from shakedown.reproduce import answering, choosing, model, page
from support.machines import OPEN_MPI, OPENBLAS
from support.machines import machine as bare
from support.machines import over_hosts as bare_hosts
from support.machines import with_gpus as bare_gpus
from support.workloads import installed

SITE = (OPENBLAS, OPEN_MPI)


@pytest.fixture(autouse=True)
def built(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that seem built with the site's MPI."""
    installed(tmp_path_factory.mktemp("bin"), monkeypatch, "pingpong", "hpl")


def machine(cores: int = 2) -> Machine:
    return bare(cores, software=SITE)


def with_gpus(count: int) -> Machine:
    return bare_gpus(count, software=SITE)


def over_hosts(count: int) -> Machine:
    found = bare_hosts(count)
    return msgspec.structs.replace(
        found, hosts=tuple(msgspec.structs.replace(host, software=SITE) for host in found.hosts)
    )


def numbered(kind: str, *numbers: object) -> set[str]:
    return {f"{kind}-{number}" for number in numbers}


#: Every table and figure of the five documents, as their captions and lists of figures and tables number them; slides, which
#: have no numbers, by what they show. The paper of IICT-BAS captions two figures 5, of which the text calls the first 4.
THERE = {
    "thufir": numbered("figure", 1, 2, 3, 4),
    "tsubame": numbered("table", "2-1", *(f"3-{at}" for at in range(1, 7)))
    | numbered("figure", *(f"2-{at}" for at in range(1, 8)), *(f"3-{at}" for at in range(1, 14))),
    "iict-bas": numbered("table", 1, 2) | numbered("figure", 1, 2, 3, 4, "accounting"),
    "prace": numbered("table", *range(1, 15)) | numbered("figure", *range(1, 51)),
    "comet": numbered("table", "neuron", "openfoam", "qe", "raxml", "atomics", "gdr", "hoomd")
    | numbered("figure", "photograph", "network", "torus", "gpu-node", "openshmem", "sriov")
    | numbered("figure", "sriov-bandwidth", "sriov-latency", "wrf", "qe-sriov"),
}
DOCUMENTS = sorted(THERE)


@pytest.fixture(scope="module", params=DOCUMENTS)
def evaluation(request: pytest.FixtureRequest) -> reproduce.Evaluation:
    return reproduce.load(str(request.param))


# ---------------------------------------------------------------------------------------------------- the shipped files


def test_every_table_and_figure_of_a_document_has_a_row() -> None:
    assert list(reproduce.names()) == DOCUMENTS
    for name, there in THERE.items():
        rows = {row.id for row in reproduce.load(name).rows if row.kind != "result"}
        assert rows == there, name


def test_the_demonstrations_of_thufir_have_a_row_each() -> None:
    ids = [row.id for row in reproduce.load("thufir").rows]
    assert [f"demonstration-{number}" in ids for number in range(1, 18)] == [True] * 17


def test_every_published_value_of_a_numbered_table_is_in_the_row_of_that_table(
    evaluation: reproduce.Evaluation,
) -> None:
    """By its value and its place, so that what the page shows is what the document prints."""
    shown = {
        row.id: {
            (cell.value, cell.printed)
            for one in row.theirs
            for line in answering.theirs_of(row, one)
            for cell in line.cells
        }
        for row in evaluation.rows
    }
    seen = 0
    for system in published.systems():
        if system.document.id != evaluation.document:
            continue
        for value in system.values:
            if (table := re.match(r"Table (\d+(?:-\d+)?)", value.where)) is None:
                continue
            seen += 1
            printed = f"{value.printed} {value.printed_unit}".removesuffix(" 1")
            assert (value.value, printed) in shown[f"table-{table[1]}"], value
    assert seen or evaluation.name in ("thufir", "comet")


def test_every_row_can_be_planned_on_machines_small_and_large(evaluation: reproduce.Evaluation) -> None:
    """Or says why not; nothing that is planned is refused when the whole campaign is read."""
    for where in (machine(2), machine(64), with_gpus(2), over_hosts(4)):
        rows = choosing.planned(evaluation, where)
        for one in rows:
            assert bool(one.runs) or bool(one.missing) or not one.row.runs, one.row.id
            assert one.cost_s >= 0
        choice = choosing.chosen(rows)
        asked = campaign.parse(choosing.text(evaluation, choice, None), "c")
        made = plan.make(asked, where, version=__version__)
        assert {run.id for run in made.runs} == {run.id for one in choice.rows for run in one.runs}


def test_a_row_without_a_measurement_says_why(evaluation: reproduce.Evaluation) -> None:
    for one in answering.answers(evaluation, []):
        assert one.state != "answered" and (one.reason or one.next), one.row.id


# -------------------------------------------------------------------------------------------------------- what is wrong

ROW = """
name = "d"
title = "D"
document = "iict-bas-gpgpu"
summary = "S."
[[row]]
id = "table-1"
kind = "table"
title = "T"
page = "1"
theirs = [{ system = "iict-bas", where = "Table 1" }]
metrics = ["pingpong.latency"]
axis = "bytes"
size = "all"
alike = "A."
differs = "D."
[[row.run]]
workload = "pingpong"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind =", "knid =", "unknown key 'knid'.*did you mean 'kind'"),
        ('"Table 1"', '"Table 9"', "iict-bas publishes nothing at 'Table 9'"),
        ('system = "iict-bas"', 'system = "iict"', "no published system 'iict'"),
        ('document = "iict-bas-gpgpu"', 'document = "tsubame-2007"', "iict-bas is of another document"),
        ('"pingpong.latency"', '"pingpong.latencies"', "none of its workloads has the metric 'pingpong.latencies'"),
        ('workload = "pingpong"', 'workload = "pongping"', "there is no workload 'pongping'"),
        ('alike = "A."\n', "", "no word on what is alike"),
        ('size = "all"\n', "", "no rule for the size"),
        ('page = "1"', 'page = "1"\nnothing = "a photograph"', "nothing to measure, and yet"),
        ('page = "1"', 'page = "1"\nrank = 4', "rank 4 is not 1, 2 or 3"),
        ('axis = "bytes"', 'overheads = { "pingpong.pace" = "pingpong.latency" }', "has the metric 'pingpong.pace'"),
        ('axis = "bytes"', 'overheads = { "pingpong.latency" = "wrf.overhead" }', "none of theirs has the cost"),
        ('page = "1"', 'page = "1"\nneeds = ["luck"]', "unknown need 'luck'"),
        ('where = "Table 1"', 'where = "Table 1", peak = "peak.none node"', "has no peak 'peak.none node'"),
    ],
)
def test_what_does_not_hold_in_a_file_is_named(old: str, new: str, message: str) -> None:
    reproduce.parse(ROW, "d.toml")
    assert old in ROW
    with pytest.raises(BadInput) as raised:
        reproduce.parse(ROW.replace(old, new), "d.toml")
    assert re.search(message, f"{raised.value.what} {raised.value.hint}"), raised.value


# ------------------------------------------------------------------------------------------------------- which rows run


def choose(only: Sequence[str] = (), minutes: float | None = None, where: Machine | None = None) -> choosing.Choice:
    rows = choosing.planned(reproduce.load("tsubame"), where or machine(8))
    return choosing.chosen(rows, only, minutes and minutes * 60)


def test_a_budget_takes_what_says_most_and_is_kept_by_the_estimates() -> None:
    everything, some = choose(), choose(minutes=5)
    assert 0 < len(some.rows) < len(everything.rows)
    paid = {run.id: run.estimate_s for one in some.rows for run in one.runs}
    assert sum(paid.values()) <= 5 * 60 * choosing.SHARE
    assert all("no time was left" in reason for reason in some.left_out.values())
    most = max(one.row.rank for one in some.rows)
    cheap = min(one.cost_s for one in everything.rows if one.row.rank == 1 and one not in some.rows)
    assert most == 1 or cheap > 5 * 60 * choosing.SHARE - sum(paid.values()), "a lesser row took no greater one's time"


def test_a_run_that_rows_share_is_paid_once_and_made_once() -> None:
    rows = choosing.planned(reproduce.load("iict-bas"), machine(8))
    one = next(row for row in rows if row.row.id == "table-1")
    choice = choosing.chosen(rows, ["table"], one.cost_s / choosing.SHARE + 0.001)
    assert {each.row.id for each in choice.rows} == {"table-1", "table-2"}
    asked = campaign.parse(choosing.text(reproduce.load("iict-bas"), choice, None), "c")
    assert len(asked.runs) == 2, "between two hosts, and on one"


def test_rows_are_chosen_by_name_by_beginning_and_by_part() -> None:
    assert [one.row.id for one in choose(["figure-3-1"]).rows] == ["figure-3-1"]
    assert {one.row.kind for one in choose(["table"]).rows} == {"table"}
    rows = choosing.planned(reproduce.load("prace"), machine(8))
    assert {one.row.part for one in choosing.chosen(rows, ["uio-numa"]).rows} == {"uio-numa"}
    with pytest.raises(BadInput, match="unknown row 'tabel-3-1'"):
        choose(["tabel-3-1"])


def test_counts_that_a_machine_is_too_small_for_are_left_out_of_a_sweep() -> None:
    def ranks(cores: int) -> list[Value]:
        row = next(
            one for one in choosing.planned(reproduce.load("tsubame"), machine(cores)) if one.row.id == "figure-3-4"
        )
        return [run.params["ranks"] for run in row.runs]

    assert ranks(2) == [1, 2] and ranks(8) == [1, 2, 4, 8]


# ------------------------------------------------------------------------------------------------------ both sides of it


def kept(
    name: str, found: Sequence[Finding], outcomes: Sequence[Outcome] = (), where: Machine | None = None
) -> answering.Kept:
    where = where or machine(2)
    rows = {one.row.id: one for one in choosing.planned(reproduce.load(name), where)}
    analysis = Analysis(
        name="r",
        campaign=f"reproduce-{name}",
        title="T",
        created_ns=0,
        version=__version__,
        machine=where,
        findings=tuple(found),
        outcomes=tuple(outcomes),
    )
    return answering.Kept(analysis, rows, frozenset(run.id for one in rows.values() for run in one.runs))


def runs_of(name: str, row: str, where: Machine | None = None) -> list[str]:
    rows = choosing.planned(reproduce.load(name), where or machine(2))
    return [run.id for one in rows if one.row.id == row for run in one.runs]


def value(metric: str, run: str, number: float, unit: str, better: str = "higher", **params: Value) -> Finding:
    return Finding(
        metric=metric,
        unit=unit,
        better=better,
        workload=metric.partition(".")[0],
        params=params,
        host=machine().hosts[0].name,
        value=number,
        low=number * 0.99,
        high=number * 1.01,
        runs=(run,),
    )


def answer(name: str, row: str, *held: answering.Kept) -> answering.Answer:
    return next(one for one in answering.answers(reproduce.load(name), held) if one.row.id == row)


def latencies(*sizes: int) -> list[Finding]:
    (run,) = runs_of("iict-bas", "table-1")
    more = {"rank_a": 0, "rank_b": 1, "ranks": 2}
    return [value("pingpong.latency", run, 4e-7 + at * 1e-10, "s", "lower", bytes=at, **more) for at in sizes]


def test_a_table_is_redrawn_with_both_sides_in_it() -> None:
    found = answer("iict-bas", "table-1", kept("iict-bas", latencies(0, 8, 4194304)))
    assert (
        found.state == "answered in part"
        and "2 hosts" in found.reason
        and "shakedown reproduce iict-bas" in found.reason
    )
    theirs, ours = found.lines
    assert len(theirs.cells) == 24 and {cell.x for cell in ours.cells} == {0, 8, 4194304}
    made = page.document(reproduce.load("iict-bas"), [found], "m", {})
    blocks = made.sections[1].blocks
    (table,) = [one for one in blocks if isinstance(one, Table)]
    assert (
        table.rows[0] == ("0 B", "2.45 us", "400 ns [396 ns, 404 ns]")
        and table.rows[1][2] == "-"
        and len(table.rows) == 24
    )
    ((drawn,),) = [one.figures for one in blocks if isinstance(one, Figures)]
    assert isinstance(drawn, Lines) and [len(one.points) for one in drawn.series] == [24, 3] and drawn.log
    assert page.headline(found) == "here 400 ns at 0 B; HPC cluster at IICT-BAS, 2011: 2.45 µs at 0 B", "at one size"
    assert "2462.30 us" in html.render_document(made)


def test_what_is_unlike_is_shown_and_not_ranked() -> None:
    found = answer("iict-bas", "table-1", kept("iict-bas", latencies(8)))
    assert {one.verdict for one in found.comparisons} == {"other circumstances"}
    (words,) = [text for text in page.sentences(found) if "Not ranked" in text]
    assert "shared memory here, network there" in words


def test_fractions_are_of_each_machines_own_peak() -> None:
    found = answer("iict-bas", "table-2", kept("iict-bas", latencies(8)))
    assert found.state != "answered", "no bandwidth was measured"
    theirs = max(found.lines[0].cells, key=lambda cell: cell.value)
    assert theirs.of_peak == pytest.approx(1734.69e6 / 2.5e9), "20 Gbit/s"


def test_the_best_setting_is_told_with_those_that_are_not_told_from_it() -> None:
    (run,) = runs_of("tsubame", "figure-3-1")
    rates = {64: 1.0e10, 128: 1.5e10, 192: 1.49e10, 240: 1.2e10}
    found = answer(
        "tsubame", "figure-3-1", kept("tsubame", [value("hpl.rate", run, y, "flop/s", nb=x) for x, y in rates.items()])
    )
    assert found.best == "best nb here: 128 (HPL rate 15.0 Gflop/s), cannot be distinguished from 192"
    assert [cell.value for line in found.lines if not line.ours for cell in line.cells] == [240.0] * 3


def test_speedups_of_times_and_rates_rise_alike() -> None:
    """A time that halves and a rate that doubles are both a speedup of two."""
    (row,) = (one for one in choosing.planned(reproduce.load("comet"), machine(2)) if one.row.id == "table-openfoam")
    ours = [run.id for run in row.runs if run.workload == "hydro"]
    found = answer(
        "comet",
        "table-openfoam",
        kept("comet", [value("hydro.rate", run, 1e6 * at, "cell/s", ranks=at) for at, run in enumerate(ours, 1)]),
    )
    (section,) = page.document(reproduce.load("comet"), [found], "m", {}).sections[1:]
    ((drawn,),) = [one.figures for one in section.blocks if isinstance(one, Figures)]
    assert isinstance(drawn, Lines) and drawn.unit == "1" and len(drawn.series) == 4
    by_name = {one.name: [point.y for point in one.points] for one in drawn.series}
    assert by_name["this machine"] == [1.0, 2.0]
    assert next(ys for name, ys in by_name.items() if name.startswith("Comet")) == pytest.approx(
        [1368 / time for time in (1368, 787, 544, 207)]
    )


def test_a_run_that_failed_is_named_with_its_reason() -> None:
    (run,) = runs_of("iict-bas", "hpl")
    bad = Outcome(
        run=run, repeat=1, workload="hpl", label="hpl", host="h", state="timeout", reason="killed after its limit"
    )
    found = answer("iict-bas", "hpl", kept("iict-bas", [], [bad]))
    assert found.state == "failed" and "killed after its limit" in found.reason and found.next.endswith("--only hpl")


def test_rows_are_answered_by_the_first_directory_that_has_them() -> None:
    with_gpu = with_gpus(1)
    (run,) = runs_of("iict-bas", "device-query", with_gpu)
    cores = value("device_query.cores", run, 16896, "1", "none", device="gpu", index=0)
    here, there = kept("iict-bas", latencies(8)), kept("iict-bas", [cores], where=with_gpu)
    assert answer("iict-bas", "device-query", here).state == "needs"
    assert answer("iict-bas", "device-query", here, there).state == "answered in part", (
        "the other properties are missing"
    )
    assert answer("iict-bas", "table-1", here, there).lines[-1].ours


def test_a_few_values_without_an_axis_are_drawn_as_dots() -> None:
    (run,) = runs_of("iict-bas", "hpl")
    found = answer("iict-bas", "hpl", kept("iict-bas", [value("hpl.rate", run, 9e10, "flop/s", n=1000)]))
    (section,) = page.document(reproduce.load("iict-bas"), [found], "m", {}).sections[1:]
    assert any(isinstance(one, Dots) for block in section.blocks if isinstance(block, Figures) for one in block.figures)


def test_every_row_of_every_document_can_be_drawn(evaluation: reproduce.Evaluation) -> None:
    made = page.document(evaluation, answering.answers(evaluation, []), "m", {})
    text = html.render_document(made)
    assert all(row.id in text for row in evaluation.rows)


def test_records_of_a_page_are_read_back_as_they_were_written() -> None:
    found = answering.answers(reproduce.load("iict-bas"), [kept("iict-bas", latencies(0, 8))])
    assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[answering.Answer, ...]) == found


def test_needs_are_in_words() -> None:
    assert all(words and not words.endswith(".") for words in model.NEEDS.values())
