"""Under which circumstances a value holds, ours or a published one, and whether two values may be ranked. Pure.

Two values of one metric are like with like where everything agrees that the metric is ranked by (``Metric.ranked_by``):
the device, the nodes, the cores or devices that worked, the level of memory, the rail that a power is of, what messages
went through, a virtual machine or none. What only one side tells is not known to agree: then nothing is ranked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ..machine.virtualisation import is_virtual
from ..published import PublishedValue, System
from ..records import IMPORTED, Analysis, Circumstances, Finding, Host, Metric, Params, Value
from ..units import show_bytes
from . import days

#: Parameters by which a program says that it ran on an accelerator.
_ON_DEVICE = ("gpus", "index", "sides", "device")
_FIELDS = frozenset(Circumstances.__struct_fields__) - {"params"}


class Setting(NamedTuple):
    """What is known of a run beyond its values: its hosts by name, and by a meter's id the place that it measures."""

    hosts: Mapping[str, Host]
    places: Mapping[str, str]


def setting_of(analysis: Analysis) -> Setting:
    """The setting of an analysis."""
    meters = analysis.power.meters if analysis.power else ()
    return Setting(
        {host.name: host for host in analysis.machine.hosts},
        {one.channel.partition(":")[2]: one.place for one in meters},
    )


# ---------------------------------------------------------------------------------------------------------------- ours


def of_finding(one: Finding, metric: Metric, setting: Setting) -> Circumstances:
    """The circumstances of one of our values, from its parameters, its hosts and its meter."""
    names, hosts = _hosts(one, setting)
    device = _device(one.params)
    on_device = device != "cpu"
    cores = None if on_device else _cores(one.params)
    there = [len(host.cpu.cores) for host in hosts]
    return Circumstances(
        device=device,
        devices=_devices(one.params) if on_device else None,
        nodes=_nodes(one.params, names),
        cores=cores,
        whole=cores >= sum(there) if cores is not None and there and all(there) else None,
        virtual=any(is_virtual(host.virtualisation) for host in hosts) if hosts else None,
        link=_link(one.params, names),
        level=str(one.params.get("level", "")),
        placement=str(one.params.get("placement", "")),
        rail=setting.places.get(str(one.params.get("meter", "")), str(one.params.get("meter", ""))),
        params=_rest(metric, one.params),
    )


def _hosts(one: Finding, setting: Setting) -> tuple[tuple[str, ...], list[Host]]:
    """The names of the hosts that a value is of, and those of them that are known."""
    names: tuple[str, ...] = (one.host,)
    pair = (one.params.get("host_a"), one.params.get("host_b"))
    if all(pair):
        names = tuple(dict.fromkeys(map(str, pair)))
    elif one.host not in setting.hosts:
        names = tuple(days.members(one.host))
    known = [setting.hosts[name] for name in names if name in setting.hosts]
    if not known and len(setting.hosts) == 1:  # of one kind: the host that was looked at stands for each
        known = list(setting.hosts.values()) * len(names)
    return names, known


def _nodes(params: Params, names: tuple[str, ...]) -> int | None:
    """The hosts that are named, or as many as a program counted, whose log names one of them. Over how many nodes the ranks
    of an imported log lay, only the log can say: None where it does not."""
    counted = params.get("nodes")
    if isinstance(counted, int):
        return max(len(names), counted)
    return None if len(names) == 1 and _imported(params) and _ranks(params) > 1 else len(names)


def _imported(params: Params) -> bool:
    return IMPORTED.items() <= params.items()


def _ranks(params: Params) -> int:
    """How many processes a case says that it had; 1 where it does not speak of them."""
    grid = [one for name in ("p", "q") if isinstance(one := params.get(name), int)]
    counted = params.get("ranks")
    return counted if isinstance(counted, int) else math.prod(grid)


def _device(params: Params) -> str:
    if params.get("backend") == "cpu":
        return "cpu"
    return str(params.get("kind", "gpu")) if any(name in params for name in _ON_DEVICE) else "cpu"


def _devices(params: Params) -> int:
    """One, unless the program says that several worked together."""
    several = params.get("gpus", 1 if "index" in params else params.get("ranks", 1))
    return several if isinstance(several, int) else 1


def _cores(params: Params) -> int | None:
    """Threads on each rank; None where the program tells neither. Ranks that we start without threads have a core each;
    how many threads those of an imported log had, only the log can say."""
    if _imported(params) and not isinstance(params.get("threads"), int):
        return None
    counts = [params[name] for name in ("threads", "ranks") if isinstance(params.get(name), int)]
    return math.prod(int(count) for count in counts) if counts else None


def _link(params: Params, names: tuple[str, ...]) -> str:
    if "link" in params:  # an adapter that knows over how many hosts its ranks lay
        return str(params["link"])
    if not {"rank_a", "rank_b", "host_a"} & params.keys():
        return ""
    return "network" if len(names) > 1 else "shared memory"


def _rest(metric: Metric, params: Params) -> Params:
    return {name: params[name] for name in metric.ranked_by if name not in _FIELDS and name in params}


# ----------------------------------------------------------------------------------------------------------- published


def of_published(value: PublishedValue, metric: Metric, system: System) -> Circumstances:
    """The circumstances of a published value: what its document says, and what follows from the hardware that it names.

    Without a device it is of processors, on bare hardware; a run on nodes without a number of cores is one on all of them.
    """
    told = value.params
    nodes = _number(told, "nodes")
    word = str(told.get("device", "gpu" if told.get("gpus") else "cpu"))
    cores = _number(told, "cores")
    if cores is None:
        counts = [count for name in ("threads", "ranks") if (count := _number(told, name)) is not None]
        cores = math.prod(counts) if counts else None
    there = nodes * system.hardware.cores_per_node if nodes and system.hardware.cores_per_node else None
    if word != "cpu":
        cores = there = None
    return Circumstances(
        device=word,
        devices=None if word == "cpu" else _number(told, "gpus") or 1,
        nodes=nodes,
        cores=cores if cores is not None else there,
        whole=None if word != "cpu" or nodes is None else cores is None or (there is not None and cores >= there),
        virtual=bool(told.get("virtual", 0)),
        link=str(told.get("link", "")),
        level=str(told.get("level", "")),
        placement=str(told.get("placement", "")).replace("interleaved", "interleave"),
        rail=str(told.get("rail", "")),
        params=_rest(metric, dict(told)),
    )


def _number(params: Mapping[str, object], name: str) -> int | None:
    found = params.get(name)
    return found if isinstance(found, int) else None


# --------------------------------------------------------------------------------------------------------- like with like


def differences(
    ours: Circumstances,
    theirs: Circumstances,
    metric: Metric,
    where: tuple[str, str] = ("here", "there"),
    *,
    published: bool = False,
) -> tuple[str, ...]:
    """What keeps a value of ours and one of theirs from being ranked, in words; empty where they are like with like.
    ``where`` says whose is which: "in vm-1", "in comet". ``published``: theirs is of another machine, so that nodes and
    cores that neither tells are not known to agree."""
    found = []
    here, there = where
    for name in metric.ranked_by:
        if name == "extent":
            untold = published and ours.device == "cpu" and ours.nodes is ours.cores is ours.whole is None
            if untold or not _same_extent(ours, theirs):
                found.append(
                    f"{_extent(ours) or 'cores not reported'} {here}, {_extent(theirs) or 'not reported'} {there}"
                )
            continue
        mine, other = _facet(ours, name), _facet(theirs, name)
        if not _same(mine, other) or (published and name == "nodes" and mine is None):
            found.append(f"{_TITLES.get(name, name)}: {_word(name, mine)} {here}, {_word(name, other)} {there}")
    return tuple(found)


def alike(ours: Circumstances, theirs: Circumstances, metric: Metric) -> bool:
    """Whether two values under these circumstances may be ranked."""
    return not differences(ours, theirs, metric)


def _facet(of: Circumstances, name: str) -> Value | None:
    found = getattr(of, name) if name in _FIELDS else of.params.get(name)
    return None if found == "" else found


def _same(mine: Value | None, other: Value | None) -> bool:
    if isinstance(mine, (int, float)) and isinstance(other, (int, float)):
        return float(mine) == float(other)
    return mine == other  # neither side tells it: the metric has no such thing here


def _same_extent(ours: Circumstances, theirs: Circumstances) -> bool:
    """All cores on both sides, or as many; of accelerators as many."""
    if ours.device != theirs.device:
        return True  # another device says enough
    if ours.device not in ("", "cpu"):
        return ours.devices == theirs.devices
    if ours.whole and theirs.whole:
        return True
    return ours.cores == theirs.cores if None not in (ours.cores, theirs.cores) else ours.whole == theirs.whole is None


def distance(ours: Circumstances, theirs: Circumstances, metric: Metric) -> tuple[float, ...]:
    """How far two values are from being like with like, for choosing the nearest: less is nearer, nodes first."""
    apart = differences(ours, theirs, metric)
    if not apart:
        return (0.0,) * 5
    return (
        1.0,
        _apart(ours.nodes, theirs.nodes),
        float(ours.device != theirs.device),
        _apart(ours.devices, theirs.devices) + (0.0 if ours.whole == theirs.whole else 1.0),
        float(len(apart)),
    )


def _apart(one: int | None, other: int | None) -> float:
    if one is None and other is None:
        return 0.0
    return abs(math.log(max(one, 1) / max(other, 1))) if one is not None and other is not None else math.inf


# ------------------------------------------------------------------------------------------------------------- in words

_TITLES = {"virtual": "machine", "rail": "power of", "link": "messages through", "placement": "memory"}


def _word(name: str, value: Value | None) -> str:
    if value is None:
        return "not reported"
    if name == "virtual":
        return "virtual" if value else "bare"
    if name == "bytes":
        return show_bytes(float(value))
    return str(value)


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _extent(of: Circumstances) -> str:
    if of.device not in ("", "cpu"):
        return _plural(of.devices, of.device.upper() if of.device == "gpu" else of.device) if of.devices else of.device
    if of.whole:
        return "all cores" + (f" ({of.cores:,})" if of.cores else "")
    return _plural(of.cores, "core") if of.cores is not None else ""


def words(of: Circumstances, metric: Metric) -> str:
    """The circumstances that the metric is ranked by: ``1 node, all cores (16), memory``."""
    found = []
    for name in metric.ranked_by:
        if name == "nodes" and of.nodes is not None:
            found.append(_plural(of.nodes, "node"))
        elif name == "extent" and _extent(of):
            found.append(_extent(of))
        elif name == "virtual" and of.virtual:
            found.append("virtual machine")
        elif name == "device" and "extent" not in metric.ranked_by and of.device:
            word = "GPU" if of.device == "gpu" else "host" if of.device == "cpu" else of.device
            found.append(f"{word} memory" if "link" in metric.ranked_by else word)
        elif name == "rail" and of.rail:
            found.append(f"power of the {of.rail}")
        elif name in ("link", "level", "placement") and _facet(of, name) is not None:
            found.append(str(_facet(of, name)))
        elif name not in _FIELDS and name in of.params:
            found.append(f"{name} {_word(name, of.params[name])}")
    return ", ".join(found)


def key(of: Circumstances) -> bytes:
    """Equal circumstances give equal keys."""
    return msgspec.json.encode(of, order="sorted")
