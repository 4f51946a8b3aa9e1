"""Processes that should not be there: of users who have no job on this node, zombies, and those that hang in the kernel.

A process belongs to a job by its control group or by being below a batch engine's starter (slurmstepd, sge_shepherd,
pbs_mom). A user with any such process is taken to have a job, and is left alone. Only asked on a node that runs jobs: one
with slurmd, sge_execd or pbs_mom, or where the plan says so.
"""

from __future__ import annotations

from ....records import Record
from ..node_access import NodeAccess
from ..records import Check, CheckContext, Finding, Metric, Outcome
from ..thresholds import at_most, wrong
from ._proc import Process, in_job, processes

_EXECUTORS = ("slurmd", "sge_execd", "pbs_mom")


class ProcessesConfig(Record, frozen=True, kw_only=True):
    jobs_only: bool | None = None  # users may only run what belongs to a job; None: where a batch engine's daemon runs
    users: tuple[str, ...] = ()  # who may always: names or numbers
    first_uid: int = 1000  # ordinary users begin here
    stuck: int = 0  # processes that hang in the kernel, above which it is a warning
    stuck_critical: int = 8
    zombies: int = 100


def run(look: CheckContext) -> Outcome:
    senses, plan = look.senses, look.plan
    held = processes(senses)
    if not held:
        return Outcome(absent="/proc shows no processes")
    findings: list[Finding] = []
    executor = any(one.name in _EXECUTORS for one in held.values())
    if plan.jobs_only or (plan.jobs_only is None and executor):
        findings.append(_stray(senses, held, plan))
    before = {tuple(one) for one in look.kept.get("stuck", [])}
    now = {(one.pid, one.name) for one in held.values() if one.state == "D"}
    lasting = sorted(now & before)  # a process that is in the kernel at one moment only is reading a disk
    names = ", ".join(f"{name} ({pid})" for pid, name in lasting[:5])
    action = "see what they wait for (cat /proc/PID/wchan, /proc/PID/stack): mostly a file system or a driver"
    what = f"hang in the kernel since the last call{': ' + names if names else ''}"
    limits = (plan.stuck, plan.stuck_critical)
    findings.append(at_most("processes", what, len(lasting), *limits, action, item="stuck"))
    zombies = sum(one.state == "Z" for one in held.values())
    action = "their parent does not collect them: ps -eo ppid,stat | grep Z names it"
    findings.append(at_most("processes", "zombies", zombies, plan.zombies, None, action, item="zombies"))
    metrics = (
        Metric("processes", len(held), help="Processes of the node."),
        Metric("processes_blocked", len(now), help="Processes that wait in the kernel (state D)."),
    )
    return Outcome(findings=tuple(findings), metrics=metrics, kept={"stuck": [list(one) for one in sorted(now)]})


def _stray(senses: NodeAccess, held: dict[int, Process], plan: ProcessesConfig) -> Finding:
    allowed = {*plan.users}
    ordinary = [one for one in held.values() if one.uid >= plan.first_uid and one.uid != 65534]
    with_job = {one.uid for one in ordinary if in_job(senses, one, held)}
    stray: dict[int, list[Process]] = {}
    for one in ordinary:
        if one.uid not in with_job and not {str(one.uid), _name(one.uid)} & allowed:
            stray.setdefault(one.uid, []).append(one)
    if not stray:
        return Finding(check="processes", item="users", what="no processes of users without a job", value=0)
    shown = "; ".join(
        f"{_name(uid)}: {', '.join(f'{one.name} ({one.pid})' for one in group[:3])}"
        for uid, group in sorted(stray.items())[:5]
    )
    what, count = f"processes of users without a job: {shown}", sum(map(len, stray.values()))
    action = "end them (pkill -u USER), and check that the epilog does"
    return wrong("processes", "users", what, action, severity="WARNING", value=count, limit="none")


def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


CHECK = Check(name="processes", title="Processes", plan=ProcessesConfig, run=run)
