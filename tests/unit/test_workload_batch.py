"""The batch demonstration: records judged, and the whole of it against an engine in memory that can be told to lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import schedulers
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.functional_tests import _batch_jobs, batch
from shakedown.functional_tests._batch_words import DIALECTS, Dialect
from shakedown.hosts.access import Result
from shakedown.records import Params, Value
from shakedown.schedulers import JobRecord, JobState, Request, Scheduler
from shakedown.workloads import batch as workload
from support import clocks
from support.machines import host, machine
from support.workloads import options, params_of

WORKLOAD = workload.WORKLOAD


def record(state: JobState = "done", **given: Any) -> JobRecord:
    base: dict[str, Any] = {
        "source": "accounting",
        "exit_code": 0,
        "hosts": ("node1",),
        "submit_s": 100.0,
        "begin_s": 101.0,
        "end_s": 102.0,
    }
    return JobRecord(engine="fake", id="7", state=state, **{**base, **given})


def test_a_job_that_ended_well_says_so_in_every_way() -> None:
    assert batch.ended_well(record(), "token node1.site.org", "token") == []
    assert batch.ended_well(record(exit_code=1), "token node1", "token") == ["its exit code is 1, not 0"]
    assert "ran on node2" in batch.ended_well(record(), "token node2", "token")[0]
    assert "did not leave" in batch.ended_well(record(), "other node1", "token")[0]
    assert "does not say where" in batch.ended_well(record(hosts=()), "token node1", "token")[0]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (record("unknown", word="gone"), "it is unknown (gone), not failed"),
        (record("failed", exit_code=None), "its exit code is None, not 7"),
        (record("failed", exit_code=7, source="queue"), "the accounting has no record of it"),
        (record("failed", exit_code=7, end_s=None), "lacks one of its times"),
        (record("failed", exit_code=7, begin_s=99.0), "out of order"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(found: JobRecord, words: str) -> None:
    assert any(words in text for text in batch.ended(found, ("failed",), 7))
    assert batch.ended(record("failed", exit_code=7), ("failed",), 7) == []


def test_every_engine_of_the_workload_has_its_words() -> None:
    assert set(workload.TABLE.params["engine"].choices) == {"auto", *DIALECTS}
    assert workload.TABLE.params["kinds"].items == batch.KINDS
    for name, dialect in DIALECTS.items():
        assert dialect.release("12.srv")[-1] in ("12.srv", "default"), name
        for words in (dialect.hold, dialect.after and dialect.after("12")):
            assert words is None or all(word and "\n" not in word for word in words)


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(), given)


def test_kinds_are_named_or_all() -> None:
    assert resolve()["kinds"] == ",".join(batch.KINDS)
    argv = WORKLOAD.command(resolve(kinds="submit, fail", partition="short"), host()).argv
    said = options(argv[2:])
    assert said["--kinds"] == "submit,fail" and said["--partition"] == "short"
    assert not any(word.startswith("--account") for word in argv)
    for wrong in ({"kinds": "sumbit"}, {"kinds": ""}, {"engine": "slrum"}, {"wait": 0}):
        with pytest.raises(BadInput):
            resolve(**wrong)
    assert WORKLOAD.estimate_s(resolve(kinds="submit"), host()) < WORKLOAD.estimate_s(resolve(), host())


# ------------------------------------------------------------------------------------- an engine in memory


class Engine:
    """Jobs that end at once, as their scripts say; ``lie`` changes what the accounting tells of one."""

    def __init__(self, lie: str = "") -> None:
        self.lie = lie
        self.jobs: dict[str, dict[str, Any]] = {}
        self.cancelled: list[str] = []
        self.clock = clocks.fake(1e9)

    def scheduler(self) -> Scheduler:
        return Scheduler(
            name="slurm",
            title="Fake",
            absent=lambda door: "",
            inside=lambda environment, door: None,
            script=lambda request: msgspec.json.encode(request).decode(),
            submit=lambda path: ("submit", path),
            submitted=lambda result: result.out,
            queue=lambda ids: ("queue", *ids),
            queued=lambda result: msgspec.json.decode(result.out, type=tuple[JobRecord, ...]),
            accounts=lambda ids: ("accounts", *ids),
            accounted=lambda result: msgspec.json.decode(result.out, type=tuple[JobRecord, ...]),
            cancel=lambda job: ("cancel", job),
            look=lambda job: (f"look {job}",),
        )

    def run(self, argv: Sequence[str], *, limit_s: float = 10.0, env: Mapping[str, str] | None = None) -> Result:
        match list(argv):
            case ["submit", path]:
                return Result(0, self._take(msgspec.json.decode(Path(path).read_bytes(), type=Request)), "")
            case ["queue", *ids]:
                return Result(0, msgspec.json.encode([self._live(one) for one in ids if self._waits(one)]).decode(), "")
            case ["accounts", *ids]:
                return Result(0, msgspec.json.encode([one for job in ids for one in self._ended(job)]).decode(), "")
            case ["cancel", job]:
                self.cancelled.append(job)
                self.jobs[job] |= {"ended": "cancelled"}
            case ["release", job]:
                self.jobs[job]["held"] = False
        return Result(0, "", "")

    def _take(self, request: Request) -> str:
        name = str(len(self.jobs) + 1)
        _, token, code, _, sleep = request.argv[3:]
        tasks = 4 if "array" in request.extra else 0
        self.jobs[name] = {
            "request": request,
            "held": "hold" in request.extra,
            "code": int(code),
            "long": float(sleep) > 100,
            "ended": "timeout" if float(sleep) == 900 else "",
            "tasks": tasks,
            "at": self.clock.unix_s(),
        }
        for task in [str(one) for one in range(1, tasks + 1)] or [""]:
            Path(request.folder, f"begun{task}").write_text(str(self.clock.unix_s()))
            Path(request.folder, f"said{task}").write_text(f"{token} node1")
        return name

    def _waits(self, job: str) -> bool:
        one = self.jobs[job]
        return one["held"] or (one["long"] and not one["ended"])

    def _live(self, job: str) -> JobRecord:
        held = self.jobs[job]["held"] and self.lie != "hold"  # a lying engine starts it all the same
        return JobRecord(engine="slurm", id=job, state="queued" if held else "running", source="queue")

    def _ended(self, job: str) -> list[JobRecord]:
        one = self.jobs[job]
        if self._waits(job):
            return []
        kind = one["request"].name.removeprefix("shakedown-")
        state: JobState = one["ended"] or ("failed" if one["code"] else "done")
        code: int | None = one["code"]
        begin_s = one["at"] + (1 if kind == "second" else 0)
        end_s = begin_s + (60 if state == "timeout" else 1)
        if self.lie == kind:
            state, code = "done", 0
            begin_s -= 2 if kind == "second" else 0
            end_s = begin_s + 1
        tasks = [f"{job}_{task}" for task in range(1, one["tasks"] + 1 - (self.lie == "array"))] or [job]
        tres = {} if self.lie == "gres" or not one["request"].gres else {"gres/gpu": "1"}
        shown = record(state, submit_s=one["at"] - 1, begin_s=begin_s, end_s=end_s, tres={"cpu": "1", **tres})
        return [msgspec.structs.replace(shown, id=name, exit_code=code) for name in tasks]


class Told:
    """An emitter that keeps what it is told."""

    def __init__(self) -> None:
        self.cases: dict[str, bool] = {}
        self.notices: list[str] = []
        self.work: dict[str, Any] = {}

    def progress(self, done: float, text: str) -> None:
        pass

    def notice(self, code: str, text: str, advice: str = "") -> None:
        self.notices.append(text)

    def case(self, kernel: str, params: Any, work: Any, seconds: Any = (), residual: Any = None) -> None:
        if kernel == "job":
            self.cases[params["kind"]] = residual.passed
        else:
            self.work[kernel] = (work, seconds, residual)


def site(engine: Engine, folder: Path, **given: Any) -> _batch_jobs.Site:
    dialect = Dialect(
        array=lambda n: ("array",),
        task="TASK",
        after=lambda job: (f"after {job}",),
        hold=("hold",),
        release=lambda job: ("release", job),
    )
    template = Request(name="t", argv=("x",), folder=str(folder), gres="gpu:1", exclusive=False)
    base: dict[str, Any] = {
        "wait_s": 300.0,
        "jobs": [],
        "dialect": dialect,
        "template": template,
        "clock": engine.clock,
    }
    return _batch_jobs.Site(engine=engine.scheduler(), door=engine, folder=folder, **{**base, **given})


def test_an_engine_that_is_right_in_everything_has_all_kinds(tmp_path: Path) -> None:
    told = Told()
    engine = Engine()
    batch.demonstrate(site(engine, tmp_path), batch.KINDS, told)  # type: ignore[arg-type]
    assert told.notices == []
    assert told.cases == dict.fromkeys(batch.KINDS, True)
    assert told.work["jobs"][0] == {"kinds": 8}
    requests = [job["request"] for job in engine.jobs.values()]
    assert {request.gres for request in requests} == {"", "gpu:1"}
    assert sum(request.gres != "" for request in requests) == 1, "only the job that is about it asks for a GPU"
    assert len({request.folder for request in requests}) == len(requests)


@pytest.mark.parametrize(
    ("lie", "kind"),
    [
        ("fail", "fail"),
        ("array", "array"),
        ("second", "dependency"),
        ("gres", "gres"),
        ("cancel", "cancel"),
        ("hold", "hold"),
        ("limit", "limit"),
    ],
)
def test_an_accounting_that_is_wrong_of_one_kind_fails_that_kind(tmp_path: Path, lie: str, kind: str) -> None:
    told = Told()
    batch.demonstrate(site(Engine(lie), tmp_path), batch.KINDS, told)  # type: ignore[arg-type]
    assert [name for name, passed in told.cases.items() if not passed] == [kind]
    assert told.work["jobs"][0] == {"kinds": 7} and told.notices


def test_a_job_that_never_ends_is_given_up_with_the_reason_and_cancelled(tmp_path: Path) -> None:
    engine = Engine()
    here = site(engine, tmp_path, wait_s=0.05)
    with pytest.raises(CannotMeasure) as caught, _batch_jobs.nothing_left(here):
        sent = _batch_jobs.send(here, "cancel", sleep_s=600)
        _batch_jobs.watched(here, [sent])
    assert "job 1 had not ended after 0.05 s: it is running" in caught.value.what and "allocation" in caught.value.hint
    assert engine.cancelled == ["1"]


def test_kinds_that_an_engine_has_no_words_for_are_said_and_not_counted(tmp_path: Path) -> None:
    told = Told()
    here = site(Engine(), tmp_path)
    here = here._replace(dialect=here.dialect._replace(array=None), template=_batch_jobs.with_(here.template, gres=""))
    batch.demonstrate(here, ("submit", "array", "gres"), told)  # type: ignore[arg-type]
    assert told.cases == {"submit": True} and len(told.notices) == 2


def test_latency_is_from_before_the_submission_to_the_first_line_of_the_script(tmp_path: Path) -> None:
    told = Told()
    batch.latency(site(Engine(), tmp_path), 3, told)  # type: ignore[arg-type]
    _, seconds, _ = told.work["latency"]
    assert len(seconds) == 3 and all(0 <= one < 5 for one in seconds)


def test_clocks_that_differ_are_no_latency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "written", lambda site, path: "12.5")
    with pytest.raises(CannotMeasure, match="clocks"):
        batch.latency(site(Engine(), tmp_path), 1, Told())  # type: ignore[arg-type]


def test_a_small_job_that_is_lost_fails_the_throughput(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    batch.throughput(site(Engine(), tmp_path), 5, told)  # type: ignore[arg-type]
    work, seconds, residual = told.work["throughput"]
    assert work == {"jobs": 5} and seconds[0] > 0 and residual.passed
    monkeypatch.setattr(batch, "written", lambda site, path: "")
    batch.throughput(site(Engine(), tmp_path), 2, told)  # type: ignore[arg-type]
    assert told.work["throughput"][2].value == 2 and told.notices


def test_without_an_engine_every_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    from shakedown.hosts.access import LocalHost

    with pytest.raises(Unavailable) as caught:
        batch.choose("auto", LocalHost())
    for name in schedulers.names():
        assert f"{name}: " in caught.value.what
    assert "cluster up" in caught.value.hint


def test_one_of_the_generic_resources_that_are_shown_is_taken() -> None:
    class Shows:
        def run(self, argv: Sequence[str], **more: Any) -> Result:
            return Result(0, "(null)\ngpu:h200:4,shard:8\n", "")

    slurm = schedulers.get("slurm")
    assert batch.generic_resource("auto", slurm, Shows()) == "gpu:1"  # type: ignore[arg-type]
    assert batch.generic_resource("none", slurm, Shows()) == ""  # type: ignore[arg-type]
    assert batch.generic_resource("fpga:2", slurm, Shows()) == "fpga:2"  # type: ignore[arg-type]
