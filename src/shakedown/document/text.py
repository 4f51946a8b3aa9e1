"""Words for values: one home for how a finding is written in every format."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from .. import times
from ..records import Finding, Fraction, Value
from ..units import round_to, scale_for, show, show_bytes, whole_number

#: Above this many hosts a report shows the distribution over them, and names the slowest.
FEW_HOSTS = 8

#: Parts of parameter names that are written in capitals.
_INITIALS = {"cpu", "gpu", "numa", "isa", "mpi", "nb"}

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: How levels are named in the memory hierarchy: cache.l1d.
_CACHE = re.compile(r"^cache\.l(\d[di]?)$")
_NATURAL = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts node2 before node10."""
    parts = ((whole_number(part), part) for part in _NATURAL.split(text) if part)
    return tuple((-1, part) if number is None else (number, "") for number, part in parts)


def without_controls(text: str) -> str:
    """``text`` less the control characters that a program may have printed and that no page may hold."""
    return _CONTROLS.sub("", text)


def rest(total: int, most: int, what: str) -> str:
    """What a table leaves out, where it does."""
    return f"{count(total - most, f'further {what}')}: see the CSV and JSON files." if total > most else ""


def count(number: int, one: str, many: str = "") -> str:
    """``3 hosts``, ``1 host``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Iterable[str], most: int = 6) -> str:
    """``a, b, c and 12 more``."""
    all_words = list(words)
    more = len(all_words) - most
    return ", ".join(all_words[:most]) + (f" and {more:,} more" if more > 0 else "")


def is_bytes(name: str) -> bool:
    """Whether a parameter of this name is a number of bytes."""
    return name in ("bytes", "block", "size") or name.endswith("_bytes")


def value_of(name: str, value: Value) -> str:
    """One parameter's value for a person."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _CACHE.sub(lambda found: f"L{found[1]} cache", value)
    if is_bytes(name):
        return show_bytes(value)
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else f"{value:g}"


def title_of(name: str) -> str:
    """A parameter's name as words: ``cpu_a`` is "CPU a", ``bytes`` is "size"."""
    if is_bytes(name):
        return name.removesuffix("_bytes").replace("_", " ") if name != "bytes" else "size"
    words = name.replace("_", " ")
    return " ".join(word.upper() if word in _INITIALS else word for word in words.split())


def params_of(params: Mapping[str, Value], only: Iterable[str] | None = None) -> str:
    """Parameters in words: ``2 threads, 2 GiB, variant nt``; ``only`` chooses and orders them."""
    chosen = list(params) if only is None else [name for name in only if name in params]
    words = []
    for name in chosen:
        value = value_of(name, params[name])
        if (is_bytes(name) and name == "bytes") or title_of(
            name
        ) in value.split():  # "full batch" says that it is a batch
            words.append(value)
        elif name in ("threads", "ranks", "nodes") and isinstance(params[name], int):
            words.append(f"{value} {name if params[name] != 1 else name[:-1]}")
        else:
            words.append(f"{title_of(name)} {value}")
    return ", ".join(words)


def interval_of(finding: Finding) -> str:
    """The interval in the unit of the value that is shown: ``[43.9, 44.8]``; empty where there is none."""
    if finding.value is None or finding.low is None or finding.high is None:
        return ""
    factor = 0.01 if finding.unit == "%" else scale_for(finding.value, finding.unit)[0]
    low, high = finding.low / factor, finding.high / factor
    if finding.unit == "1" and all(end.is_integer() for end in (finding.value, low, high)):
        return f"[{low:.0f}, {high:.0f}]"  # counts
    decimals = _decimals(max(abs(low), abs(high)), high - low)
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def with_half(value: float, half: float, unit: str) -> str:
    """A published value with half a unit of its last place, in one unit: ``148 ± 0.5 Gflop/s``."""
    if not half:
        return show(value, unit)
    factor, name = scale_for(value, unit)
    shown = f"{value / factor:.{_decimals(abs(value) / factor, half / factor)}f}"
    return f"{shown} ± {round_to(half / factor, 1)} {name}".strip()


def _decimals(value: float, width: float) -> int:
    """Decimals that show three digits of ``value`` and at least one of ``width``."""
    three = 2 - math.floor(math.log10(value)) if value > 0 else 2
    one = -math.floor(math.log10(width)) if width > 0 else 0
    return min(max(0, three, one), max(0, three) + 3)


def value_with_interval(finding: Finding) -> str:
    """``44.4 GB/s [43.9, 44.8]``, or "not measured" with the reason."""
    if finding.value is None:
        return f"not measured: {why_not(finding)}"
    return f"{show(finding.value, finding.unit)} {interval_of(finding)}".strip()


def ranked(fractions: Iterable[Fraction]) -> dict[str, Fraction]:
    """Fractions by kind; a second one of a kind (from a peak at another clock) is ``derived 2``."""
    found: dict[str, Fraction] = {}
    for one in fractions:
        number = 1 + sum(other.kind == one.kind for other in found.values())
        found[one.kind if number == 1 else f"{one.kind} {number}"] = one
    return found


def kinds_of(findings: Iterable[Finding]) -> list[str]:
    """The kinds of limits that the findings are held against, as ``ranked`` names them."""
    return list(dict.fromkeys(kind for finding in findings for kind in ranked(finding.fractions)))


def limit_title(kind: str) -> str:
    """The head of a column of fractions: ``Of derived limit``, ``Of derived limit 2``."""
    name, _, number = kind.partition(" ")
    return f"Of {name} limit {number}".strip()


def why_not(finding: Finding) -> str:
    """Why there is no value."""
    return "; ".join(notice.text for notice in finding.notices) or "no reason was recorded"


def day(time_ns: int) -> str:
    """The time in UTC, to the minute."""
    return f"{times.minute(time_ns / 1e9, 'UTC')} UTC"


def better(values: list[Finding]) -> Finding:
    """The best of findings that have values; the middle one where neither direction is better."""
    ordered = sorted(values, key=lambda one: one.value or 0.0)
    direction = ordered[0].better
    return ordered[-1] if direction == "higher" else ordered[0] if direction == "lower" else ordered[len(ordered) // 2]


def ranges(names: Iterable[str]) -> str:
    """Names of hosts folded: ``node[0001-0136,0138]``; a name without a number stands alone."""
    groups: dict[tuple[str, int, str], list[int]] = {}
    for name in sorted(set(names), key=natural):
        found = re.fullmatch(r"(.*?)(\d+)(\D*)", name)
        if found:
            groups.setdefault((found[1], len(found[2]), found[3]), []).append(int(found[2]))
        else:
            groups.setdefault((name, 0, ""), [])
    return ", ".join(_folded(*key, numbers) for key, numbers in groups.items())


def _folded(head: str, width: int, tail: str, numbers: list[int]) -> str:
    if not numbers:
        return head
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    if len(numbers) == 1:
        return f"{head}{numbers[0]:0{width}d}{tail}"
    parts = [f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in runs]
    return f"{head}[{','.join(parts)}]{tail}"
