"""How long the acceptance report takes from 1,000 pieces of evidence.

    python scripts/bench/accept.py [--pieces 1000] [--repeats 5]

Makes an acceptance of forty requirements whose evidence is that of real commands, forms with attachments and runs of the
harness, and times `shakedown accept report` as a person calls it, each format alone and all together, interleaved.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FORMATS = ("json", "html", "md", "pdf", "html,pdf,md,json")
_REQUIREMENTS = 40


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pieces", type=int, default=1000, help="of evidence")
    options.add_argument("--repeats", type=int, default=5)
    asked = options.parse_args()
    pieces = asked.pieces
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "plan.toml").write_text(plan(pieces))
        accept("begin", place / "plan.toml", "--directory", place / "A", "--system", "Bench")
        begun = time.monotonic()
        accept("run", place / "A")
        fill(place)
        made_s = time.monotonic() - begun
        files = sum(one.is_file() for folder in ("evidence", "runs") for one in (place / "A" / folder).rglob("*"))
        print(f"{files} files of evidence, made in {made_s:.1f} s; {os.cpu_count()} CPUs")
        seconds: dict[str, list[float]] = {form: [] for form in FORMATS}
        for _ in range(asked.repeats):
            for form in FORMATS:
                begun = time.monotonic()
                accept("report", place / "A", "--format", form)
                seconds[form].append(time.monotonic() - begun)
        for form, taken in seconds.items():
            print(f"  {form:<18} {statistics.median(taken):6.2f} s  ({min(taken):.2f} to {max(taken):.2f})")


def plan(pieces: int) -> str:
    """Half of the evidence from commands (three files each), the rest from runs (four files each) and forms (two)."""
    lines = ['name = "bench"', 'title = "Bench"', 'signatories = ["buyer", "vendor"]']
    commands = -(-pieces // 6 // _REQUIREMENTS)
    runs = forms = -(-pieces // 12 // _REQUIREMENTS)
    for number in range(_REQUIREMENTS):
        lines += [
            "[[requirement]]",
            f'id = "r{number}"\nclause = "{number // 10 + 1}.{number % 10 + 1}"',
            'text = "The system does what this sentence asks of it, and somebody has seen it do so."',
            f'[[test]]\nid = "c{number}"\nrequirements = ["r{number}"]\nkind = "command"\ntimes = {commands}',
            'command = ["echo", "availability 98.5"]\nexpect = ["avail"]',
            '[[test.value]]\nname = "Availability"\nunit = "%"\nat_least = "97 %"',
            "pattern = 'availability ([0-9.]+)'",
            f'[[test]]\nid = "w{number}"\nrequirements = ["r{number}"]\nkind = "run"\nworkload = "empty"',
            f"params = {{ seconds = 0.001, tag = {number} }}\ntimes = {runs}",
            '[[test.limit]]\nmetric = "empty.time"\nat_most = "1 s"',
            f'[[test]]\nid = "m{number}"\nrequirements = ["r{number}"]\nkind = "manual"\nsteps = ["Look."]',
            f"times = {forms}",
            '[[test.field]]\nname = "seen"\ntitle = "It was seen"\ntype = "yes-no"\nexpect = "yes"',
        ]
    return "\n".join(lines) + "\n"


def fill(place: Path) -> None:
    """The forms, through the functions that the command calls: starting it hundreds of times would only take long."""
    from shakedown.acceptance import directory, running
    from shakedown.acceptance.plan import ManualTest

    photo = place / "photo.jpg"
    photo.write_bytes(os.urandom(100_000))
    for test in directory.open_(place / "A").plan.tests:
        if isinstance(test, ManualTest):
            for _ in range(test.times):
                form, files = running.filled(test, {"seen": "yes"}, [str(photo)], subject="", by="Bench")
                running.record(place / "A", test, form, files)


def accept(*words: str | Path) -> None:
    """``shakedown accept WORDS``, which must end as it should: 0, or open while forms are missing."""
    done = subprocess.run(
        [sys.executable, "-m", "shakedown", "accept", *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3, 4):
        sys.exit(done.stderr)


if __name__ == "__main__":
    main()
