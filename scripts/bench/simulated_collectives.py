"""Collective operations on simulated machines, where the time of each is known exactly: SimGrid's SMPI runs `collectives`.

    python scripts/bench/simulated_collectives.py [--ranks 16,64,256] [--machines 4] [--words 1,1024] [--tiny] [--json]

Machines are clusters and fat trees of drawn latency and bandwidth. On each, all operations with the choices that Open MPI,
MPICH and MVAPICH2 make, and single operations with an algorithm that is planted. The truth of a case is a program
of its own (native/testing/simulated/truth.cpp) by the simulator's clock; an operation is bad where it truly takes more than
1.05 times a mock-up of it.

A row: cases; the greatest difference of our times from the truth, in ns (stamps are whole ones); the most that our own
agreement adds, in parts of the time; how many operations are truly bad, of those how many are found, how many others are
flagged; how many beat their bound. Ends with 1 where a time is not the truth, a bad one is missed, more than 5 % of the good
are flagged, or a bound is beaten."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
from common import Option, Wrong

from shakedown.analysis import derive, table
from shakedown.analysis.collectives import findings, guidelines
from shakedown.errors import CannotMeasure
from shakedown.programs import events
from shakedown.records import Case, Finding, Measurement
from shakedown.workloads import collectives

ROOT = Path(__file__).resolve().parents[2]
#: Of SMPI's, that of Intel MPI is left out: in 3.32 it ends the program on 5 ranks (MPI_ERR_TRUNCATE).
SELECTORS = ("ompi", "mpich", "mvapich2")
#: Algorithms of SMPI that fit few machines, or none.
PLANTED = {
    "allreduce": ("redbcast", "lr"),
    "bcast": ("flattree", "NTSL"),
    "reduce": ("flat_tree",),
    "allgather": ("GB", "ring"),
    "alltoall": ("ring", "basic_linear"),
    "barrier": ("ompi_basic_linear", "ompi_doublering"),
    "gather": ("ompi_basic_linear", "ompi_linear_sync"),
    "scatter": ("ompi_basic_linear",),
}
#: What has no mock-up is timed alone.
OPERATIONS = (*PLANTED, "reduce_scatter_block", "scan", "exscan")
WORD_BYTES = 8
#: Two stamps, of two ranks that began within one nanosecond.
ROUNDING_NS = 3.0
MOST_FALSE = 0.05


class Machine(NamedTuple):
    """A simulated one: its description, and how many hosts it has."""

    name: str
    platform: str
    hosts: int


class Truth(NamedTuple):
    seconds: float  # with our agreement behind it
    alone_s: float


class Seen(NamedTuple):
    off_ns: float
    added: float
    bad: bool
    flagged: bool
    beats: bool


def machines(ranks: int, count: int, seed: int) -> Iterator[Machine]:
    """Clusters and fat trees in turn, of drawn links; no more ranks than hosts."""
    rng = random.Random(f"{seed} {ranks}")
    for number in range(count):
        link = f'bw="{rng.uniform(1, 25):.3f}GBps" lat="{rng.uniform(0.3, 5):.3f}us"'
        hosts, shape = ranks, f'bb_bw="{rng.uniform(100, 400):.1f}GBps" bb_lat="{rng.uniform(0.1, 2):.3f}us"'
        name = "cluster"
        if number % 2:
            name, leaf = "fat tree", 4
            hosts = -(-ranks // leaf) * leaf
            shape = f'topology="FAT_TREE" topo_parameters="2;{leaf},{hosts // leaf};1,2;1,{rng.choice((1, 2))}"'
        yield Machine(f"{name} {number}", _PLATFORM.format(last=hosts - 1, link=link, shape=shape), hosts)


_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="all" prefix="node-" radical="0-{last}" suffix="" speed="1Gf" {link} {shape}/>
</platform>
"""


class Simulator(NamedTuple):
    """Runs programs on a machine whose files lie in a folder."""

    folder: Path
    build: Path
    ranks: int
    choices: tuple[str, ...]

    def run(self, program: str, *words: str) -> str:
        argv = ["smpirun", "-np", str(self.ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
        # SMPI's own factors let 2 KiB arrive before one byte: there no latency bounds anything.
        settings = ("simulate-computation:no", "wtime:0", "lat-factor:0:1", "bw-factor:0:1", *self.choices)
        argv += [f"--cfg=smpi/{one}" for one in settings]
        argv += ["--cfg=surf/precision:1e-12", "--log=root.thres:error"]
        path = self.build / "native/testing/simulated" / program
        return common.output([*argv, path, *words], cwd=self.folder)


def measured(simulator: Simulator, operations: Sequence[str], words: Sequence[int]) -> tuple[Case, ...]:
    """What our program says, on ranks that nothing disturbs."""
    sizes = ",".join(str(WORD_BYTES * one) for one in words)
    asked = ("--operations", ",".join(operations), "--sizes", sizes, "--samples", "20", "--budget-s", "1000")
    ended = simulator.run("simulated_collectives", *asked, "--silent-s", "0", "--world-size", str(simulator.ranks))
    # Additions take no time there, which no program on a real machine may say.
    told = events.parse("\n".join(one for one in ended.splitlines() if '"reduce_local"' not in one).encode())
    if not told.ended or any(case.residual is not None and not case.residual.passed for case in told.cases):
        raise Wrong(f"collectives did not end, or found wrong words, on {simulator.ranks} simulated ranks")
    return told.cases


def truths(simulator: Simulator, cases: Sequence[Case]) -> dict[tuple[str, str, int], Truth]:
    """Of each operation, method and size."""
    asked = []
    for case in cases:
        if "method" in case.params and case.kernel in OPERATIONS:
            words = int(case.params.get("bytes", 0)) // WORD_BYTES
            asked += [case.kernel, str(case.params["method"]), str(words)]
    found = {}
    for row in simulator.run("simulated_truth", *asked).splitlines():
        operation, method, count, seconds, alone = row.split()
        found[operation, method, int(count)] = Truth(float(seconds), float(alone))
    return found


def judged(cases: Sequence[Case]) -> list[Finding]:
    """The findings as a report has them."""
    record = Measurement(
        run="r",
        repeat=1,
        workload="collectives",
        params={},
        host="simulated",
        state="ok",
        cases=tuple(cases),
        begin_ns=0,
        end_ns=1,
    )
    columns = table.from_measurements([record])
    found = derive.findings(columns, {"collectives": collectives.WORKLOAD.metrics})
    return findings.judged(found, columns)


def seen(cases: Sequence[Case], truth: dict[tuple[str, str, int], Truth]) -> Iterator[Seen]:
    """Each operation of each size: its time and its verdict beside the truth."""
    spoken = {}
    for one in judged(cases):
        if one.params.get("method") == findings.LIBRARY and one.metric.endswith(".time"):
            spoken[one.metric.split(".")[1], int(one.params.get("bytes", 0)) // WORD_BYTES] = one
    off: dict[tuple[str, int], float] = {}
    for case in cases:
        if "method" in case.params and case.kernel in OPERATIONS:
            words = int(case.params.get("bytes", 0)) // WORD_BYTES
            exact = truth[case.kernel, str(case.params["method"]), words].seconds
            worst = max(abs(1e9 * (one - exact)) for one in case.seconds)
            off[case.kernel, words] = max(off.get((case.kernel, words), 0.0), worst)
    for (operation, words), one in spoken.items():
        library = truth[operation, findings.LIBRARY, words]
        others = [time for (name, method, count), time in truth.items() if (name, count) == (operation, words)
                  and method != findings.LIBRARY]  # fmt: skip
        bad = any(library.seconds > guidelines.MARGIN * other.seconds for other in others)
        least = next((part.value for part in one.fractions if part.limit == findings.BOUND), 0.0)
        yield Seen(
            off[operation, words],
            library.seconds / library.alone_s - 1,
            bad,
            any(notice.code == findings.SLOWER for notice in one.notices),
            least > (one.value or 0.0) * (1 + 1e-9),
        )


def line(ranks: int, machine: str, what: str, rows: Sequence[Seen]) -> dict[str, Any]:
    return {
        "ranks": ranks,
        "machine": machine,
        "algorithms": what,
        "cases": len(rows),
        "off_ns": max(one.off_ns for one in rows),
        "agreement_adds": max(one.added for one in rows),
        "bad": sum(one.bad for one in rows),
        "found": sum(one.bad and one.flagged for one in rows),
        "good": sum(not one.bad for one in rows),
        "flagged_good": sum(one.flagged and not one.bad for one in rows),
        "beat_their_bound": sum(one.beats for one in rows),
    }


def on_machine(
    machine: Machine, ranks: int, build: Path, words: Sequence[int], folder: Path
) -> Iterator[dict[str, Any]]:
    """A line for the choices of the MPIs, and one for what is planted."""
    folder.mkdir(parents=True)
    (folder / "platform.xml").write_text(machine.platform)
    (folder / "hosts").write_text("".join(f"node-{number}\n" for number in range(machine.hosts)))
    chosen = [((f"coll-selector:{one}",), OPERATIONS) for one in SELECTORS]
    planted = [((f"{name}:{one}",), (name,)) for name, several in PLANTED.items() for one in several]
    for what, settings in (("as MPIs choose", chosen), ("planted", planted)):
        rows: list[Seen] = []
        for choices, operations in settings:
            simulator = Simulator(folder, build, ranks, choices)
            cases = measured(simulator, operations, words)
            rows += seen(cases, truths(simulator, cases))
        yield line(ranks, machine.name, what, rows)


def built(build: Path) -> Path:
    """Where the programs are, built anew where a source has changed. Raises CannotMeasure."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(build), "-DSHAKEDOWN_TESTS=ON", "-DSHAKEDOWN_NVCC=off"]
    common.output(configure)
    try:
        common.output(["cmake", "--build", str(build), "-j", str(common.CORES), "--target", "simulated"])
    except CannotMeasure as error:
        raise CannotMeasure(f"{error}\n  next: sudo apt-get install libsimgrid-dev, if there is no SimGrid") from None
    return build


def main() -> int:
    asked = common.arguments(
        __doc__,
        ranks=Option([16, 64, 256], [5]),
        machines=Option(4, 1, "of each number of ranks"),
        words=Option([1, 1024], [1, 256], "of 64 bits: sizes of vectors and blocks"),
        seed=Option(0),
        build=Option(str(ROOT / "build" / "simulated"), help="folder of the programs"),
        folder=Option("simulated", help="for the descriptions of the machines"),
    )
    try:
        build = built(Path(asked.build))
        rows: list[dict[str, Any]] = []
        for ranks in asked.ranks:
            for number, machine in enumerate(machines(ranks, asked.machines, asked.seed)):
                folder = Path(asked.folder).absolute() / f"{os.getpid()}-{ranks}-{number}"
                rows += on_machine(machine, ranks, build, asked.words, folder)
                common.say(f"{ranks} ranks, {machine.name}")
    except CannotMeasure as error:
        common.say(f"simulated_collectives: {error}")
        return error.exit_code
    whole = dict.fromkeys(("ranks", "machine", "algorithms", "cases"), "")
    verdicts = dict.fromkeys(("bad", "found", "good", "flagged_good", "beat_their_bound"), "")
    common.show(asked, machines=(rows, {**whole, "off_ns": ".2f", "agreement_adds": ".3%", **verdicts}))
    total = {name: sum(row[name] for row in rows) for name in verdicts}
    holds = (
        max(row["off_ns"] for row in rows) <= ROUNDING_NS
        and total["found"] == total["bad"]
        and total["flagged_good"] <= MOST_FALSE * total["good"]
        and not total["beat_their_bound"]
    )
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
