"""Every reader of files that users bring, each with sound files to spoil."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import devices
import journals
import power
import radio_wire
from seeds import RECORDINGS, ROOT, SOURCE, Reader, files


def readers() -> tuple[Reader, ...]:
    """All of them."""
    return (
        *_logs(),
        *_texts(),
        *_records(),
        *_packed(),
        *_tables(),
        *_power(),
        *_machines(),
        *devices.readers(),
        *journals.readers(),
        *power.readers(),
        *radio_wire.readers(),
        *_radios(),
    )


def _documented(page: str) -> tuple[bytes, ...]:
    """The TOML files that a page of docs/ shows."""
    text = (ROOT / "docs" / f"{page}.md").read_bytes()
    return tuple(re.findall(rb"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


_TARIFF = b"""name = "t"
currency = "EUR"
[rates]
cpu_h = "0.012"
gpu_h = { a100 = "0.90", default = "0.60" }
[qos.low]
factor = "0.5"
[free]
cpu_h = 1000
"""


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _logs() -> Iterator[Reader]:
    from shakedown import workloads
    from shakedown.records import Job, Run
    from shakedown.results.outcome import measurement

    native = {
        "stream": "stream-2c",
        "hpl": "hpl-2-ranks",
        "pingpong": "pingpong-openmpi-4",
        "collectives": "collectives-openmpi-5",
        "multi_pair": "multi_pair-openmpi-4",
        "onesided": "onesided-openmpi-4",
        "overlap": "overlap-openmpi-4",
        "shmem": "shmem-openmpi-4",
        "workers": "workers-2-cores",
        "burnin": "burnin-two-cores",
    }
    for name in workloads.names():
        one = workloads.get(name)
        if one.parse is None and name not in native:
            continue
        seeds = (
            files(*(sample.recording for sample in one.samples)) if one.parse else files(f"native/{native[name]}.jsonl")
        )
        run = Run(id="r", workload=name, params={}, label="", estimate_s=1, limit_s=1)
        job = Job(run="r", repeat=1, argv=(), exit_code=0)

        def read(path: Path, one: Any = one, run: Run = run, job: Job = job) -> None:
            data = path.read_bytes()
            found = measurement(run, job, data, data[-500:])
            assert found.state != "ok" or all(case.residual is None or case.residual.passed for case in found.cases)
            if one.stated:
                one.stated(data.decode("utf-8", "replace"))

        yield Reader(f"log of {name}", seeds, read, share=3.0 if one.parse else 0.3)


def _texts() -> Iterator[Reader]:
    from shakedown import campaign, units
    from shakedown.acceptance import plan as acceptance
    from shakedown.errors import plain
    from shakedown.hosts import hostlist
    from shakedown.operate.accounting import tariff
    from shakedown.operate.availability import contract
    from shakedown.operate.health import calling
    from shakedown.operate.health import plan as health
    from shakedown.prediction import setup
    from shakedown.radio.emulate import scenario
    from shakedown.tuning import space
    from shakedown.workloads import Garbage
    from shakedown.workloads.common import hpl_dat, spark_log

    def quantity(path: Path) -> None:
        with contextlib.suppress(ValueError):  # what it raises by contract
            units.parse_quantity(_text(path))

    def event_log(path: Path) -> None:
        with contextlib.suppress(Garbage):  # what it raises by contract
            spark_log.read(path.read_bytes().splitlines(keepends=True))

    yield Reader("event log of Spark", files("spark/*.jsonl"), event_log)
    yield Reader("HPL.dat", (hpl_dat.text(hpl_dat.HplDat(n=(1000,), nb=(64,), grids=((1, 2),))).encode(),),
                 lambda path: hpl_dat.read(_text(path), where="HPL.dat"), share=3.0)  # fmt: skip
    yield Reader(
        "campaign", files("campaign/shipped/*.toml", below=SOURCE), lambda path: campaign.parse(_text(path), "c.toml")
    )
    yield Reader("acceptance plan", files("acceptance/plans/*.toml", below=SOURCE),
                 lambda path: acceptance.parse(_text(path), "p.toml"), share=0.3)  # fmt: skip
    yield Reader("contract", files("operate/availability/contracts/*.toml", below=SOURCE),
                 lambda path: contract.load(str(path)), ".toml")  # fmt: skip
    yield Reader("prediction setup", files("prediction/clusters/*.toml", below=SOURCE),
                 lambda path: setup.parse(_text(path), "s.toml"))  # fmt: skip
    yield Reader("tariff", (_TARIFF,), tariff.load, ".toml")
    yield Reader("scenario of emulated radios", _documented("radio-emulation"), scenario.read, ".toml")
    yield Reader("space of the tuner", (b"nb = [128, 192]\np = [1, 2]\nn = 1000\n",), space.read, ".toml")
    yield Reader("health plan", _documented("health"),
                 lambda path: health.parse(_text(path), "h.toml", "n1", calling.names()), share=0.5)  # fmt: skip
    yield Reader(
        "list of hosts", (b"n[1-3,07-09],login,rack[1-2]n[01-02]", b"a,b"), lambda path: hostlist.expand(_text(path))
    )
    yield Reader("quantity", (b"40 GB/s", b"5 min", b"1.5e3 Gflop/s/W"), quantity)
    yield Reader(
        "text for a terminal", (b"\x1b[31mred\x1b[0m \x1b]8;;http://x\x07y", b"plain"), lambda path: plain(_text(path))
    )


def _records() -> Iterator[Reader]:
    import msgspec

    from shakedown.files import atomic
    from shakedown.records import Cpu, Host, Job, Limit, Machine, Measurement, Memory, Plan, Run
    from shakedown.results import run_directory as store

    run = Run(id="a1", workload="stream", params={"threads": 2}, label="l", estimate_s=1, limit_s=9)
    plan = Plan(
        campaign="c", title="t", runs=(run,), limits=(Limit(metric="m", at_least=1.0),), compare_with=("comet",)
    )
    job = Job(run="a1", repeat=1, argv=("x",), host="n1", begin_ns=1, end_ns=2, exit_code=0)
    measured = Measurement(
        run="a1", repeat=1, workload="stream", params={}, host="n1", state="ok", begin_ns=1, end_ns=2
    )
    manifest = store.Manifest(schema=1, campaign="c", created_ns=1, version="1", host="n1")
    cpu = Cpu(
        model="m", vendor="v", architecture="x86_64", microarchitecture="u", sockets=1, base_hz=2.6e9, isa=("avx2",)
    )
    host = Host(name="n1", cpu=cpu, memory=Memory(total_bytes=2**34), usable_cpus=(0, 1), cpu_quota=1.5)
    machine = msgspec.json.encode(Machine(hosts=(host,), discovered_ns=1, version="1"))
    kinds: tuple[tuple[str, bytes, Any], ...] = (
        ("plan", msgspec.json.encode(plan), Plan),
        ("job", msgspec.json.encode(job), Job),
        ("measurement", msgspec.json.encode(measured), Measurement),
        ("manifest", msgspec.json.encode(manifest), store.Manifest),
        ("machine", machine, Machine),
    )
    for name, seed, kind in kinds:
        yield Reader(f"{name}.json", (seed,), partial(atomic.read_record, kind=kind), share=1.5)


def _packed() -> Iterator[Reader]:
    from shakedown.files import packed

    text = (RECORDINGS / "hpl" / "netlib-2.3-1-rank.log").read_bytes()
    seeds = (gzip.compress(text, mtime=0), lzma.compress(text), bz2.compress(text))
    yield Reader("packed file", seeds, lambda path: packed.read_text(path, most_bytes=64 << 20), ".gz", share=1.5)


def _tables() -> Iterator[Reader]:
    from shakedown.hosts.access import LocalHost
    from shakedown.operate.accounting import readers as accounting
    from shakedown.operate.accounting.loading import Store
    from shakedown.operate.availability import reading

    def jobs(path: Path) -> None:
        with Store(zone="UTC", threads=1) as store:
            accounting.for_file(path).read(store, path)

    def outages(path: Path) -> None:
        reading.read([str(path)], LocalHost(), begin_s=None, end_s=None, zone="UTC", nodes="n[1-4] processors=4")

    seeds = tuple(
        one[:6000]
        for one in files("accounting/*-*", "accounting/lsf", "accounting/*pbs", "accounting/torque", "accounting/*.csv")
    )
    yield Reader("accounting", seeds, jobs, share=0.02)
    yield Reader("history of outages", tuple(one[:20000] for one in files("availability/*-*")), outages, share=0.2)


def _power() -> Iterator[Reader]:
    from shakedown.energy.facility import plant
    from shakedown.energy.green500 import stamps, submission
    from shakedown.hosts.access import LocalHost
    from shakedown.metering.meters import Target, get

    simulation = (b'{"load": {"t_s": [0, 10, 40], "w": [100, 300, 100]}, "channels": '
                  b'[{"id": "simulated/node", "truth": {"refresh_s": 1, "window_s": 1, "noise": 0.5}}]}')  # fmt: skip
    seeds = tuple(one[:8000] for one in files("meters/csv/*"))

    def follow(path: Path) -> None:
        target = Target(meter="csv", address=str(path), options={"zone": "UTC", "begin": "start"})
        get("csv").open(target, LocalHost()).read()

    yield Reader("power CSV", seeds, follow, ".csv", share=0.3)
    yield Reader("core phase in HPL's log", files("hpl/*-2.3-*.log"), lambda path: stamps.hpl_log(_text(path)))
    yield Reader("submission", _documented("green500"), submission.read, ".toml")
    yield Reader("plant", files("energy/facility/coolmuc.toml", below=SOURCE), plant.load, ".toml")

    def open_simulation(path: Path) -> None:
        get("simulated").open(Target(meter="simulated", address=str(path)), LocalHost()).close()

    yield Reader("simulation", (simulation,), open_simulation, share=0.3)


def _radios() -> Iterator[Reader]:
    from shakedown.radio import buildings, radios

    yield Reader("radios", files("radio/radios/*"), lambda path: radios.read(path, 2.0), share=2.0)
    yield Reader("town", files("radio/town.geojson"), buildings.read, share=2.0)


def _machines() -> Iterator[Reader]:
    """A recorded machine, one of whose files is spoiled: probes never raise, for whatever the kernel shows."""
    from shakedown.hosts.access import ReplayHost
    from shakedown.machine import cgroup, cpu, memory, numa
    from shakedown.machine.together import together

    root = RECORDINGS / "machines" / "kvm-sapphire-rapids-2c" / "root"
    names = [name for name in ("proc/cpuinfo", "proc/meminfo", "sys/devices/system/cpu/online", "proc/self/status",
                               "sys/devices/system/node/node0/meminfo", "sys/devices/system/node/online")
             if (root / name).is_file()]  # fmt: skip

    class Spoiled(ReplayHost):
        name_, data = "", b""

        def read(self, path: str) -> str | None:
            return self.data.decode("utf-8", "replace") if path == f"/{self.name_}" else super().read(path)

    for name in names:
        host = Spoiled(root)
        host.name_ = name

        def probe(path: Path, host: Spoiled = host) -> None:
            host.data = path.read_bytes()
            probes = {one.__module__: partial(one, host) for one in (cpu.cpu, memory.memory, numa.numa, cgroup.limits)}
            together(probes, 8.0)  # as discovery does: a probe that fails costs its own facts
            host.affinity()

        yield Reader(f"machine: {name}", ((root / name).read_bytes(),), probe, share=0.02)
