"""What other programs print and the kernel shows: batch engines, GPU tools, meters, whole recorded machines.

One input is a bundle of several of them: what is spoiled may be any, and a part whose name is spoiled is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from seeds import RECORDINGS, Reader, files

from shakedown.hosts.access import ReplayHost, Result

_PART, _NAME = b"\x1e", b"\x1f"
#: Of a recorded machine: larger files are tables and logs that say the same many times.
_LARGEST_PART = 20_000
_NVML = {
    "driver": "550.54.15",
    "cuda": "12.4",
    "gpus": [
        {
            "index": 0,
            "name": "NVIDIA H200",
            "memory_bytes": 150754820096,
            "pci": "00000000:19:00.0",
            "max_sm_mhz": 1980,
        },
        {"index": 1, "error": "GPU is lost"},
    ],
}
_MATRIX = {
    "status": "success",
    "data": {
        "resultType": "matrix",
        "result": [{"metric": {"__name__": "node_power_watts", "host": "n1"}, "values": [[1700000000.5, "351.25"]]}],
    },
}
_SHELLY = {
    "switch:0": {"apower": 8.9, "aenergy": {"total": 6.532}, "errors": ["overtemp"]},
    "em:0": {"total_act_power": 300.5, "a_errors": ["out_of_range:current"]},
    "em1data:1": {"total_act_energy": 17},
}
_SLURM_ENVIRONMENT = b"""SLURM_JOB_ID=7
SLURM_JOB_NODELIST=n[1-2]
SLURM_JOB_CPUS_PER_NODE=16(x2)
SLURM_GPUS_ON_NODE=4
SLURM_RESTART_COUNT=1
SLURM_JOB_END_TIME=1700000000
SLURM_HET_SIZE=1
SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]
SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=16(x2)
LSB_JOBID=7
LSB_MCPU_HOSTS=n1 4 n2 4
JOB_ID=7
SGE_ROOT=/opt/sge
QUEUE=all.q
PE_HOSTFILE=/hosts
NSLOTS=8
PBS_JOBID=7.server
PBS_NODEFILE=/hosts
FLUX_URI=local:///run/flux
FLUX_ENCLOSING_ID=f7
"""
_SAID = b"""JobId=7 EndTime=1700000000 AllocTRES=cpu=32,gres/gpu=8 Restarts=1
n1|16|gpu:a100:4(S:0-1)|idle
n1|idle|16|gpu:a100:4(S:0-1)|10.0.0.1|none
ReservationName=m StartTime=1700000000 EndTime=1700003600 Nodes=n[1-2] Flags=MAINT
"""


def bundle(parts: Mapping[str, bytes]) -> bytes:
    """Named parts as one input."""
    return b"".join(_PART + name.encode() + _NAME + data for name, data in parts.items())


def unbundle(data: bytes) -> dict[str, bytes]:
    """Its parts again, as far as they can be told."""
    pairs = (part.partition(_NAME) for part in data.split(_PART)[1:])
    return {name.decode("utf-8", "replace"): held for name, _, held in pairs}


class Spoiled:
    """A recorded host, some of whose files and all of whose commands answer from a bundle."""

    def __init__(self, door: ReplayHost, names: Sequence[str], data: bytes) -> None:
        self._door, self._names, self._parts = door, frozenset(names), unbundle(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._door, name)

    def read_bytes(self, path: str) -> bytes | None:
        return self._parts.get(path) if path in self._names else self._door.read_bytes(path)

    def read(self, path: str) -> str | None:
        data = self.read_bytes(path)
        return None if data is None else data.decode("utf-8", "replace")

    def run(self, argv: Sequence[str], **_: Any) -> Result:
        said = self._parts.get("$ " + " ".join(argv))
        return (
            Result(None, "", f"{argv[0]}: not recorded")
            if said is None
            else Result(0, said.decode("utf-8", "replace"), "")
        )

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if any(one.split()[:2] == ["$", name] for one in self._parts) else None


def readers() -> Iterator[Reader]:
    """All of them."""
    yield from _engines()
    yield from _gpus()
    yield from _meters()
    yield from _machines()


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


# ------------------------------------------------------------------------------------------------------- batch engines


def _engines() -> Iterator[Reader]:
    from shakedown import schedulers
    from shakedown.errors import ShakedownError
    from shakedown.operate.availability import jobs, reading, watching

    recorded = {
        "slurm": ("schedulers/slurm-*", "schedulers/sample-s*"),
        "gridengine": ("schedulers/gridengine-*",),
        "pbs": ("schedulers/openpbs-*",),
        "torque": ("schedulers/torque-*",),
        "lsf": ("schedulers/lsf-*",),
        "flux": ("schedulers/flux-*",),
    }
    for name in schedulers.names():
        engine = schedulers.get(name)

        def parse(path: Path, engine: Any = engine) -> None:
            for code, err in ((0, ""), (1, "No such job: not found")):
                said = Result(code, _text(path), err)
                engine.queued(said)
                engine.accounted(said)
            try:
                engine.submitted(Result(0, _text(path), ""))
            except ShakedownError as error:
                str(error)

        yield Reader(f"engine {name}", files(*recorded[name]), parse, share=0.5)
    tables = files("schedulers/sample-sacct*", "schedulers/slurm-*sacct*", "schedulers/gridengine-*g")
    yield Reader("jobs beside outages", tables, jobs.read, share=0.3)
    seed = bundle({"environment": _SLURM_ENVIRONMENT, "/hosts": b"n1 4\nn2 4\n", "said": _SAID})

    def ask(path: Path) -> None:
        parts = unbundle(path.read_bytes())
        said = parts.get("said", b"").decode("utf-8", "replace")
        lines = parts.get("environment", b"").decode("utf-8", "replace").splitlines()
        environment = dict(line.partition("=")[::2] for line in lines)

        class Answering(Spoiled):
            def run(self, argv: Sequence[str], **_: Any) -> Result:
                return Result(0, said, "")

        door: Any = Answering(ReplayHost(Path("/nonexistent")), ("/hosts",), path.read_bytes())
        for name in schedulers.names():
            _refusing(partial(schedulers.get(name).inside, environment, door))
        for name in ("slurm", "gridengine"):
            _refusing(partial(watching.look, name, door))
        _refusing(partial(reading.read, ["slurm"], door, begin_s=1699990000, end_s=1700090000))
        _refusing(partial(jobs.ask, door, 1699990000, 1700090000))

    queue = bundle({"environment": b"", "said": files("schedulers/gridengine-*.xml")[0]})
    yield Reader("allocation and nodes", (seed, queue), ask, share=0.3)


def _refusing(call: Callable[[], object]) -> None:
    """Each of several is to be asked, whatever the others refuse."""
    from shakedown.errors import ShakedownError

    try:
        call()
    except ShakedownError as error:
        str(error)


# ---------------------------------------------------------------------------------------------------------------- GPUs


def _gpus() -> Iterator[Reader]:
    from shakedown.hosts import gpu_state, nvidia_smi
    from shakedown.machine import gpu_query, gpus

    nothing = ReplayHost(Path("/nonexistent"))
    tools = {
        "$ " + " ".join(gpus.NVML): json.dumps(_NVML).encode(),
        "$ " + " ".join(gpus.NVIDIA_SMI): files("gpu/nvidia-smi-tesla-t4.xml")[0],
        "$ " + " ".join(gpus.ROCM_SMI): files("gpu/rocm-smi-*.json")[0],
    }
    without_nvml = dict(list(tools.items())[1:]) | {
        "$ " + " ".join(gpus.NVIDIA_SMI): files("gpu/nvidia-smi-a100*.xml")[0]
    }
    driver = files("gpu/gpu-query-cuda.json")

    def probe(path: Path) -> None:
        _whole(gpus.gpus(Spoiled(nothing, (), path.read_bytes())))

    def query(path: Path) -> None:
        try:
            told = gpu_query.parse(_text(path))
        except ValueError:  # by contract
            return
        found, _ = gpus.gpus(Spoiled(nothing, (), bundle(tools)))
        _whole([gpu_query.joined(gpu, told) for gpu in found])

    def health(path: Path) -> None:
        try:
            _whole(gpu_state.states(nvidia_smi.parse(_text(path))))
        except ValueError as error:  # by contract
            str(error)

    yield Reader("GPUs of a machine", (bundle(tools), bundle(without_nvml)), probe, share=0.5)
    yield Reader("what the CUDA driver says", driver, query, share=0.3)
    yield Reader("GPUs for health", files("gpu/nvidia-smi-*.xml"), health, share=0.3)


def _whole(found: Any) -> None:
    """What was read can be kept: a number of more than 64 bits could not."""
    import msgspec

    msgspec.json.encode(found)


# -------------------------------------------------------------------------------------------------------------- meters


def _meters() -> Iterator[Reader]:
    from shakedown.errors import UNREADABLE
    from shakedown.metering import meters
    from shakedown.metering.meters import _network, prometheus, shelly

    for name in meters.names():
        meter = meters.get(name)
        for sample in () if name in ("csv", "simulated") else meter.samples:
            root = RECORDINGS / sample.recording
            parts = _tree(root) | {f"$ {line}": (root / file).read_bytes() for line, file in sample.commands.items()}

            def read(
                path: Path, meter: Any = meter, sample: Any = sample, root: Path = root, names: Any = tuple(parts)
            ) -> None:
                door: Any = Spoiled(ReplayHost(root), names, path.read_bytes())
                source = meter.open(meters.parse_target(sample.target), door)
                try:
                    source.read()
                finally:
                    source.close()

            yield Reader(f"meter {sample.target} of {sample.recording}", (bundle(parts),), read, share=0.1)

    def answer(path: Path, parse: Any) -> None:
        import msgspec

        try:
            parse(msgspec.json.decode(path.read_bytes()))
        except (_network.Lost, *UNREADABLE) as error:
            str(error)

    matrix, status = partial(answer, parse=prometheus.parse_matrix), partial(answer, parse=shelly.parse)
    yield Reader("answer of Prometheus", (json.dumps(_MATRIX).encode(),), matrix, share=0.3)
    yield Reader("status of a Shelly", (json.dumps(_SHELLY).encode(),), status, share=0.3)


@cache
def _tree(root: Path) -> dict[str, bytes]:
    """The files below a folder by their paths there."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and path.stat().st_size <= _LARGEST_PART)
    return {f"/{path.relative_to(root)}": path.read_bytes() for path in found}


# ------------------------------------------------------------------------------------------------------------- machines


def _machines() -> Iterator[Reader]:
    """Probes never raise, for whatever the kernel shows; a health check raises what its caller puts into words."""
    from shakedown.errors import ShakedownError
    from shakedown.machine import discover, recording
    from shakedown.operate.health import calling
    from shakedown.operate.health.node_access import Replay
    from shakedown.operate.health.records import CheckContext

    folder = RECORDINGS / "machines" / "kvm-sapphire-rapids-2c"
    replayed = recording.replay(folder)
    parts = _tree(folder / "root")

    def probe(path: Path) -> None:
        door: Any = Spoiled(replayed, tuple(parts), path.read_bytes())
        host = discover(door)
        _whole(host)

    yield Reader("whole machine", (bundle(parts),), probe, share=0.02)
    thufir = RECORDINGS / "health" / "thufir-node"
    files_ = {name: data for name, data in _tree(thufir).items() if name != "/senses.json"}

    def check(path: Path) -> None:
        held = unbundle(path.read_bytes())

        class Senses(Replay):
            def text(self, path: str) -> str | None:
                if path not in files_:
                    return super().text(path)
                data = held.get(path)
                return None if data is None else data.decode("utf-8", "replace")

        for name in calling.names():
            one = calling.check(name)
            try:
                one.run(CheckContext(senses=Senses(str(thufir)), plan=one.plan(), kept={}, now_s=1.7e9, boot="b"))
            except (OSError, ValueError, ShakedownError) as error:
                str(error)

    yield Reader("health checks", (bundle(files_),), check, share=0.03)
