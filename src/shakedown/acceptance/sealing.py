"""Evidence and its checksums: what a verdict rests on, and what was changed, removed or added since.

Only ordinary files count. A link is refused: what it leads to could change without the link.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from ..errors import BadInput
from ..files import atomic
from .journal import Abandoned, Amended, Attempt, Begun, Entry, File, Read, Reported, Sealed, Session
from .plan import AcceptancePlan

PLAN, RUNS, EVIDENCE, REPORTS = "plan.toml", "runs", "evidence", "report"
#: Ends the name of a folder whose test is still under way, or was cut short: it is not sealed, and nothing rests on it.
PART = ".part"
#: What is made from a run directory at will, and is no evidence.
MADE = ("measurements.parquet", "outcomes.json", "summary.json", "durations.json", "figures")


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is not as it was sealed, with the clauses whose verdicts rest on it."""

    path: str
    what: str  # changed, missing, added, a link
    tests: tuple[str, ...] = ()
    clauses: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" + (f" ({self.clauses})" if self.clauses else "")


def digest(path: Path) -> tuple[str, int]:
    """The SHA-256 and the size of an ordinary file; a link is not followed. Raises OSError, BadInput."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise BadInput("is not a regular file", where=str(path), hint="evidence is made of files")
        found = hashlib.file_digest(file, "sha256")
        return found.hexdigest(), file.tell()


def seal(root: Path, paths: Iterable[Path]) -> tuple[File, ...]:
    """The checksums of files below ``root``, in the order of their paths. Raises StoreFailed, BadInput."""
    files = []
    for path in sorted(set(paths)):
        try:
            sha256, size = digest(path)
        except OSError as error:
            raise atomic.failed(error, path, "read the evidence") from None
        files.append(File(path=path.relative_to(root).as_posix(), sha256=sha256, bytes=size))
    return tuple(files)


def files_in(folder: Path) -> Iterator[Path]:
    """Every file and link below a folder, links to folders included, sorted within each folder."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in sorted(names))
        yield from (Path(place, name) for name in folders if Path(place, name).is_symlink())


def shared_files(folder: Path) -> list[Path]:
    """The files of a run directory that all of its runs share: plan, machine, hosts, jobs, meters."""
    found = []
    for path in files_in(folder):
        parts = path.relative_to(folder).parts
        if parts[0] != "runs" and not is_made(parts):
            found.append(path)
    return found


def is_made(parts: tuple[str, ...]) -> bool:
    """Whether a file of a run directory is made from the others at will, or is half of a write that was cut short."""
    return (
        parts[0] in MADE
        or parts[0].startswith(("report.", "report_"))
        or (parts[-1][0] == "." and parts[-1].endswith(".tmp"))
    )


def run_files(folder: Path, runs: Iterable[str]) -> list[Path]:
    """Every file of these runs of a run directory, whatever a program calls it: only below the directory itself is a
    ``report.json`` made at will."""
    found = (path for run in runs for path in files_in(folder / "runs" / run))
    return [path for path in found if not is_made(path.relative_to(folder).parts)]


# --------------------------------------------------------------------------------------------------------- verification


def verify(root: Path, found: Read, plan: AcceptancePlan) -> list[Fault]:
    """Every file of the evidence and of the newest report that is not as the journal says, in that order."""
    faults: list[Fault] = []
    owners = _owners(found.entries)
    held = listed(found.entries)
    for path, file in held.items():
        faults += _held(root, file, tuple(sorted(owners.get(path, ()))), plan)
    faults += _added(root, found.entries, set(held), plan)
    reports: dict[str, File] = {}
    for entry in found.entries:
        if isinstance(entry, Reported):
            reports |= {file.path: file for file in entry.files}
    for file in reports.values():
        faults += _held(root, file, (), plan)
    return faults


def listed(entries: Iterable[Entry]) -> dict[str, File]:
    """Every file of the evidence that was sealed, by its path."""
    found: dict[str, File] = {}
    for entry in entries:
        if isinstance(entry, (Begun, Amended, Attempt, Sealed, Abandoned)):
            found |= {file.path: file for file in entry.files}
    return found


def _owners(entries: Iterable[Entry]) -> dict[str, set[str]]:
    """Path of evidence -> the tests that rest on it. What a session shares is each of its tests'."""
    owners: dict[str, set[str]] = {}
    tests: dict[str, set[str]] = {}
    for entry in entries:
        if isinstance(entry, Session):
            tests.setdefault(entry.folder, set()).update(entry.tests)
        if isinstance(entry, Attempt):
            for file in entry.files:
                owners.setdefault(file.path, set()).add(entry.test)
        elif isinstance(entry, (Sealed, Abandoned)):
            for file in entry.files:
                owners.setdefault(file.path, set()).update(tests.get(entry.folder, ()))
    return owners


def _held(root: Path, file: File, tests: tuple[str, ...], plan: AcceptancePlan) -> list[Fault]:
    """Whether one file is as it was sealed."""

    def fault(what: str) -> list[Fault]:
        return [Fault(path=file.path, what=what, tests=tests, clauses=clauses_of(tests, plan))]

    pure = PurePosixPath(file.path)
    if pure.is_absolute() or ".." in pure.parts:
        return fault("lies outside of the acceptance directory")
    try:
        sha256, size = digest(root / file.path)
    except FileNotFoundError:
        return fault("missing")
    except (OSError, BadInput):
        return fault("is no longer a regular file" if (root / file.path).is_symlink() else "cannot be read")
    if sha256 != file.sha256:
        return fault(f"changed ({size:,} bytes, sealed with {file.bytes:,})")
    return []


def _added(root: Path, entries: tuple[Entry, ...], known: set[str], plan: AcceptancePlan) -> list[Fault]:
    """Files among the evidence that no entry names. A session that is open, or was abandoned, is not sealed."""
    sealed = {entry.folder for entry in entries if isinstance(entry, Sealed)}
    begun = {entry.folder: entry.tests for entry in entries if isinstance(entry, Session)}
    ids = {test.id for test in plan.tests}
    faults = []
    for path in (*files_in(root / EVIDENCE), *files_in(root / RUNS)):
        parts = path.relative_to(root).parts
        name, folder = "/".join(parts), "/".join(parts[:2])
        if name in known or (parts[0] == EVIDENCE and len(parts) > 3 and parts[2].endswith(PART)):
            continue
        if parts[0] == RUNS and len(parts) > 2 and (is_made(parts[2:]) or (folder in begun and folder not in sealed)):
            continue
        tests = begun.get(folder, (parts[1],) if parts[0] == EVIDENCE else ())
        mine = tuple(test for test in tests if test in ids)
        faults.append(Fault(path=name, what="added: no entry names it", tests=mine, clauses=clauses_of(mine, plan)))
    return faults


def clauses_of(tests: Iterable[str], plan: AcceptancePlan) -> str:
    """The clauses that these tests are for: ``clause 3.3 (8)``."""
    asked = set(tests)
    wanted = {name for test in plan.tests if test.id in asked for name in test.requirements}
    clauses = [one.clause for one in plan.requirements if one.id in wanted]
    return f"clause{'s' * (len(clauses) > 1)} {', '.join(clauses)}" if clauses else ""
