"""Control groups that hold jobs to what they were given: made for one cluster, shown to its Slurm as if they were all.

Slurm of this age always names its groups ``slurm_node1`` at the top of each hierarchy, where two clusters would meet. So
each cluster has one group of its own in each hierarchy, and inside it this group is mounted where the hierarchy would be.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..errors import Unavailable
from . import daemons
from .settings import Layout

ROOT = Path("/sys/fs/cgroup")
#: What Slurm's proctrack/cgroup and task/cgroup use for memory and devices.
HIERARCHIES = ("freezer", "memory", "devices")


def group(directory: Path) -> str:
    """The name of a cluster's group: it follows from its directory, so that it is found again after any crash."""
    return f"shakedown.{hashlib.sha256(os.fsencode(directory)).hexdigest()[:12]}"


def check(layout: Layout) -> None:
    """Raise Unavailable where there can be no fence."""
    if layout != "root":
        raise Unavailable("the fence needs control groups of root's", hint="without --fence, or as root")
    absent = [name for name in HIERARCHIES if not os.access(ROOT / name / "tasks", os.W_OK)]
    if absent:
        raise Unavailable(
            f"the fence needs the control group hierarchies (version 1) {', '.join(absent)}, to be written to",
            where=str(ROOT),
            hint="without --fence",
        )


def make(directory: Path) -> None:
    """Make the cluster's groups, and leave their paths in ``etc/fence`` for process 1, which mounts them."""
    paths = [ROOT / name / group(directory) for name in HIERARCHIES]
    for path in paths:
        path.mkdir(exist_ok=True)
    (directory / "etc" / "fence").write_text("".join(f"{path}\n" for path in paths))


def remove(directory: Path) -> list[str]:
    """Remove the cluster's groups, whose processes have ended; returns those that stay."""
    paths = [ROOT / name / group(directory) for name in HIERARCHIES]
    found = [path for path in paths if path.is_dir()]
    daemons.until(lambda: all(_gone(path) for path in found), 5, 0.05)
    return [str(path) for path in found if path.exists()]


def _gone(top: Path) -> bool:
    """Remove a group and those below it, deepest first; False while the kernel still holds one."""
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            continue
    return not top.exists()
