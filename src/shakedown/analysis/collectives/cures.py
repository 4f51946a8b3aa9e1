"""Settings of MPIs that choose another algorithm for an operation that is slower than its mock-up. Pure.

Open MPI's numbers are those of ``ompi_info --param coll tuned --level 9`` (4.1.4 and 5.0.11 have the same for these).
"""

from __future__ import annotations

from typing import NamedTuple


class _Choice(NamedTuple):
    number: int
    name: str


#: Of Open MPI's component "tuned": the algorithm that moves data as the mock-up does, or for a reduce-scatter the one that
#: was measured to cure it.
_OPEN_MPI = {
    ("allreduce", "reduce+bcast"): _Choice(2, "nonoverlapping"),
    ("allreduce", "reduce_scatter_block+allgather"): _Choice(6, "rabenseifner"),
    ("bcast", "scatter+allgather"): _Choice(8, "scatter_allgather"),
    ("reduce", "reduce_scatter_block+gather"): _Choice(7, "rabenseifner"),
    ("reduce_scatter_block", "reduce+scatter"): _Choice(2, "recursive_doubling"),
    ("reduce_scatter_block", "reduce_scatter"): _Choice(2, "recursive_doubling"),
    ("reduce_scatter_block", "allreduce"): _Choice(2, "recursive_doubling"),
    ("scan", "exscan+reduce_local"): _Choice(2, "recursive_doubling"),
}
#: The same of MPICH and of what is made of it.
_MPICH = {
    ("allreduce", "reduce_scatter_block+allgather"): ("ALLREDUCE", "reduce_scatter_allgather"),
    ("bcast", "scatter+allgather"): ("BCAST", "scatter_recursive_doubling_allgather"),
    ("reduce", "reduce_scatter_block+gather"): ("REDUCE", "reduce_scatter_gather"),
    ("scan", "exscan+reduce_local"): ("SCAN", "recursive_doubling"),
}


def advice(operation: str, mock_up: str, mpi: str) -> str:
    """What to try. ``mpi`` is the library's name for itself."""
    choice = _OPEN_MPI.get((operation, mock_up))
    if mpi.startswith("Open MPI") and choice is not None:
        return (
            f"try mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_{operation}_algorithm {choice.number} "
            f"({choice.name}), and measure again"
        )
    setting = _MPICH.get((operation, mock_up))
    if mpi.startswith("MPICH") and setting is not None:
        return f"try MPIR_CVAR_{setting[0]}_INTRA_ALGORITHM={setting[1]}, and measure again"
    return (
        f"another algorithm of the library may fit (Open MPI: coll_tuned_{operation}_algorithm, MPICH: "
        f"MPIR_CVAR_{operation.upper()}_INTRA_ALGORITHM); until then the application can call {mock_up}"
    )
