"""The tables beside workloads: what is wrong is named with its line, and programs have the options that they name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown import programs, workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.launchers import Command
from shakedown.records import Metric
from shakedown.workloads import Param, Workload
from shakedown.workloads.common.table import Table

FOLDER = Path(workloads.__file__).parent
TABLES = {path.stem: Table(path) for path in sorted(FOLDER.glob("*.toml"))}

SOUND = """\
[program]
name = "none"

[every_metric]
better = "higher"
only = { check = { value = "" } }
source = "here"

[metrics]
"x.rate" = { title = "Rate", unit = "B/s", kernel = "copy", per = "bytes/s" }
"x.each" = { title = "Each", unit = "s", better = "lower", kernel = "copy", per = "s", only = { data = { value = "" } } }

[params]
sizes = { kind = "list", default = "1,2", help = "sizes" }
kernels = { kind = "list", default = "copy", items = ["copy", "add"], help = "kernels" }
seconds = { kind = "real", default = 0, low = 0, help = "how long" }
quick = { kind = "flag", default = false, help = "quick" }
check = { kind = "flag", default = true, option = "no-check", help = "check" }
inner_size = { kind = "integer", default = "auto", words = ["auto"], help = "inner" }
label = { kind = "word", default = "", option = "", help = "filled in" }
threads = { like = "threads", default = "sweep" }
"""


def table(folder: Path, text: str, name: str = "x") -> Table:
    (folder / f"{name}.toml").write_text(text)
    return Table(folder / f"{name}.toml")


def test_every_workload_of_ours_has_a_table() -> None:
    assert set(TABLES) == set(workloads.names())
    for name, one in TABLES.items():
        assert list(one.params) == list(workloads.get(name).params)
        assert list(one.metrics) == list(workloads.get(name).metrics)


def test_a_line_is_a_metric_or_a_parameter(tmp_path: Path) -> None:
    one = table(tmp_path, SOUND)
    rate, each = one.metrics
    assert (rate.better, each.better, rate.source, each.source) == ("higher", "lower", "here", "here")
    assert set(rate.only) == {"check"} and set(each.only) == {"check", "data"}
    assert one.params["threads"].default == "sweep" and one.params["threads"].help.startswith("threads: all")
    assert one.params["seconds"].low == 0 and one.params["sizes"].items == ()


def test_a_table_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    one = Table(tmp_path / "later.toml")
    table(tmp_path, SOUND, "later")
    assert len(one.metrics) == 2
    with pytest.raises(BadInput, match="cannot be read"):
        len(Table(tmp_path / "never.toml").params)


def test_a_command_line_has_the_options_that_the_table_names(tmp_path: Path) -> None:
    one = table(tmp_path, SOUND)
    params = {name: param.default for name, param in one.params.items()}
    plain = ["--sizes", "1,2", "--kernels", "copy", "--seconds", "0"]
    assert one.options(params) == [*plain, "--inner-size", "auto", "--threads", "sweep"]
    given = {**params, "quick": True, "check": False, "kernels": " add,copy,", "label": "l", "sizes": "-1"}
    words = one.options(given, omit=("auto",), seconds=None, threads=(1, 2))
    assert words == ["--sizes=-1", "--kernels", "add,copy", "--threads", "1,2", "--quick", "--no-check"]


def test_words_are_those_of_the_table(tmp_path: Path) -> None:
    one = table(tmp_path, SOUND)
    assert one.selection({"kernels": " add, copy ,add"}, "kernels") == ("add", "copy")
    assert (
        one.selection({"kernels": "both"}, "kernels") == one.selection({"kernels": "all"}, "kernels") == ("copy", "add")
    )
    assert one.selection({"kernels": ""}, "kernels", allow_empty=True) == ()
    with pytest.raises(BadInput) as error:
        one.selection({"kernels": "copy,ad"}, "kernels")
    assert error.value.what == "unknown word of x.kernels 'ad'" and "did you mean 'add'" in error.value.hint
    with pytest.raises(BadInput, match=r"x\.kernels is empty"):
        one.selection({"kernels": ","}, "kernels")


def test_tables_that_are_like_each_other_end(tmp_path: Path) -> None:
    one = table(tmp_path, '[params]\nn = { like = "y" }\n')
    table(tmp_path, '[params]\nn = { like = "x" }\n', "y")
    with pytest.raises(BadInput, match="in a circle"):
        len(one.params)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ('per = "bytes/s"', 'pre = "bytes/s"', 10, "unknown key 'pre'"),
        ('unit = "B/s", ', "", 10, "the key 'unit' is missing"),
        ('title = "Rate"', "title = 3", 10, "Expected `str`, got `int`"),
        ('better = "lower"', 'better = "less"', 11, "unknown word 'less'"),
        ('better = "higher"', 'beter = "higher"', 4, "unknown key 'beter'"),
        ('better = "higher"\n', "", 9, "the key 'better' is missing"),
        ('default = "1,2", ', "", 14, "the key 'default' is missing"),
        ('kind = "real"', 'kind = "float"', 16, "unknown word 'float'"),
        ("low = 0", 'low = "0"', 16, "Expected"),
        ('like = "threads"', 'like = "thread"', 21, "thread.toml is not a table of a workload"),
        ('threads = { like = "threads"', 'cores = { like = "threads"', 21, "threads.toml has no line 'cores'"),
        ('[program]\nname = "none"', '[program]\nnam = "none"', 0, "unknown key 'nam'"),
        ("[params]", "[parameters]", 0, "unknown key 'parameters'"),
        ('help = "sizes" }', 'help = "sizes"', 14, "is not TOML"),
        ("low = 0", "low = nan", 0, "nan is not a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert SOUND.count(old) == 1
    one = table(tmp_path, SOUND.replace(old, new))
    with pytest.raises(BadInput) as error:
        len(one.metrics)
    assert what in error.value.what and error.value.hint
    assert str(tmp_path / "x.toml") in error.value.where
    if line:
        assert f"x.toml:{line}" in error.value.where or f"line {line}," in error.value.what, str(error.value)


def options_of(*start: str) -> set[str]:
    """The options that a program's --help names."""
    done = subprocess.run([*start, "--help"], capture_output=True, text=True, check=True, timeout=300)
    return set(re.findall(r"^ {2}(?:-h, )?--([a-z0-9-]+)", done.stdout, re.MULTILINE)) - {"help"}


@pytest.mark.parametrize("name", [name for name, one in TABLES.items() if one.program])
def test_a_program_has_the_options_that_its_table_names(name: str) -> None:
    one = TABLES[name]
    assert one.program is not None and bool(one.program.name) != bool(one.program.module)
    try:
        start = (sys.executable, "-m", one.program.module) if one.program.module else (programs.path(one.program.name),)
    except Unavailable as error:
        pytest.skip(str(error))
    given = {one.option(param) for param in one.params} - {""}
    other_options = set(one.program.other_options)
    assert not given & other_options, "an option of a parameter is for use by hand, too"
    assert options_of(*start) == given | other_options


def test_a_workload_of_another_distribution_may_give_them_in_python() -> None:
    metric = Metric(name="x.time", title="Time", unit="s", better="lower", kernel="x", per="s", source="here")
    one = Workload(
        name="x",
        title="X",
        metrics=(metric,),
        params={"n": Param(kind="integer", default=1, low=1, help="how many")},
        command=lambda params, host: Command(argv=("x", str(params["n"]))),
        estimate_s=lambda params, host: 1.0,
    )
    assert workloads.check_params(one, {"n": 3}) == {"n": 3} and one.metrics[0] is metric
    with pytest.raises(BadInput, match="below 1"):
        workloads.check_params(one, {"n": 0})
