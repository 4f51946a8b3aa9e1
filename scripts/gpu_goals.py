"""What the cases of scripts/gpu_check.py give: rates, goals, the trap of constant data, the table. Pure, standard library.

A program that joins adds its Goal below and its Step in gpu_steps.py.
"""

from __future__ import annotations

import importlib.util
import re
import statistics
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).resolve().parent.parent
_UNITS = {"flop": "flop/s", "bytes": "B/s", "bytes_moved": "B/s", "particle_steps": "particle steps/s"}
#: Parameters that do not tell the cases of a run of this script apart.
_UNSHOWN = {
    "device",
    "index",
    "backend",
    "mapping",
    "bcast",
    "swap",
    "swap_threshold",
    "split",
    "segment_bytes",
    "ranks",
    "tail_nb",
    "panel_blocks",
}


def case_of(step: str, event: dict[str, Any]) -> dict[str, Any]:
    """A case with the median of its samples; rates are work over seconds, for each kind of work."""
    kept = {key: event[key] for key in ("kernel", "params", "work")}
    seconds = event.get("seconds", [])
    residual = event.get("residual")
    if seconds:
        kept["samples"] = len(seconds)
        kept["median_s"] = statistics.median(seconds)
        kept["least_s"], kept["most_s"] = min(seconds), max(seconds)
        kept["rates"] = {key: value / kept["median_s"] for key, value in event["work"].items() if value}
    if residual is not None:
        kept["passed"] = residual["value"] is not None and residual["value"] <= residual["limit"]
        kept["residual"] = residual
    return {"step": step, **kept}


def facts_of(xml: str) -> dict[str, Any]:
    """The driver's version, and the first GPU's link: the highest generation (it falls at rest) and the present width."""

    def first(pattern: str) -> str:
        found = re.search(pattern, xml)
        return found[1] if found else ""

    generation, width = first(r"<max_link_gen>(\d+)<"), first(r"<current_link_width>(\d+)x<")
    link = {"generation": int(generation), "lanes": int(width)} if generation and width else None
    return {"driver": first(r"<driver_version>([^<]+)<"), "pcie": link}


class Cases:
    """Rates by kernel and parameters: of cases whose check did not fail."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.devices: list[dict[str, Any]] = found["devices"]
        self.pcie: dict[str, int] | None = found.get("pcie")
        self.steps: list[dict[str, Any]] = found.get("steps", [])
        self._cases = [
            case
            for case in found["cases"]
            if case.get("passed", True) and "rates" in case and not case["step"].startswith("correct")
        ]

    def rate(self, kernel: str, work: str, *, step: str = "", **params: Any) -> float | None:
        """The best median rate of that kernel with those parameters, in steps whose name begins with ``step``; None where
        there is none."""
        found = [
            case["rates"][work]
            for case in self._cases
            if case["kernel"] == kernel
            and work in case["rates"]
            and case["step"].startswith(step)
            and all(case["params"].get(key) == value for key, value in params.items())
        ]
        return max(found, default=None)

    def largest(self, kernel: str) -> float | None:
        """The rate of a kernel of STREAM on arrays of 4 GiB."""
        return self.rate(kernel, "bytes", array_bytes=2**32)

    def is_h200(self) -> bool:
        return any("H200" in str(device.get("name")) for device in self.devices)

    def link(self) -> float | None:
        """What copies can reach of the link to the host, B/s."""
        if self.pcie is None:
            return None
        file = _ROOT / "src/shakedown/machine/pcie.py"
        spec = importlib.util.spec_from_file_location("gpu_check_pcie", file)
        assert spec is not None and spec.loader is not None
        pcie = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(pcie)
        value: float | None = pcie.payload(self.pcie["generation"], self.pcie["lanes"])
        return value

    def hpl(self, program: str, n: int | None) -> float | None:
        """The rate of a solution over that of the products with k = NB of the same run; program: hpl or mxp."""
        if n is None:
            return None
        solved, product = (self.rate(kernel, "flop", step=program, n=n) for kernel in (KERNELS[program], "ceiling"))
        return over(solved, product)

    def largest_below(self, n: int, above: int) -> int | None:
        """The largest order that HPL solved between the two; None where it solved ``n`` itself."""
        solved = [case["params"]["n"] for case in self._cases if case["kernel"] == "hpl" and case["step"][:3] == "hpl"]
        largest = max(solved, default=0)
        return largest if above < largest < n else None

    def fp32_peak(self) -> float | None:
        """Of the first device without its matrix units, flop/s: multiprocessors x lanes x 2 x highest clock, as
        machine/accelerators.py derives it from the same table."""
        lanes = tomllib.loads((_ROOT / "src/shakedown/machine/accelerators.toml").read_text())["capabilities"]
        for device in self.devices:
            known = lanes.get(device.get("compute_capability"))
            if known and device.get("clock_hz"):
                return float(device["multiprocessors"] * known[0] * 2 * device["clock_hz"])
        return None

    def burnt(self) -> float | None:
        """The part of the devices whose burn-in found nothing wrong; None where none was burnt in."""
        states = [step["state"] for step in self.steps if step["name"].startswith("burnin-")]
        known = [state for state in states if state != "not measured"]
        return known.count("passed") / len(known) if known else None


def over(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


class Goal(NamedTuple):
    """What is to be reached: ``value`` gives it, or None where a part of it was not measured."""

    name: str
    at_least: float
    value: Callable[[Cases], float | None]


def _beside(format_: str) -> Callable[[Cases], float | None]:
    """Our calls over cuBLAS alone, on the same matrices by turns."""
    return lambda cases: over(
        cases.rate(f"beside_{format_}", "flop", n=8192), cases.rate(f"bare_{format_}", "flop", n=8192)
    )


def _particles(n: int) -> Callable[[Cases], float | None]:
    """Times HOOMD's figure on four halves of K80, which is of 64,000 particles."""
    return lambda cases: over(cases.rate("lj", "particle_steps", n=n, precision="mixed"), _COMET_LJ)


KERNELS = {"hpl": "hpl", "mxp": "hpl_mxp"}
_H200_B_S = 4.8e12  # NVIDIA's data sheet
_COMET_LJ = 80.39e6  # particle steps/s: Comet/MVAPICH2 2015, HOOMD-blue on all four of one node
GOALS = (
    Goal(
        "STREAM triad, 4 GiB arrays, over the driver's copy",
        0.92,
        lambda c: over(c.largest("triad"), c.largest("memcpy")),
    ),
    Goal(
        "STREAM triad, 4 GiB arrays, over 0.90 x 4.8 TB/s (H200)",
        0.92,
        lambda c: over(c.largest("triad"), 0.9 * _H200_B_S) if c.is_h200() else None,
    ),
    Goal("DGEMM 8192 over cuBLAS alone", 0.99, _beside("f64")),
    Goal("SGEMM 8192 over cuBLAS alone", 0.99, _beside("f32")),
    Goal("BF16 GEMM 8192 over cuBLAS alone", 0.99, _beside("bf16")),
    Goal("HPL N = 32768 over cuBLAS DGEMM at k = NB", 0.80, lambda c: c.hpl("hpl", 32768)),
    Goal("HPL N = 65536 over cuBLAS DGEMM at k = NB", 0.90, lambda c: c.hpl("hpl", 65536)),
    Goal("HPL N = 131072 over cuBLAS DGEMM at k = NB", 0.94, lambda c: c.hpl("hpl", 131072)),
    # A larger system has less to hide: what 65536 must reach is the least for it.
    Goal(
        "HPL, the largest N that fits where 131072 does not, over cuBLAS DGEMM at k = NB",
        0.90,
        lambda c: c.hpl("hpl", c.largest_below(131072, above=65536)),
    ),
    Goal(
        "N-body, 1M bodies, FP32, 20 flop per interaction, over the FP32 peak",
        0.65,
        lambda c: over(c.rate("nbody", "flop", n=2**20, precision="fp32"), c.fp32_peak()),
    ),
    Goal("Lennard-Jones, 64,000 particles, times 80.39 M particle steps/s", 10, _particles(64000)),
    Goal("Lennard-Jones, 1M particles, times 80.39 M particle steps/s", 20, _particles(1000000)),
    Goal(
        "host to device, pinned, 256 MiB, over the link's payload",
        0.95,
        lambda c: over(c.rate("h2d", "bytes", memory="pinned", bytes=2**28), c.link()),
    ),
    # Our own goal: a length that one multiprocessor holds is done in one pass over the memory.
    Goal(
        "FFT 1024 in batches, double, read and written once, over the driver's copy",
        0.80,
        lambda c: over(
            c.rate("fft", "bytes", step="fft", shape="1024", precision="double", level="memory"), c.largest("memcpy")
        ),
    ),
    # Our own goal: the published rules name none.
    Goal("HPL-MxP N = 131072 over FP16 products at k = NB", 0.50, lambda c: c.hpl("mxp", 131072)),
    Goal("burn-in: GPUs on which nothing was wrong", 1, lambda c: c.burnt()),
)


def goals(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each goal with its value and state: met, not met, not measured, as all are of a rehearsal."""
    cases = Cases(found)
    result = []
    for goal in GOALS:
        value = None if found.get("rehearsal") else goal.value(cases)
        state = "not measured" if value is None else "met" if value >= goal.at_least else "not met"
        result.append({"goal": goal.name, "at_least": goal.at_least, "value": value, "state": state})
    return result


def traps(found: dict[str, Any]) -> Iterator[tuple[str, int, float, dict[str, dict[str, float]]]]:
    """What constant data does: format, order, rate on ones over that on random data, and the conditions of both."""
    cases = Cases(found)
    seen = [
        case for case in found["cases"] if case["kernel"] == "conditions" and not case["step"].startswith("correct")
    ]
    kinds = dict.fromkeys(
        (case["kernel"].removeprefix("gemm_"), case["params"]["n"])
        for case in found["cases"]
        if case["kernel"].startswith("gemm_") and not case["step"].startswith("correct")
    )
    for format_, n in kinds:
        rates = {data: cases.rate(f"gemm_{format_}", "flop", n=n, data=data) for data in ("ones", "random")}
        ratio = over(rates["ones"], rates["random"])
        if ratio is not None:
            conditions = {
                case["params"]["data"]: case["work"]
                for case in seen
                if case["params"].get("format") == format_ and case["params"]["n"] == n
            }
            yield format_, n, ratio, conditions


# --------------------------------------------------------------------------------------------------------------- as text


def show(value: float, unit: str) -> str:
    """With a decimal prefix."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def _rate(case: dict[str, Any]) -> str:
    if not case.get("passed", True):
        return "wrong"
    for each in ("trips", "messages"):
        if case["work"].get(each) and (each == "trips" or case["kernel"] == "latency"):
            return f"{1e6 * case['median_s'] / case['work'][each]:.3g} us"
    work = next((key for key in _UNITS if key in case["rates"]), None)
    return show(case["rates"][work], _UNITS[work]) if work else ""


def _is_gpu(value: Any) -> bool:
    """Whether it is a device as burnin names it, gpu:0; other programs name its model, and its number apart."""
    return isinstance(value, str) and value.startswith("gpu:")


def _measured(cases: Sequence[dict[str, Any]], several: bool) -> Iterator[str]:
    """Rows of cases; with several devices each names its own."""
    shown = {"index"} if several else set()
    for case in cases:
        if "rates" not in case or case["step"].startswith("correct"):
            continue
        named = {key: value for key, value in case["params"].items() if key not in _UNSHOWN - shown or _is_gpu(value)}
        params = ", ".join(f"{key} {value}" for key, value in named.items())
        if rate := _rate(case):
            yield f"| {case['kernel']} | {params} | {rate} |"


def _trap_rows(found: dict[str, Any]) -> Iterator[str]:
    for format_, n, ratio, conditions in traps(found):
        shown = [
            f"{conditions[data]['hertz'] / 1e6:.0f} MHz, {conditions[data]['watts']:.0f} W"
            if data in conditions
            else "not known"
            for data in ("random", "ones")
        ]
        yield f"| {format_} | {n} | {ratio:.3f} | {shown[0]} | {shown[1]} |"


def table(found: dict[str, Any]) -> str:
    """The section for docs/performance.md; what nobody measured says so."""
    names = ", ".join(dict.fromkeys(str(device.get("name", "?")) for device in found["devices"])) or "no device"
    lines = [
        "## GPUs",
        "",
        f"{found['date']}, {len(found['devices'])} x {names}, driver {found['driver'] or 'not known'}, backend "
        f"{found['backend']}, commit {found['commit'] or 'not known'} (`scripts/gpu-check`).",
        "",
    ]
    if found.get("rehearsal"):
        lines += ["A rehearsal on threads of the host, of small sizes: nothing here is a figure of a GPU.", ""]
    lines += ["| what | goal | reached |", "|---|---|---|"]
    for goal in found["goals"]:
        value = "not measured" if goal["value"] is None else f"{goal['value']:.3f} ({goal['state']})"
        lines.append(f"| {goal['goal']} | {goal['at_least']:g} | {value} |")
    if rows := list(_trap_rows(found)):
        lines += ["", "Matrices of ones against random ones (a figure is that of random data):", ""]
        lines += ["| format | n | ones / random | random | ones |", "|---|---|---|---|---|", *rows]
    if rows := list(_measured(found["cases"], len(found["devices"]) > 1)):
        lines += ["", "| kernel | case | median |", "|---|---|---|", *rows]
    absent = [step for step in found["steps"] if step["state"] in ("not measured", "failed")]
    if absent:
        lines += ["", "Not measured or failed:", ""]
        lines += [f"- {step['name']}: {step['state']}: {step['why']}" for step in absent]
    return "\n".join(lines) + "\n"
