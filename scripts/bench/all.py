"""make bench: every measurement of this folder, one after another, on a machine that should be quiet.

    python scripts/bench/all.py [NAME...]

A NAME is a row of the table of peers (`paired.py --list`) or one of SCRIPTS. A peer that is not installed is said. The
figures of record stand in docs/performance.md. The native programs are built into build/bench, with the site's MPI where
there is one, since hpcc is linked to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import common
import peers

from shakedown.errors import CannotMeasure

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "bench"
#: What has no peer, and its options here; None: long, only where it is named.
SCRIPTS: dict[str, str | None] = {
    "energy": "",
    "pairs": "--seeds 5",
    "agreement": None,
    "coverage": None,
    "forecast": None,
    "groups": None,
    "injected": None,
    "lag": None,
    "overheads": None,
    "placement": None,
    "radio_engine": None,
    "radio_serve": None,
    "scaling_laws": None,
    "simulated_collectives": None,
    "trend_histories": None,
    "tune": None,
    "tune_claims": None,
    "waste": None,
}


def build() -> None:
    """The native programs and what their peers need, in Release. Raises CannotMeasure."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-DSHAKEDOWN_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    common.output(configure)
    common.output(["cmake", "--build", str(BUILD), "-j", str(os.cpu_count() or 1)])


def main() -> int:
    """Returns the exit code: 0 all of it ran, 1 something failed, 2 usage, 3 the programs could not be built."""
    rows = peers.names()
    names = sys.argv[1:] or [*rows, *(name for name, words in SCRIPTS.items() if words is not None)]
    if unknown := [name for name in names if name not in rows and name not in SCRIPTS]:
        common.say(f"bench: no part {unknown[0]!r}\n  next: one of {', '.join([*rows, *SCRIPTS])}")
        return 2
    try:
        if any(name in rows for name in names):
            build()
    except CannotMeasure as error:
        common.say(f"bench: {error}\n  next: sudo apt-get install cmake ninja-build, if that is what is missing")
        return error.exit_code
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if name in rows:
            words = ["paired.py", name, "--build", str(BUILD), *peers.row(name)[0].bench.split()]
        else:
            words = [f"{name}.py", *(SCRIPTS[name] or "").split()]
        if subprocess.run([sys.executable, HERE / words[0], *words[1:]], check=False).returncode:
            failed.append(name)
    if failed:
        common.say(f"failed, or could not run: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
