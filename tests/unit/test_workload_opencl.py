"""The OpenCL workload: what is refused, what is started, and a recorded run on two devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.analysis import derive, table
from shakedown.errors import BadInput, Unavailable
from shakedown.programs import events
from shakedown.records import Measurement, Params, Value
from support.machines import host, machine
from support.workloads import options, params_of

WORKLOAD = workloads.get("opencl")


def resolve(**given: Value) -> Params:
    return params_of(WORKLOAD, machine(), given)


@pytest.mark.parametrize(
    "given",
    [{"devices": "gqu"}, {"devices": ""}, {"precision": "d,h"}, {"samples": 0}, {"together": -1.0}, {"bodies": -1}],
)
def test_what_cannot_be_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_the_command_says_what_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    with pytest.raises(Unavailable):
        WORKLOAD.command(resolve(), host())
    (tmp_path / "opencl").touch(0o755)
    argv = WORKLOAD.command(resolve(devices="gpu, 1", precision="s"), host()).argv
    given = options(argv)
    assert (given["--devices"], given["--precision"]) == ("gpu,1", "s")
    assert "--library" not in given, "the program's own default"


def test_the_estimate_grows_with_the_time_asked_for() -> None:
    assert (
        0 < WORKLOAD.estimate_s(resolve(), host()) < WORKLOAD.estimate_s(resolve(seconds=30.0, together=60.0), host())
    )


def test_rates_of_a_recorded_run_are_work_over_time_by_device_and_pattern(recordings: Path) -> None:
    found = events.parse((recordings / "demonstrations" / "opencl-pocl-3.jsonl").read_bytes())
    record = Measurement(
        run="r", repeat=1, workload="opencl", params={}, host="h", state="ok", cases=found.cases, begin_ns=0, end_ns=1
    )
    got = derive.findings(table.from_measurements([record]), {"opencl": WORKLOAD.metrics})
    rates = {
        (one.params["index"], one.params["precision"], one.params["pattern"])
        for one in got
        if one.metric == "opencl.rate"
    }
    assert rates == {
        (index, precision, pattern)
        for index in (0, 1)
        for precision, pattern in (("single", "alone"), ("double", "alone"), ("single", "together"))
    }
    for case in found.cases:
        if case.kernel == "nbody":
            assert case.work["flop"] % (20 * int(case.params["n"]) ** 2) == 0
            assert case.residual and case.residual.limit == 16 and 0 < (case.residual.value or 0) < 4
        if case.kernel == "triad":
            assert case.residual and (case.residual.value, case.residual.limit) == (0, 0)
