"""The shipped campaign `gpu-rehearsal`: every program on GPUs in small, on threads of the host, its results checked."""

from __future__ import annotations

from pathlib import Path

from shakedown import campaign
from shakedown.analysis import build
from shakedown.run import session
from shakedown.run.observer import Lines
from support import natives


def test_every_program_on_gpus_is_rehearsed(tmp_path: Path) -> None:
    asked, wanted = (campaign.parse(*campaign.text_of(name)) for name in ("gpu-rehearsal", "gpu-check"))
    rehearsed = {run.workload for run in asked.runs}
    assert rehearsed == {run.workload for run in wanted.runs} - {"gpu_query"}, "which asks the driver"
    for name in rehearsed:
        natives.path(name)
    ran = session.begin(*campaign.text_of("gpu-rehearsal"), tmp_path / "R", session.How(), Lines())
    assert ran is not None
    analysis, damaged = build.analyse(ran.parts[0])
    assert (
        not damaged
        and {one.workload for one in analysis.outcomes} | {one.what for one in analysis.skipped} == rehearsed
    )
    assert [one for one in analysis.outcomes if one.state != "ok"] == []
    assert {one.what for one in analysis.skipped} <= {"gpu_pingpong"}, "without an MPI"
    figures = [one for one in analysis.findings if one.workload != "burnin" and one.params.get("backend") == "cuda"]
    assert not figures, "nothing here is a figure of a GPU"
