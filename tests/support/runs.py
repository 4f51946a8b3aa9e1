"""A run directory with meters, made without running anything: what the tests of power beside a campaign share."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from shakedown.energy.simulate import Load, Truth, observe
from shakedown.files import atomic
from shakedown.metering import campaign_meters, sampler
from shakedown.metering import trace as traces
from shakedown.metering.meters import Channel
from shakedown.records import Analysis, Case, Finding, Measurement, Plan, Run
from shakedown.results import run_directory
from support.machines import machine

T0 = 1_780_000_000 * 10**9
NODE = Channel(id="sim/node", title="input", quantity="power", unit="W", scope="last", place="node")
SOCKET = Channel(id="sim/socket", title="socket", quantity="energy", unit="J", scope="counter", place="component")
#: 100 W, then DGEMM at 300 W from 10 to 70 s, idle, and again at 310 W from 80 to 140 s.
LOAD = Load(np.array([0.0, 10, 70, 80, 140]), np.array([100.0, 300, 100, 310, 100]))


def at(seconds: float) -> int:
    return T0 + round(seconds * 1e9)


def measured(repeat: int, begin_s: float, end_s: float, samples: int = 12, **changes: object) -> Measurement:
    each = (end_s - begin_s) / samples
    case = Case(
        kernel="dgemm",
        params={"n": 4096, "threads": 2, "library": "openblas"},
        work={"flop": 1e12},
        seconds=(each,) * samples,
        begin_ns=at(begin_s),
        end_ns=at(end_s),
    )
    record = Measurement(
        run="r1",
        repeat=repeat,
        workload="gemm",
        params={},
        host="node1",
        state="ok",
        cases=(case,),
        begin_ns=at(begin_s - 1),
        end_ns=at(end_s),
    )
    return msgspec.structs.replace(record, **changes)


def directory(
    path: Path, measurements: list[Measurement], sessions: list[list[traces.Trace]]
) -> run_directory.RunDirectory:
    manifest = run_directory.Manifest(
        schema=run_directory.SCHEMA, campaign="c", created_ns=T0, version="1", host="node1"
    )
    run = Run(id="r1", workload="gemm", params={}, label="dgemm 4096", estimate_s=1, limit_s=9)
    made = run_directory.RunDirectory.create(
        path,
        manifest=manifest,
        campaign_toml="",
        machine=machine(2),
        plan=Plan(campaign="c", title="C", runs=(run,)),
    )
    for one in measurements:
        folder = made.folder(one.run, one.repeat)
        folder.mkdir(parents=True)
        atomic.write_record(folder / "measurement.json", one)
    for number, session in enumerate(sessions, 1):
        traces.write(path / campaign_meters.FOLDER / str(number) / sampler.TRACE_FILE, session)
    return made


def seen(
    channel: Channel, begin_s: float = 0, end_s: float = 150, *, load: Load = LOAD, **truth: float
) -> traces.Trace:
    """What a meter says of the load, with its own stamps."""
    return observe(load, Truth(**{"refresh_s": 1.0, **truth}), channel, begin_s, end_s, origin_ns=T0, seed=1)


def finding(analysis: Analysis, metric: str) -> Finding:
    found = [one for one in analysis.findings if one.metric == metric]
    assert len(found) == 1, [one.metric for one in analysis.findings]
    return found[0]
