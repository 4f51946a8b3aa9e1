"""What our own verbs left and read again: journals, states, traces. A disk or a hand may have spoiled it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from seeds import SOURCE, Reader, files

from shakedown.errors import UNREADABLE

_JOBS = b"job,nodes,begin,end,cores\n1,n[01-03],1700000000,1700000600,4\n2,n1;n2,1700000300,Unknown,2\n"
_PLANT = b"time,power_kw,flow\n2026-11-20T10:00:00Z,101.5,3\n2026-11-20T10:01:00Z,OL,3.1\n2026-11-20T10:02:00Z,5,6\n"
_SENSORS = """title = "t"
zone = "UTC"
[[sensor]]
name = "p"
file = "f.csv"
column = "power_kw"
unit = "kW"
"""
_PROFILE = b'name = "x"\ntitle = "t"\nsource = "s"\n[power]\ntable = "input"\naddress = 52\ntype = "float32"\n'
_SWITCHES = (b"SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Switches=s1\n", b'[switches]\nleaf1 = ["n1", "n2"]\n')
_LONG = (
    b"_time,_measurement,host,_field,_value\n2026-11-20T10:00:00Z,power,n1,watts,250\n2026-11-20T10:00:10Z,power,n1,watts,251\n",
    b"time;n1 [W];n2 [W]\n20.11.2026 10:00:00;250,5;251\n20.11.2026 10:00:10;250,7;252\n",
)


def readers() -> Iterator[Reader]:
    """All of them."""
    yield from _journals()
    yield from _placement()
    yield from _states()
    yield from _energy()
    yield from _parquet()
    yield from _others()
    yield from _directories()


def _line(record: Any) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _at(name: str, read: Callable[[Path], object]) -> Callable[[Path], None]:
    """A reader of a folder: the spoiled file lies in it under ``name``."""

    def in_folder(path: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=path.parent) as folder:
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
            read(Path(folder))

    return in_folder


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
    yield Reader("journal of a burn-in", (_line(begin) + _line(minute) + _line(records.End(at_s=1.7e9, why="time")),),
                 _at(burnin.ENTRIES, lambda folder: list(burnin.entries(folder))), share=0.5)  # fmt: skip
    yield Reader("plan of a burn-in", (_line(plan),), _at(burnin.PLAN, burnin.read_plan), share=0.5)
    begun = acceptance.Begun(number=1, previous="0" * 64, system="s", plan="p.toml", plan_sha256="0" * 64, version="1")
    first = _line(begun)
    hashed = acceptance.line_hash(first[:-1])
    second = _line(acceptance.Again(number=2, previous=hashed, test="t", by="b", reason="r"))
    lines = first + second

    head = _line(acceptance.Head(entries=2, sha256=acceptance.line_hash(second[:-1])))
    journal = _at(
        acceptance.JOURNAL, lambda folder: ((folder / acceptance.HEAD).write_bytes(head), acceptance.read(folder))
    )
    yield Reader("journal of an acceptance", (lines,), journal, share=0.5)
    whole = _at(
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

    yield Reader("journal of the tuner", (_line(trial) * 2,), _at(tuning.TRIALS, tuned), share=0.3)


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

    yield Reader("record of a rank's watcher", (_line(rank),), _at("rank-0.json", watched), share=0.5)
    yield Reader("launch of a placement", (_line(launched),), _at("compact/1/launch.json", priced), share=0.3)


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
    updates = b"".join(_line({**update, **counts, "time_s": 0.5 * at}) for at in range(4))
    ends = {**counts, "late_median_s": 1e-5, "late_99_percent_s": 1e-4}
    yield Reader("updates of an emulation", (updates,), _at(emulated.UPDATES, emulation), share=0.3)
    events = _line({"event": "facts", "facts": {"nodes_s": 0.1}}) + _line({"event": "facts", "facts": {"counts": ends}})
    yield Reader("events of an emulation", (events,), _at(emulated.EVENTS, emulation), share=0.3)
    cluster = settings.Description(version="1", settings=settings.Settings(), layout="user")
    kept = KeptState(host="n1", boot="b", checks={"memory": {"total": 1}})
    header = raw_files.Header(target="t", meter="m", channels=(), interval_s=1.0, opened_ns=1)
    raw = raw_files.RECORD.pack(1, 0, 0, 0, 1, 2, 0, 3, 250.0) * 3
    yield Reader("state of the health checks", (_line(kept),), health, share=0.5)
    yield Reader("log of the kernel", (*files("health/dmesg*"), _KERNEL), log, share=0.3)
    yield Reader(
        "header of the sampler", (_line(header),), lambda path: raw_files.read(path, raw_files.Header), share=0.3
    )
    yield Reader("readings of the sampler", (raw,), lambda path: raw_files.unpack(path.read_bytes()), share=0.3)
    look = raw_files.CLOCK.pack(1, 2, 3, 4, 0.5)
    yield Reader("clocks of the sampler", (look * 3,), _at(raw_files.CLOCK_FILE, raw_files.clocks), share=0.3)
    yield Reader("rescued result", (b'{"saved": []}',), _at(fallback_store.NOTE, unsaved), share=0.2)
    yield Reader(
        "durations", (b'[["a", "b", 1.0, 2.0]]',), _at("run/durations.json", run_directory.durations), share=0.2
    )
    yield Reader("rehearsal cluster", (_line(cluster),), _at("cluster.json", settings.load), share=0.2)


_KERNEL = (
    b"6,1305,15963814752,-;br0: port 1\n<6>[15963.814752] br0: x\n[Sun Feb 23 16:24:18 2025] NVRM: Xid\n"
    b"Feb 23 16:24:18 host kernel: NVRM: Xid\n2025-02-23T16:24:18+0000 host kernel: x\n"
    b'{"MESSAGE": [110, 111], "__REALTIME_TIMESTAMP": "1700000000000000", "_SOURCE_MONOTONIC_TIMESTAMP": "5"}\n'
)


def _energy() -> Iterator[Reader]:
    from shakedown import times
    from shakedown.energy.archive import jobs
    from shakedown.energy.facility import plant, plant_data
    from shakedown.energy.importing import trace_import

    def option(path: Path) -> None:
        times.parse(path.read_bytes().decode("utf-8", "replace"), "UTC", "--begin", 5)

    def readings(folder: Path) -> None:
        plant_data.read(plant.parse(_SENSORS, "plant.toml", folder))

    def import_(path: Path) -> None:
        trace_import.bring([path], {"zone": "UTC", "unit": "W"}, (), None)

    yield Reader("jobs of an archive",
        (_JOBS,),
                 lambda path: jobs.read(path, zone="UTC", until_ns=1_800_000_000 * 10**9), ".csv", share=0.3)  # fmt: skip
    yield Reader("readings of a plant", (_PLANT,), _at("f.csv", readings), share=0.3)
    yield Reader("time of an option", (b"2026-11-20T10:00:00Z", b"1700000000.5", b"+90"), option, share=0.3)
    yield Reader(
        "power to import", (*_LONG, *(one[:3000] for one in files("meters/csv/*"))), import_, ".csv", share=0.015
    )


def _parquet() -> Iterator[Reader]:
    from shakedown.energy.archive import energies, jobs, layout
    from shakedown.energy.facility import plant, plant_data
    from shakedown.energy.importing import trace_import
    from shakedown.metering import trace

    power = "250.5 + i % 7 as power_w"
    seconds = "1700000000 + i"
    stamps = (f"to_timestamp({seconds})", seconds, f"strftime(to_timestamp({seconds}), '%Y-%m-%dT%H:%M:%SZ')")
    archives = tuple(_copied(f"'n' || (i % 3) as node, {stamp} as time, {power}") for stamp in stamps)
    archives += (_copied(f"'n1' as node, {seconds} as time, {power}"),)
    rows = _copied("i as job, 'n[1-2]' as nodes, 1700000000 + i as begin, 1700000600 + i as \"end\"")
    own = jobs.jobs([("1", "n1", 1_700_000_000 * 10**9, 1_700_000_100 * 10**9, 1.0)])

    def joined(path: Path) -> None:
        energies.totals(layout.open_archive([path]), own, processes=1)

    def import_(path: Path) -> None:
        trace_import.bring([path], {"zone": "UTC", "unit": "W"}, ("node",), path.with_name("out.parquet"))

    def whole(path: Path) -> None:
        for channel in trace.channels(path):
            trace.span_ns(path, channel)
        trace.read(path)

    sensors = _SENSORS.replace("csv", "parquet").replace("kw", "w").replace("kW", "W")

    def readings(folder: Path) -> None:
        plant_data.read(plant.parse(sensors, "plant.toml", folder))

    yield Reader("archive of power", archives, joined, ".parquet", share=0.02)
    yield Reader("jobs in Parquet", (rows,), lambda path: jobs.read(path, zone="UTC"), ".parquet", share=0.02)
    yield Reader("trace", (_trace(),), whole, ".parquet", share=0.02)
    yield Reader("power in Parquet to import", archives, import_, ".parquet", share=0.01)
    yield Reader("readings of a plant in Parquet", archives, _at("f.parquet", readings), share=0.02)


def _copied(columns: str) -> bytes:
    """200 rows as Parquet."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        db.execute(f"copy (select {columns} from range(200) r(i)) to '{folder}/t.parquet' (format parquet)")
        return Path(folder, "t.parquet").read_bytes()


def _trace() -> bytes:
    """A small trace of ours."""
    from shakedown.energy.importing import trace_import

    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "p.csv"), Path(folder, "t.parquet")
        source.write_bytes(_LONG[1])
        trace_import.bring([source], {"zone": "UTC"}, (), made)
        return made.read_bytes()


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
    yield Reader("characterisation of a meter", (_line(character),), characterised, share=0.3)
    yield Reader("profile of a transducer", (_PROFILE,), profile, ".toml", share=0.3)
    yield Reader("published system", small, system, share=0.05)
    yield Reader("switches of a network", _SWITCHES, topology.read, share=0.5)
    yield Reader("HPL.dat or a log for a forecast", files("hpl/*-2.3-*.log"), forecast, share=0.3)
    yield Reader("report as JSON", (_line(report),), build.read_analysis, share=0.3)


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
    yield Reader("measurement.json of a report", (_line(measured),), _at(place, measurements), share=0.3)
    yield Reader("job.json of a lost result", (_line(job),), _at("job.json", recovered), share=0.3)
    yield Reader("end of a batch job", (_line([ended]),), _at("ended.json", submission.ended), share=0.3)
    yield Reader("host of a demonstration", (_line(host),), lambda path: mpi_bindings.read_host(str(path)), share=0.3)
    recipe = Recipe(application="a", programs={"x": ("x",)}, install="i", steps=(Step(name="s", argv=("x",)),))
    yield Reader("recipe of an application", (_line(recipe),), application.read_recipe, share=0.3)
    yield Reader("report of an availability test", (b"{}",), _at("stdout", judged), share=0.3)
    index = files("machines/*/machine.json")

    def replayed(folder: Path) -> None:
        try:
            recording.replay(folder)
        except UNREADABLE as error:  # by contract
            str(error)

    yield Reader("recording of a machine", index, _at("machine.json", replayed), share=0.1)
