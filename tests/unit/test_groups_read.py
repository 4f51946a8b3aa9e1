"""Groups from run directories, in words, and the command over them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from shakedown.analysis import build, groups
from shakedown.analysis.groups import GroupTests, simulate
from shakedown.analysis.groups.simulate import GroupFleet
from shakedown.analysis.pairs import topology
from shakedown.cli import _batch
from shakedown.cli import groups as verb
from shakedown.errors import BadInput, CannotMeasure
from shakedown.records import Case
from shakedown.report import groups as _groups
from shakedown.report.formats import markdown
from support.group_runs import cases, run_directory

FLEET = GroupFleet(places=32, slow_places={2: 0.12, 20: 0.3}, noise=0.01)


def measured(fleet: GroupFleet = FLEET, rounds: int = 10) -> GroupTests:
    return simulate.measure(fleet, groups.first_rounds(fleet.places, 1, count=rounds), 1)


def test_a_run_directory_gives_back_its_groups(tmp_path: Path) -> None:
    tests = measured()
    (got,), damaged = groups.from_directories([run_directory(tmp_path / "1", cases(tests))])
    assert not damaged
    assert set(got.places) == set(tests.places) and got.hosts == got.places
    assert got.values == pytest.approx(tests.values)
    assert got.round.tolist() == tests.round.tolist()
    assert got.params == {"operation": "alltoall", "method": "library", "bytes": 2**20}
    assert {one.name for one in groups.verdict(got).slow} == {"n3", "n21"}


def test_a_report_says_who_is_slow_and_the_findings_give_the_same_groups(tmp_path: Path) -> None:
    analysis, damaged = build.analyse(run_directory(tmp_path / "1", cases(measured())))
    assert not damaged
    (got,) = groups.from_findings(analysis.findings)
    assert sorted(got.values.tolist()) == pytest.approx(sorted(measured().values.tolist()))
    assert groups.verdict(got).rounds == 10
    text = markdown.render(analysis)
    assert "Groups at the same time: who is slow" in text
    assert "node n3" in text and "node n21" in text and "node n7" not in text
    assert _groups.section(msgspec.structs.replace(analysis, findings=())) is None


def test_rounds_of_several_directories_are_rounds_of_their_own(tmp_path: Path) -> None:
    opened = [run_directory(tmp_path / name, cases(measured())) for name in ("1", "2")]
    (got,), _ = groups.from_directories(opened)
    assert groups.verdict(got).rounds == 20 and len(got.values) == 2 * len(measured().values)


def test_what_failed_counts_against_its_members_whatever_became_of_the_run(tmp_path: Path) -> None:
    tests = measured(FLEET._replace(dead_places=(9,)))
    (got,), _ = groups.from_directories([run_directory(tmp_path / "1", cases(tests), state="wrong")])
    verdict = groups.verdict(got)
    assert [(one.place, one.why) for one in verdict.failed] == [("n10", "3 wrong words")]
    assert {one.name for one in verdict.slow} == {"n3", "n21"}


def test_gpus_rails_and_host_lists_are_read_as_data(tmp_path: Path) -> None:
    work = {"bytes": 8.0}
    found = [
        Case(kernel="group", params={"members": text, "rail": rail, "bytes": 8}, work=work, seconds=(1.0,))
        for text, rail in (("n1:0,n1:1,n2:0", "mlx5_0"), ("n2:1,n2:0", "mlx5_1"))
    ]
    found.append(Case(kernel="group", params={"members": "node[1-3]", "bytes": 16}, work=work, seconds=(1.0,)))
    found.append(Case(kernel="group", params={"members": "node1", "bytes": 16}, work=work, seconds=(1.0,)))
    gpus, nodes = groups.from_directories([run_directory(tmp_path / "1", found)])[0]
    assert gpus.places == ("n1:0", "n1:1", "n2:0", "n2:1") and gpus.hosts == ("n1", "n1", "n2", "n2")
    assert gpus.rails == ("mlx5_0", "mlx5_1") and gpus.rail.tolist() == [0, 1] and gpus.round.tolist() == [-1, -1]
    assert nodes.places == ("node1", "node2", "node3") and len(nodes.values) == 1


def test_the_words_name_part_effect_interval_and_next_step() -> None:
    tests = measured(GroupFleet(places=32, leaf=1, slow_places={7: 0.1}, noise=0.01))
    verdict = groups.verdict(tests, topology=simulate.topology(GroupFleet(places=32, leaf=1)))
    (one,) = _groups.named(verdict)
    assert one.where == "node n8" and "11 % slower" in one.seen and "95 % interval" in one.seen
    assert "or" in one.seen and "switch leaf8" in one.seen and one.step.startswith("measure further rounds")
    text = _groups.summary(verdict)
    assert "1 slow part" in text and "9 of 10 cases" in text and "at most 1" in text
    fine = _groups.summary(groups.verdict(measured(GroupFleet(places=32, noise=0.005))))
    assert "None is slow" in fine
    loud = _groups.summary(groups.verdict(measured(GroupFleet(places=32, noise=0.4))))
    assert "Undecided" in loud


def run_verb(*words: str | Path) -> tuple[int, str, BaseException | None]:
    app = typer.Typer()
    app.command(cls=_batch.Command)(verb.command)
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output, done.exception


def test_the_verb_judges_all_stages_below_a_directory(tmp_path: Path) -> None:
    tests = measured()
    run_directory(tmp_path / "1", cases(tests))
    run_directory(tmp_path / "2", cases(tests))
    code, out, _ = run_verb(tmp_path, "--recorded")
    assert code == 1 and "node n21" in out and "node n3" in out and "20 rounds" in out
    code, out, _ = run_verb(tmp_path / "1", "--recorded", "--json")
    (said,) = json.loads(out)["verdicts"]
    assert code == 1 and said["state"] == "slow" and said["rounds"] == 10


def test_the_verb_says_fine_and_undecided_by_its_exit_code(tmp_path: Path) -> None:
    run_directory(tmp_path / "fine" / "1", cases(measured(GroupFleet(places=32, noise=0.005))))
    assert run_verb(tmp_path / "fine", "--recorded")[0] == 0
    run_directory(tmp_path / "few" / "1", cases(measured(rounds=1))[:5])
    assert run_verb(tmp_path / "few", "--recorded")[0] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rate", "0.7"), "--rate"),
        (("--group-size", "1"), "--group-size"),
        (("--floor", "150 %"), "--floor"),
        (("--size", "9"), "multiple of 8"),
        (("--size", "many"), "--size"),
        (("--ranks", "4"), "5 places or more"),
        (("--ranks", "8", "--hosts", "n[1-8]"), "--ranks is for this host alone"),
    ],
)
def test_what_cannot_be_is_refused_with_a_next_step(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    code, _, error = run_verb(tmp_path, *words)
    assert code != 0 and isinstance(error, BadInput) and message in str(error) and error.hint


def test_an_empty_directory_has_no_group_in_it(tmp_path: Path) -> None:
    _, _, error = run_verb(tmp_path, "--recorded")
    assert isinstance(error, CannotMeasure) and "no group" in str(error) and error.hint


def test_switches_behind_switches_are_read(tmp_path: Path) -> None:
    slurm = tmp_path / "topology.conf"
    slurm.write_text("SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n3\nSwitchName=top Switches=l[1-2]\n")
    toml = tmp_path / "topology.toml"
    toml.write_text('[switches]\nl1 = ["n1", "n2"]\nl2 = ["n3"]\ntop = ["l1", "l2"]\n')
    wanted = {"n1": "l1", "n2": "l1", "n3": "l2", "l1": "top", "l2": "top"}
    assert topology.tree(slurm) == topology.tree(toml) == wanted
