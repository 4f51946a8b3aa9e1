"""Where a campaign runs: here, on hosts by name, or in a job of a batch engine. The options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput

if TYPE_CHECKING:
    from ..run.batch.submission import Asked
    from ..schedulers import Allocation


def _option(help: str, *names: str) -> typer.models.OptionInfo:
    found = typer.Option(*names, help=help)
    assert isinstance(found, typer.models.OptionInfo)
    return found


On = Annotated[
    str,
    _option(
        "Submit one job to this batch engine and run in its allocation: slurm, gridengine, pbs, torque, lsf, flux."
    ),
]
Nodes = Annotated[int, _option("How many nodes the job gets.")]
Hosts = Annotated[
    str, _option("These hosts, as node[1-4] or a,b: with --on the nodes of the job; without, reached by ssh.")
]
Partition = Annotated[str, _option("The partition or queue.")]
Account = Annotated[str, _option("The account that is charged.")]
Qos = Annotated[str, _option("The quality of service.")]
Constraint = Annotated[str, _option("Features that the nodes must have.")]
Reservation = Annotated[str, _option("The reservation that the nodes are taken from.")]
Gres = Annotated[str, _option("Generic resources of each node: gpu:4.")]
Environment = Annotated[str, _option("Grid Engine's parallel environment.", "--parallel-environment")]
Slots = Annotated[int, _option("Slots of each node, where the engine counts slots: Grid Engine; CPUs for PBS.")]
JobLimit = Annotated[
    str, _option("The job's time limit, as in '2 h'. Default: three times the estimate and ten minutes.")
]
Options = Annotated[
    list[str] | None,
    _option("A further word for the engine's submit command, as the site wants it.", "--engine-option"),
]
Attempts = Annotated[int, _option("How often a job that was cut short (time limit, failed node) is submitted again.")]
Detach = Annotated[bool, _option("Submit, say how to come back, and leave.")]


def asked(
    on: str,
    nodes: int,
    hosts: str,
    *,
    partition: str = "",
    account: str = "",
    qos: str = "",
    constraint: str = "",
    reservation: str = "",
    gres: str = "",
    parallel_environment: str = "",
    slots: int = 0,
    job_limit: str = "",
    options: list[str] | None = None,
    attempts: int = 1,
) -> Asked | None:
    """What is asked of an engine; None where it runs here. Raises BadInput for options that need --on."""
    from .. import campaign
    from ..hosts import hostlist
    from ..run.batch.submission import Asked

    given = {
        "--partition": partition,
        "--account": account,
        "--qos": qos,
        "--constraint": constraint,
        "--reservation": reservation,
        "--gres": gres,
        "--parallel-environment": parallel_environment,
        "--slots": slots,
        "--job-limit": job_limit,
        "--engine-option": options,
        "--nodes": nodes,
    }
    if not on:
        if wrong := [name for name, value in given.items() if value]:
            raise BadInput(
                f"{', '.join(wrong)} belong{'s' * (len(wrong) == 1)} to --on", hint="name the engine: --on slurm"
            )
        return None
    names = hostlist.expand(hosts)
    if nodes < 0 or (nodes and names and nodes != len(names)):
        raise BadInput(
            f"--nodes {nodes}" + (f" and --hosts with {len(names)} names" if names else ""),
            hint="give how many nodes, or which",
        )
    if attempts < 1:
        raise BadInput(f"--attempts {attempts}", hint="1 submits once")
    return Asked(
        engine=on,
        nodes=nodes or len(names) or 1,
        hosts=names,
        partition=partition,
        account=account,
        qos=qos,
        constraint=constraint,
        reservation=reservation,
        gres=gres,
        parallel_environment=parallel_environment,
        slots=slots or None,
        limit_s=campaign.seconds(job_limit, "--job-limit") if job_limit else None,
        options=tuple(options or ()),
        attempts=attempts,
    )


def by_name(hosts: str) -> Allocation | None:
    """An allocation of hosts that no engine gave; None without names."""
    from ..hosts import hostlist
    from ..schedulers import Allocation

    names = hostlist.expand(hosts)
    return Allocation(engine="", job="", hosts=names) if names else None


def job_of(path: Path) -> str:
    """How a person names the job of a run directory."""
    return f"--resume {path}"
