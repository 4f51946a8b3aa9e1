"""The probability that a frame is received: the forwarder is asked, whose ``reception.hpp`` is the formulas' home."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CannotMeasure
from ...hosts.access import LocalHost
from . import processes
from .scenario import Scenario


def probabilities(scenario: Scenario, snr_db: Sequence[float], frame_bytes: int) -> tuple[float, ...]:
    """Of frames of so many bytes, at each ratio of signal to noise. Raises Unavailable where the forwarder was not built,
    CannotMeasure where it says something else."""
    if not snr_db:
        return ()
    ratios = ",".join(repr(float(one)) for one in snr_db)
    words = (*processes.channel_argv(scenario), "--frame-bytes", str(frame_bytes), f"--at-snr-db={ratios}")
    said = LocalHost().run(words, limit_s=60.0)
    try:
        found = tuple(float(line) for line in said.out.split())
    except ValueError:
        found = ()
    if said.code != 0 or len(found) != len(snr_db):
        why = (said.err or said.out).strip() or "nothing"
        raise CannotMeasure(f"the forwarder said of its channel: {why}", where=words[0], hint="pip install . again")
    return found
