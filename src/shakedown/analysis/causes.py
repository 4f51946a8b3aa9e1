"""Why a value is low, as far as the run knows: what disturbed it, and what is set wrongly on its host. All of it is pure.

Each cause has an estimated cost: the share of the rate that it can take. For what disturbed a run that is what was
measured (the share of the CPU time that others took); for a setting it is the order of magnitude of ``_SETTINGS``, good
for putting causes in order and for nothing else. Each cause is told once: the load before a run and CPUs that were taken
from it are other work and the hypervisor again where those were seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ..machine import blas
from ..records import Cause, Finding, Host, Notice, Outcome, Setting, Verdict

#: Notices of a run that say that the machine did something else meanwhile.
DISTURBING = ("other-work", "steal", "throttling", "swap", "cpu-taken", "load")
#: What says the same as another notice of the same runs, in other words.
_SAME_AS = {"load": ("other-work",), "cpu-taken": ("other-work", "steal")}
#: Estimated shares where nothing was measured: orders of magnitude.
_NOTICES = {"swap": 0.5, "cpu-taken": 0.3, "throttling": 0.2, "load": 0.1, "slow-host": 0.1, "diagnosis": 0.05}
#: Estimated share that each setting takes where it is wrong. The kernels of libraries: 122 instead of 214 Gflop/s of DGEMM.
_SETTINGS = {
    "kernels of libraries": 0.43,
    "control group CPU time": 0.4,
    "clock governor": 0.3,
    "CPUs offline": 0.2,
    "transparent huge pages": 0.05,
    "NUMA balancing": 0.05,
    "zone reclaim": 0.05,
    "swap": 0.02,
    "huge page compaction": 0.02,
    "clock source": 0.01,
}
_ON_GPUS = ("NVLink", "PCIe width", "PCIe generation", "persistence")


def of_verdict(verdict: Verdict, outcomes: Sequence[Outcome], hosts: Sequence[Host]) -> tuple[Cause, ...]:
    """The known causes of a requirement that is not met, each once, the dearest first; none where it is met, and where
    none is known."""
    finding = verdict.finding
    if verdict.state != "not met" or finding is None:
        return ()
    runs = [one for one in outcomes if one.run in finding.runs]
    host = next((one for one in hosts if one.name == finding.host), hosts[0] if len(hosts) == 1 else None)
    found = [*disturbances(runs)]
    if host is not None:
        found += [of_setting(one, host) for one in host.settings if one.state == "warn" and _bears_on(one, finding)]
    return in_order(found)


def to_fix(
    notices: Sequence[Notice], outcomes: Sequence[Outcome], findings: Sequence[Finding], hosts: Sequence[Host]
) -> tuple[Cause, ...]:
    """Everything that weakens the figures, each cause once, the dearest first. A setting that bears on nothing that was
    measured costs nothing here, and stands last."""
    alike: dict[Setting, list[Host]] = {}
    for host in hosts:
        for one in host.settings:
            if one.state == "warn" and one.advice:
                alike.setdefault(one, []).append(host)
    found = [*disturbances(outcomes), *_others(notices)]
    for setting, where in alike.items():
        used = any(_bears_on(setting, finding) for finding in findings)
        found.append(
            _on_hosts(setting, where) if used else msgspec.structs.replace(_on_hosts(setting, where), cost=0.0)
        )
    return in_order(found)


def in_order(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Each once, the dearest first; then those of unknown cost, in the order in which they came; then what costs nothing."""

    def place(cause: Cause) -> float:
        return 0.5 if cause.cost is None else -cause.cost if cause.cost else 1.0

    return tuple(sorted(dict.fromkeys(causes), key=place))


def disturbed(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The runs during which the machine did something else."""
    return [one for one in outcomes if any(notice.code in DISTURBING for notice in one.notices)]


def disturbances(outcomes: Sequence[Outcome]) -> list[Cause]:
    """What disturbed these runs, each cause once, with the least and the most that was seen, and in how many runs."""
    by_code: dict[str, list[tuple[Outcome, Notice]]] = {}
    for one in outcomes:
        codes = {notice.code for notice in one.notices}
        for notice in one.notices:
            if notice.code in DISTURBING and not codes.intersection(_SAME_AS.get(notice.code, ())):
                by_code.setdefault(notice.code, []).append((one, notice))
    found = []
    for code, seen in by_code.items():
        touched = list({(one.run, one.repeat, one.host): one for one, _ in seen}.values())
        where = f" ({len(touched)} of {len(outcomes)} runs)" if len(outcomes) > 1 else ""
        shares = _shares(code, touched)
        first = seen[0][1]
        text = _MEASURED[code][1](_range(shares)) if shares else first.text
        cost = max(shares) if shares else _NOTICES.get(code)
        found.append(Cause(text=text + where, advice=first.advice, cost=cost))
    return found


#: How the share of the CPU time that something took is read and told.
_MEASURED: dict[str, tuple[str, Callable[[str], str]]] = {
    "other-work": ("other_cpu_fraction", lambda share: f"other processes used {share} of the CPU time"),
    "steal": ("steal_fraction", lambda share: f"the hypervisor took {share} of the CPU time"),
}


def _shares(code: str, outcomes: Sequence[Outcome]) -> list[float]:
    if code not in _MEASURED:
        return []
    values = (getattr(one.disturbance, _MEASURED[code][0]) for one in outcomes)
    return [value for value in values if value is not None]


def _range(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _others(notices: Sequence[Notice]) -> list[Cause]:
    """What the notices say besides disturbances; of those with one advice the first speaks, and the others are counted."""
    groups: dict[tuple[str, str], list[Notice]] = {}
    for notice in notices:
        if notice.code not in DISTURBING:
            groups.setdefault((notice.code, notice.advice), []).append(notice)
    return [
        Cause(
            text=group[0].text + (f"; and {len(group) - 1} more of the kind" if len(group) > 1 else ""),
            advice=advice,
            cost=_NOTICES.get(code),
        )
        for (code, advice), group in groups.items()
    ]


def of_setting(setting: Setting, host: Host) -> Cause:
    """A setting that is wrong, as a cause with its estimated cost."""
    return _on_hosts(setting, [host])


def _on_hosts(setting: Setting, hosts: Sequence[Host]) -> Cause:
    """A setting that is wrong alike on these hosts; what it can take is that of the host on which it takes most."""
    value = setting.value if setting.value is not None else "not readable"
    where = hosts[0].name if len(hosts) == 1 else f"{len(hosts):,} hosts"
    costs = [cost for cost in (cost_of_setting(setting, host) for host in hosts) if cost is not None]
    text = f"{setting.name} on {where}: {value} ({setting.effect})"
    return Cause(text=text, advice=setting.advice, cost=max(costs, default=None))


def cost_of_setting(setting: Setting, host: Host) -> float | None:
    """The estimated share of the rate that a wrong setting takes; None where nothing is known of it."""
    if setting.name == "control group CPU time" and host.cpu_quota and host.usable_cpus:
        return max(0.0, 1.0 - host.cpu_quota / len(host.usable_cpus))
    return _SETTINGS.get(setting.name)


def by_cost(settings: Iterable[Setting], host: Host, states: Mapping[str, int]) -> list[Setting]:
    """The settings in the order in which they are to be fixed: by state, those that are wrong by what they cost."""
    return sorted(settings, key=lambda one: (states[one.state], -(cost_of_setting(one, host) or 0.0)))


def _bears_on(setting: Setting, finding: Finding) -> bool:
    """Whether a setting can have slowed what a finding measured: kernels of a library touch that library alone, those of
    GPUs what ran on GPUs. A setting whose cost is not known is no cause."""
    on_gpus = "gpus" in finding.params or finding.workload.startswith("gpu_") or finding.workload == "hpl_gpu"
    if setting.name in _ON_GPUS:
        return on_gpus
    if setting.name == "kernels of libraries":
        library = str(finding.params.get("library", "")).lower()
        variables = re.findall(r"([A-Z]+_\w+)=", setting.value or "")
        return any(word in library for name in variables for word in blas.read_by(name))
    return setting.name in _SETTINGS and not on_gpus
