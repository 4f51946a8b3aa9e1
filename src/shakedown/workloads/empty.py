"""A run that does nothing: the shipped fake that measures the harness.

The program ends at once, sleeps, fails, hangs, crashes or prints garbage as asked, so that every path of the harness is
exercised by tests and its cost per run is known. Its only metric is the time that it was asked to sleep.
"""

from __future__ import annotations

from ..launchers import Command
from ..records import Host, Params
from .common.table import table_of

TABLE = table_of(__file__)

_SCRIPTS = {
    "ok": 'printf \'{"event":"start","program":"empty","schema":1}\\n'
    '{"event":"case","kernel":"empty","params":{},"work":{},"seconds":[%s],'
    '"residual":{"value":0,"limit":1,"kind":"none"}}\\n{"event":"end","ok":true}\\n\' "$1"; '
    'test "$1" = 0 || sleep "$1"',
    "wrong": 'printf \'{"event":"start","program":"empty","schema":1}\\n'
    '{"event":"case","kernel":"empty","params":{},"work":{},"seconds":[%s],'
    '"residual":{"value":2,"limit":1,"kind":"none"}}\\n{"event":"end","ok":false}\\n\' "$1"; exit 1',
    "fail": "echo 'it failed: no such device' >&2; exit 3",
    "crash": "kill -SEGV $$",
    "hang": "sleep 1000",
    "garbage": "echo 'not an event at all'; echo '{\"event\":'",
    "cut": 'printf \'{"event":"start","program":"empty","schema":1}\\n'
    '{"event":"case","kernel":"empty","params":{},"work":{},"seconds":[1]}\\n\'',
    "silent": "true",
}


def _command(params: Params, host: Host) -> Command:
    return Command(argv=("/bin/sh", "-c", _SCRIPTS[str(params["behaviour"])], "empty", str(params["seconds"])))


WORKLOAD = TABLE.workload(
    title="Empty run (measures the harness)",
    command=_command,
    estimate_s=lambda params, host: 0.01 + float(params["seconds"]),
)
