"""What a tuner works on: a host, a trial, the windows of a run whose steps are exact."""

from __future__ import annotations

import msgspec

from shakedown.records import Core, Cpu, Host, Memory, NumaNode, Peak
from shakedown.tuning import loop
from shakedown.tuning.records import Candidate, Effect, Interval, Level, Request, Result, Trial, Window
from shakedown.tuning.windows import Step, orders


def host(cores: int = 8, nodes: int = 2) -> Host:
    per_node = cores // nodes
    return Host(
        name="node1",
        cpu=Cpu(
            model="x",
            vendor="GenuineIntel",
            architecture="x86_64",
            microarchitecture="x",
            sockets=nodes,
            cores=tuple(
                Core(cpus=(i, i + cores), core_id=i, socket=i // per_node, numa_node=i // per_node)
                for i in range(cores)
            ),
        ),
        memory=Memory(total_bytes=64 << 30, available_bytes=32 << 30),
        numa=tuple(
            NumaNode(
                id=node,
                cpus=tuple(cpu for i in range(node * per_node, (node + 1) * per_node) for cpu in (i, i + cores)),
            )
            for node in range(nodes)
        ),
        usable_cpus=tuple(range(2 * cores)),
        peaks=(Peak(name="flops.fp64", scope="node", value=8e11, unit="flop/s", kind="derived", basis=""),),
    )


def windows_of(step: Step, n: int, nb: int, panels: int, shares: tuple[float, ...]) -> list[Window]:
    found = []
    for share in shares:
        left = orders(int(n * share), nb, panels)
        found.append(Window(order=int(n * share), panels=panels, seconds=sum(map(step.seconds, left))))
    return found


def trial(number: int = 1) -> Trial:
    request = Request(point={"nb": number}, n=1000, stage="halving", block="b", estimate_s=1, cap_s=1)
    return msgspec.structs.replace(loop.blank(loop.TrialRequest(request, 1.0, 1)), state="ok", seconds=1.5, cost_s=2.0)


def result(**changes: object) -> Result:
    point = {"layout": "2x4", "grid": "1x2", "nb": 192, "bcast": "1ring"}
    nothing = Interval(value=0.0, low=0.0, high=0.0)
    chosen = Candidate(point=point, seconds=10.0, low_s=9.8, high_s=10.2, runs=3, kind="whole", predicted_s=9.0)
    other = Candidate(
        point={**point, "nb": 256},
        seconds=10.3,
        low_s=10.0,
        high_s=10.6,
        runs=2,
        kind="whole",
        behind=Interval(value=0.03, low=0.01, high=0.05),
    )
    effect = Effect(
        axis="nb",
        chosen="192",
        levels=(
            Level(value="192", slower=nothing, runs=3),
            Level(value="256", slower=Interval(value=0.03, low=0.01, high=0.05), runs=2),
        ),
        spread=Interval(value=0.03, low=0.01, high=0.05),
    )
    made = Result(
        n=20000,
        n_reason="as asked",
        searched=("layout", "grid", "nb", "bcast"),
        chosen=chosen,
        others=(other,),
        effects=(effect,),
        noise=0.01,
        finished=True,
        runs=7,
        spent_s=100.0,
        budget_s=600.0,
    )
    return msgspec.structs.replace(made, **changes)  # type: ignore[arg-type]
