"""What the batch test needs of each engine beyond the contract of ``schedulers``: arrays, dependencies, holds.

An entry that is None is not known to work for that engine, and is not tried. The words were tried on real Slurm and Grid
Engine; those of the others are from their manuals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..schedulers import JobState

Words = tuple[str, ...]


class Dialect(NamedTuple):
    """One engine's words for ``Request.extra``, and its command that releases a held job."""

    array: Callable[[int], Words] | None
    task: str  # the environment variable that holds a task's number
    after: Callable[[str], Words] | None
    hold: Words | None
    release: Callable[[str], Words]
    cancelled: tuple[JobState, ...] = ("cancelled",)
    """What a cancelled job may be called: Grid Engine cannot distinguish qdel from any other signal."""
    timed_out: tuple[JobState, ...] = ("timeout",)


DIALECTS: Mapping[str, Dialect] = {
    "slurm": Dialect(
        array=lambda n: (f"--array=1-{n}",),
        task="SLURM_ARRAY_TASK_ID",
        after=lambda job: (f"--dependency=afterok:{job}",),
        hold=("--hold",),
        release=lambda job: ("scontrol", "release", job),
    ),
    "gridengine": Dialect(
        array=lambda n: ("-t", f"1-{n}"),
        task="SGE_TASK_ID",
        after=lambda job: ("-hold_jid", job),
        hold=("-h",),
        release=lambda job: ("qrls", job),
        cancelled=("cancelled", "failed"),
    ),
    "pbs": Dialect(
        array=lambda n: ("-J", f"1-{n}"),
        task="PBS_ARRAY_INDEX",
        after=lambda job: ("-W", f"depend=afterok:{job}"),
        hold=("-h",),
        release=lambda job: ("qrls", job),
    ),
    "torque": Dialect(
        array=lambda n: ("-t", f"1-{n}"),
        task="PBS_ARRAYID",
        after=lambda job: ("-W", f"depend=afterok:{job}"),
        hold=("-h",),
        release=lambda job: ("qrls", job),
    ),
    "lsf": Dialect(
        array=None,
        task="LSB_JOBINDEX",
        after=lambda job: ("-w", f"done({job})"),
        hold=("-H",),
        release=lambda job: ("bresume", job),
    ),
    "flux": Dialect(
        array=None,
        task="FLUX_JOB_CC",
        after=lambda job: (f"--dependency=afterok:{job}",),
        hold=("--urgency=hold",),
        release=lambda job: ("flux", "job", "urgency", job, "default"),
    ),
}
