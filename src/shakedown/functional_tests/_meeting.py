"""How the processes of a job without MPI meet: by the rank that the launcher gave them, and files in a shared folder."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import CannotMeasure
from ..files import atomic
from ..units import whole_number

#: By which a process knows its rank: Open MPI, PMIx, PMI, Intel MPI, Slurm, Flux, PALS, jsrun.
RANKS = (
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_RANKID", "SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID",
    "JSM_NAMESPACE_RANK",
)  # fmt: skip
_T = TypeVar("_T")


class Meeting:
    """Files in a folder that all processes see: each writes what it has, and reads what the others have."""

    def __init__(self, folder: Path, rank: int, size: int, limit_s: float) -> None:
        self._folder, self.rank, self.size, self._limit_s = folder, rank, size, limit_s

    def tell(self, stage: str, mine: Any) -> None:
        """Write our part of a stage, for the user of the job alone. Raises CannotMeasure."""
        target = self._folder / _file(stage, self.rank)
        try:
            atomic.replace(target, msgspec.json.encode(mine), mode=0o600)
        except OSError as error:
            raise CannotMeasure(f"what this host has cannot be determined: {error}", where=str(self._folder)) from None

    def wait(self, stage: str) -> None:
        """Until all have told. Raises CannotMeasure where somebody does not come."""
        end = time.monotonic() + self._limit_s
        while True:
            there = set(os.listdir(self._folder))  # which makes a network file system look anew
            missing = [rank for rank in range(self.size) if _file(stage, rank) not in there]
            if not missing:
                return
            if time.monotonic() > end:
                shown = ", ".join(map(str, missing[:8]))
                raise CannotMeasure(
                    f"{len(missing)} of {self.size} processes did not come within {self._limit_s:g} s "
                    f"(stage {stage!r}; ranks {shown})",
                    where=str(self._folder),
                    hint="all hosts must share this folder, and the launcher start one process on each",
                )
            time.sleep(0.05)

    def read(self, stage: str, kind: type[_T]) -> list[_T]:
        """What all have told, in the order of ranks."""
        paths = [self._folder / _file(stage, rank) for rank in range(self.size)]
        try:
            return [msgspec.json.decode(path.read_bytes(), type=kind) for path in paths]
        except OSError as error:
            raise CannotMeasure(f"another process of the job has ended early: {error}") from None

    def forget(self, stage: str) -> None:
        """Remove our part of a stage that all have read."""
        (self._folder / _file(stage, self.rank)).unlink(missing_ok=True)


def _file(stage: str, rank: int) -> str:
    return f"dualstack-{stage}-{rank}.json"


def launched_rank(environment: dict[str, str]) -> int:
    """The rank that the launcher gave this process; 0 where none did."""
    return next((rank for name in RANKS if (rank := whole_number(environment.get(name))) is not None), 0)
