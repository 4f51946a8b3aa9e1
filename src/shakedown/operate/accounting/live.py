"""Asking a live Slurm for its accounting, in Unix seconds and without the columns that hold anybody's words."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ...errors import CannotMeasure
from ...hosts.access import HostAccess
from .loading import Store
from .readers import get

#: What any site asks sacct for; no column that users write: their words could look like rows.
COLUMNS = (
    "JobID", "JobIDRaw", "Cluster", "User", "Account", "Group", "Partition", "QOS", "Submit", "Eligible", "Start", "End",
    "ElapsedRaw", "Suspended", "State", "ExitCode", "NNodes", "AllocCPUS", "AllocTRES", "ReqMem", "TotalCPU", "MaxRSS",
    "ConsumedEnergyRaw", "NodeList", "TimelimitRaw",
)  # fmt: skip
FORMAT = (*COLUMNS, "NTasks", "TRESUsageInTot")
_LIMIT_S = 1800.0
_DAY_S = 86400


def ask(store: Store, door: HostAccess, begin_s: int, end_s: int) -> None:
    """Put the jobs of a live Slurm into the store, a day at a time. Raises CannotMeasure with what it said."""
    if door.which("sacct") is None:
        raise CannotMeasure(
            "sacct is not on PATH", where="--from slurm", hint="run it where Slurm's commands are, or give a file"
        )
    path = Path(store.folder) / "slurm"
    low, first = begin_s, True
    store.overlapping = True  # a job that runs over midnight is in two days
    with open(path, "w", encoding="utf-8", errors="replace") as out:
        while low < end_s:
            high = min(low + _DAY_S, end_s)
            out.write(_part(door, low, high, first))
            low, first = high, False
    get("sacct").read(store, path)
    path.unlink()
    store.sources[-1] = msgspec.structs.replace(store.sources[-1], name="slurm")


def _part(door: HostAccess, begin_s: int, end_s: int, head: bool) -> str:
    """sacct's rows of a stretch; a job in two of them counts once later. It takes its window in the local time of this host:
    ``uts`` words are Unix seconds since 20.11."""
    words = ("env", "SLURM_TIME_FORMAT=%s", "LC_ALL=C", "sacct", "--allusers", "--duplicates", "--parsable2")
    window = (f"--starttime=uts{begin_s}", f"--endtime=uts{end_s}", f"--format={','.join(FORMAT)}")
    done = door.run((*words, *(() if head else ("--noheader",)), *window), limit_s=_LIMIT_S)
    if not done.ok:
        said = " ".join((done.err or done.out).split())[:300]
        raise CannotMeasure(
            f"sacct reports nothing: {said or 'no answer'}",
            where="--from slurm",
            hint="is slurmdbd there? sacctmgr show cluster",
        )
    return done.out
