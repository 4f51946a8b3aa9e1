"""The device query as part of a campaign: what each GPU is, how many answer, and what of them is below par.

Nothing is timed. `shakedown gpu` shows the same to a person; here it joins a run's values, so that an acceptance can hold
every node to the number of GPUs that was ordered and to no uncorrected memory error, and so that a report and `shakedown
compare` lay it beside the device queries that others published. Values come from the CUDA driver (the native program
``gpu_query``, which takes no device) and from the management library, joined by PCI address; clocks are the highest, sizes
in bytes. What neither reports is left out. A GPU that answers no more is not among those counted.
"""

from __future__ import annotations

import sys

from ..launchers import Command
from ..records import Machine, Params
from .common import gpu
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    if not host.gpus:
        raise gpu.none_shown("gpu_query needs a GPU", host)
    return (params,)


WORKLOAD = TABLE.workload(
    title="Device query",
    command=lambda params, host: Command(argv=(sys.executable, "-m", "shakedown.machine.gpu_events")),
    estimate_s=lambda params, host: 3.0,
    resolve=_resolve,
    label=lambda params: "device query",
)
