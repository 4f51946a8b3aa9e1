"""What our own verbs left and read again: journals, states, traces. A disk or a hand may have spoiled it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from seeds import SOURCE, Reader, at, files, line

from shakedown.errors import UNREADABLE

_PROFILE = b'name = "x"\ntitle = "t"\nsource = "s"\n[power]\ntable = "input"\naddress = 52\ntype = "float32"\n'
_SWITCHES = (b"SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Switches=s1\n", b'[switches]\nleaf1 = ["n1", "n2"]\n')


def readers() -> Iterator[Reader]:
    """All of them."""
    yield from _journals()
    yield from _placement()
    yield from _states()
    yield from _others()
    yield from _directories()
    yield from _site()


def _journals() -> Iterator[Reader]:
    from shakedown.acceptance import journal as acceptance
    from shakedown.operate.burnin import journal as burnin
    from shakedown.operate.burnin import records
    from shakedown.tuning import journal as tuning
    from shakedown.tuning.records import Trial

    begin = records.Begin(at_s=1.7e9, boot="b")
    minute = records.Minute(at_s=1.7e9, done={"cpu:0": records.WorkerEnd(flop=1.0)}, figures={})
    plan = records.BurninPlan(
        version="1", host="n", devices=(records.Device(id="cpu:0", title="t"),), seconds=9.0, stages=()
    )
    yield Reader("journal of a burn-in", (line(begin) + line(minute) + line(records.End(at_s=1.7e9, why="time")),),
                 at(burnin.ENTRIES, lambda folder: list(burnin.entries(folder))), share=0.5)  # fmt: skip
    yield Reader("plan of a burn-in", (line(plan),), at(burnin.PLAN, burnin.read_plan), share=0.5)
    begun = acceptance.Begun(number=1, previous="0" * 64, system="s", plan="p.toml", plan_sha256="0" * 64, version="1")
    first = line(begun)
    hashed = acceptance.line_hash(first[:-1])
    second = line(acceptance.Again(number=2, previous=hashed, test="t", by="b", reason="r"))
    lines = first + second

    head = line(acceptance.Head(entries=2, sha256=acceptance.line_hash(second[:-1])))
    journal = at(
        acceptance.JOURNAL, lambda folder: ((folder / acceptance.HEAD).write_bytes(head), acceptance.read(folder))
    )
    yield Reader("journal of an acceptance", (lines,), journal, share=0.5)
    whole = at(
        acceptance.HEAD, lambda folder: ((folder / acceptance.JOURNAL).write_bytes(lines), acceptance.read(folder))
    )
    yield Reader("head of an acceptance", (head,), whole, share=0.3)
    trial = Trial(
        key="k",
        level="l",
        session=1,
        stage="s",
        block="b",
        point={"nb": 128},
        n=1000,
        kind="whole",
        repeat=1,
        state="ok",
        cost_s=1.0,
    )

    def tuned(folder: Path) -> None:
        tuning.Journal(folder).close()

    yield Reader("journal of the tuner", (line(trial) * 2,), at(tuning.TRIALS, tuned), share=0.3)


def _placement() -> Iterator[Reader]:
    from shakedown.placement import launch, records
    from shakedown.placement.diagnosis import diagnose
    from shakedown.placement.price import AS_LAUNCHED, Launched, factors

    thread = records.Thread(
        pid=1, tid=1, mask=(0, 1), cpus={0: 5, 1: 2}, moves=2, run_s=0.5, wait_s=0.4, slices=9, migrations=1
    )
    rank = records.Rank(
        schema=1,
        rank=0,
        size=2,
        local_rank=0,
        launcher="Open MPI",
        host="h",
        launched_mask=(0, 1),
        reachable=(0, 1),
        places=((0, 0, 0, 0, 0), (1, 1, 0, 1, 1)),
        begin_unix_ns=1,
        wall_s=1.0,
        finished=True,
        samples=50,
        threads=(thread,),
        pages=records.Pages(nodes={0: 20, 1: 20}, asked=64),
    )
    launched = Launched(arrangement="compact", round=1, seconds=1.5)

    def watched(folder: Path) -> None:
        left = records.read(folder)
        if left.ranks:
            diagnose(left.ranks, left.damaged)

    def priced(folder: Path) -> None:
        (folder / AS_LAUNCHED / "1").mkdir(parents=True)
        factors(launch.read(folder).launches, 600.0)

    yield Reader("record of a rank's watcher", (line(rank),), at("rank-0.json", watched), share=0.5)
    yield Reader("launch of a placement", (line(launched),), at("compact/1/launch.json", priced), share=0.3)


def _states() -> Iterator[Reader]:
    from shakedown.metering import raw_files
    from shakedown.operate.health import kernellines, state
    from shakedown.operate.health.records import KeptState
    from shakedown.radio.emulate import files as emulated
    from shakedown.radio.emulate import page
    from shakedown.radio.emulate.scenario import Scenario
    from shakedown.rehearsal_cluster import settings
    from shakedown.results import run_directory
    from shakedown.run import fallback_store

    def health(path: Path) -> None:
        try:
            state.read(str(path))
        except ValueError as error:  # by contract
            str(error)

    def log(path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "replace")
        kernellines.news(kernellines.text_log(text, 1.7e9, 1.7001e9), kernellines.Cursor())
        kernellines.kmsg(text.splitlines(), 1.7e9)

    def unsaved(folder: Path) -> None:
        fallback_store.note_in(folder)

    def emulation(folder: Path) -> None:
        emulated.save(folder, emulated.Description(version="1", scenario=Scenario()))
        kept = page.read(folder)
        assert all(page.sentences(kept)) and all(page.figures(kept.updates))

    counts = dict.fromkeys(("frames", *page.FATES), 3)
    update = {"time_s": 0.5, "late_s": 0.01, "moved": 3, "links": 2, "skipped": 0, "pairs": 1, "parts": 2, "largest": 2}
    updates = b"".join(line({**update, **counts, "time_s": 0.5 * step}) for step in range(4))
    ends = {**counts, "late_median_s": 1e-5, "late_99_percent_s": 1e-4}
    yield Reader("updates of an emulation", (updates,), at(emulated.UPDATES, emulation), share=0.3)
    events = line({"event": "facts", "facts": {"nodes_s": 0.1}}) + line({"event": "facts", "facts": {"counts": ends}})
    yield Reader("events of an emulation", (events,), at(emulated.EVENTS, emulation), share=0.3)
    cluster = settings.Description(version="1", settings=settings.Settings(), layout="user")
    kept = KeptState(host="n1", boot="b", checks={"memory": {"total": 1}})
    header = raw_files.Header(target="t", meter="m", channels=(), interval_s=1.0, opened_ns=1)
    raw = raw_files.RECORD.pack(1, 0, 0, 0, 1, 2, 0, 3, 250.0) * 3
    yield Reader("state of the health checks", (line(kept),), health, share=0.5)
    yield Reader("log of the kernel", (*files("health/dmesg*"), _KERNEL), log, share=0.3)
    yield Reader(
        "header of the sampler", (line(header),), lambda path: raw_files.read(path, raw_files.Header), share=0.3
    )
    yield Reader("readings of the sampler", (raw,), lambda path: raw_files.unpack(path.read_bytes()), share=0.3)
    look = raw_files.CLOCK.pack(1, 2, 3, 4, 0.5)
    yield Reader("clocks of the sampler", (look * 3,), at(raw_files.CLOCK_FILE, raw_files.clocks), share=0.3)
    yield Reader("rescued result", (b'{"saved": []}',), at(fallback_store.NOTE, unsaved), share=0.2)
    yield Reader(
        "durations", (b'[["a", "b", 1.0, 2.0]]',), at("run/durations.json", run_directory.durations), share=0.2
    )
    yield Reader("rehearsal cluster", (line(cluster),), at("cluster.json", settings.load), share=0.2)


def _site() -> Iterator[Reader]:
    from shakedown.analysis import run_summary
    from shakedown.errors import BadInput
    from shakedown.functional_tests.spark import node
    from shakedown.operate.health.records import KeptState
    from shakedown.records import RunSummary, SummarySeries
    from shakedown.site import gather, others, write

    def summaries(folder: Path) -> None:
        gather.read([folder], 2 * 10**18, folder / "cache", 1)

    def prepared(folder: Path) -> None:
        try:
            write.prepare(folder)
        except BadInput as error:
            assert "holds something else" in error.what

    series = SummarySeries("n1", "stream", "stream.triad.bandwidth", '{"threads":2}', "{}")
    summary = RunSummary(
        schema=run_summary.SCHEMA,
        campaign="quick",
        created_ns=1_700_000_000 * 10**9,
        looked_ns=1_700_000_000 * 10**9,
        version="0.1.0",
        hosts=("n1",),
        series=(series,),
        values=(4e10,),
        low=(3.9e10,),
        high=(None,),
    )
    kept = KeptState(host="n1", boot="b", checks={"memory": {"total": 1}})
    yield Reader("summary of a run", (line(summary),), at(run_summary.FILE, summaries), share=0.3)
    yield Reader("health of a node, for the site", (line(kept),), lambda path: others.read_health([path]), share=0.3)
    state = write.SiteState(site="made by shakedown site", pages={"index.html": "0"})
    yield Reader("state of a site", (line(state),), at(write.STATE, prepared), share=0.2)
    owner = node.Owner(pid=1, start=1, token="t")
    yield Reader("owner of a folder of Spark", (line(owner),), at(node.OWNER, node.owner_of), share=0.1)


_KERNEL = (
    b"6,1305,15963814752,-;br0: port 1\n<6>[15963.814752] br0: x\n[Sun Feb 23 16:24:18 2025] NVRM: Xid\n"
    b"Feb 23 16:24:18 host kernel: NVRM: Xid\n2025-02-23T16:24:18+0000 host kernel: x\n"
    b'{"MESSAGE": [110, 111], "__REALTIME_TIMESTAMP": "1700000000000000", "_SOURCE_MONOTONIC_TIMESTAMP": "5"}\n'
)


def _others() -> Iterator[Reader]:
    from shakedown import published
    from shakedown.analysis import build
    from shakedown.analysis.pairs import topology
    from shakedown.cli import energy
    from shakedown.machine import NO_CPU
    from shakedown.metering.character import Character
    from shakedown.metering.meters import Channel, modbus, parse_target
    from shakedown.prediction import files as prediction
    from shakedown.records import Analysis, Host, Machine, Memory

    systems = files("published/*.toml", below=SOURCE)
    small = tuple(one for one in systems if len(one) < 30_000) or systems[:1]

    host = Host(name="n1", cpu=NO_CPU, memory=Memory(total_bytes=0))
    machine = Machine(hosts=(host,), discovered_ns=1, version="1")
    report = Analysis(name="r", campaign="c", title="t", created_ns=1, version="1", machine=machine)

    def forecast(path: Path) -> None:
        prediction.read([path], 1)

    def system(path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "replace")
        found = re.search(r'^id = "(.*)"$', text, re.MULTILINE)
        published.parse(text, f"{found[1] if found else 'x'}.toml")

    def profile(path: Path) -> None:
        modbus.profile_of(parse_target(f"modbus://host?profile={path}"))

    def characterised(path: Path) -> None:
        energy.character_of(path)

    channel = Channel(id="c/1", title="t", quantity="power", unit="W", scope="point", place="node")
    character = Character(channel=channel, made_ns=1, kernel="point")
    yield Reader("characterisation of a meter", (line(character),), characterised, share=0.3)
    yield Reader("profile of a transducer", (_PROFILE,), profile, ".toml", share=0.3)
    yield Reader("published system", small, system, share=0.05)
    yield Reader("switches of a network", _SWITCHES, topology.read, share=0.5)
    yield Reader("HPL.dat or a log for a forecast", files("hpl/*-2.3-*.log"), forecast, share=0.3)
    yield Reader("report as JSON", (line(report),), build.read_analysis, share=0.3)


def _directories() -> Iterator[Reader]:
    """What runs leave, read by others than ``results.run_directory``."""
    from shakedown.acceptance import availability
    from shakedown.acceptance.plan import AvailabilityTest
    from shakedown.analysis import case_stream
    from shakedown.functional_tests import application, mpi_bindings
    from shakedown.machine import NO_CPU, recording
    from shakedown.records import Case, Host, Job, Measurement, Memory, Plan
    from shakedown.results import outcome
    from shakedown.results.run_directory import RunDirectory
    from shakedown.run.batch import submission
    from shakedown.schedulers import JobRecord
    from shakedown.workloads.common.application import Recipe, Step

    case = Case(kernel="triad", work={"bytes": 8.0}, seconds=(1.0,))
    measured = Measurement(
        run="a1", repeat=1, workload="stream", params={}, host="n1", state="ok", begin_ns=1, end_ns=2, cases=(case,)
    )
    empty = Plan(campaign="c", title="t", runs=())
    host = Host(name="n1", cpu=NO_CPU, memory=Memory(total_bytes=0))
    test = AvailabilityTest(id="t", requirements=(), kind="availability", contract="thufir")
    ended = JobRecord(engine="slurm", id="7", state="done")

    def measurements(folder: Path) -> None:
        case_stream.read(RunDirectory(folder), lambda found: [list(one.cases) for one in found])

    def recovered(folder: Path) -> None:
        (folder / "stdout").write_bytes(b"")
        (folder / "stderr").write_bytes(b"")
        outcome.recover(empty, "a1", 1, folder)

    def judged(folder: Path) -> None:
        (folder / "stderr").write_bytes(b"")
        availability.points(test, 0, False, folder)

    place = "runs/a1/1/measurement.json"
    job = Job(run="a1", repeat=1, argv=("x",), begin_ns=1, end_ns=2, exit_code=0)
    yield Reader("measurement.json of a report", (line(measured),), at(place, measurements), share=0.3)
    yield Reader("job.json of a lost result", (line(job),), at("job.json", recovered), share=0.3)
    yield Reader("end of a batch job", (line([ended]),), at("ended.json", submission.ended), share=0.3)
    yield Reader("host of a demonstration", (line(host),), lambda path: mpi_bindings.read_host(str(path)), share=0.3)
    recipe = Recipe(application="a", programs={"x": ("x",)}, install="i", steps=(Step(name="s", argv=("x",)),))
    yield Reader("recipe of an application", (line(recipe),), application.read_recipe, share=0.3)
    yield Reader("report of an availability test", (b"{}",), at("stdout", judged), share=0.3)
    index = files("machines/*/machine.json")

    def replayed(folder: Path) -> None:
        try:
            recording.replay(folder)
        except UNREADABLE as error:  # by contract
            str(error)

    yield Reader("recording of a machine", index, at("machine.json", replayed), share=0.1)
