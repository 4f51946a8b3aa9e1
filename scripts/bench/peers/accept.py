"""The acceptance report from 1,000 pieces of evidence, each format alone and all together. It has no peer.

Makes an acceptance of up to forty requirements whose evidence is that of real commands, forms with attachments and runs of
the harness, and times `shakedown accept report` as a person calls it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import common
from common import Option

from . import Figure, Group, Pass, Rates, Row

FORMATS = ("json", "html", "md", "pdf", "html,pdf,md,json")
_MOST_REQUIREMENTS = 40


def report(folder: Path, form: str) -> Rates:
    begun = time.monotonic()
    accept("report", folder, "--format", form)
    return {form: {"report": time.monotonic() - begun}}


def groups(asked: argparse.Namespace) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "plan.toml").write_text(plan(asked.pieces))
        accept("begin", place / "plan.toml", "--directory", place / "A", "--system", "Bench")
        begun = time.monotonic()
        accept("run", place / "A")
        fill(place)
        made_s = time.monotonic() - begun
        files = sum(one.is_file() for folder in ("evidence", "runs") for one in (place / "A" / folder).rglob("*"))
        common.say(f"{files} files of evidence, made in {made_s:.1f} s; {os.cpu_count()} CPUs")
        passes = [Pass(form, partial(report, place / "A", form)) for form in FORMATS]
        yield Group(f"{files} files of evidence", {"report": Figure("s", better="lower")}, passes, FORMATS)


def plan(pieces: int) -> str:
    """Half of the evidence from commands (three files each), the rest from runs (four files each) and forms (two)."""
    lines = ['name = "bench"', 'title = "Bench"', 'signatories = ["buyer", "vendor"]']
    requirements = min(_MOST_REQUIREMENTS, pieces)
    commands = -(-pieces // 6 // requirements)
    runs = forms = -(-pieces // 12 // requirements)
    for number in range(requirements):
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
    common.output([sys.executable, "-m", "shakedown", "accept", *words], codes=(0, 3, 4))


ROW = Row(groups, rounds=5, options={"pieces": Option(1000, 3, "of evidence")})
