"""``python -m shakedown.operate.burnin``: a burn-in that prints native events, for the workload ``burnin``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import NOT_MET, CannotMeasure, ShakedownError
from ...programs.emitter import Emitter, ProgramArguments, run
from ..health.node_access import NodeAccess
from . import journal, options, report
from .devices import usable_cpus


def body(argv: Sequence[str], emit: Emitter) -> None:
    """The journal lies in the working directory, which is the run's own folder."""
    words = ProgramArguments("burnin", "burns in the devices of this node and prints native events")
    words.add_argument("--time", required=True)
    words.add_argument("--devices", default="auto")
    words.add_argument("--memory", default="auto")
    words.add_argument("--stop", default="end")
    words.add_argument("--periods", default="1,0.1,0.01")
    words.add_argument("--inject", default="")
    given = words.parse_args(argv)
    asked = options.BurninOptions(
        time=given.time,
        devices=given.devices,
        memory=given.memory,
        stop=given.stop,
        periods=given.periods,
        inject=tuple(filter(None, given.inject.split(","))),
    )
    senses = NodeAccess()
    planned = options.plan(asked, senses, usable_cpus())
    if said := options.remark(asked, planned):
        print(said, file=sys.stderr, flush=True)
    folder = Path(options.folder_name(planned))
    journal.create(folder, planned)
    titles = {one.id: one.title for one in planned.devices}
    emit.start({"devices": list(titles), "titles": titles, "memory_bytes": planned.memory_bytes})
    with emit.phase("measure"):
        found = options.carry_out(folder, planned, senses, lambda text: print(text, file=sys.stderr, flush=True))
    report.emit(found, emit)
    if found.judgement in ("passed", "passed in part"):  # its cases name what was burnt in, and a notice what was not
        return
    hint = f"see {folder}/workers and `shakedown burnin report {folder}`"
    what = report.in_brief(found)
    if found.judgement == "failed":
        emit.ok = False
        emit.end()  # it came to its end, and what the others did counts as what it is
        raise Failed(what, hint=hint)
    raise CannotMeasure(what, hint=hint)


class Failed(ShakedownError):
    """The burn-in found something wrong. Raised whatever cases there are: a device that dies before it has done anything
    has none, and neither has a fault of the node."""

    exit_code = NOT_MET


if __name__ == "__main__":
    sys.exit(run("burnin", body))
