"""(campaign, machine, history) -> Plan: every parameter resolved, a content hash for each run, a time estimate. Pure."""

from __future__ import annotations

import hashlib
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from .. import campaign as campaigns
from .. import workloads
from ..errors import BadInput, Unavailable, unknown
from ..hosts import hostlist
from ..layers.asked import NATIVE, NO_LAYER, Asked, Turn
from ..layers.asked import label as label_of_layer
from ..layers.asked import turns as turns_of
from ..machine import mpi as _mpis
from ..machine.span import span
from ..records import Absent, Limit, Machine, Metric, Params, Plan, Run

#: Durations of earlier runs in seconds: by run id, and by workload as measured over estimated.
History = Mapping[str, float]


def make(
    campaign: campaigns.Campaign,
    machine: Machine,
    *,
    where: str = "",
    history: History | None = None,
    version: str = "",
    shape: str = "",
    absent: Callable[[Asked], Unavailable | None] = lambda asked: None,
) -> Plan:
    """The plan of a campaign on a machine. Raises BadInput for what is wrong in the campaign.

    What this machine lacks (no MPI, no second core) is skipped and listed, unless the run says ``optional = false``; so are
    layers of which ``absent`` says why they are not here, as long as another one is.
    With ``shape`` only what is for that kind of node, or for every kind, is planned.
    """
    runs: dict[str, Run] = {}
    skipped: list[Absent] = []
    for number, entry in enumerate(campaign.runs, 1):
        if shape and entry.shape not in ("", shape):
            continue
        place = f"{where or campaign.name}: run {number} {entry.workload!r}"
        try:
            places, missing = _places(entry, machine, place)
            if missing and (not places or not entry.optional):
                raise missing[0]
            skipped += [_absent(entry.workload, one) for one in missing]
            turns = _turns(campaign, entry, place, absent, skipped)
            for run in _runs(campaign, entry, places, place, history or {}, version, skipped, turns):
                runs.setdefault(run.id, run)  # two entries that resolve to the same content are one run
        except Unavailable as error:
            if not entry.optional:
                raise
            skipped.append(_absent(entry.workload, error))
    budget_s = campaigns.seconds(campaign.budget, f"{where}: budget") if campaign.budget else None
    return Plan(
        campaign=campaign.name,
        title=campaign.title,
        runs=tuple(runs.values()),
        budget_s=budget_s,
        limits=_limits(campaign, where or campaign.name),
        skipped=tuple(skipped),
        compare_with=campaign.compare_with,
    )


def _absent(what: str, error: Unavailable) -> Absent:
    return Absent(what=what, why=f"{error.what}. Next: {error.hint}" if error.hint else error.what)


def by_reason(skipped: Sequence[Absent]) -> list[tuple[str, str]]:
    """What cannot run, and why: a reason that several workloads share stands once, beside all their names."""
    names: dict[str, list[str]] = {}
    for one in skipped:
        of = names.setdefault(one.why.removeprefix(f"{one.what} "), [])
        if one.what not in of:
            of.append(one.what)
    return [(", ".join(of), why) for why, of in names.items()]


def _runs(
    campaign: campaigns.Campaign,
    entry: campaigns.RunEntry,
    places: Sequence[_Place],
    place: str,
    history: History,
    version: str,
    skipped: list[Absent],
    turns: Sequence[Turn],
) -> list[Run]:
    """The runs of an entry. Those that differ in their MPI or their layer alone stand side by side; an MPI that cannot be is
    skipped."""
    try:
        workload = workloads.get(entry.workload)
    except BadInput as error:
        raise BadInput(error.what, where=place, hint=error.hint) from None
    asked = campaigns.mpis(campaign, entry) if "ranks" in workload.params else ()
    if entry.mpi and not asked:
        raise BadInput(f"{workload.name} has no ranks, so that no MPI matters to it", where=place, hint="leave mpi out")
    repeat = _repeat(campaign, entry, compared=bool(asked) or any(turn.pair for turn in turns))
    runs = []
    for where, combination in itertools.product(places, itertools.product(*entry.sweep.values())):
        given = {**entry.params, **dict(zip(entry.sweep, combination, strict=True))}
        wanted = workloads.check_params(workload, given, where=place)
        resolved = _with_each(workload, wanted, where.machine, asked, place, skipped)
        for (params, mpi, machine), turn in itertools.product(resolved, turns):
            run_id = content_hash(
                workload.name, params, version, nodes=where.nodes, each=where.each, mpi=mpi, turn=turn
            )
            estimate_s = estimate(workload, params, machine, run_id, history)
            limit_s = campaigns.seconds(entry.limit, f"{place}: limit") if entry.limit else max(30.0, 10 * estimate_s)
            label = workload.label(params) if workload.label else label_of(workload, params)
            runs.append(
                Run(
                    id=run_id,
                    workload=workload.name,
                    params=params,
                    label=label + (f", {mpi}" if mpi else "") + _under(turn) + where.words,
                    estimate_s=estimate_s,
                    limit_s=limit_s,
                    repeat_min=repeat.min,
                    repeat_max=repeat.max,
                    repeat_interval=repeat.interval,
                    nodes=where.nodes,
                    each=where.each,
                    mpi=mpi,
                    under=turn.under,
                    pair=turn.pair,
                )
            )
    return runs


def _repeat(campaign: campaigns.Campaign, entry: campaigns.RunEntry, *, compared: bool) -> campaigns.Repeat:
    """How often a run is launched: what is compared, unless something is said, as often as an interval needs."""
    compares = campaigns.Repeat(min=LAUNCHES, max=LAUNCHES)
    return entry.repeat or campaign.repeat or (compares if compared else campaigns.Repeat())


def _turns(
    campaign: campaigns.Campaign,
    entry: campaigns.RunEntry,
    place: str,
    absent: Callable[[Asked], Unavailable | None],
    skipped: list[Absent],
) -> tuple[Turn, ...]:
    """What each round of an entry launches under which layer. Raises BadInput, and Unavailable where no layer is here."""
    layers = campaigns.layers(campaign, entry, place)
    missing = {one: why for one in layers if (why := absent(one)) is not None}
    here = [one for one in layers if one not in missing]
    if missing and not any(one.label != NATIVE for one in here):
        raise next(iter(missing.values()))
    skipped += [_absent(f"{entry.workload} under {one.label}", why) for one, why in missing.items()]
    return turns_of(here)


def _under(turn: Turn) -> str:
    """What a label says of a layer."""
    if not turn.under:
        return ""
    name = label_of_layer(turn.under)
    return f", native beside {turn.pair}" if turn.pair and name == NATIVE else f", under {name}"


#: How often a run is launched with each of several MPIs, where nothing is said: the range of six ratios holds their median
#: with 97 %, that of five with 94 % (analysis.statistics).
LAUNCHES = 6


def _with_each(
    workload: workloads.Workload,
    asked: Params,
    machine: Machine,
    words: Sequence[str],
    place: str,
    skipped: list[Absent],
) -> list[tuple[Params, str, Machine]]:
    """What a request resolves to, with each MPI that is asked for and the machine as it is with that one alone. Raises
    BadInput, and Unavailable where no MPI can."""
    host = machine.hosts[0]
    labels = _mpis.select(list(_mpis.labels(host.software)), words, where=place) if words else ("",)
    found: list[list[tuple[Params, str, Machine]]] = []
    missing: list[Unavailable] = []
    for label in labels:
        try:
            seen = with_mpi(machine, label)
            found.append([(params, label, seen) for params in _resolved(workload, asked, seen, place)])
        except Unavailable as error:
            missing.append(error)
    if missing and not found:
        raise missing[0]
    skipped += [_absent(f"{workload.name} with another MPI", one) for one in missing]
    if words and len(found) == 1 and not missing:
        why = Unavailable(f"{labels[0]} alone was found or named", hint=f"{_mpis.FURTHER} names folders of launchers")
        skipped.append(_absent(f"{workload.name} with another MPI", why))
    return [one for same in itertools.zip_longest(*found) for one in same if one is not None]


def _resolved(workload: workloads.Workload, asked: Params, machine: Machine, place: str) -> tuple[Params, ...]:
    try:
        return workload.resolve(asked, machine)
    except BadInput as error:
        raise BadInput(error.what, where=error.where or place, hint=error.hint) from None


def with_mpi(machine: Machine, label: str) -> Machine:
    """The machine as it is with one of its MPIs alone; with none named, as it is. Raises Unavailable."""
    if not label:
        return machine
    hosts = tuple(msgspec.structs.replace(host, software=_mpis.only(host.software, label)) for host in machine.hosts)
    return msgspec.structs.replace(machine, hosts=hosts)


#: How the label of a run ends of which every host runs a copy.
EACH = " on each host"


class _Place(NamedTuple):
    """Where a run goes: the machine as its workload sees it (one host, or all of a job's hosts as one)."""

    machine: Machine
    nodes: int = 0
    each: bool = False
    words: str = ""


def _places(entry: campaigns.RunEntry, machine: Machine, place: str) -> tuple[list[_Place], list[Unavailable]]:
    """Where an entry's runs go, and why some of what it asks for cannot be. Raises BadInput for words that are none."""
    here = len(machine.hosts)
    first = _view(machine, 1)
    found: list[_Place] = []
    missing: list[Unavailable] = []
    for word in campaigns.nodes(entry, place):
        count = here if word == "all" else 0 if word == "each" else int(word)
        if word == "each":
            found.append(_Place(first, each=here > 1, words=EACH if here > 1 else ""))
        elif count > here:
            missing.append(
                Unavailable(
                    f"a job over {count} hosts was requested, and there {'are' if here > 1 else 'is'} {here}",
                    hint=f"shakedown run ... --on slurm --nodes {count}",
                )
            )
        elif all(one.nodes != count for one in found):  # [4, "all"] on four hosts is one job
            found.append(_Place(_view(machine, count), nodes=count, words=f" over {count} host{'s' * (count > 1)}"))
    return found if found or missing else [_Place(first)], missing


def label_on(run: Run, host: str) -> str:
    """How a person names a run on one host: of copies on every host, this one."""
    return f"{run.label.removesuffix(EACH)} on {host}" if run.each else run.label


def _view(machine: Machine, count: int) -> Machine:
    hosts = machine.hosts[:count]
    name = hosts[0].name if count == 1 else hostlist.fold([host.name for host in hosts])
    return msgspec.structs.replace(machine, hosts=(span(hosts, name),))


def content_hash(
    workload: str,
    params: Params,
    version: str,
    *,
    nodes: int = 0,
    each: bool = False,
    mpi: str = "",
    turn: Turn = NO_LAYER,
) -> str:
    """Twelve hexadecimal digits: the same workload, resolved parameters, version, place, MPI and layer are the same run.

    The order of the parameters does not matter.
    """
    place: list[object] = [nodes, each] if nodes or each or mpi or turn.under else []
    place += [mpi] if mpi or turn.under else []
    place += [turn.under, turn.pair] if turn.under else []
    content = msgspec.json.encode([workload, sorted(params.items()), version, *place])
    return hashlib.blake2b(content, digest_size=6).hexdigest()


def estimate(workload: workloads.Workload, params: Params, machine: Machine, run_id: str, history: History) -> float:
    """Seconds: what this very run took before; else the workload's own guess times its usual error."""
    if run_id in history:
        return history[run_id]
    return workload.estimate_s(params, machine.hosts[0]) * history.get(workload.name, 1.0)


def learn(durations: list[tuple[str, str, float, float]]) -> dict[str, float]:
    """A History from (run id, workload, estimate, seconds) of runs that ended successfully."""
    by_run: dict[str, list[float]] = {}
    by_workload: dict[str, list[float]] = {}
    for run_id, workload, estimate_s, measured_s in durations:
        by_run.setdefault(run_id, []).append(measured_s)
        if estimate_s > 0:
            by_workload.setdefault(workload, []).append(measured_s / estimate_s)
    return {name: statistics.median(values) for name, values in (by_workload | by_run).items()}


def label_of(workload: workloads.Workload, params: Params) -> str:
    """The workload's name and those of its parameters that are not their defaults."""
    words = [
        f"{name}={value}"
        for name, value in params.items()
        if name not in workload.params or value != workload.params[name].default
    ]
    return " ".join([workload.name, *words])


def total_s(plan: Plan) -> float:
    """The estimated duration in seconds: every run at least once and as often as it must, the budget kept if it can."""
    least = sum(run.estimate_s * run.repeat_min for run in plan.runs)
    most = sum(run.estimate_s * run.repeat_max for run in plan.runs)
    return max(least, min(most, plan.budget_s)) if plan.budget_s is not None else most


def metrics(names: set[str]) -> dict[str, Metric]:
    """The metrics of the named workloads, by name."""
    return {metric.name: metric for name in sorted(names) for metric in workloads.get(name).metrics}


def _limits(campaign: campaigns.Campaign, where: str) -> tuple[Limit, ...]:
    known = metrics({entry.workload for entry in campaign.runs})
    limits = []
    for number, entry in enumerate(campaign.limits, 1):
        place = f"{where}: limit {number}"
        if entry.metric not in known:
            raise unknown("metric", entry.metric, known, where=place)
        if entry.of:
            campaigns.check_peak(entry.of, known[entry.metric].unit, place)
        limits.append(campaigns.limit(entry, known[entry.metric].unit, place))
    return tuple(limits)


def alike(found: Machine, nodes: int) -> Machine:
    """A machine of so many hosts that are all as the one that was found."""
    (host,) = found.hosts
    hosts = tuple(msgspec.structs.replace(host, name=f"{host.name}-{number + 1}") for number in range(nodes))
    return found if nodes == 1 else msgspec.structs.replace(found, hosts=hosts)
