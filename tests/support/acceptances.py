"""Plans of acceptances that tests begin with; tests of an acceptance and their limits, made up."""

from __future__ import annotations

from typing import Any

from shakedown.acceptance.plan import (
    LimitEntry,
    RunTest,
)
from shakedown.records import (
    Cpu,
    Host,
    Memory,
)

#: Two requirements, and a command that answers the first.
TWO_REQUIREMENTS = """
name = "p"
title = "P"
[[requirement]]
id = "a"
clause = "1.1"
text = "A."
[[requirement]]
id = "b"
clause = "2.2"
text = "B."
[[test]]
id = "say"
requirements = ["a"]
kind = "command"
command = ["echo", "fine"]
expect = ["fine"]
"""

#: A test by a person for a requirement: ``LOOK % "b"``.
LOOK = """[[test]]
id = "look"
requirements = ["%s"]
kind = "manual"
steps = ["Look."]
[[test.field]]
name = "seen"
title = "Seen"
type = "yes-no"
expect = "yes"
"""


def host(name: str) -> Host:
    cpu = Cpu(model="m", vendor="v", architecture="x86_64", microarchitecture="unknown")
    return Host(name=name, cpu=cpu, memory=Memory(total_bytes=1))


def run_test(*limits: LimitEntry, **more: Any) -> RunTest:
    return RunTest(id="t", requirements=("r",), kind="run", workload="stream", limits=limits, **more)


def limit(**more: Any) -> LimitEntry:
    return LimitEntry(metric="stream.triad.bandwidth", **more)
