"""The rehearsal of scripts/gpu-check: every line of arguments in small, through the programs themselves on the host."""

from __future__ import annotations

from typing import Any

import pytest

from shakedown.programs import events
from support import natives
from support.scripts import load

plan = load("gpu_steps")


#: Those with ranks are tests/native/test_gpu_pingpong.py's.
ALONE = [step for step in (*plan.CORRECT, *plan.BENCH) if not step.ranks]


@pytest.mark.parametrize("step", ALONE, ids=lambda step: str(step.name))
def test_a_step_in_small(step: Any) -> None:
    more = ["--device", "gpu:0"] if step.each_device else []
    code, out, err = natives.run(step.program, "--backend", "host", *step.tiny.split(), *more)
    assert code == 0, err
    found = events.parse(out)
    assert found.cases and all(case.residual is None or case.residual.passed for case in found.cases)
