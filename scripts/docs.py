"""make docs: docs/methods.md from the docstrings of the workloads and meters and the definitions of their metrics.

    python scripts/docs.py [--check]

With --check nothing is written; the exit code is 1 where the page is not what the docstrings say (the tests ask this).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

from shakedown import workloads
from shakedown.analysis import statistics, values
from shakedown.metering import meters

HEAD = """# Methods

How each number is made. This page is generated from docstrings and workloads' tables (`make docs`); edit those.

A program emits samples (seconds), the work that each sample did, and the check of its result; the value is derived from
them in one place. The value of a run is the median of its samples. Values over repeats of a run (new processes, spread over
the campaign) are the median of the runs' values.

`shakedown run WORKLOAD NAME=VALUE` runs one alone and `shakedown list workloads WORKLOAD` shows what its parameters may be.
`$(shakedown native PROGRAM) --help` is one of our programs by hand.
"""


def section(title: str, module: object) -> str:
    """A heading and the docstring of a module, its first line being a sentence of its own."""
    return f"## {title}\n\n{inspect.cleandoc(getattr(module, '__doc__', '') or '')}\n"


def page() -> str:
    """The whole page."""
    parts = [
        HEAD,
        section("From samples to values", values),
        section("Median, interval, outliers", statistics),
        f"### The interval\n\n{inspect.cleandoc(statistics.median_ranks.__doc__ or '')}\n",
    ]
    for name in workloads.names():
        workload = workloads.get(name)
        parts.append(section(f"`{name}`: {workload.title}", importlib.import_module(f"shakedown.workloads.{name}")))
        parts.append("| metric | unit | better | from | bounded by | source |\n|---|---|---|---|---|---|")
        parts += [
            f"| `{one.name}` | {one.unit} | {one.better} | `{one.kernel}`: {one.per} | {one.limit or '-'} | {one.source} |"
            for one in workload.metrics
        ]
        if workload.params:
            parts.append("\n| parameter | default | unit | what |\n|---|---|---|---|")
        parts += [
            f"| `{key}` | {one.default} | {one.unit or '-'} | {one.help} |" for key, one in workload.params.items()
        ]
        parts.append("")
    for name in meters.names():
        meter = meters.get(name)
        parts.append(
            section(f"Meter `{name}`: {meter.title}", importlib.import_module(f"shakedown.metering.meters.{name}"))
        )
        parts.append(f"Target: `{meter.address}`\n")
    return "\n".join(parts)


def main() -> None:
    target = Path(__file__).parent.parent / "docs" / "methods.md"
    text = page()
    if "--check" in sys.argv[1:]:
        if not target.exists() or target.read_text() != text:
            sys.exit("docs/methods.md is not what the docstrings say\n  next: make docs")
        return
    target.write_text(text)
    print(target)


if __name__ == "__main__":
    main()
