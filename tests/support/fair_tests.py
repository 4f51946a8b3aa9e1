"""An acceptance that is run on fakes."""

from __future__ import annotations

from shakedown.records import Measurement


def ran(*names: str, state: str = "ok", workload: str = "multicast") -> Measurement:
    facts = {"hosts": list(names), "mpi": "Open MPI v4.1.4"}
    return Measurement(
        run="r1",
        repeat=1,
        workload=workload,
        params={},
        host=names[0],
        state=state,  # type: ignore[arg-type]
        provenance={"facts": facts},
        begin_ns=1,
        end_ns=2,
    )
