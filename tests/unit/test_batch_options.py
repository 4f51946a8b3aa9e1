"""The options of a batch engine: declared once, read from a command line, written as one, kept in a job's record."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from shakedown import campaign, schedulers
from shakedown.cli import _batch, app
from shakedown.errors import BadInput
from shakedown.hosts import hostlist
from shakedown.records import Plan, Run
from shakedown.results import run_directory
from shakedown.run import session
from shakedown.run.batch import campaign_jobs, options, submission
from shakedown.run.batch.options import BatchOptions
from shakedown.schedulers.common.options import JobOptions, NodeOptions, declared
from support.machines import over_hosts

WORD = st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True)
VALUES: dict[str, Any] = {
    "word": WORD,
    "number": st.integers(1, 99),
    "duration": st.integers(1, 10**6).map(float),
    "hosts": st.lists(st.from_regex(r"n[0-9]{1,2}", fullmatch=True), min_size=1, max_size=4, unique=True).map(tuple),
    "words": st.lists(st.sampled_from(["--licenses=foo", "-L", "a b"]), min_size=1).map(tuple),
}
FIELDS = {field: option.kind for field, option in declared(BatchOptions).items() if field not in ("engine", "nodes")}


@st.composite
def asked(draw: st.DrawFn) -> BatchOptions:
    chosen = draw(st.sets(st.sampled_from(sorted(FIELDS))))
    values = {field: draw(VALUES[FIELDS[field]]) for field in sorted(chosen)}
    nodes = len(values["hosts"]) if "hosts" in values else draw(st.integers(1, 9))
    return BatchOptions(engine=draw(st.sampled_from(schedulers.names())), nodes=nodes, **values)


verb = typer.Typer(add_completion=False)
seen: list[session.How] = []


@verb.command(cls=_batch.Command)
def carry_out(ctx: typer.Context) -> None:
    seen.append(_batch.how(ctx))


COMMAND = typer.main.get_command(verb)


def said_on_a_command_line(*words: str) -> session.How:
    """How a verb with these options is asked to carry a campaign out."""
    COMMAND.main(list(words), standalone_mode=False)
    return seen.pop()


@pytest.mark.parametrize("verbs", [("run",), ("accept", "run")])
def test_the_verbs_that_can_submit_have_every_option(verbs: tuple[str, ...]) -> None:
    said = CliRunner().invoke(app.app, [*verbs, "--help"]).stdout
    missing = [one.name for one in declared(BatchOptions).values() if f" {one.name} " not in said]
    assert not missing and " --detach " in said


@given(asked())
@settings(max_examples=30, deadline=None)
def test_the_words_for_what_was_asked_ask_for_the_same(wanted: BatchOptions) -> None:
    how = said_on_a_command_line(*options.words(wanted))
    assert how.batch == wanted and not how.detach and how.hosts is None
    assert msgspec.json.decode(msgspec.json.encode(wanted), type=BatchOptions) == wanted


def test_the_record_of_version_0_1_0_is_read() -> None:
    old = (
        '{"engine":"slurm","nodes":4,"hosts":["a","b"],"partition":"p","slots":2,"limit_s":1230.5,"shape":"gpu",'
        '"options":["-L","x"],"attempts":3,"retry_failed":true}'
    )
    found = msgspec.json.decode(old, type=BatchOptions)
    assert (found.time_limit_s, found.extra, found.attempts) == (1230.5, ("-L", "x"), 3)
    assert msgspec.json.decode(msgspec.json.encode(found)) == msgspec.json.decode(old), "and written as it was"


def test_the_page_names_every_option() -> None:
    page = (Path(__file__).parents[2] / "docs/campaigns.md").read_text()
    missing = [option.name for option in declared(BatchOptions).values() if f"`{option.name}" not in page]
    assert not missing, f"name {missing} in docs/campaigns.md, 'One job for a run directory'"


def test_hosts_by_name_need_no_engine_and_all_else_does() -> None:
    how = said_on_a_command_line("--hosts", "n[1-2]")
    assert how.batch is None and how.hosts is not None and how.hosts.hosts == ("n1", "n2")
    for field, option in declared(BatchOptions).items():
        if field not in ("engine", "hosts"):
            value = {"number": "2", "duration": "2 h"}.get(option.kind, "x")
            with pytest.raises(BadInput, match=f"{option.name} belongs to --on"):
                said_on_a_command_line(option.name, value)


@pytest.mark.parametrize(
    "words", ["--nodes 3 --hosts a,b", "--nodes -1", "--attempts 0", "--job-limit soon", "--hosts a["]
)
def test_what_cannot_be_asked_is_refused(words: str) -> None:
    with pytest.raises(BadInput):
        said_on_a_command_line("--on", "slurm", *words.split())


def test_a_job_is_asked_for_all_that_was_said(tmp_path: Path) -> None:
    (tmp_path / "jobs/1").mkdir(parents=True)
    wanted = BatchOptions(engine="slurm", nodes=2, partition="gpu", qos="high", extra=("-L", "x"), time_limit_s=60.0)
    request = submission.request(tmp_path, tmp_path / "jobs/1", wanted)
    for field in JobOptions.__struct_fields__:
        assert getattr(request, field) == getattr(wanted, field), field
    assert request.argv[1:] == ("-m", "shakedown.run.batch", str(tmp_path)), "no verb of the user's"
    text = schedulers.get("slurm").script(request)
    assert '"--partition=gpu"' in text and '"--qos=high"' in text


def test_what_an_engine_has_not_is_refused_by_name() -> None:
    fields = [field for field in declared(JobOptions) if declared(JobOptions)[field].kind == "word"]
    refused = {}
    for name in schedulers.names():
        for field in fields:
            value = {"gres": "gpu:1", "exclude": "n1"}.get(field, "1")
            request = schedulers.Request(name="x", argv=("true",), folder="/shared", slots=1, **{field: value})
            try:
                schedulers.get(name).script(request)
            except BadInput as error:
                refused[name, field] = str(error)
    assert all(declared(JobOptions)[field].name in text for (_, field), text in refused.items())
    assert ("slurm", "parallel_environment") in refused and ("gridengine", "parallel_environment") not in refused
    assert {name for name, field in refused if field == "qos"} == set(schedulers.names()) - {"slurm"}


SHAPES = """
name = "c"
title = "C"
[shape.wide]
nodes = 3
partition = "wide"
[shape.gpu]
hosts = "g[1-2]"
gres = "gpu:4"
[[run]]
workload = "empty"
"""


def test_each_kind_of_node_is_asked_for_as_the_campaign_says(tmp_path: Path) -> None:
    wanted = BatchOptions(engine="slurm", partition="batch", account="a", time_limit_s=60.0)
    found = campaign_jobs.prepare(SHAPES, "c", tmp_path / "R", wanted, None)
    wide, gpu = found[tmp_path / "R/wide"], found[tmp_path / "R/gpu"]
    assert (wide.nodes, wide.partition, wide.account, wide.shape) == (3, "wide", "a", "wide")
    assert (gpu.hosts, gpu.nodes, gpu.gres, gpu.partition) == (("g1", "g2"), 2, "gpu:4", "batch")
    assert hostlist.fold(gpu.hosts) == "g[1-2]"
    assert set(NodeOptions.__struct_fields__) <= set(campaign.ShapeEntry.__struct_fields__)


def test_a_part_that_goes_on_keeps_what_the_campaign_says_of_its_nodes(tmp_path: Path) -> None:
    wanted = BatchOptions(engine="slurm", time_limit_s=60.0)
    part, asked_before = next(iter(campaign_jobs.prepare(SHAPES, "c", tmp_path / "R", wanted, None).items()))
    (part / "jobs/1").mkdir()
    (part / "jobs/1/asked.json").write_bytes(msgspec.json.encode(asked_before))
    now = options.read(dict.fromkeys(FIELDS) | {"engine": "slurm", "account": "other"})
    found = campaign_jobs.again(part, now, retry_failed=True)
    assert (found.partition, found.nodes, found.shape, found.account) == ("wide", 3, "wide", "other")
    assert found.retry_failed and found.time_limit_s == 60.0
    assert campaign_jobs.again(part, None, retry_failed=False) == asked_before


def test_a_job_that_goes_on_gets_as_many_nodes_as_its_plan_needs(tmp_path: Path) -> None:
    """Also where nobody says how many: a run over two hosts would be alone on one."""
    wide = Run(id="w", workload="empty", params={}, label="w", estimate_s=1.0, limit_s=9.0, nodes=2)
    found = Plan(campaign="c", title="T", runs=(wide,))
    manifest = run_directory.Manifest(schema=run_directory.SCHEMA, campaign="c", created_ns=1, version="t", host="h")
    part = tmp_path / "R"
    run_directory.RunDirectory.create(part, manifest=manifest, campaign_toml="", machine=over_hosts(2), plan=found)
    (part / "jobs/1").mkdir(parents=True)
    (part / "jobs/1/asked.json").write_bytes(msgspec.json.encode(BatchOptions(engine="slurm", nodes=2)))

    def nodes(**said: Any) -> int:
        return campaign_jobs.again(
            part, options.read(dict.fromkeys(FIELDS) | {"engine": "slurm", **said}), retry_failed=False
        ).nodes

    assert (nodes(), nodes(nodes=1), nodes(nodes=3), nodes(hosts="a")) == (2, 2, 3, 1)


def test_the_next_command_says_all_that_was_asked() -> None:
    wanted = BatchOptions(engine="slurm", nodes=2, constraint="a&b", time_limit_s=5400.0)
    text = shlex.join(options.words(wanted))
    assert text == "--on slurm --constraint 'a&b' --nodes 2 --job-limit '5400 s'"


EXCLUDED = {
    "slurm": '#SBATCH "--exclude=n[1-2],x"',
    "flux": '# flux: --requires="-host:n[1-2],x"',
    "gridengine": "#$ -l hostname=!(n1|n2|x)",
    "lsf": "#BSUB -R \"select[hname!='n1' && hname!='n2' && hname!='x']\"",
}


@pytest.mark.parametrize("engine", schedulers.names())
def test_hosts_can_be_left_out_wherever_the_engine_can(engine: str, tmp_path: Path) -> None:
    how = said_on_a_command_line("--on", engine, "--exclude", "n[1-2],x")
    assert how.batch is not None and "--exclude 'n[1-2],x'" in shlex.join(options.words(how.batch))
    request = submission.request(tmp_path, tmp_path / "1", how.batch)
    request = msgspec.structs.replace(request, time_limit_s=None)
    script = schedulers.get(engine).script
    if engine in EXCLUDED:
        assert EXCLUDED[engine] in script(request).splitlines()
    else:
        with pytest.raises(BadInput, match="--exclude"):
            script(request)
    with pytest.raises(BadInput):
        script(msgspec.structs.replace(request, exclude="a'b"))


AFTER = {
    "slurm": '#SBATCH "--dependency=afterany:17"',
    "flux": "# flux: --dependency=afterany:17",
    "gridengine": "#$ -hold_jid 17",
    "lsf": '#BSUB -w "ended(17)"',
    "pbs": "#PBS -W depend=afterany:17",
    "torque": "#PBS -W depend=afterany:17",
}


@pytest.mark.parametrize("engine", schedulers.names())
def test_a_job_can_wait_for_another(engine: str, tmp_path: Path) -> None:
    how = said_on_a_command_line("--on", engine, "--after", "17")
    assert how.batch is not None
    request = msgspec.structs.replace(submission.request(tmp_path, tmp_path / "1", how.batch), time_limit_s=None)
    assert AFTER[engine] in schedulers.get(engine).script(request).splitlines()
    for wrong in ("17:18", "1 2", "1)", "x;y"):
        with pytest.raises(BadInput):
            schedulers.get(engine).script(msgspec.structs.replace(request, after=wrong))


def test_a_part_that_goes_on_does_not_wait_again(tmp_path: Path) -> None:
    wanted = BatchOptions(engine="slurm", time_limit_s=60.0, after="17")
    part, asked_before = next(iter(campaign_jobs.prepare(SHAPES, "c", tmp_path / "R", wanted, None).items()))
    (part / "jobs/1").mkdir()
    (part / "jobs/1/asked.json").write_bytes(msgspec.json.encode(asked_before))
    assert asked_before.after == "17" and campaign_jobs.again(part, None, retry_failed=False).after == ""


def test_grid_engine_is_told_in_one_word_which_hosts_and_which_not() -> None:
    request = schedulers.Request(name="x", argv=("true",), folder="/s", hosts=("a",), exclude="b,c")
    assert "#$ -l hostname=(a)&!(b|c)" in schedulers.get("gridengine").script(request).splitlines()


def test_a_campaign_leaves_hosts_out_for_one_kind_of_node(tmp_path: Path) -> None:
    text = SHAPES.replace('partition = "wide"', 'exclude = "w7"')
    found = campaign_jobs.prepare(text, "c", tmp_path / "R", BatchOptions(engine="slurm", time_limit_s=60.0), None)
    assert [one.exclude for one in found.values()] == ["w7", ""]
