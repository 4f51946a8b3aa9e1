"""The waste of a job that is killed at random moments, beside what `shakedown checkpoint plan` expects of it.

    python scripts/bench/injected.py [--runs 8] [--useful 30] [--mtti 4] [--megabytes 16] [--tiny] [--json]

A program in C keeps its state by the checkpoint library (level 1, synchronous) at the interval of least expected waste.
SIGKILL comes after times that are drawn (exponential), also while it saves, starts or restores; it is started again at
once, until its work is done. The work is waiting, so that runs side by side do not take each other's processors. What goes
into the expectation is measured before: the time without checkpoints, with them and without kills, and from a start to the
first step after a restore. Every step must be in the state at the end, or the script fails. ``waste`` is T/Ts - 1 of all
runs together, ``error`` its standard error from the spread between runs."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import common
from common import Option

from shakedown.checkpoint import interval, library, pattern, simulate

STEP_S = 0.01
_SOURCE = r"""
#include <shakedown/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* WORDS: steps, steps between checkpoints (0: none), bytes. Prints a line at its first step and one at its end. */
int main(int count, char** words) {
  if (count != 4) return 2;
  const long steps = atol(words[1]), every = atol(words[2]);
  const uint64_t cells = strtoull(words[3], NULL, 10) / sizeof(int64_t), begin = 0;
  int64_t step = 0, *state = calloc(cells, sizeof(int64_t));
  shakedown_ckpt* checkpoint = NULL;
  shakedown_ckpt_options options;
  shakedown_ckpt_options_init(&options);
  options.synchronous = 1;
  if (!state || (every && shakedown_ckpt_open(NULL, &options, &checkpoint))) return 3;
  if (every) {
    shakedown_ckpt_protect(checkpoint, "step", &step, SHAKEDOWN_CKPT_INT64, 0, NULL, NULL, NULL);
    shakedown_ckpt_protect(checkpoint, "state", state, SHAKEDOWN_CKPT_INT64, 1, &cells, &cells, &begin);
    const int error = shakedown_ckpt_restore(checkpoint, NULL);
    if (error != SHAKEDOWN_CKPT_OK && error != SHAKEDOWN_CKPT_NOTHING) return 4;
  }
  printf("from %lld\n", (long long)step);
  fflush(stdout);
  while (step < steps) {
    const struct timespec wait = {0, 10000000};
    nanosleep(&wait, NULL);
    ++state[(uint64_t)step % cells];
    ++step;
    if (every && step % every == 0 && step < steps && shakedown_ckpt_checkpoint(checkpoint, 1)) return 5;
  }
  int64_t sum = 0;
  for (uint64_t i = 0; i < cells; ++i) sum += state[i];
  printf("sum %lld\n", (long long)sum);
  return 0;
}
"""


class Job(NamedTuple):
    program: Path
    steps: int
    every: int
    size: int

    def start(self, folder: Path) -> subprocess.Popen[str]:
        words = [str(one) for one in (self.program, self.steps, self.every, self.size)]
        env = {**os.environ, "SHAKEDOWN_CKPT_LOCAL": str(folder)}
        return subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE)

    def whole(self, folder: Path) -> float:
        """Seconds of a run that nothing kills."""
        begun = time.perf_counter()
        with self.start(folder) as process:
            self.check(process)
        return time.perf_counter() - begun

    def check(self, process: subprocess.Popen[str]) -> None:
        out = process.communicate()[0]
        if process.returncode or f"sum {self.steps}" not in out.splitlines():
            raise common.Wrong(f"ended with {process.returncode} and {out!r}", where=str(self.program))

    def killed(self, folder: Path, mtti_s: float, seed: int) -> tuple[float, int]:
        """Seconds until the work is done, and how often the program was killed."""
        draws, begun, kills = random.Random(seed), time.perf_counter(), 0
        while True:
            with self.start(folder) as process:
                try:
                    process.wait(draws.expovariate(1 / mtti_s))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills += 1
                    continue
                seconds = time.perf_counter() - begun
                self.check(process)
                return seconds, kills


@contextmanager
def folders(place: Path, name: str, count: int) -> Iterator[list[Path]]:
    made = [place / f"{name}{number}" for number in range(count)]
    for one in made:
        one.mkdir()
    yield made


def restart_s(job: Job, folder: Path) -> float:
    """From a start to the first step after a restore, at the median of five; the folder holds a checkpoint."""
    found = []
    for _ in range(5):
        begun = time.perf_counter()
        with job.start(folder) as process:
            assert process.stdout is not None
            process.stdout.readline()
            found.append(time.perf_counter() - begun)
            process.kill()
    return statistics.median(found)


def main() -> None:
    asked = common.arguments(
        __doc__,
        runs=Option(8, 1, "side by side"),
        useful=Option(30.0, 0.6, "seconds of work in each"),
        mtti=Option(4.0, 0.5, "mean seconds between kills"),
        megabytes=Option(16, 1, "of state"),
        seed=Option(1),
        folder=Option("", None, "where checkpoints are written; empty: the temporary folder"),
    )
    with tempfile.TemporaryDirectory(dir=asked.folder or None) as text:
        place = Path(text)
        (place / "program.c").write_text(_SOURCE)
        common.output(["sh", "-c", f"cd {place} && {library.paths().compile} -O2 -o program"])
        plain = Job(place / "program", round(asked.useful / STEP_S), 0, asked.megabytes * 10**6)
        common.show(asked, injected=measured(asked, plain, place))


def measured(asked: argparse.Namespace, plain: Job, place: Path) -> tuple[list[dict[str, float]], dict[str, str]]:
    """One row: what was measured before, what is expected of it, and what the killed runs took."""
    often = plain._replace(every=max(1, plain.steps // 20))
    with folders(place, "before", asked.runs) as here, ThreadPoolExecutor(asked.runs) as pool:
        bare_s = statistics.mean(pool.map(plain.whole, here))
        saving_s = statistics.mean(pool.map(often.whole, here))
        back_s = restart_s(often, here[0])
    cost_s = max((saving_s - bare_s) / ((often.steps - 1) // often.every), 1e-4)
    best = interval.exact(cost_s, asked.mtti)
    job = plain._replace(every=max(1, round(best / STEP_S * plain.steps * STEP_S / bare_s)))
    with folders(place, "killed", asked.runs) as here, ThreadPoolExecutor(asked.runs) as pool:
        seeds = range(asked.seed, asked.seed + asked.runs)
        found = list(pool.map(lambda one: job.killed(one[0], asked.mtti, one[1]), zip(here, seeds, strict=True)))
    wastes = [seconds / bare_s - 1 for seconds, _ in found]
    work_s = job.every * bare_s / plain.steps
    scheme = pattern.Scheme((cost_s,), (0.0,), (back_s,), (1 / asked.mtti,))
    expected = float(pattern.waste(scheme, work_s, (1,)))
    drawn = simulate.simulate(scheme, work_s, (1,), jobs=2000, patterns=max(1, plain.steps // job.every))
    row = {
        "cost_ms": 1e3 * cost_s,
        "restart_ms": 1e3 * back_s,
        "interval_s": work_s,
        "kills": sum(kills for _, kills in found),
        "waste": statistics.mean(wastes),
        "error": statistics.stdev(wastes) / len(wastes) ** 0.5 if len(wastes) > 1 else float("nan"),
        "expected": expected,
        "drawn": drawn.waste,
        "expected_over_waste": expected / statistics.mean(wastes),
    }
    return [row], {name: ".3g" if isinstance(value, float) else "" for name, value in row.items()}


if __name__ == "__main__":
    main()
