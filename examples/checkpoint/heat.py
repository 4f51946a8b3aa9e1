"""Heat conduction in a plate with cold edges, in Python: saved every few steps, and continued where it was killed.

python heat.py FOLDER ROWS COLUMNS STEPS EVERY     prints where it begins, each checkpoint, and the heat that is left
"""

from __future__ import annotations

import itertools
import sys

import numpy

from shakedown.checkpoint.session import Code, Session
from shakedown.errors import ShakedownError


def advance(u: numpy.ndarray) -> None:
    """One step of explicit differences; the outermost rows and columns stay as they are."""
    middle = u[1:-1, 1:-1].copy()
    along = (u[1:-1, :-2] - 2.0 * middle) + u[1:-1, 2:]
    across = (u[:-2, 1:-1] - 2.0 * middle) + u[2:, 1:-1]
    u[1:-1, 1:-1] = middle + 0.125 * (along + across)


def main() -> int:
    if len(sys.argv) != 6:
        print("usage: heat.py FOLDER ROWS COLUMNS STEPS EVERY", file=sys.stderr)
        return 2
    folder, (rows, columns, steps, every) = sys.argv[1], map(int, sys.argv[2:])
    u, step = numpy.zeros((rows, columns)), numpy.zeros((), dtype=numpy.int64)
    i, j = numpy.ogrid[1 : rows - 1, 1 : columns - 1]
    u[1:-1, 1:-1] = (i * 7 + j * 3) % 11

    try:
        session = Session(local=folder)
    except ShakedownError as error:
        print(f"heat: {error}", file=sys.stderr)
        return 3
    with session:
        session.protect("step", step)
        session.protect("u", u, global_shape=u.shape, offset=(0, 0))
        restored = session.restore()
        if not restored and restored.code is not Code.NOTHING:
            print(f"heat: cannot restore: {restored.text}", file=sys.stderr)
            return 3
        print(f"begins at step {step}", flush=True)
        while step < steps:
            advance(u)
            step += 1
            if step % every:  # a real run asks session.due(), which knows costs and failures
                continue
            if saved := session.checkpoint(1):
                saved = session.wait()  # it is written meanwhile: waited for only to say here whether it was saved
            if saved:
                print(f"saved step {step}", flush=True)
            else:
                print(f"heat: goes on without: {saved.text}", file=sys.stderr)
    heat = list(itertools.accumulate(u.ravel().tolist()))[-1]
    print(f"heat {heat:.17g} after step {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
