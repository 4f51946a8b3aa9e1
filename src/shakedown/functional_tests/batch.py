"""A batch engine at work: jobs that must end in each of the ways that jobs end, and what its accounting says of them.

Every kind of job is one check: one that ends successfully, one that fails with a known exit code, an array, a dependency,
generic resources, one that is cancelled, one that is held and released, one beyond its time limit. Then the time from
submission to start, and how many small jobs get through in a second. Jobs that are still there at the end are cancelled.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from .. import schedulers
from ..errors import BadInput, CannotMeasure, Unavailable
from ..hosts.access import HostAccess, LocalHost
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Residual
from ..run.batch import job_monitor
from ..schedulers import JobRecord, Request, Scheduler
from ..workloads.batch import TABLE
from . import _work
from ._batch_jobs import Site, nothing_left, send, until, watched, with_, written
from ._batch_words import DIALECTS

KINDS = ("submit", "fail", "array", "dependency", "gres", "cancel", "hold", "limit")
_TASKS = 4
_FAILS_WITH = 7
_HELD_S = 3.0  # a held job must still wait after this
_LIMIT_S = 60.0  # the shortest limit that every engine can enforce
#: Clocks of the nodes may differ by so much before the latency is doubted.
_CLOCK_S = 0.05


# ------------------------------------------------------------------------------------------------------------- checks


def ended_well(record: JobRecord, said: str, token: str) -> list[str]:
    """What is wrong with a job that must have ended successfully. Pure."""
    wrong = ended(record, ("done",), 0)
    words = said.split()
    if words[:1] != [token]:
        return [*wrong, "it did not leave what it was to write"]
    if not record.hosts:
        wrong.append("the engine does not say where it ran")
    elif words[1].split(".")[0] not in {host.split(".")[0] for host in record.hosts}:
        wrong.append(f"it ran on {words[1]}, and the engine says {', '.join(record.hosts)}")
    return wrong


def ended(record: JobRecord, states: Sequence[str], code: int | None, *, begun: bool = True) -> list[str]:
    """What is wrong with how a job ended, by its record. Without ``begun`` it may have been cancelled before its start: then
    it has neither a begin nor an end of its own. Pure."""
    wrong = []
    if record.source != "accounting":
        wrong.append("the accounting has no record of it")
    if record.state not in states:
        wrong.append(f"it is {record.state} ({record.word}), not {' or '.join(states)}")
    if code is not None and record.exit_code != code:
        wrong.append(f"its exit code is {record.exit_code}, not {code}")
    times = (record.submit_s, record.begin_s, record.end_s)
    if not begun and record.begin_s is None and record.submit_s is not None:
        return wrong
    if None in times:
        wrong.append("the accounting lacks one of its times")
    elif not record.submit_s <= record.begin_s <= record.end_s:  # type: ignore[operator]
        wrong.append("its times are out of order")
    return wrong


def _submit(site: Site) -> list[str]:
    sent = send(site, "submit")
    (view,) = watched(site, [sent])
    return ended_well(view.records[-1], written(site, sent.folder / "said"), sent.token)


def _fail(site: Site) -> list[str]:
    (view,) = watched(site, [send(site, "fail", code=_FAILS_WITH)])
    return ended(view.records[-1], ("failed",), _FAILS_WITH)


def _array(site: Site) -> list[str]:
    assert site.dialect.array
    sent = send(site, "array", extra=(*site.template.extra, *site.dialect.array(_TASKS)))
    (view,) = watched(site, [sent])
    # slurmdbd shows the last task for a moment under the number of the whole array: that row is none of a task
    records = [record for record in view.records if record.ended and record.id != sent.id]
    wrong = []
    if len(records) != _TASKS:
        told = ", ".join(f"{record.id} {record.state}" for record in records) or "none"
        wrong.append(f"{_TASKS} tasks were requested, and the accounting has {told}")
    for record in records:
        wrong += [f"task {record.id}: {text}" for text in ended(record, ("done",), 0)]
    for task in range(1, _TASKS + 1):
        if written(site, sent.folder / f"said{task}").split()[:1] != [sent.token]:
            wrong.append(f"task {task} did not leave what it was to write")
    return wrong


def _dependency(site: Site) -> list[str]:
    assert site.dialect.after
    first = send(site, "first", sleep_s=2)
    second = send(site, "second", extra=(*site.template.extra, *site.dialect.after(first.id)))
    before, after = (view.records[-1] for view in watched(site, [first, second]))
    wrong = [*ended(before, ("done",), 0), *ended(after, ("done",), 0)]
    if before.end_s is not None and after.begin_s is not None and after.begin_s < before.end_s:
        wrong.append("it began before the job that it had to wait for had ended")
    return wrong


def _gres(site: Site) -> list[str]:
    sent = send(site, "gres")
    (view,) = watched(site, [sent])
    record = view.records[-1]
    wrong = ended_well(record, written(site, sent.folder / "said"), sent.token)
    kind = site.template.gres.split(":")[0].split("=")[0]
    if record.tres and not any(kind in name for name in record.tres):
        wrong.append(f"the accounting lists no {kind} among what it was given ({', '.join(record.tres)})")
    return wrong


def _cancel(site: Site) -> list[str]:
    sent = send(site, "cancel", sleep_s=600)
    until(site, sent, lambda view: view.state == "running")
    written(site, sent.folder / "begun")  # Grid Engine calls a job running while it is still on its way to its host
    job_monitor.cancel(site.engine, sent.id, site.door)
    (view,) = watched(site, [sent])
    return ended(view.records[-1], site.dialect.cancelled, None, begun=False)


def _hold(site: Site) -> list[str]:
    assert site.dialect.hold
    sent = send(site, "hold", extra=(*site.template.extra, *site.dialect.hold))
    until(site, sent, lambda view: view.final or view.state in ("queued", "running"))
    site.clock.sleep_s(_HELD_S)
    held = until(site, sent, lambda view: view.final or view.state in ("queued", "running"))
    if held.state != "queued":
        return [f"it was held, and is {held.state}"]
    freed = site.door.run(site.dialect.release(sent.id), limit_s=60)
    if not freed.ok:
        return [f"it was not released: {' '.join((freed.err or freed.out).split())[:200]}"]
    (view,) = watched(site, [sent])
    return ended_well(view.records[-1], written(site, sent.folder / "said"), sent.token)


def _limit(site: Site) -> Callable[[], list[str]]:
    """Submit the job that is too long, and return what waits for its end: other jobs run meanwhile."""
    sent = send(site, "limit", sleep_s=900, time_limit_s=_LIMIT_S)

    def wait() -> list[str]:
        (view,) = watched(site._replace(wait_s=site.wait_s + 3 * _LIMIT_S), [sent])
        record = view.records[-1]
        wrong = ended(record, site.dialect.timed_out, None)
        if record.begin_s is not None and record.end_s is not None and record.end_s - record.begin_s < _LIMIT_S - 1:
            wrong.append(f"it was ended after {record.end_s - record.begin_s:g} s of its {_LIMIT_S:g} s")
        return wrong

    return wait


_CHECKS: dict[str, Callable[[Site], list[str]]] = {
    "submit": _submit,
    "fail": _fail,
    "array": _array,
    "dependency": _dependency,
    "gres": _gres,
    "cancel": _cancel,
    "hold": _hold,
}


def impossible(site: Site, kind: str) -> str:
    """Why a kind of job is not tried; empty where it is."""
    known = {"array": site.dialect.array, "dependency": site.dialect.after, "hold": site.dialect.hold}
    if kind in known and known[kind] is None:
        return f"its options are not known for {site.engine.title}"
    if kind == "gres" and not site.template.gres:
        return "the engine shows no generic resources; name some in `gres`"
    return ""


def demonstrate(site: Site, kinds: Sequence[str], emit: Emitter) -> None:
    """Every kind of job in turn, the longest one begun first; then how many were right."""
    gres = site.template.gres
    plain = site._replace(template=with_(site.template, gres=""))
    late = _limit(plain) if "limit" in kinds else None
    right = 0
    for number, kind in enumerate(kinds):
        emit.progress(number / len(kinds), f"{site.engine.name}: {kind}")
        if why := impossible(site, kind):
            emit.notice("batch-kind", f"the kind of job {kind!r} was not tried: {why}")
            continue
        begin_s = site.clock.monotonic_s()
        if kind == "limit":
            assert late
            wrong = late()
        else:
            wrong = _CHECKS[kind](plain._replace(template=with_(site.template, gres=gres)) if kind == "gres" else plain)
        if wrong:
            emit.notice("batch-wrong", f"{site.engine.title}, {kind}: {'; '.join(wrong[:4])}")
        check = Residual(value=len(wrong), limit=0, kind="wrong facts")
        seconds = site.clock.monotonic_s() - begin_s
        emit.case("job", {"engine": site.engine.name, "kind": kind}, {"jobs": 1}, [seconds], check)
        right += not wrong
    emit.case("jobs", {"engine": site.engine.name}, {"kinds": right})


# ------------------------------------------------------------------------------------------------------------- timing


def latency(site: Site, samples: int, emit: Emitter) -> None:
    """The time from submission to the first line of the script, one job after another."""
    taken, asked = [], []
    for _ in range(samples):
        sent = send(site, "latency")
        watched(site, [sent])
        begun = written(site, sent.folder / "begun")
        try:
            taken.append(float(begun) - sent.submitted_s)
        except ValueError:
            raise CannotMeasure(
                f"a job of the latency test left no time ({begun!r})", hint="GNU date is needed on the nodes"
            ) from None
        asked.append(sent.took_s)
    if min(taken) < -_CLOCK_S:
        raise CannotMeasure(
            f"a job began {-min(taken):.3g} s before it was submitted: the clocks of this host and the nodes differ",
            hint="set them by NTP or PTP (chronyc tracking)",
        )
    params = {"engine": site.engine.name}
    emit.case("latency", params, {}, [max(one, 0.0) for one in taken])
    emit.case("submission", params, {}, asked)


def throughput(site: Site, jobs: int, emit: Emitter) -> None:
    """So many small jobs at once: from the first submission to the end of the last, by their own clocks; none is lost."""
    begin_s = site.clock.unix_s()
    sent = [send(site, "small") for _ in range(jobs)]
    views = watched(site, sent)
    ends = [float(text) for one in sent if (text := written(site, one.folder / "begun"))]
    wrong = [view.ticket.job for view in views if view.state != "done"]
    lost = jobs - len(ends)
    if wrong or lost:
        emit.notice("batch-lost", f"of {jobs} small jobs {len(wrong)} did not end successfully and {lost} left nothing")
    check = Residual(value=len(wrong) + lost, limit=0, kind="jobs lost")
    seconds = max(max(ends, default=begin_s) - begin_s, 1e-3)
    emit.case("throughput", {"engine": site.engine.name, "jobs": jobs}, {"jobs": jobs}, [seconds], check)


# --------------------------------------------------------------------------------------------------------------- begin


def choose(word: str, door: HostAccess) -> Scheduler:
    """The engine of that name, or with "auto" the first that answers. Raises Unavailable with every reason."""
    names = [name for name in schedulers.names() if name in DIALECTS] if word == "auto" else [word]
    reasons = []
    for name in names:
        engine = schedulers.get(name)
        if name not in DIALECTS:
            raise BadInput(f"{engine.title} cannot be demonstrated", hint=f"one of {', '.join(DIALECTS)}")
        why = engine.absent(door)
        if not why:
            return engine
        reasons.append(f"{name}: {why}")
    raise Unavailable(
        f"no batch engine can be asked from here ({'; '.join(reasons)})",
        hint="run this where jobs are submitted; `shakedown cluster up` makes an engine to try it with",
    )


def generic_resource(word: str, engine: Scheduler, door: HostAccess) -> str:
    """One of the generic resources that the engine shows, where none is named: ``gpu:1``. Empty where there is none."""
    if word != "auto":
        return "" if word == "none" else word
    if engine.name != "slurm":
        return ""
    shown = door.run(("sinfo", "--noheader", "--format=%G"), limit_s=30)
    names = [part.split(":")[0] for line in shown.out.split() for part in line.split(",")] if shown.ok else []
    return next((f"{name}:1" for name in names if name and name != "(null)"), "")


def body(argv: Sequence[str], emit: Emitter) -> None:
    words = ProgramArguments("batch", "a batch engine at work: jobs that end in every way, latency, throughput")
    _work.add_options(words, TABLE, kinds={"default": ",".join(KINDS)})
    given = words.parse_args(argv)
    if given.samples < 0 or given.jobs < 0 or not given.wait > 0:
        raise BadInput("--samples and --jobs begin at 0, --wait above it", hint="--samples 5 --jobs 50 --wait 600")
    kinds = _work.words(given.kinds, KINDS, "kind")
    door = LocalHost()
    engine = choose(given.engine, door)
    gres = generic_resource(given.gres, engine, door)
    with _work.workshop() as folder:
        template = Request(
            name="shakedown",
            argv=("/bin/true",),
            folder=str(folder),
            time_limit_s=600.0,
            partition=given.partition,
            account=given.account,
            qos=given.qos,
            gres=gres,
            exclusive=False,
            extra=tuple(given.options.split()),
        )
        site = Site(engine, DIALECTS[engine.name], door, template, folder, given.wait, [])
        allocation = schedulers.inside(os.environ, door)
        inside = {"inside": {"job": allocation.job, "hosts": list(allocation.hosts)}} if allocation else {}
        emit.start({"engine": engine.name, "gres": gres, "host": door.name(), **inside})
        plain = site._replace(template=with_(template, gres=""))
        with nothing_left(site), emit.phase("measure"):
            demonstrate(site, kinds, emit)
            if given.samples:
                latency(plain, given.samples, emit)
            if given.jobs:
                throughput(plain, given.jobs, emit)


if __name__ == "__main__":
    sys.exit(run("batch", body))
