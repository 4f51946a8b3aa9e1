"""The rehearsal cluster: a real batch engine on one machine, with nodes that can be broken.

    from shakedown import rehearsal_cluster

    with rehearsal_cluster.up("/tmp/lab", nodes=4) as lab:
        lab.run(["srun", "-N4", "hostname"])
        lab.fail("node2")

Slurm with its accounting (munge, MariaDB, slurmdbd, slurmctld, one slurmd a node) or Grid Engine, or both. A node is a set
of Linux namespaces: a network with addresses of its own behind a switch, a host name, a /dev/shm, a scratch folder, a table
of processes. See docs/rehearsal.md.
"""

from .rehearsal import LabDoor, NodeStatus, RehearsalCluster, Status, default_directory, open_, up
from .settings import Description, Link, Settings

__all__ = [
    "Description",
    "LabDoor",
    "Link",
    "NodeStatus",
    "RehearsalCluster",
    "Settings",
    "Status",
    "default_directory",
    "open_",
    "up",
]
