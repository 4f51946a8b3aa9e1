"""Run directories over months, made without running anything: what the tests of trends read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from shakedown.files import atomic
from shakedown.records import Case, Disturbance, Host, Machine, Measurement, Plan, Run, Setting
from shakedown.results import run_directory
from support.machines import host

DAY_NS = 86_400 * 10**9
T0 = 1_700_000_000 * 10**9


def node(name: str = "node1", **changes: object) -> Host:
    made = msgspec.structs.replace(host(2, name=name), boot_id="b0", settings=(setting("turbo", "on"),))
    return msgspec.structs.replace(made, **changes)


def setting(name: str, value: str) -> Setting:
    return Setting(name=name, value=value, state="info", effect="")


def run(path: Path, at_ns: int, bandwidths: Sequence[float], where: Host, **changes: object) -> Path:
    """One run directory with a STREAM triad in bytes/s a repeat."""
    version = str(changes.pop("version", "1"))
    measurements = []
    for repeat, bandwidth in enumerate(bandwidths, 1):
        case = Case(
            kernel="triad",
            params={"threads": 2, "bytes": 2**30, "level": "memory", "variant": "nt"},
            work={"bytes": 1e9, "bytes_moved": 1e9},
            seconds=(1e9 / float(bandwidth),) * 3,
        )
        record = Measurement(
            run="r1",
            repeat=repeat,
            workload="stream",
            params={},
            host=where.name,
            state="ok",
            cases=(case,),
            provenance={"build": {"version": version, "compiler": "GNU 12"}, "facts": {"isa": "avx2"}},
            disturbance=Disturbance(load_before=0.1 * (at_ns // DAY_NS % 7)),
            begin_ns=at_ns,
            end_ns=at_ns + 10**9,
        )
        measurements.append(msgspec.structs.replace(record, **changes))
    made = run_directory.RunDirectory.create(
        path,
        manifest=run_directory.Manifest(
            schema=run_directory.SCHEMA, campaign="c", created_ns=at_ns, version=version, host=where.name
        ),
        campaign_toml="",
        machine=Machine(hosts=(where,), discovered_ns=at_ns, version=version),
        plan=Plan(
            campaign="c",
            title="C",
            runs=(Run(id="r1", workload="stream", params={}, label="triad", estimate_s=1, limit_s=9),),
        ),
    )
    for one in measurements:
        folder = made.folder(one.run, one.repeat)
        folder.mkdir(parents=True)
        atomic.write_record(folder / "measurement.json", one)
    return path
