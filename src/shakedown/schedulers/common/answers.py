"""What the commands of all engines are asked alike: whether they are there, and the id of a job that was taken."""

from __future__ import annotations

import re

from ...errors import CannotMeasure
from ...hosts.access import HostAccess, Result


def said(result: Result) -> str:
    """What a command said, errors first, on one line."""
    return " ".join((result.err or result.out).split())


def missing(door: HostAccess, *programs: str) -> str:
    """Which of an engine's commands are not here; empty where all are."""
    absent = [name for name in programs if door.which(name) is None]
    return f"{', '.join(absent)} not on PATH" if absent else ""


def silent(door: HostAccess, *words: str, who: str) -> str:
    """That what these words ask does not answer; empty where it does."""
    answer = door.run(words, limit_s=20.0)
    return "" if answer.ok else f"{who}: {said(answer)[:200]}"


def job_id(result: Result, pattern: str, command: str, engine: str, hint: str) -> str:
    """The job's id, the first group of a pattern, from what ``command`` printed. Raises CannotMeasure with what it said and
    the ``hint``."""
    found = re.search(pattern, result.out, re.MULTILINE)
    if not result.ok or not found:
        raise CannotMeasure(
            f"{command} refused the job: {said(result) or 'it printed nothing'}", where=engine, hint=hint
        )
    return found[1]
