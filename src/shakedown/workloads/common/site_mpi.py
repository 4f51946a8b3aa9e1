"""Programs of a site that were built with its MPI: what they need to be started."""

from __future__ import annotations

from ...errors import Unavailable
from ...records import Host


def need(host: Host, who: str) -> None:
    """Raises Unavailable where there is no launcher of an MPI."""
    if not any(one.kind == "mpi" for one in host.software):
        raise Unavailable(
            f"{who} needs the MPI that it was built with; no mpirun was found",
            hint="load the site's MPI module, or install openmpi-bin",
        )
