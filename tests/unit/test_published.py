"""Published systems: every file is right, and what is wrong with a file is said precisely."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from shakedown import published, workloads
from shakedown.errors import BadInput
from shakedown.records import Metric

FOLDER = Path(published.__file__).parent
FILES = sorted(path for path in FOLDER.glob("*.toml") if path.name != "metrics.toml")

# What published systems report in the metrics of our own workloads. Written out, so that this test needs no workload.
UNITS = {
    **{f"stream.{kernel}.bandwidth": "B/s" for kernel in ("copy", "scale", "add", "triad")},
    "gemm.dgemm.rate": "flop/s",
    "gemm.sgemm.rate": "flop/s",
    "hpl.rate": "flop/s",
    "hpl.time": "s",
    "hpl.efficiency": "1",
    "euroben.mod2f.rate": "flop/s",
    "alltoall.bandwidth": "B/s",
    "alltoall.aggregate.bandwidth": "B/s",
    "pingpong.latency": "s",
    "pingpong.bandwidth": "B/s",
    "pingpong.bidirectional.bandwidth": "B/s",
    "lj.rate": "update/s",
    "gpu_lj.rate": "update/s",
}
KNOWN = {name: Metric(name=name, title=name, unit=unit, better="none") for name, unit in UNITS.items()}
KNOWN |= {
    one.name: one
    for name in (
        *("checkpoint", "gpu_query", "gemm", "stream", "filesystem", "path_loss", "manet", "osu", "multi_pair"),
        *("neuron", "openfoam", "quantum_espresso", "raxml"),
    )
    for one in workloads.get(name).metrics
}

GOOD = """
id = "testbed"
name = "Testbed"
site = "here"
country = "nowhere"
year = 2020
summary = "A file that is right."

[document]
id = "testbed-report"
title = "Report"
authors = "A. Nobody"
date = "2020"
file = "testbed.txt"

[hardware]
nodes = 4

[[peak]]
metric = "peak.flops.fp64"
scope = "core"
value = "4.8"
unit = "Gflop/s"
basis = "2.4 GHz x 2 flop/cycle"
where = "page 1"

[[value]]
metric = "pingpong.latency"
value = "1.50"
unit = "us"
params = { bytes = 8 }
where = "page 2"
note = "about"

[[table]]
where = "Table 1, page 3"
title = "HPL by nodes"
params = { nb = 64 }
columns = [
  { name = "nodes", param = "nodes" },
  { name = "library", param = "library" },
  { name = "rate", metric = "hpl.rate", unit = "Gflop/s", params = { n = 1000 } },
  { name = "eff", metric = "hpl.efficiency", unit = "%", derived = "rate / (nodes * 50) * 100" },
]
rows = '''
1 | ours   | 40.1 | 80
2 | theirs | 75.0 | -
4 | ours   | 152  | 76.0
'''
"""


def load(tmp_path: Path, text: str = GOOD, name: str = "testbed.toml") -> published.System:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return published.load(path)


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def problems(tmp_path: Path, text: str) -> list[str]:
    return published.check(load(tmp_path, text), KNOWN)


# -------------------------------------------------------------------------------------------------- the files that ship


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_system_passes_the_check(path: Path) -> None:
    system = published.load(path)
    assert published.check(system, KNOWN) == []
    assert system.values
    assert all(value.where and value.document == system.document.id for value in system.values)
    assert all(math.isfinite(value.value) and value.half_width > 0 for value in system.values)
    assert all(math.isfinite(peak.value) and peak.half_width > 0 for peak in system.peaks)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_discrepancies_are_the_errata(path: Path) -> None:
    system = published.load(path)
    found = {(one.where, one.row, one.column) for one in published.discrepancies(system)}
    assert found == {(one.where, one.row, one.column) for one in system.errata}


def test_systems_are_all_files_and_are_found_by_id() -> None:
    assert [system.id for system in published.systems()] == [path.stem for path in FILES]
    for system in published.systems():
        assert published.system(system.id) is system
    with pytest.raises(BadInput, match=r"unknown published system 'tufir'\n.*did you mean 'thufir'"):
        published.system("tufir")


def test_systems_of_one_document_describe_it_alike() -> None:
    documents: dict[str, published.Document] = {}
    for system in published.systems():
        assert documents.setdefault(system.document.id, system.document) == system.document, system.id


def test_metrics_are_those_of_all_files() -> None:
    found = published.metrics(KNOWN)
    assert found["hpl.power"].unit == "W" and "hpl.rate" not in found
    assert found["memory.per_core"].better == "higher"  # defined in a system's own file


def test_a_metric_of_a_workload_is_not_defined_again() -> None:
    clash = {"hpl.power": Metric(name="hpl.power", title="", unit="W", better="lower")}
    with pytest.raises(BadInput, match=r"'hpl.power' is defined by a workload too"):
        published.metrics(clash)


def test_some_values_read_from_the_documents() -> None:
    def values(id: str, metric: str, **params: published.Param) -> list[float]:
        return [one.value for one in published.system(id).values if one.metric == metric and one.params == params]

    assert values("iict-bas", "pingpong.latency", bytes=8, link="network") == pytest.approx([2.14e-6])
    assert values("comet", "neuron.time", cores=768, library="MVAPICH2 2.1", case="olfactory bulb") == [84]
    assert values("gordon", "openfoam.time", cores=144, library="MVAPICH2 1.9", case="backward-facing step") == [928]
    assert values("thufir", "availability.effectiveness_level", case="required") == pytest.approx([0.97])
    assert values("thufir", "facility.cooling.required") == pytest.approx([211011], rel=1e-4)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_wrong_derived_number_is_caught(path: Path) -> None:
    """Each derived column that agrees is caught once a printed number in it is doubled and moved off."""
    system = published.load(path)
    cells = [one for one in published.recompute(system) if one.agrees and math.isfinite(one.high)]
    for one in {(cell.where, cell.column): cell for cell in cells}.values():
        wrong = str(int(2 * max(abs(one.low), abs(one.high))) + 7)
        mutated = msgspec.structs.replace(
            system, tables=tuple(_with_cell(table, one, wrong) for table in system.tables)
        )
        caught = [(cell.where, cell.row, cell.column) for cell in published.discrepancies(mutated)]
        assert (one.where, one.row, one.column) in caught
        complaint = next(
            line
            for line in published.check(mutated, KNOWN)
            if line.startswith(f"table {one.where!r}, row {one.row}, column {one.column!r}")
        )
        assert f"printed {wrong} and recomputed" in complaint


def _with_cell(table: published.Table, at: published.Recomputed, text: str) -> published.Table:
    names = [column.name for column in table.columns]
    if table.where != at.where or at.column not in names:
        return table
    lines = [line for line in table.rows.splitlines() if line.strip()]
    cells = lines[at.row - 1].split("|")
    cells[names.index(at.column)] = text
    lines[at.row - 1] = "|".join(cells)
    return msgspec.structs.replace(table, rows="\n".join(lines))


# ------------------------------------------------------------------------------------------------- a file that is right


def test_values_are_flattened_in_si(tmp_path: Path) -> None:
    system = load(tmp_path)
    assert published.check(system, KNOWN) == []
    latency, *cells = system.values
    assert (latency.value, latency.half_width) == pytest.approx((1.5e-6, 5e-9))
    assert (latency.unit, latency.printed, latency.printed_unit, latency.note) == ("s", "1.50", "us", "about")
    assert (latency.params, latency.where, latency.document) == ({"bytes": 8}, "page 2", "testbed-report")
    assert [cell.metric for cell in cells] == ["hpl.rate", "hpl.efficiency", "hpl.rate", "hpl.rate", "hpl.efficiency"]
    assert cells[0].params == {"nb": 64, "nodes": 1, "library": "ours", "n": 1000}
    assert cells[1].params == {"nb": 64, "nodes": 1, "library": "ours"}
    assert (cells[0].value, cells[0].half_width) == pytest.approx((40.1e9, 0.05e9))
    assert (cells[4].value, cells[4].half_width) == pytest.approx((0.76, 0.0005))
    assert cells[4].where == "Table 1, page 3, row 3"
    (peak,) = system.peaks
    assert (peak.value, peak.half_width, peak.unit) == pytest.approx((4.8e9, 0.05e9, "flop/s"))


def test_derived_cells_are_recomputed(tmp_path: Path) -> None:
    first, second = published.recompute(load(tmp_path))  # the second row prints no efficiency
    assert (first.row, first.column, first.printed, first.agrees) == (1, "eff", "80", True)
    assert (first.low, first.high) == pytest.approx((80.1, 80.3))
    assert (second.row, second.low, second.high) == pytest.approx((3, 75.75, 76.25))


def test_a_cell_is_not_recomputed_from_an_empty_one(tmp_path: Path) -> None:
    system = load(tmp_path, changed("4 | ours   | 152  | 76.0", "4 | ours | - | 76.0"))
    assert [one.row for one in published.recompute(system)] == [1]


def test_a_divisor_that_may_be_zero_says_nothing(tmp_path: Path) -> None:
    text = changed("rate / (nodes * 50) * 100", "rate / (nodes - 4)")
    last = published.recompute(load(tmp_path, text))[-1]
    assert (last.row, last.low, last.high, last.agrees) == (3, -math.inf, math.inf, True)


# ----------------------------------------------------------------------------------------------- files that are refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('scope = "core"', 'skope = "core"', r"testbed\.toml: peak 1 \"page 1\": unknown key 'skope'\n.*'scope'"),
        ('site = "here"', 'sight = "here"', r"testbed\.toml: unknown key 'sight'\n.*did you mean 'site'"),
        ("nodes = 4", "node_count = 4", r"testbed\.toml: hardware: unknown key 'node_count'\n.*did you mean 'node"),
        (
            'name = "rate", metric',
            'name = "rate", metrik',
            r'table 1 "Table 1, page 3", columns 3 "rate": unknown key'
            r" 'metrik'\n.*did you mean 'metric'",
        ),
        ('basis = "2.4 GHz x 2 flop/cycle"\n', "", r'peak 1 "page 1": the key \'basis\' is missing'),
        ("year = 2020", 'year = "2020"', r"testbed\.toml: year: Expected `int`, got `str`"),
        ('scope = "core"', 'scope = "rack"', r"unknown word 'rack'"),
        ('id = "testbed"\n', 'id = "bed"\n', r"id 'bed' is not the name of the file\n.*'testbed'"),
        ('unit = "us"', 'unit = "usec"', r"testbed\.toml: value 'pingpong.latency' in 'page 2': unknown unit 'usec'"),
        ('unit = "%"', 'unit = "percent"', r"table 'Table 1, page 3', row 1, column 'eff': unknown unit 'percent'"),
        ('value = "1.50"', 'value = "1.5.0"', r"value 'pingpong.latency' in 'page 2': '1.5.0' is not a number"),
        ('value = "1.50"', 'value = "1,500"', r"'1,500' is not a number \(write it without thousands separators\)"),
        ("| 40.1 | 80", "| 40.1 ", r"table 'Table 1, page 3', row 1: 3 cells for 4 columns: 1 \| ours \| 40.1"),
        ("| 75.0 | -", "| 75.0 |", r"row 2, column 'eff': the cell is empty\n.*\"-\""),
        ("| 40.1 | 80", "| 40.1 | ~80", r"row 1, column 'eff': '~80' is not a number"),
        ("1 | ours   | 40.1", "one | ours | 40.1", r"row 1, column 'nodes': 'one' is not a number\n.*formula"),
        ("rate / (nodes * 50)", "rat / (nodes * 50)", r"column 'eff': the formula names no column: 'rat'\n.*'rate'"),
        ("rate / (nodes * 50)", "rate ** 2", r"column 'eff': 'rate \*\* 2' is not allowed"),
        ("rate / (nodes * 50)", "__import__('os')", r"is not allowed"),
        ("rate / (nodes * 50)", "rate / (", r"is not an expression"),
        ('{ name = "eff", metric', '{ name = "rate", metric', r"column 'rate': two columns have this name"),
        ('{ name = "eff", metric', '{ name = "sqrt", metric', r"column 'sqrt': the name cannot stand in a formula"),
        ('param = "library"', 'unit = "%"', r"column 'library': a column holds a param or a metric"),
        ('param = "library"', 'param = "library", unit = "%"', r"a parameter has neither unit nor params"),
        ('param = "library"', 'param = "nb"', r"the parameter 'nb' is given twice"),
        ("params = { n = 1000 }", "params = { nb = 1000 }", r"column 'rate': the parameter 'nb' is given twice"),
        ('"hpl.rate", unit = "Gflop/s"', '"hpl.rate"', r"column 'rate': the unit is missing"),
        ("nodes = 4", "nodes = ", r"testbed\.toml: is not TOML: .*line"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        load(tmp_path, changed(old, new))
    assert caught.value.where.startswith("testbed.toml")
    assert caught.value.exit_code == 2


def test_all_flaws_of_a_file_are_counted(tmp_path: Path) -> None:
    text = changed('unit = "us"', 'unit = "usec"').replace('unit = "%"', 'unit = "percent"')
    with pytest.raises(BadInput, match=r"unknown unit 'usec'.*\(and 2 more\)"):
        load(tmp_path, text)


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    start, end = GOOD.index("rows = '''"), GOOD.rindex("'''")
    with pytest.raises(BadInput, match="the table has no rows"):
        load(tmp_path, GOOD[:start] + "rows = '''\n" + GOOD[end:])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.toml: cannot be read: No such file"):
        published.load(tmp_path / "nowhere.toml")


# ------------------------------------------------------------------------------------------------- what the check finds


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'metric = "pingpong.latency"',
            'metric = "pingpong.latencies"',
            "value 'pingpong.latencies' in 'page 2': unknown metric 'pingpong.latencies' (nearest: 'pingpong.latency'",
        ),
        (
            'unit = "us"',
            'unit = "GB/s"',
            "value 'pingpong.latency' in 'page 2': 'GB/s' is 'B/s', but the metric 'pingpong.latency' is 's'",
        ),
        (
            'metric = "peak.flops.fp64"',
            'metric = "peak.memory.bandwidth"',
            "peak 'peak.memory.bandwidth' in 'page 1': 'Gflop/s' is 'flop/s', but the metric",
        ),
        ('where = "page 2"', 'where = " "', "value 'pingpong.latency' in ' ': the place in the document is missing"),
        ("bytes = 8", "byte = 8", "value 'pingpong.latency' in 'page 2': the parameter 'byte' is nearly 'bytes'"),
        (
            "| 40.1 | 80",
            "| 40.1 | 81",
            "table 'Table 1, page 3', row 1, column 'eff': printed 81 and recomputed 80.1 to 80.3, "
            "rate / (nodes * 50) * 100, disagree",
        ),
    ],
)
def test_check_finds(tmp_path: Path, old: str, new: str, message: str) -> None:
    (found,) = problems(tmp_path, changed(old, new))
    assert found.startswith(message)


ERRATUM = '\n[[erratum]]\nwhere = "Table 1, page 3"\nrow = {row}\ncolumn = "{column}"\nnote = "{note}"\n'


def test_an_erratum_covers_its_cell(tmp_path: Path) -> None:
    wrong = changed("| 40.1 | 80", "| 40.1 | 81")
    assert problems(tmp_path, wrong + ERRATUM.format(row=1, column="eff", note="a slip")) == []
    (found,) = problems(tmp_path, wrong + ERRATUM.format(row=1, column="eff", note=""))
    assert found.endswith("the note is missing (say what may have happened)")
    (found,) = problems(tmp_path, wrong + 2 * ERRATUM.format(row=1, column="eff", note="a slip"))
    assert found.endswith("is listed twice")


def test_a_stale_erratum_is_found(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, GOOD + ERRATUM.format(row=1, column="eff", note="a slip"))
    assert "erratum 'Table 1, page 3', row 1, column 'eff': is stale: printed 80" in found
    (found,) = problems(tmp_path, GOOD + ERRATUM.format(row=9, column="eff", note="a slip"))
    assert found.endswith("there is no such derived cell")


METRIC = '\n[[metric]]\nname = "{name}"\ntitle = "T"\nunit = "{unit}"\nbetter = "none"\nsource = "S"\n'


def test_metrics_of_a_users_own_file(tmp_path: Path) -> None:
    own = changed('metric = "pingpong.latency"', 'metric = "own.time"')
    assert problems(tmp_path, own + METRIC.format(name="own.time", unit="s")) == []
    (found,) = problems(tmp_path, GOOD + METRIC.format(name="hpl.power", unit="W"))
    assert found.startswith("metric 'hpl.power': is already defined elsewhere")
    (found,) = problems(tmp_path, GOOD + METRIC.format(name="pingpong.latency", unit="s"))
    assert found.startswith("metric 'pingpong.latency': is already defined elsewhere")
    (found,) = problems(tmp_path, GOOD + METRIC.format(name="own.time", unit="us"))
    assert found == "metric 'own.time': its unit 'us' is not an SI unit without prefix (write 's')"
    (found,) = problems(tmp_path, GOOD + METRIC.format(name="own.time", unit="sec"))
    assert found.startswith("metric 'own.time': unknown unit 'sec'")


def test_two_tables_of_one_place_cannot_hide_a_cell(tmp_path: Path) -> None:
    (found,) = [one for one in problems(tmp_path, GOOD + GOOD[GOOD.index("[[table]]") :]) if "row" not in one][:1]
    assert found.startswith("table 'Table 1, page 3': two tables have this place and a column 'eff'")
