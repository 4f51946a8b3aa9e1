"""Our HPL beside its own DGEMM, and beside the HPL of Debian's hpcc with the same BLAS, pages and cores.

    python scripts/bench/hpl.py [--orders 4000,8000,16000] [--peer-orders 8000,12000] [--rounds 2] [--pages huge,base]

``--orders``: the rate over that of the DGEMM with k = NB that every thread does before and after it in the same process.
``--peer-orders``: in each round ours and hpcc's, one after the other, for every kind of pages; each solves every order
with every block size of its list, hpcc also as one rank of all threads and as one rank a core on 1 x P. What is compared
is the best of each, order by order and round by round, in flop/s; every residual must have passed. Huge pages are
transparent ones: ours asks for them, hpcc gets them through glibc's ``glibc.malloc.hugetlb``. The BLAS must be one that
hpcc can be made to load: a site's libopenblas with plain names, put in front by LD_LIBRARY_PATH as libblas.so.3.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from shakedown.workloads.common import hpl_dat

CORES = len(os.sched_getaffinity(0))
#: A process of its own on every core, or one with all of them: ranks, threads of its BLAS.
LAYOUTS = ((CORES, 1), (1, CORES))


def ours(args: argparse.Namespace, n: int, blocks: list[int], pages: str, samples: int) -> list[dict[str, float]]:
    """One entry a block size: nb, rate and ceiling (flop/s, best and median of the samples), bytes held. Exits where a
    residual failed."""
    command = [args.program, "--n", str(n), "--nb", ",".join(map(str, blocks)), "--pages", pages]
    command += ["--library", args.library, "--samples", str(samples)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr}")
    found: dict[int, dict[str, float]] = {}
    for event in map(json.loads, done.stdout.splitlines()):
        if event["event"] != "case" or event["kernel"] not in ("hpl", "ceiling"):
            continue
        entry = found.setdefault(event["params"]["nb"], {"nb": event["params"]["nb"]})
        rates = [event["work"]["flop"] / seconds for seconds in event["seconds"]]
        entry[event["kernel"]] = statistics.median(rates)
        entry[f"best {event['kernel']}"] = max(rates)
    end = json.loads(done.stdout.splitlines()[-1])
    for entry in found.values():
        entry["over"] = end["max_rss_bytes"] / (8 * n * n) - 1
    return list(found.values())


def hpcc(
    args: argparse.Namespace, orders: list[int], blocks: list[int], pages: str, ranks: int, threads: int
) -> dict[int, tuple[float, int]]:
    """Order -> (rate in flop/s, block size) of the best. hpcc runs all of its other tests first; their sizes follow N."""
    dat = hpl_dat.text(
        hpl_dat.HplDat(n=tuple(orders), nb=tuple(blocks), grids=((1, ranks),), nbmin=(8,), depth=tuple(args.peer_depth))
    )
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": "1",
        "GLIBC_TUNABLES": f"glibc.malloc.hugetlb={int(pages == 'huge')}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "hpccinf.txt").write_text(dat)
        (Path(folder) / "libblas.so.3").symlink_to(Path(args.library).resolve())
        environment["LD_LIBRARY_PATH"] = f"{folder}:{environment.get('LD_LIBRARY_PATH', '')}"
        bind = ["--bind-to", "core"] if threads == 1 else ["--bind-to", "none"]
        subprocess.run(
            ["mpirun", "-np", str(ranks), *bind, "hpcc"], cwd=folder, env=environment, capture_output=True, check=False
        )
        text = (Path(folder) / "hpccoutf.txt").read_text()
    best: dict[int, tuple[float, int]] = {}
    for n, nb, gflops in re.findall(r"^W\S+\s+(\d+)\s+(\d+)\s+\d+\s+\d+\s+\S+\s+(\S+)$", text, re.MULTILINE):
        best[int(n)] = max(best.get(int(n), (0.0, 0)), (float(gflops) * 1e9, int(nb)))
    if not best or "FAILED" in text.split("Begin of HPL section")[-1].split("Begin of Summary")[0]:
        sys.exit("hpcc gave no result that passed")
    return best


def own_dgemm(args: argparse.Namespace) -> None:
    print(f"{'N':>7} {'NB':>4} {'Gflop/s':>8} {'DGEMM k=NB':>11} {'fraction':>9} {'memory over 8 N^2':>18}")
    for n in args.orders:
        rounds = [ours(args, n, args.nb, "huge", max(1, 12000 // n)) for _ in range(args.rounds)]
        for i, nb in enumerate(args.nb):
            entries = [one[i] for one in rounds]
            fraction = statistics.median(entry["hpl"] / entry["ceiling"] for entry in entries)
            rate, ceiling = (statistics.median(entry[name] for entry in entries) for name in ("hpl", "ceiling"))
            over = max(entry["over"] for entry in entries)
            print(
                f"{n:7d} {nb:4d} {rate / 1e9:8.1f} {ceiling / 1e9:11.1f} {fraction:9.3f} {100 * over:17.1f}%",
                flush=True,
            )


def beside_hpcc(args: argparse.Namespace) -> None:
    if shutil.which("hpcc") is None:
        print("hpcc is not installed: apt-get install hpcc")
        return
    for pages in args.pages:
        ratios: dict[int, list[float]] = {n: [] for n in args.peer_orders}
        for turn in range(args.rounds):
            best: dict[int, tuple[float, int, str]] = {}
            mine: dict[int, tuple[float, float]] = {}
            peers = list(args.layouts)
            for layout in peers[turn % len(peers) :] + peers[: turn % len(peers)]:
                for n in args.peer_orders:  # ours between its runs, so that a drift meets both
                    for entry in ours(args, n, args.nb, pages, 1):
                        mine[n] = max(mine.get(n, (0.0, 0.0)), (entry["best hpl"], entry["nb"]))
                ranks, threads = LAYOUTS[layout]
                for n, (rate, nb) in hpcc(args, args.peer_orders, args.peer_nb, pages, ranks, threads).items():
                    best[n] = max(best.get(n, (0.0, 0, "")), (rate, nb, f"1x{ranks} x {threads}"))
            for n in args.peer_orders:
                ratio = mine[n][0] / best[n][0]
                ratios[n].append(ratio)
                print(
                    f"{pages:>5} pages, N {n:6d}: ours {mine[n][0] / 1e9:6.1f} (NB {mine[n][1]:.0f}), hpcc "
                    f"{best[n][0] / 1e9:6.1f} (NB {best[n][1]}, {best[n][2]}), ratio {ratio:.3f}",
                    flush=True,
                )
        for n, values in ratios.items():
            print(f"{pages:>5} pages, N {n:6d}: median ratio {statistics.median(values):.3f} of {len(values)} rounds")


def main() -> None:
    def whole(text: str) -> list[int]:
        return [int(word) for word in text.split(",") if word]

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--program", default="build/bench/native/hpl/hpl")
    options.add_argument("--library", default="/usr/lib/x86_64-linux-gnu/libopenblas.so.0")
    options.add_argument("--orders", type=whole, default=[4000, 8000, 16000])
    options.add_argument("--peer-orders", type=whole, default=[8000, 12000])
    options.add_argument("--nb", type=whole, default=[192, 256], help="our block sizes")
    options.add_argument("--peer-nb", type=whole, default=[128, 192, 240], help="hpcc's block sizes")
    options.add_argument("--peer-depth", type=whole, default=[0, 1], help="hpcc's depths of look-ahead")
    options.add_argument("--layouts", type=whole, default=[0, 1], help="hpcc's: 0 a rank a core, 1 one rank")
    options.add_argument("--pages", type=lambda text: text.split(","), default=["huge", "base"])
    options.add_argument("--rounds", type=int, default=2)
    args = options.parse_args()
    if args.orders:
        own_dgemm(args)
    if args.peer_orders:
        beside_hpcc(args)


if __name__ == "__main__":
    main()
