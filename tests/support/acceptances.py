"""Tests of an acceptance and their limits, made up."""

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


def host(name: str) -> Host:
    cpu = Cpu(model="m", vendor="v", architecture="x86_64", microarchitecture="unknown")
    return Host(name=name, cpu=cpu, memory=Memory(total_bytes=1))


def run_test(*limits: LimitEntry, **more: Any) -> RunTest:
    return RunTest(id="t", requirements=("r",), kind="run", workload="stream", limits=limits, **more)


def limit(**more: Any) -> LimitEntry:
    return LimitEntry(metric="stream.triad.bandwidth", **more)
