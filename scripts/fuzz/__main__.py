"""Spoiled files for every reader of files that users bring: each must read them, or refuse them in words.

    python scripts/fuzz [--inputs 1000000] [--only NAME] [--first 0] [--keep FOLDER]

No other error, no answer that takes more than LIMIT_S of a processor, no more memory than MEMORY_BYTES. Inputs are numbered
for each reader, and a number makes the same input again. Exit code 1 with a line for each kind of finding (reader, error,
place, first number).
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutate
import readers
from seeds import Reader

from shakedown.errors import ShakedownError
from shakedown.workloads import Garbage

LIMIT_S = 10.0  # of a processor: others may have it, too
WAIT_S = 120.0  # of a clock: for what waits
MEMORY_BYTES = 6 << 30


class Late(BaseException):
    """No answer in time."""


def main() -> int:
    given = _arguments()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for late in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(late, _late)
    chosen = [one for one in readers.readers() if given.only in one.name]
    if not chosen:
        print(f"no reader's name holds {given.only!r}", file=sys.stderr)
        return 2
    total = sum(one.share for one in chosen)
    findings: dict[tuple[str, str, str], tuple[int, str]] = {}
    count = 0
    with tempfile.TemporaryDirectory(prefix="shakedown-fuzz-") as folder:
        for one in chosen:
            inputs = max(1, round(given.inputs * one.share / total))
            begun = time.monotonic()
            slowest = _try(one, range(given.first, given.first + inputs), Path(folder), findings, given.keep)
            count += inputs
            print(
                f"{one.name}: {inputs} inputs in {time.monotonic() - begun:.0f} s, slowest {slowest:.2f} s", flush=True
            )
    for (name, error, place), (number, said) in findings.items():
        print(f"FOUND {name}, input {number}: {error} at {place}: {said}")
    print(f"{count} inputs, {len(findings)} findings")
    return 1 if findings else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="over all readers")
    parser.add_argument("--only", default="", help="readers whose name holds this")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--keep", type=Path, help="a folder for the first input of each finding")
    return parser.parse_args()


def _late(signal_: int, frame: FrameType | None) -> None:
    raise Late(f"no answer within {LIMIT_S:g} s of a processor, or {WAIT_S:g} s of waiting")


def _limit(processor_s: float, wait_s: float) -> None:
    """Ask for the signals that end an input which takes too long; 0: for none."""
    signal.setitimer(signal.ITIMER_PROF, processor_s)
    signal.setitimer(signal.ITIMER_REAL, wait_s)


def _try(
    one: Reader,
    numbers: range,
    folder: Path,
    findings: dict[tuple[str, str, str], tuple[int, str]],
    keep: Path | None,
) -> float:
    """Give a reader its inputs; the slowest answer in seconds of a processor."""
    path = folder / f"input{one.suffix}"
    slowest = 0.0
    for number in numbers:
        random_ = random.Random(f"{one.name} {number}")
        path.write_bytes(mutate.mutate(random_.choice(one.seeds), random_))
        begun = time.process_time()
        _limit(LIMIT_S, WAIT_S)
        try:
            one.read(path)
        except (ShakedownError, Garbage) as error:
            str(error)
        except (Exception, Late) as error:
            _limit(0, 0)
            key = (one.name, type(error).__name__, _place(error))
            if key not in findings:
                findings[key] = (number, " ".join(str(error).split())[:160])
                if keep:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{len(findings)}{one.suffix}").write_bytes(path.read_bytes())
        finally:
            _limit(0, 0)
        slowest = max(slowest, time.process_time() - begun)
    return slowest


def _place(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/shakedown/" in frame.filename]
    frames = frames or traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rpartition('/shakedown/')[2]}:{frames[-1].lineno}" if frames else "?"


if __name__ == "__main__":
    sys.exit(main())
