"""The fft program beside a bare loop over the same FFTW.

The bare loop is a small C program, compiled here, that does what FFTW's own `bench` does: it plans with FFTW_MEASURE,
fills, and times calls of `fftw_execute` in samples of a fixed number. (Debian does not package `bench`.) So that both run
the same plan, which FFTW_MEASURE finds anew and differently in every process, the plans are made once, by our program, and
read by both as wisdom. The best of each one's samples counts, as `bench` takes it.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row, program

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


def flop(shape: str) -> float:
    points = math.prod(map(int, shape.split("x")))
    return 5 * points * math.log2(points)


class Both:
    """One shape and number of threads, run by either side with the same wisdom."""

    def __init__(self, asked: argparse.Namespace, folder: str, shape: str, threads: int) -> None:
        self.asked, self.folder, self.shape, self.threads = asked, folder, shape, threads
        self.calls = max(1, math.ceil(asked.sample_flop / flop(shape)))
        self.wisdom = f"{folder}/{shape}-{threads}"
        planned = self.events("--samples", "1", "--save-wisdom", self.wisdom)
        self.library = planned[0]["facts"]["library_path"]

    def events(self, *more: str) -> list[dict[str, Any]]:
        words = ["--sizes", self.shape, "--threads", str(self.threads), "--library", self.asked.library, "--no-verify"]
        words += ["--sample-flop", str(self.asked.sample_flop), "--pages", self.asked.pages, *more]
        return common.events([program(self.asked, "fft"), *words])

    def ours(self) -> Rates:
        found = self.events("--samples", str(self.asked.samples), "--wisdom", self.wisdom)
        case = next(one for one in found if one["event"] == "case" and one["kernel"] != "fft_plan")
        return {"fft": {"rate": flop(self.shape) * self.calls / min(case["seconds"])}}

    def bare(self) -> Rates:
        folder, _, file = self.library.rpartition("/")
        threads = f"{folder}/{file.replace('fftw3', 'fftw3_omp', 1)}" if self.threads > 1 else "-"
        words = [self.library, threads, self.wisdom, self.shape, str(self.threads), str(self.calls)]
        cpus = sorted(os.sched_getaffinity(0))[: self.threads]
        text = common.output(
            [f"{self.folder}/bare", *words, str(self.asked.samples)],
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        return {"bare loop": {"rate": flop(self.shape) * self.calls / min(map(float, text.split()))}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bare.c").write_text(SOURCE)
        common.output(["cc", "-O2", "-o", f"{folder}/bare", f"{folder}/bare.c", "-ldl"])
        for shape, threads in product(asked.sizes, asked.threads):
            both = Both(asked, folder, shape, threads)
            sides = [Pass("fft", both.ours), Pass("bare loop", both.bare)]
            yield Group(f"fft {shape}, {threads} threads", {"rate": Figure("Gflop/s", 1e-9)}, sides, ["fft"])


ROW = Row(
    groups,
    rounds=5,
    options={
        "library": Option("auto"),
        "sizes": Option(["256", "4096", "65536", "1048576", "1024x1024", "128x128x128"], ["256"]),
        "threads": Option([1, 2], [1]),
        "samples": Option(40, 2),
        "sample_flop": Option(5e7, 1e6),
        "pages": Option("base", help="fftw_malloc's are base pages, as a rule", choices=("base", "huge")),
    },
    bench="--threads 1",
)
