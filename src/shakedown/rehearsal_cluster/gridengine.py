"""The configuration of the cluster's Grid Engine as text: pure functions of the description.

Formats are those of sge_conf(5), bootstrap(5), sched_conf(5), complex(5), host_conf(5), hostgroup(5), sge_pe(5) and
queue_conf(5) of Son of Grid Engine 8.1.9; what differs from the installation's own defaults is changed in their text.
"""

from __future__ import annotations

import re
from pathlib import Path

from .settings import Description, node_names

QUEUE, HOSTS = "all.q", "@allhosts"
#: Parallel environments: name -> where the slots of a job go.
ENVIRONMENTS = {
    "mpi": "$round_robin",  # over as many nodes as there are slots
    "fill": "$fill_up",  # node by node
    "smp": "$pe_slots",  # on one node
}
WHOLE_NODES = "nodes"  # a multiple of a node's slots: whole nodes


def bootstrap(directory: Path, admin: str) -> str:
    """bootstrap(5): where qmaster finds the rest."""
    home = directory / "ge"
    return f"""\
admin_user              {admin}
default_domain          none
ignore_fqdn             false
spooling_method         classic
spooling_lib            libspoolc
spooling_params         {spooling(directory)}
binary_path             /usr/sbin
qmaster_spool_dir       {home}/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
"""


def spooling(directory: Path) -> str:
    return f"{directory}/ge/default/common;{directory}/ge/qmaster"


def configuration(default: str, directory: Path, description: Description, admin: str) -> str:
    """The global configuration: the installation's own with what a rehearsal changes. Fast: reports each 5 s, a silent
    host unknown after ``silence_s``, its jobs started elsewhere after twice that."""
    silence_s = description.settings.silence_s
    changed = {
        "execd_spool_dir": f"{directory}/ge/execd",
        "mailer": "/bin/true",
        "min_uid": "0",  # root submits as well
        "min_gid": "0",
        "load_report_time": "00:00:05",
        "max_unheard": clock(silence_s),
        "reschedule_unknown": clock(2 * silence_s),
        "shell_start_mode": "unix_behavior",
        "prolog": f"{admin}@{directory}/bin/prolog",
        "epilog": f"{admin}@{directory}/bin/epilog",
        "reporting_params": "accounting=true reporting=true flush_time=00:00:01 joblog=true sharelog=00:00:00",
    }
    text = default
    for name, value in changed.items():
        text = replaced(text, name, value)
    return text


def replaced(text: str, name: str, value: str) -> str:
    """A configuration in which this name has this value, whether it was there before or not."""
    line = f"{name} {value}"
    found, count = re.subn(rf"^{name}\s.*$", line.replace("\\", r"\\"), text, flags=re.MULTILINE)
    return found if count else f"{text}{line}\n"


def clock(seconds: int) -> str:
    """Seconds as Grid Engine writes them: 00:00:30."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def scheduler(text: str) -> str:
    """``qconf -ssconf`` with an interval of a second and a decision at once when a job comes or ends."""
    for name, value in {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}.items():
        text = replaced(text, name, value)
    return text


def complexes(text: str, gpus: int) -> str:
    """``qconf -sc`` with GPUs as a consumable of each host, and jobs that want a host to themselves."""
    lines = [line for line in text.splitlines() if line.split()[:1] not in (["gpu"], ["exclusive"])]
    if gpus:
        lines.append("gpu gpu INT <= YES YES 0 0")
    lines.append("exclusive excl BOOL EXCL YES YES 0 1000")
    return "\n".join(lines) + "\n"


def host_values(gpus: int) -> str:
    """What each host has of the complexes."""
    return ",".join([*((f"gpu={gpus}",) if gpus else ()), "exclusive=true"])


def host_group(description: Description) -> str:
    """hostgroup(5): all nodes."""
    return f"group_name {HOSTS}\nhostlist {' '.join(node_names(description.settings.nodes))}\n"


def environments(description: Description) -> dict[str, str]:
    """sge_pe(5) of each parallel environment, by name. ``control_slaves``: mpirun starts ranks through the engine."""
    rules = {**ENVIRONMENTS, WHOLE_NODES: str(description.settings.cpus)}
    return {
        name: f"""\
pe_name {name}
slots 99999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule {rule}
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""
        for name, rule in rules.items()
    }


_UNLIMITED = ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")


def queue(directory: Path, description: Description) -> str:
    """queue_conf(5) of the one queue."""
    none = (
        "user_lists xuser_lists subordinate_list complex_values projects xprojects calendar owner_list ckpt_list "
        "starter_method suspend_method resume_method terminate_method prolog epilog load_thresholds suspend_thresholds"
    )
    lines = [
        f"qname {QUEUE}",
        f"hostlist {HOSTS}",
        "seq_no 0",
        "nsuspend 1",
        "suspend_interval 00:05:00",
        "priority 0",
        "min_cpu_interval 00:05:00",
        "processors UNDEFINED",
        "qtype BATCH INTERACTIVE",
        f"pe_list {' '.join(environments(description))}",
        "rerun TRUE",
        f"slots {description.settings.cpus}",
        f"tmpdir {directory}/scratch",
        "shell /bin/sh",
        "shell_start_mode unix_behavior",
        "notify 00:00:60",
        "initial_state default",
        *(f"{name} NONE" for name in none.split()),
        *(f"{kind}_{name} INFINITY" for name in _UNLIMITED for kind in ("s", "h")),
    ]
    return "\n".join(lines) + "\n"


def parse_queues(text: str) -> dict[str, str]:
    """``qstat -f`` -> node -> the state of its queue: empty where all is well, else letters (qstat(1): u unknown, d
    disabled, E error, a alarm)."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split()
        if words and "@" in words[0] and len(words) >= 5:
            found[words[0].partition("@")[2].partition(".")[0]] = words[5] if len(words) > 5 else ""
    return found
