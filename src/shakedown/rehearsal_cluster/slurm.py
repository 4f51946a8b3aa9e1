"""The configuration of the cluster's Slurm as text: pure functions of the description.

Why each unusual line is there stands beside it. Parameters are those of slurm.conf(5), slurmdbd.conf(5), gres.conf(5)
and cgroup.conf(5); Slurm 21.08 and newer know all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .settings import CLUSTER, CONTROLLER, PARTITION, Description, address4, node_names

DATABASE, DATABASE_USER = "slurm_acct_db", "slurm"


def controller_address(description: Description) -> str:
    return "127.0.0.1" if description.layout == "plain" else address4(CONTROLLER)


def dbd_port(description: Description) -> int:
    return description.ports.get("slurmdbd", 6819)


def slurm_conf(directory: Path, description: Description, *, user: str, host: str) -> str:
    """slurm.conf. ``user`` runs every daemon; ``host`` is what ``hostname -s`` says where slurmctld runs: with any other
    name it says that it is no valid controller."""
    asked = description.settings
    plain = description.layout == "plain"
    address = controller_address(description)
    lines = [
        f"ClusterName={CLUSTER}",
        f"SlurmctldHost={host}({address})",
        "AuthType=auth/munge",
        f"AuthInfo=socket={directory}/munge/sock",
        "CredType=cred/munge",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "MailProg=/bin/true",
        f"SlurmctldPidFile={directory}/run/slurmctld.pid",
        f"SlurmdPidFile={directory}/run/slurmd.%n.pid",
        f"SlurmctldLogFile={directory}/log/slurmctld.log",
        f"SlurmdLogFile={directory}/log/slurmd.%n.log",
        f"StateSaveLocation={directory}/state",
        f"SlurmdSpoolDir={directory}/spool/%n",
        # PMIx keeps its folders below TmpFS: a node must have its own. In namespaces the path is bind-mounted.
        f"TmpFS={directory}/nodes/%n/scratch" if plain else f"TmpFS={directory}/scratch",
        "SlurmctldDebug=info",
        "SlurmdDebug=info",
        *_tracking(asked.fence),
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherFrequency=task=2",
        *_scheduling(asked.silence_s),
        *_hooks(directory),
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={address}",
        f"AccountingStoragePort={dbd_port(description)}",
        f"AccountingStoragePass={directory}/munge/sock",  # the socket of munge: AuthInfo is not asked here
        "AccountingStorageEnforce=associations,limits,qos",
        "AccountingStoreFlags=job_comment,job_script",
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={directory}/log/jobcomp.txt",
        "SlurmdParameters=config_overrides",  # a node may claim more CPUs than this host has
    ]
    if plain:
        lines += [f"SlurmctldPort={description.ports['slurmctld']}"]
    if asked.gpus:
        lines += ["GresTypes=gpu", "AccountingStorageTRES=gres/gpu"]
    lines += _nodes(description, host)
    return "\n".join(lines) + "\n"


def _scheduling(silence_s: int) -> list[str]:
    return [
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "SchedulerParameters=bf_interval=5,sched_interval=5,batch_sched_delay=0",
        "MpiDefault=none",
        "ReturnToService=1",
        "SlurmctldTimeout=30",
        f"SlurmdTimeout={silence_s}",
        "InactiveLimit=0",
        "KillWait=3",
        "UnkillableStepTimeout=60",
        "MinJobAge=120",
        "MessageTimeout=10",
        "DefMemPerCPU=100",
        "PropagateResourceLimits=NONE",  # those of the submitting shell are not the node's
    ]


def _tracking(fence: bool) -> list[str]:
    if fence:
        return ["ProctrackType=proctrack/cgroup", "TaskPlugin=task/cgroup"]
    return ["ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none"]


def _hooks(directory: Path) -> list[str]:
    return [
        f"HealthCheckProgram={directory}/bin/healthcheck",
        "HealthCheckInterval=10",
        "HealthCheckNodeState=ANY",
        f"Prolog={directory}/bin/prolog",
        f"Epilog={directory}/bin/epilog",
        "PrologFlags=Alloc",  # the prolog runs as the allocation is made, not with its first step: as on real machines
    ]


def _nodes(description: Description, host: str) -> list[str]:
    asked = description.settings
    gres = f" Gres=gpu:{asked.gpu_type}:{asked.gpus}" if asked.gpus else ""
    lines = [
        f"NodeName=DEFAULT CPUs={asked.cpus} Sockets=1 CoresPerSocket={asked.cpus} ThreadsPerCore=1 "
        f"RealMemory={asked.memory_bytes >> 20} TmpDisk=0{gres} State=UNKNOWN"
    ]
    for name in node_names(asked.nodes):
        if description.layout == "plain":
            port = description.ports[f"slurmd@{name}"]
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}")
        else:
            lines.append(f"NodeName={name} NodeAddr={address4(name)}")
    every = f"node[1-{asked.nodes}]" if asked.nodes > 1 else "node1"
    lines.append(f"PartitionName={PARTITION} Nodes={every} Default=YES MaxTime=1-0 DefaultTime=10 State=UP")
    return lines


def gres_conf(directory: Path, description: Description) -> str:
    """gres.conf: the GPUs are device files of the cluster's own, never the host's."""
    asked = description.settings
    if not asked.gpus:
        return "AutoDetect=off\n"
    every = f"node[1-{asked.nodes}]" if asked.nodes > 1 else "node1"
    devices = f"{directory}/dev/nvidia[0-{asked.gpus - 1}]" if asked.gpus > 1 else f"{directory}/dev/nvidia0"
    return f"AutoDetect=off\nNodeName={every} Name=gpu Type={asked.gpu_type} File={devices}\n"


def cgroup_conf() -> str:
    """cgroup.conf; Slurm reads it only with the fence. Cores are not constrained: a node may claim more than there are."""
    lines = [
        "CgroupPlugin=cgroup/v1",
        "CgroupMountpoint=/sys/fs/cgroup",
        "ConstrainRAMSpace=yes",
        "ConstrainSwapSpace=no",
        "ConstrainDevices=yes",
        "ConstrainCores=no",
    ]
    return "\n".join(lines) + "\n"


def mpi_conf() -> str:
    """mpi.conf (Slurm 22.05 and newer read it): PMIx ranks wait for each other around a ring.

    By default the ring carries data, and a tree what is a barrier only. In the step daemons of Slurm 22.05.8 that tree has
    no branches, as if TreeWidth were 0: each node completes it alone (``_progress_collect ... child_cntr=0`` in slurmd's
    log). The barrier at the end of MPI_Init then holds no one back, and Open MPI 4.1 calls through a null pointer when a
    message of a faster rank comes before it has registered for any (btl tcp, in about 1 of 25 starts on 4 nodes).
    """
    return "PMIxCollFence=ring\n"


def slurmdbd_conf(directory: Path, description: Description, *, user: str, host: str, password: str) -> str:
    """slurmdbd.conf; it holds the password of the database and so must have mode 600."""
    return f"""\
AuthType=auth/munge
AuthInfo=socket={directory}/munge/sock
DbdHost={host}
DbdAddr={controller_address(description)}
DbdPort={dbd_port(description)}
SlurmUser={user}
DebugLevel=info
LogFile={directory}/log/slurmdbd.log
PidFile={directory}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={DATABASE_USER}
StoragePass={password}
StorageLoc={DATABASE}
"""


def my_cnf(directory: Path, user: str) -> str:
    """MariaDB's options: a Unix socket only, small; a commit is written but not synced, so a killed server loses nothing,
    and only a machine that loses power does."""
    return f"""\
[mysqld]
user={user}
datadir={directory}/mysql/data
socket={directory}/mysql/sock
pid-file={directory}/mysql/pid
tmpdir={directory}/mysql/tmp
skip-networking
skip-name-resolve
performance_schema=OFF
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_lock_wait_timeout=900
innodb_flush_log_at_trx_commit=2
"""


def grants(password: str) -> str:
    """The SQL that makes the accounting database and its user; words of ours only, so nothing needs escaping."""
    return (
        f"create database if not exists {DATABASE};\n"
        f"create or replace user {DATABASE_USER}@localhost identified by '{password}';\n"
        f"grant all on {DATABASE}.* to {DATABASE_USER}@localhost;\n"
    )


def associations(users: Sequence[str], account: str) -> str:
    """What sacctmgr reads from its standard input: the cluster, one account, its users; the first user administers."""
    lines = [
        f"add cluster {CLUSTER}",
        f"add account {account} Cluster={CLUSTER} Description=acceptance Organization=site",
        *(
            f"add user {name} account={account} Cluster={CLUSTER}" + (" AdminLevel=Admin" if index == 0 else "")
            for index, name in enumerate(users)
        ),
    ]
    return "\n".join(lines) + "\nquit\n"


def parse_nodes(text: str) -> dict[str, tuple[str, str]]:
    """``sinfo -h -N -o '%N|%T|%E'`` -> node -> (state, reason). The state keeps its marks (``down*``: no answer)."""
    found: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("|")
        state, _, reason = rest.partition("|")
        if state:
            found[name.strip()] = (state.strip(), "" if reason.strip() == "none" else reason.strip())
    return found


def answering(state: str) -> bool:
    """Whether the controller hears the node: whatever its state, it carries no ``*`` and is known."""
    return bool(state) and not state.endswith("*") and not state.startswith(("unknown", "future", "not known"))
