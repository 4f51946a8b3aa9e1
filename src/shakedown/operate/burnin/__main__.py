"""``python -m shakedown.operate.burnin``: a burn-in that prints native events, for the workload ``burnin``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...demonstrations._emit import Emitter, Words, run
from ...errors import CannotMeasure
from ...units import show_seconds
from ..health.senses import Senses
from . import asking, journal, report
from .devices import usable_cpus


def body(argv: Sequence[str], emit: Emitter) -> None:
    """The journal lies in the working directory, which is the run's own folder."""
    words = Words("burnin", "burns in the devices of this node and prints native events")
    words.add_argument("--time", required=True)
    words.add_argument("--devices", default="auto")
    words.add_argument("--memory", default="auto")
    words.add_argument("--stop", default="end")
    words.add_argument("--periods", default="1,0.1,0.01")
    words.add_argument("--inject", default="")
    given = words.parse_args(argv)
    asked = asking.Asked(
        time=given.time,
        devices=given.devices,
        memory=given.memory,
        stop=given.stop,
        periods=given.periods,
        inject=tuple(filter(None, given.inject.split(","))),
    )
    senses = Senses()
    planned = asking.plan(asked, senses, usable_cpus())
    folder = Path(asking.folder_name(planned))
    journal.create(folder, planned)
    emit.start({"devices": [one.id for one in planned.devices], "memory_bytes": planned.memory_bytes})
    with emit.phase("measure"):
        found = asking.carry_out(folder, planned, senses, lambda text: print(text, file=sys.stderr, flush=True))
    report.emit(found, emit)
    if found.judgement in ("unfinished", "not tested"):
        ill = [one.device for one in found.devices if one.judgement == found.judgement]
        raise CannotMeasure(
            f"{found.judgement}: {', '.join(ill[:4])}, after {show_seconds(found.burnt_s)}; ended by: {found.why}",
            hint=f"see {folder}/workers and `shakedown burnin report {folder}`",
        )


if __name__ == "__main__":
    sys.exit(run("burnin", body))
