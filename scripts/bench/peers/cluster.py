"""What a rehearsal cluster costs: how long up and down take, and what stays behind. It has no peer.

Brings up Slurm with its accounting, runs one job over all nodes, and ends it, so many times. Before the first and after
each, what the machine has is counted: processes, mounts, network devices, network namespaces, control groups, files in
/dev/shm that bear a name of its hosts. What is more afterwards is printed and ends in exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import common
from common import Option

from shakedown import rehearsal_cluster
from shakedown.errors import CannotMeasure
from shakedown.hosts import process
from shakedown.rehearsal_cluster import fence, namespaces

from . import Figure, Group, Pass, Rates, Row

STEPS = ("up", "first srun over all nodes", "down")


def machine() -> dict[str, set[str]]:
    """What there is now, of each kind that a cluster could leave."""
    return {
        "mounts": set(Path("/proc/self/mounts").read_text().splitlines()),
        "network devices": set(os.listdir("/sys/class/net")),
        "named network namespaces": set(os.listdir("/run/netns")) if Path("/run/netns").is_dir() else set(),
        "control groups": {str(path) for name in fence.HIERARCHIES for path in (fence.ROOT / name).glob("*")},
        "shared memory": {name for name in os.listdir("/dev/shm") if re.search(r"\b(node\d|ctl\b)", name)},
    }


def processes(place: Path) -> set[str]:
    """The processes that name the place in their words or in their environment, or that live in a namespace of theirs."""
    found = set(namespaces.marked(place))
    found |= {pid for pid in process.pids() if str(place) in " ".join(namespaces.words_of(pid)) and pid != os.getpid()}
    return {f"{pid} {namespaces.command_name(pid)}" for pid in found}


def inhabitants(lab: rehearsal_cluster.RehearsalCluster) -> dict[int, int | None]:
    """The processes in the network namespaces of a cluster that is up, and when each began. The namespaces' own numbers
    prove nothing afterwards: the kernel gives them to the next who asks."""
    hosts = ("ctl", *lab.nodes) if lab.namespaced else ()
    holders = [namespaces.process_1(lab.directory, host) for host in hosts]
    spaces = {namespaces.namespace(pid, "net") for pid in holders if pid}
    return {pid: process.start_ticks(pid) for pid in process.pids() if namespaces.namespace(pid, "net") in spaces}


def once(place: Path, nodes: int, before: dict[str, set[str]]) -> Rates:
    """Seconds that each step took, and how many things stayed behind."""
    marks = [time.monotonic()]
    lab = rehearsal_cluster.up(place, nodes=nodes, say=lambda text: common.say(f"    {text}"))
    marks.append(time.monotonic())
    lived = inhabitants(lab)
    done = lab.run(["srun", f"-N{nodes}", "hostname"])
    if len(done.out.split()) != nodes:
        raise CannotMeasure(f"srun over {nodes} nodes: {done}")
    marks.append(time.monotonic())
    lab.down()
    marks.append(time.monotonic())
    left = [f"process {one}" for one in processes(place)]
    left += [f"{kind}: {one}" for kind, had in machine().items() for one in had - before[kind]]
    left += [f"process {pid}" for pid, start in lived.items() if start is not None and process.alive(pid, start)]
    left += [f"file {place}"] if place.exists() else []
    for text in left:
        common.say(f"left behind: {text}")
    seconds = [end - begin for begin, end in itertools.pairwise(marks)]
    return {"cluster": {**dict(zip(STEPS, seconds, strict=True)), "left behind": len(left)}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))
    parent.chmod(0o755)
    before = machine()
    figures = {
        **dict.fromkeys(STEPS, Figure("s", better="lower")),
        "left behind": Figure("", better="lower", at_most=0),
    }
    try:
        passes = [Pass("cluster", lambda: once(parent / "lab", asked.nodes, before))]
        yield Group(f"Slurm on {asked.nodes} nodes", figures, passes, ["cluster"])
    finally:
        shutil.rmtree(parent, ignore_errors=True)


ROW = Row(groups, rounds=3, options={"nodes": Option(4, 2)})
