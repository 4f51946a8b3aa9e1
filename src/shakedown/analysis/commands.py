"""The command that measures a run of a plan again. Pure."""

from __future__ import annotations

import shlex

from .. import workloads
from ..records import Run, Value


def of_run(run: Run) -> str:
    """``shakedown run gemm sizes=4096 threads=2``: the workload with every parameter that is not its default.

    Empty where this version has no such workload.
    """
    if run.workload not in workloads.names():
        return ""
    known = workloads.get(run.workload).params
    params = dict(run.params)
    if params.get("library_path"):
        params["library"] = params["library_path"]  # of two libraries of one name the one that was measured
    words = [
        f"{name}={_text(value)}"
        for name, value in params.items()
        if name in known and value != known[name].default and not known[name].help.endswith("filled in")
    ]
    if run.nodes or run.each:
        words.append(f"nodes={run.nodes or 'each'}")
    words += ["--mpi", run.mpi] if run.mpi else []
    words += ["--under", run.under] if run.under else []
    return shlex.join(["shakedown", "run", run.workload, *words])


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
