"""What a rehearsal cluster costs: how long up and down take, and what stays behind.

    python scripts/bench/cluster.py [--json] [--nodes 4] [--repeats 3]

Brings up Slurm with its accounting, runs one job over all nodes, and ends it, so many times. Before the first and after
each, what the machine has is counted: processes, mounts, network devices, network namespaces, control groups, files in
/dev/shm that bear a name of its hosts. What is more afterwards is printed and ends in exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from shakedown import rehearsal_cluster
from shakedown.hosts import process
from shakedown.rehearsal_cluster import fence, namespaces


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
    found |= {
        pid for pid in namespaces.pids() if str(place) in " ".join(namespaces.words_of(pid)) and pid != os.getpid()
    }
    return {f"{pid} {namespaces.command_name(pid)}" for pid in found}


def inhabitants(lab: rehearsal_cluster.RehearsalCluster) -> dict[int, int | None]:
    """The processes in the network namespaces of a cluster that is up, and when each began. The namespaces' own numbers
    prove nothing afterwards: the kernel gives them to the next who asks."""
    hosts = ("ctl", *lab.nodes) if lab.namespaced else ()
    holders = [namespaces.process_1(lab.directory, host) for host in hosts]
    spaces = {namespaces.namespace(pid, "net") for pid in holders if pid}
    return {pid: process.start_ticks(pid) for pid in namespaces.pids() if namespaces.namespace(pid, "net") in spaces}


def once(place: Path, nodes: int, before: dict[str, set[str]]) -> tuple[dict[str, float], list[str]]:
    """Seconds that each step took, and what stayed behind."""
    seconds: dict[str, float] = {}
    begun = time.monotonic()
    lab = rehearsal_cluster.up(place, nodes=nodes, say=lambda text: print(f"    {text}", file=sys.stderr))
    seconds["up"] = time.monotonic() - begun
    lived = inhabitants(lab)
    begun = time.monotonic()
    done = lab.run(["srun", f"-N{nodes}", "hostname"])
    seconds["first srun over all nodes"] = time.monotonic() - begun
    if len(done.out.split()) != nodes:
        sys.exit(f"srun over {nodes} nodes: {done}")
    begun = time.monotonic()
    lab.down()
    seconds["down"] = time.monotonic() - begun
    left = [f"process {one}" for one in processes(place)]
    left += [f"{kind}: {one}" for kind, had in machine().items() for one in had - before[kind]]
    left += [f"process {pid}" for pid, start in lived.items() if start is not None and process.alive(pid, start)]
    left += [f"file {place}"] if place.exists() else []
    return seconds, left


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true")
    options.add_argument("--nodes", type=int, default=4)
    options.add_argument("--repeats", type=int, default=3)
    asked = options.parse_args()
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))
    parent.chmod(0o755)
    before = machine()
    runs, left = [], []
    try:
        for _ in range(asked.repeats):
            seconds, stayed = once(parent / "lab", asked.nodes, before)
            runs.append(seconds)
            left += stayed
    finally:
        shutil.rmtree(parent, ignore_errors=True)
    result = {
        "nodes": asked.nodes,
        "load_average": os.getloadavg()[0],
        **{f"{name}_s": [round(one[name], 2) for one in runs] for name in runs[0]},
        **{f"{name}_s_median": round(statistics.median(one[name] for one in runs), 2) for name in runs[0]},
        "left_behind": left,
    }
    if asked.json:
        print(json.dumps(result, indent=1))
    else:
        for name, value in result.items():
            print(f"{name:32} {value}")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
