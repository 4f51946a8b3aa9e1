"""What a run left (exit, output) -> Measurement. Pure but for reading the output files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from .. import strict, workloads
from ..errors import plain
from ..layers import asked
from ..layers.witness import Witnessed, refusal
from ..layers.witness import provenance as layer_provenance
from ..layers.witness import read as witness_records
from ..machine import mpi as mpis
from ..programs import events
from ..records import SCORED, Case, Disturbance, Job, Measurement, Notice, Phase, Plan, Run, State
from ..workloads.common import gpu

#: How our programs end where something could not be measured (native/README.md).
UNAVAILABLE = 3


def measurement(
    run: Run,
    job: Job,
    stdout: bytes,
    stderr: bytes,
    *,
    disturbance: Disturbance | None = None,
    harness_s: float | None = None,
    ranks: int = 0,
) -> Measurement:
    """Judge what a run left. A wrong residual, a crash, a time limit and garbage are states with their reasons; what
    was measured before stays in the record, and only an "ok" counts as a result. With ``ranks`` started over several
    hosts, the program must have seen them all."""
    workload = workloads.get(run.workload)
    provenance: dict[str, object] = {}
    phases: tuple[Phase, ...] = ()
    notices: tuple[Notice, ...] = ()
    garbage = ""
    if workload.parse is None:
        found = events.parse(stdout)
        cases, phases, notices, provenance = found.cases, found.phases, found.notices, found.provenance
        garbage = found.garbage
        if not garbage and not found.ended:
            garbage = "the output ends before the program said that it ended" if found.started else "there is no output"
        if not garbage and not found.ok and all(one.residual is None or one.residual.passed for one in cases):
            garbage = "the program says at its end that a check failed, and none of its cases does"
    else:
        cases, notices, garbage = _parse(workload, run, stdout)
    cases, notices = _completed(cases, notices, workload, run)
    state, reason = judge(
        job,
        cases,
        stderr,
        garbage,
        limit_s=run.limit_s,
        missing=gpu.without_result(notices),
        causes=causes_of(notices),
        left_out=left_out(notices),
    )
    facts = provenance.get("facts")
    if state in ("ok", "garbage") and (why := alone(job, facts, ranks) or another_mpi(run, facts)):
        state, reason = "failed", why
    return Measurement(
        run=run.id,
        repeat=job.repeat,
        workload=run.workload,
        params=run.params,
        host=job.host,
        state=state,
        reason=reason,
        cases=_placed(cases, run),
        phases=phases,
        notices=notices,
        provenance=provenance,
        disturbance=disturbance or Disturbance(),
        begin_ns=job.begin_ns or 0,
        end_ns=job.end_ns or 0,
        harness_s=harness_s,
    )


def alone(job: Job, facts: object, ranks: int) -> str:
    """Why this is not the job over several hosts that was asked for; empty where it is, or was not asked for.

    A launcher that does not fit the MPI starts every rank as a world of its own, and such a job succeeds: only what the
    ranks themselves saw of their world proves it.
    """
    if len(job.hosts) < 2 or ranks < 2:
        return ""
    told = facts if isinstance(facts, dict) else {}
    seen, size = told.get("hosts"), told.get("world_size", told.get("ranks"))
    if isinstance(size, list):
        size = len(size)
    if not isinstance(seen, list) or not isinstance(size, int):
        return "" if facts is None else "the program does not say over which hosts it ran"
    found = {str(name).split(".")[0] for name in seen}
    wanted = {name.split(".")[0] for name in job.hosts}
    if size == ranks and found == wanted:
        return ""
    return (
        f"requested {ranks} ranks on {len(wanted)} hosts, and the program saw {size} on {len(found)} "
        f"({', '.join(sorted(found)[:8])}): the launcher does not fit the MPI that it is linked to, or left hosts out"
    )


def another_mpi(run: Run, facts: object) -> str:
    """Why this was not measured with the MPI that was asked for, by what the library said of itself; empty where it was,
    and where nothing is told."""
    said = facts.get("mpi") if isinstance(facts, dict) else None
    if not run.mpi or not isinstance(said, str) or not mpis.is_another(run.mpi, said):
        return ""
    return f"requested {run.mpi}, and the program ran with {said}: its library was found before (LD_LIBRARY_PATH, run paths)"


def under_layer(found: Measurement, run: Run, seen: Witnessed) -> Measurement:
    """What a run under a layer left, with what its witnesses saw: one that they do not prove to have been there has no
    result."""
    layer = asked.read(run.under)
    provenance = {**found.provenance, "under": layer_provenance(layer, seen)}
    state, reason = found.state, found.reason
    if why := refusal(layer, seen):
        scored = state in (*SCORED, "garbage")
        state, reason = ("failed", why) if scored else (state, f"{reason} ({why})")
    return msgspec.structs.replace(found, state=state, reason=reason, provenance=provenance)


def _completed(
    cases: tuple[Case, ...], notices: tuple[Notice, ...], workload: workloads.Workload, run: Run
) -> tuple[tuple[Case, ...], tuple[Notice, ...]]:
    """The cases with those that follow from all of them, each marked."""
    more, said = workload.totals(cases) if workload.totals else ((), ())
    return _marked((*cases, *more), workload, run), (*notices, *said)


def _marked(cases: tuple[Case, ...], workload: workloads.Workload, run: Run) -> tuple[Case, ...]:
    """The cases with the parameters of the run that tell them apart; what the program printed stays."""
    names = workload.marks(run.params) if callable(workload.marks) else workload.marks
    marks = {name: run.params[name] for name in names if run.params.get(name, "") != ""}
    if not marks:
        return cases
    return tuple(msgspec.structs.replace(case, params={**marks, **case.params}) for case in cases)


def _placed(cases: tuple[Case, ...], run: Run) -> tuple[Case, ...]:
    """The cases with the nodes, the MPI and the layer that were asked for; native ones with the layer beside which they
    were launched."""
    before = {"nodes": run.nodes} if run.nodes else {}
    after = {"mpi": run.mpi} if run.mpi else {}
    after |= {"under": asked.label(run.under)} if run.under else {}
    after |= {"pair": run.pair} if run.pair and after["under"] == asked.NATIVE else {}
    if not before and not after:
        return cases
    return tuple(msgspec.structs.replace(case, params={**before, **case.params, **after}) for case in cases)


def _parse(workload: workloads.Workload, run: Run, stdout: bytes) -> tuple[tuple[Case, ...], tuple[Notice, ...], str]:
    assert workload.parse is not None
    text = stdout.decode("utf-8", "replace")
    try:
        cases = workload.parse(text, run.params)
    except workloads.Garbage as error:
        return (), (), str(error)
    return cases, workload.notices(text, run.params) if workload.notices else (), ""


def left_out(notices: Iterable[Notice]) -> str:
    """What a program says that it left out, each once with its advice: sizes that do not fit, formats that are not there."""
    found = [one for one in notices if one.code.endswith("-left-out")]
    return "; ".join(dict.fromkeys(f"{one.text} (next: {one.advice})" if one.advice else one.text for one in found))


def judge(
    job: Job,
    cases: tuple[Case, ...],
    stderr: bytes,
    garbage: str,
    *,
    limit_s: float,
    missing: str = "",
    left_out: str = "",
    causes: Sequence[str] = (),
) -> tuple[State, str]:
    """The state of a run that ended, and the reason in words. The first that holds, in the order of a user's interest.

    ``missing``: the devices that failed, of a program that went on with the others and came to its end. What those gave
    counts. ``left_out``: what it told that it could not measure; where that was all, it is the reason.
    """
    said = last_line(stderr)
    if job.timed_out:
        kept = f" with {len(cases)} case{'s' if len(cases) > 1 else ''} measured" if cases else ""
        return (
            "timeout",
            f"killed after its limit of {limit_s:g} s{kept} (next: limit={_longer(limit_s)} gives it longer)",
        )
    if job.signal is not None:
        return "crashed", f"ended by signal {job.signal} ({signal_name(job.signal)})" + (f": {said}" if said else "")
    wrong = [case for case in cases if case.residual is not None and not case.residual.passed]
    if wrong:
        checked = sum(case.residual is not None for case in cases)
        return "wrong", f"{len(wrong)} of {checked} checks failed: {in_words(wrong[0])}" + "".join(
            f"; {cause}" for cause in causes[:_MOST_CAUSES]
        )
    if job.exit_code == UNAVAILABLE and missing and cases and not garbage:
        return "partial", missing
    if job.exit_code != 0 and not cases and (lacks := lacking(stderr)):
        return "unavailable", lacks
    if job.exit_code != 0:
        state: State = "unavailable" if job.exit_code == UNAVAILABLE else "failed"
        why = said or (left_out if job.exit_code == UNAVAILABLE and not cases else "")
        return state, f"exit code {job.exit_code}" + (f": {why}" if why else "")
    if garbage:
        return "garbage", garbage
    if not cases and left_out:
        return "unavailable", left_out
    if not cases:
        return "garbage", "the output contains no result"
    return "ok", ""


def _longer(limit_s: float) -> str:
    """Four times a limit, as a person writes it: whole minutes, or hours."""
    minutes = max(2, math.ceil(4 * limit_s / 60))
    return f"{minutes}min" if minutes < 120 else f"{math.ceil(minutes / 60)}h"


#: Ends of the codes of notices by which programs say why a check failed.
_CAUSES = ("-failed", "-wrong", "-unheard", "-lost", "-corrupt")
_MOST_CAUSES = 3


def causes_of(notices: Iterable[Notice]) -> tuple[str, ...]:
    """Why checks failed, in a program's own words."""
    return tuple(dict.fromkeys(one.text for one in notices if one.code.endswith(_CAUSES)))


def in_words(case: Case) -> str:
    """A check that failed: ``3 failed checks (hosts 2)``, ``scaled residual 17.2 above 16 (n 4096)``."""
    check = case.residual
    assert check is not None
    value = "NaN" if check.value is None else f"{check.value:g}"
    if check.value is not None and check.value < 0:
        words = f"{check.kind} {value}, which is none; at most {check.limit:g} would pass"
    elif check.limit or check.value is None:
        words = f"{check.kind} {value} above {check.limit:g}"
    else:
        words = f"{value} {check.kind}"
    place = ", ".join(f"{name} {value}" for name, value in case.params.items())
    return f"{words} ({case.kernel}{f', {place}' if place else ''})"


#: What launchers and an MPI's runtime add when a program has ended: that it did, never why.
_ADDED = re.compile(
    r"(srun|slurmstepd): .*(Force Terminated|Terminating|Job step aborted|forcing job termination|CANCELLED AT)"
    r"|srun: error: \S+: tasks? [\d,-]+: (Exited with exit code \d+|Terminated)$"
    r"|\*\*\*|(\[[^\]]+:\d+\] )(\*\*\*|\[ ?\d+\] |Signal code:|Failing at address:|Associated errno:)"
    r"|\[[^\]]+:\d+\] (Local abort before MPI_INIT|\d+ more process(es)? ha(s|ve) sent help message|Set MCA parameter)"
)

#: What Open MPI says where a component that its settings ask for was not built, or lacks a library.
_COMPONENT = re.compile(r"A requested component was not found.*?Framework:\s*(\S+)\s+Component:\s*(\S+)", re.DOTALL)
_NONE = re.compile(r"No available (\S+) components were found")
_INSTEAD = {
    "ucx": "use an Open MPI that was built with UCX; between nodes without it messages go by TCP: rails=eth0,eth1",
    "spml": "OpenSHMEM of Open MPI needs UCX: use one that was built with it, or OpenSHMEM of another site module",
}


def lacking(stderr: bytes) -> str:
    """What this MPI has not and was to use, with the next step; empty where it does not say that."""
    text = plain(stderr.decode("utf-8", "replace"))
    if found := _COMPONENT.search(text):
        framework, component = found.groups()
        setting = f"OMPI_MCA_{framework}"
        step = _INSTEAD.get(component, f"use one that was built with it, or take {setting} from the environment")
        return f"this Open MPI has no component {component} for {framework}, which {setting} asks for (next: {step})"
    if found := _NONE.search(text):
        (framework,) = found.groups()
        step = _INSTEAD.get(framework, "see ompi_info; use an Open MPI that was built with one")
        return f"this Open MPI has no component for {framework} that works here (next: {step})"
    return ""


def last_line(text: bytes) -> str:
    """The line of standard error that says most: the last that is not empty, with the hint in front of it.

    What launchers add (that a process has ended, between rules of dashes as mpirun does, or of a step as srun does, or
    where in the memory) counts only when there is nothing else: the program said before why. Of what stands between
    rules, the first says most: an MPI that cannot start tells it there.
    """
    lines = [line.strip() for line in plain(text.decode("utf-8", "replace")).splitlines() if line.strip()]
    own: list[str] = []
    banners: list[list[str]] = []
    banner = False
    for line in lines:
        if len(line) > 20 and set(line) == {"-"}:
            banner = not banner
            if banner:
                banners.append([])
        elif banner:
            banners[-1].append(line)
        elif not _ADDED.match(line):
            own.append(line)
    if not own and (told := next((one for one in banners if one and not one[0].startswith(_ENDED)), None)):
        return " ".join(told)[:_TOLD_CHARS]
    lines = own or [line for line in lines if set(line) != {"-"}]
    if len(lines) > 1 and lines[-1].startswith("next:"):
        return f"{lines[-2]} ({lines[-1]})"
    return lines[-1] if lines else ""


#: How mpirun begins to say that a program has ended.
_ENDED = ("mpirun detected", "mpirun noticed", "Primary job", "prterun detected", "prterun noticed")
_TOLD_CHARS = 300


def signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def recover(plan: Plan, run_id: str, repeat: int, folder: Path) -> Measurement | None:
    """A measurement made again from the job and the output in its folder; None where those are gone too."""
    run = next((one for one in plan.runs if one.id == run_id), None)
    try:
        job = msgspec.json.decode((folder / "job.json").read_bytes(), type=Job)
        stdout, stderr = (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()
    except (OSError, *strict.UNREADABLE):
        return None
    if run is None or job.end_ns is None:
        return None
    found = measurement(run, job, result_of(job, folder, stdout), stderr)
    return under_layer(found, run, witness_records(folder)) if run.under else found


def result_of(job: Job, folder: Path, stdout: bytes) -> bytes:
    """The text that holds the result: the file that the job names, where the program left it; else standard output."""
    if job.output:
        try:
            return (folder / job.output).read_bytes()
        except OSError:
            pass  # the program ended before it wrote it: what it printed says why
    return stdout
