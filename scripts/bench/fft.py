"""The fft program beside a bare loop over the same FFTW.

    python scripts/bench/fft.py [--library libfftw3.so.3] [--program build/native/fft/fft]

The bare loop is a small C program, compiled here, that does what FFTW's own ``bench`` does: it plans with FFTW_MEASURE,
fills, and times calls of ``fftw_execute`` in samples of a fixed number. (Debian does not package ``bench``.) So that
both run the same plan, which FFTW_MEASURE finds anew and differently in every process, the plans are made once, by our
program, and read by both as wisdom. Both are started in turn, round by round, in an order that changes with the round.
Per round: the best of each one's samples, as ``bench`` takes it; what is printed is the median of the rounds' ratios,
program over bare loop, in flop/s.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shakedown import programs

#: usage: bare LIBRARY THREADS-LIBRARY|- WISDOM LENGTHS THREADS CALLS SAMPLES; prints the seconds of each sample.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(int argc, char** argv) {
  if (argc != 8) return 2;
  void* main_library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  void* library = main_library && strcmp(argv[2], "-") ? dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) : main_library;
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 3; }
  int (*init)(void) = (int (*)(void))dlsym(library, "fftw_init_threads");
  void (*threads)(int) = (void (*)(int))dlsym(library, "fftw_plan_with_nthreads");
  void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(library, "fftw_malloc");
  int (*wisdom)(const char*) = (int (*)(const char*))dlsym(library, "fftw_import_wisdom_from_filename");
  void* (*plan)(int, const int*, double*, double*, int, unsigned) =
      (void* (*)(int, const int*, double*, double*, int, unsigned))dlsym(library, "fftw_plan_dft");
  void (*execute)(void*) = (void (*)(void*))dlsym(library, "fftw_execute");
  if (atoi(argv[5]) > 1) { init(); threads(atoi(argv[5])); }
  if (wisdom && strcmp(argv[3], "-") && !wisdom(argv[3])) { fprintf(stderr, "no wisdom\n"); return 3; }
  int lengths[3], rank = 0;
  size_t points = 1;
  for (char* word = strtok(argv[4], "x"); word && rank < 3; word = strtok(NULL, "x"))
    points *= (size_t)(lengths[rank++] = atoi(word));
  double *in = allocate(16 * points), *out = allocate(16 * points);
  memset(in, 0, 16 * points);
  memset(out, 0, 16 * points);
  void* made = plan(rank, lengths, in, out, -1, 1U << 4);
  for (size_t i = 0; i < 2 * points; ++i) in[i] = (double)rand() / RAND_MAX - 0.5;
  const long calls = atol(argv[6]), samples = atol(argv[7]);
  for (double begin = now(); now() - begin < 0.1;) for (long i = 0; i < calls; ++i) execute(made);
  for (long s = 0; s < samples; ++s) {
    const double begin = now();
    for (long i = 0; i < calls; ++i) execute(made);
    printf("%.9f\n", now() - begin);
  }
  return 0;
}
"""


def compiled(folder: str) -> str:
    """The bare loop, built with the C compiler of this machine."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("no C compiler: apt-get install gcc")
    source = Path(folder) / "bare.c"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-o", f"{folder}/bare", str(source), "-ldl"], check=True)
    return f"{folder}/bare"


def flop(shape: str) -> float:
    points = math.prod(map(int, shape.split("x")))
    return 5 * points * math.log2(points)


class Both:
    """One shape and number of threads, run by either side."""

    def __init__(self, args: argparse.Namespace, bare: str, folder: str, shape: str, threads: int) -> None:
        self.args, self.bare, self.shape, self.threads = args, bare, shape, threads
        self.calls = max(1, math.ceil(args.sample_flop / flop(shape)))
        self.wisdom = f"{folder}/{shape}-{threads}"
        planned = self.events("--samples", "1", "--save-wisdom", self.wisdom)
        self.library = planned[0]["facts"]["library_path"]

    def events(self, *more: str) -> list[dict[str, Any]]:
        words = ["--sizes", self.shape, "--threads", str(self.threads), "--library", self.args.library, "--no-verify"]
        words += ["--sample-flop", str(self.args.sample_flop), "--pages", self.args.pages, *more]
        done = subprocess.run([self.args.program, *words], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def run_program(self) -> float:
        found = self.events("--samples", str(self.args.samples), "--wisdom", self.wisdom)
        case = next(one for one in found if one["event"] == "case" and one["kernel"] != "fft_plan")
        return float(flop(self.shape) * self.calls / min(case["seconds"]))

    def run_bare(self) -> float:
        folder, _, file = self.library.rpartition("/")
        threads = f"{folder}/{file.replace('fftw3', 'fftw3_omp', 1)}" if self.threads > 1 else "-"
        words = [self.library, threads, self.wisdom, self.shape, str(self.threads), str(self.calls)]
        cpus = sorted(os.sched_getaffinity(0))[: self.threads]
        done = subprocess.run(
            [self.bare, *words, str(self.args.samples)],
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        return float(flop(self.shape) * self.calls / min(map(float, done.stdout.split())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="auto")
    parser.add_argument("--program", default="", help="the native program; empty: the one that is installed")
    parser.add_argument("--sizes", default="256,4096,65536,1048576,1024x1024,128x128x128")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--sample-flop", type=float, default=5e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--pages", default="base", choices=("base", "huge"), help="fftw_malloc's are base pages, as a rule"
    )
    args = parser.parse_args()
    args.program = args.program or programs.path("fft")
    with tempfile.TemporaryDirectory() as folder:
        bare = compiled(folder)
        for shape in args.sizes.split(","):
            for threads in map(int, args.threads.split(",")):
                both = Both(args, bare, folder, shape, threads)
                pairs = []
                for turn in range(args.rounds):
                    sides = [both.run_program, both.run_bare]
                    rates = {run: run() for run in (sides if turn % 2 else sides[::-1])}
                    pairs.append((rates[both.run_program], rates[both.run_bare]))
                ratios = [ours / theirs for ours, theirs in pairs]
                ours, theirs = (statistics.median(side) / 1e9 for side in zip(*pairs, strict=True))
                print(
                    f"fft {shape:>12} {threads:3d} threads: program {ours:7.2f} bare {theirs:7.2f} Gflop/s "
                    f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
