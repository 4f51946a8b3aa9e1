"""All devices of a node at work at once, every result checked to the bit: `shakedown burnin` as part of a campaign.

Every GPU, or every core where there is none, has a worker of its own: products of matrices with checksums over rows and
columns, power steps in which all devices rise and fall together, patterns through memory of its own. Meanwhile clocks,
heat, power, throttling, error counters and the kernel's log are read. A device with a critical symptom (a wrong bit, a
worker that died or hangs, an uncorrected memory error, an Xid) has failed and has no score; the run's reason and its notice
report the first symptom with its time. A device that could not begin before the time ended was not tested: the run is then
unavailable, never a pass. For hours and days take the verb itself, which outlives a campaign's limits and can be gone on
with: docs/burnin.md.
"""

from __future__ import annotations

from .. import programs
from ..launchers import Command
from ..records import Host, Params
from .common.table import table_of

TABLE = table_of(__file__)


def _command(params: Params, host: Host) -> Command:
    programs.path("burnin")  # said here where it was not built, not by the run
    return Command(argv=TABLE.argv(params, seconds=f"{float(params['seconds']):g}s"))


WORKLOAD = TABLE.workload(
    title="Burn-in",
    command=_command,
    estimate_s=lambda params, host: 5.0 + float(params["seconds"]),
    label=lambda params: f"burn-in, {params['devices']}, {float(params['seconds']):g} s",
)
