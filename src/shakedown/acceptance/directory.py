"""The acceptance directory: the one writer and reader of its files.

DIR/
  plan.toml                          the plan as it was agreed; its checksum is in the journal's first entry
  against.json                       the figures of the acceptance that this one repeats, where it does
  journal.jsonl  journal.head        who did what when, with the checksums of all evidence; a chain of hashes
  runs/1, 2, ...                     run directories (results/run_directory.py), one for each session
  evidence/<test>/<number>/          what commands printed, forms as filled in, attachments
  report/report.html  .pdf  .md  .json
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from .. import __version__
from ..errors import BadInput
from ..files import atomic
from . import availability, checking, journal, sealing
from . import baseline as baselines
from .baseline import Baseline
from .journal import Abandoned, Amended, Attempt, Begun, Entry, Sealed, Session
from .plan import AcceptancePlan, parse
from .sealing import EVIDENCE, PART, PLAN, REPORTS, RUNS


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """An acceptance directory as it was read: its plan and the entries of its journal."""

    path: Path
    plan: AcceptancePlan  # in force
    plans: tuple[
        tuple[int, AcceptancePlan], ...
    ]  # every plan, in their order, with the entry from which on it was in force
    read: journal.Read
    baseline: Baseline | None = None  # the figures of the acceptance that this one repeats

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.read.entries

    @property
    def begun(self) -> Begun:
        return self.read.begun

    @property
    def amendments(self) -> tuple[Amended, ...]:
        return tuple(one for one in self.entries if isinstance(one, Amended))

    def plan_at(self, entry: int) -> AcceptancePlan:
        """The plan that was in force when an entry was written."""
        return next(plan for number, plan in reversed(self.plans) if number <= entry)


def begin(
    path: Path,
    plan_name: str,
    *,
    system: str,
    parties: Mapping[str, str],
    now_ns: int,
    text: str = "",
    baseline: Baseline | None = None,
) -> Acceptance:
    """Make an acceptance directory for a plan that is right: that of ``text``, where it is given. ``baseline``: the figures
    of the earlier acceptance that it is held against. Raises BadInput, StoreFailed."""
    if text:
        plan = checking.checked(text, plan_name)
    else:
        plan, text = checking.load(plan_name)
    baselines.refuse_without_earlier(plan, baseline)
    if not system.strip():
        raise BadInput("the system has no name", where="--system", hint="say what is accepted: --system 'Thufir'")
    for role in parties:
        if plan.signatories and role not in plan.signatories:
            raise BadInput(
                f"{role!r} does not sign by this plan", where="--party", hint=f"roles: {', '.join(plan.signatories)}"
            )
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise BadInput("the folder is not empty", where=str(path), hint="name a new one")
        for name in (RUNS, EVIDENCE, REPORTS):
            (path / name).mkdir()
    except OSError as error:
        raise atomic.failed(error, path, "create the acceptance directory") from None
    atomic.write(path / PLAN, text)
    files = availability.keep_contracts(path, plan)
    files += [baselines.keep(path, baseline)] if baseline else []
    with journal.writing(path, new=True) as book:
        book.append(
            Begun(
                system=system.strip(),
                parties=dict(parties),
                plan=plan.name,
                plan_sha256=hashlib.sha256(text.encode()).hexdigest(),
                plan_source=Path(plan_name).name,
                version=__version__,
                files=sealing.seal(path, files),
                against=baseline.about.folder if baseline else "",
            ),
            now_ns,
        )
    for place in _guarded(path):  # commands of the plan are started from here: nobody else writes to it
        place.chmod(place.stat().st_mode & ~0o022)
    return open_(path)


def _guarded(path: Path) -> tuple[Path, ...]:
    """What nobody else may write to."""
    plans = (*sorted(path.glob("plan*.toml")), path / availability.FOLDER, path / baselines.FILE)
    return (path, path / journal.JOURNAL, path / RUNS, path / EVIDENCE, *(one for one in plans if one.exists()))


def _refuse_other(path: Path) -> None:
    """Raises BadInput for what is no acceptance directory."""
    if not (path / journal.JOURNAL).is_file():
        raise BadInput(
            "this is not an acceptance directory: it has no journal",
            where=str(path),
            hint="shakedown accept begin makes one",
        )


def open_(path: Path) -> Acceptance:
    """An existing acceptance directory. Raises BadInput for what is none, Tampered for one whose record is broken."""
    _refuse_other(path)
    found = journal.read(path)
    plans = [(1, _plan(path, PLAN, found.begun.plan_sha256))]
    plans += [(one.number, _plan(path, one.plan, one.plan_sha256)) for one in found.entries if isinstance(one, Amended)]
    earlier = baselines.read(path, found.begun)
    return Acceptance(path=path, plan=plans[-1][1], plans=tuple(plans), read=found, baseline=earlier)


def _plan(path: Path, name: str, sha256: str) -> AcceptancePlan:
    """The plan's copy, which must be the one that the journal names. Raises Tampered."""
    if Path(name).name != name:
        raise journal.Tampered("names a plan elsewhere", where=str(path / journal.JOURNAL), hint="restore the journal")
    file = path / name
    try:
        data = file.read_bytes()
    except OSError as error:
        raise atomic.failed(error, file, "read the plan") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise journal.Tampered(
            "the plan was changed after the acceptance began",
            where=str(file),
            hint="restore it; what the parties agreed to change is written down by: shakedown accept amend",
        )
    return parse(data.decode(), str(file))


@contextmanager
def writing(path: Path) -> Iterator[tuple[Acceptance, journal.Journal]]:
    """The directory, open for writing, by one process at a time. Raises as ``open_``, and CannotMeasure where it is busy."""
    open_(path)
    with journal.writing(path) as book:
        yield open_(path), book


def refuse_if_others_write(path: Path) -> None:
    """Raises BadInput where somebody else could change what is started from this directory, or it is none."""
    _refuse_other(path)
    for place in _guarded(path):
        try:
            found = place.stat()
        except OSError as error:
            raise atomic.failed(error, place, "look at") from None
        if found.st_mode & 0o022 or found.st_uid not in (os.geteuid(), 0):
            raise BadInput(
                "others can write to it, and commands would be started by what it says",
                where=str(place),
                hint=f"chmod go-w {place}, after a look at what is in it; it must belong to you",
            )


def program(argv: tuple[str, ...]) -> str:
    """The path of a command's program. Raises BadInput where anybody can replace it, or it is not there."""
    found = shutil.which(argv[0])
    if found is None:
        raise BadInput(f"{argv[0]!r} is not there", hint="install it, or fix PATH")
    real = Path(found).resolve()
    for place in (real, real.parent):
        if place.stat().st_mode & stat.S_IWOTH:
            raise BadInput("everyone can write to it: it is not started", where=str(place), hint=f"chmod o-w {place}")
    return found


# ------------------------------------------------------------------------------------------------------ what is open, next


def open_session(entries: tuple[Entry, ...]) -> Session | None:
    """The session that was begun and neither sealed nor abandoned."""
    ended = {one.folder for one in entries if isinstance(one, (Sealed, Abandoned))}
    return next((one for one in reversed(entries) if isinstance(one, Session) and one.folder not in ended), None)


def next_run_folder(path: Path, entries: tuple[Entry, ...]) -> str:
    """The name of the next run directory: one that neither the journal nor the disk knows."""
    known = {one.folder for one in entries if isinstance(one, Session)}
    number = 1
    while f"{RUNS}/{number}" in known or (path / RUNS / str(number)).exists():
        number += 1
    return f"{RUNS}/{number}"


def new_folder(path: Path, entries: tuple[Entry, ...], test: str) -> tuple[Path, str]:
    """An empty folder for one attempt of a command or a form while it is under way, and the name that it takes when it
    is whole. What an attempt cut short left there is removed. Raises StoreFailed."""
    known = {one.folder for one in entries if isinstance(one, Attempt)}
    number = 1
    while f"{EVIDENCE}/{test}/{number}" in known or (path / EVIDENCE / test / str(number)).exists():
        number += 1
    folder = path / EVIDENCE / test / f"{number}{PART}"
    try:
        if folder.is_symlink() or folder.parent.is_symlink():
            raise BadInput("is a link", where=str(folder), hint="remove it: evidence is kept in plain folders")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise atomic.failed(error, folder, "create the folder of the evidence") from None
    return folder, f"{EVIDENCE}/{test}/{number}"


def keep(path: Path, folder: Path, name: str) -> tuple[journal.File, ...]:
    """Give a folder that is whole its name, and seal what is in it. Raises StoreFailed, BadInput."""
    try:
        folder.rename(path / name)
    except OSError as error:
        raise atomic.failed(error, path / name, "keep the evidence") from None
    return sealing.seal(path, sealing.files_in(path / name))


def number_of(entries: tuple[Entry, ...], attempt: Attempt) -> int:
    """Which attempt of its test this is, from 1."""
    return sum(
        isinstance(one, Attempt) and one.test == attempt.test and one.number <= attempt.number for one in entries
    )


def seal_session(
    root: Path, book: journal.Journal, session: Session, runs: Mapping[str, tuple[str, ...]], now_ns: int
) -> None:
    """Close a session: what it shares and each test's own runs, with their checksums. ``runs``: test -> ids of its runs."""
    from ..results.run_directory import RunDirectory

    opened = RunDirectory.open(root / session.folder)
    times: dict[str, list[tuple[int, int]]] = {}
    for one in opened.load().measurements:
        times.setdefault(one.run, []).append((one.begin_ns, one.end_ns))
    created_ns = opened.manifest().created_ns
    files = sealing.seal(root, sealing.shared_files(root / session.folder))
    book.append(Sealed(folder=session.folder, files=files), now_ns)
    for test in session.tests:
        mine = [span for run in runs[test] for span in times.get(run, ())]
        book.append(
            Attempt(
                test=test,
                folder=session.folder,
                begin_ns=min((begin for begin, _ in mine), default=created_ns),
                end_ns=max((end for _, end in mine), default=created_ns),
                runs=runs[test],
                files=sealing.seal(root, sealing.run_files(root / session.folder, runs[test])),
            ),
            now_ns,
        )
