"""How long the accounting of a month of a large cluster takes, and whether it is right: jobs of a generator with known
totals.

    python scripts/bench/accounting.py [--json] [--jobs 5000000] [--folder DIR] [--repeat 1] [--keep]

The file is what `sacct -P` would print, about 250 bytes a job, with everything that bites in it
(operate/accounting/simulate.py): local times over the clocks' change, requeues, steps, rows that come twice, broken
names. The whole command runs in a process of its own, whose time and peak memory are read: reading, six tables,
charges, waiting times, JSON. A second process writes the page as well. Every total is compared, by user, project,
partition, state and day: equal, or the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from shakedown.operate.accounting import simulate
from shakedown.schedulers.common.slurm_rows import state_of

TARIFF = 'name = "bench"\ncurrency = "EUR"\n[rates]\ncpu_h = "0.012"\ngpu_h = { a100 = "0.9", h200 = "2.4" }\n'
BY = "user,project,partition,state,day,size"
MONTH = ("2026-10-01", "2026-11-01", "Europe/Zurich")


def run(source: Path, tariff: Path, more: list[str]) -> tuple[dict[str, Any], float, float, float]:
    """The command's answer, its seconds, its processor seconds, its peak memory in MB."""
    begin, end, zone = MONTH
    program = "import sys; from shakedown.cli import accounting; sys.argv[0] = 'accounting'; accounting.app()"
    window = ["--begin", begin, "--end", end, "--timezone", zone]
    words = ["report", str(source), *window, "--by", BY, "--tariff", str(tariff)]
    started = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", program, *words, "--json", *more], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        text = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - started
    if child.returncode:
        raise SystemExit(f"the command ended with {child.returncode}")
    return json.loads(text), took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def wrong(told: dict[str, Any], known: simulate.GeneratedTruth) -> list[str]:
    """Where the report is not what the generator counted."""
    found = []

    def compare(where: str, row: dict[str, Any], one: simulate.Sum) -> None:
        for name in ("runs", "cpu_s", "gpu_s", "node_s", "energy_j"):
            have = row.get(name) or 0
            if have != getattr(one, name):
                found.append(f"{where}: {name} is {have}, not {getattr(one, name)}")

    compare("whole", told["whole"], known.whole)
    for name, value in (("jobs", known.jobs), ("never_started", known.never)):
        if told["whole"][name] != value:
            found.append(f"whole: {name} is {told['whole'][name]}, not {value}")
    if sum(one.get("mended", 0) for one in told["sources"]) != known.broken:
        found.append(f"mended rows are not {known.broken}")
    for table in told["tables"]:
        if table["by"][0] in known.by:
            truth = _by(table["by"][0], known)
            rows = {row["key"][0]: row for row in table["rows"] if row["runs"]}
            if set(rows) != set(truth):
                found.append(f"{table['by'][0]}: other names")
            for key in set(rows) & set(truth):
                compare(key, rows[key], truth[key])
    return found


def _by(name: str, known: simulate.GeneratedTruth) -> dict[str, simulate.Sum]:
    if name != "state":
        return {key: one for key, one in known.by[name].items() if one.runs}
    return {state_of(key): one for key, one in known.by[name].items() if one.runs}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--json", action="store_true")
    words.add_argument("--jobs", type=int, default=5_000_000)
    words.add_argument("--folder", type=Path)
    words.add_argument("--repeat", type=int, default=1)
    words.add_argument("--keep", action="store_true", help="the file, for the next run with the same --folder")
    words.add_argument("--make", action="store_true", help="make the file, and nothing else")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="shakedown-bench-") as scratch:
        folder = asked.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        names = (f"sacct-{asked.jobs}.txt", f"truth-{asked.jobs}.json", "tariff.toml")
        source, truth, tariff = (folder / name for name in names)
        tariff.write_text(TARIFF)
        if asked.make:
            truth.write_bytes(msgspec.json.encode(simulate.write(source, asked.jobs)))
            return
        if not truth.exists():  # our own file of an earlier run with --keep
            started = time.monotonic()
            # In a process of its own: a child's peak is never less than its parent's was.
            command = (sys.executable, __file__, "--jobs", str(asked.jobs), "--folder", str(folder), "--make")
            subprocess.run(command, check=True)
            print(f"made {source.stat().st_size / 1e9:.2f} GB in {time.monotonic() - started:.0f} s", file=sys.stderr)
        known = msgspec.json.decode(truth.read_bytes(), type=simulate.GeneratedTruth)
        results = []
        for _ in range(asked.repeat):
            results.append(_one("report", source, tariff, [], known))
        results.append(
            _one("with page and CSV", source, tariff, ["--format", "html,csv", "--output", str(folder / "out")], known)
        )
        if not asked.keep:
            source.unlink()
            truth.unlink()
    told = {"jobs": asked.jobs, "rows": known.rows + known.steps + known.twice, "broken": known.broken, "runs": results}
    print(json.dumps(told, indent=1) if asked.json else _table(told))
    sys.exit(any(one["wrong"] for one in results))


def _one(name: str, source: Path, tariff: Path, more: list[str], known: simulate.GeneratedTruth) -> dict[str, Any]:
    told, took_s, used_s, peak_mb = run(source, tariff, more)
    bad = wrong(told, known)
    for line in bad[:20]:
        print(f"WRONG {line}", file=sys.stderr)
    return {
        "what": name,
        "seconds": took_s,
        "processor_s": used_s,
        "peak_mb": peak_mb,
        "load": os.getloadavg()[0],
        "wrong": len(bad),
    }


def _table(told: dict[str, Any]) -> str:
    lines = [f"{told['jobs']:,} jobs, {told['rows']:,} rows, {told['broken']:,} of them broken"]
    for one in told["runs"]:
        state = "exact" if not one["wrong"] else f"{one['wrong']} WRONG"
        lines.append(
            f"{one['what']:<20} {one['seconds']:6.1f} s  {one['processor_s']:6.1f} processor-s  {one['peak_mb']:6.0f} MB  "
            f"load {one['load']:.1f}  totals {state}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
