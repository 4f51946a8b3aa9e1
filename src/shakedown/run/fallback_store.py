"""Results that a run directory refused (a full disk, a quota): saved on the host that has them, named, and brought in later.

    ~, TMPDIR, /var/tmp, /dev/shm      shakedown-rescue-DIRECTORY-RUN-REPEAT[@HOST]-measurement.json
    RUN/jobs/N/unsaved.json            what the job could not print either: room for it is taken before it starts

DIRECTORY is the hash of the run directory's manifest: two that hold the same runs are not mixed. Only a plain file of our
own is ever brought in, for anybody may write where these lie.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .. import strict
from ..errors import StoreFailed
from ..files import atomic
from ..files.atomic import failed, write_record
from ..hosts import hostlist
from ..records import Measurement, Record
from ..results.run_directory import RunDirectory

#: What a job could not keep, and where that lies; in the job's own folder.
NOTE = "unsaved.json"
#: What to look for, by hand.
PATTERN = "shakedown-rescue-*.json in ~, $TMPDIR, /tmp, /var/tmp, /dev/shm"
#: So many files are named in a message.
_SHOWN = 32
#: Room for a note: what was wrong, and a line for each host.
_NOTE_BYTES, _HOST_BYTES = 4096, 1024


class SpilledFile(Record, frozen=True, kw_only=True):
    """A result that lies elsewhere."""

    host: str
    file: str
    belongs: str  # where in the run directory, from its top


class SpilledResult(Record, frozen=True, kw_only=True):
    """What could not be kept in a run directory, why, and where it lies."""

    what: str = ""
    where: str = ""
    hint: str = ""
    saved: tuple[SpilledFile, ...] = ()


class ResultSaved(StoreFailed):
    """The run directory refused results, which were saved elsewhere: ``unsaved`` says where."""

    def __init__(self, unsaved: SpilledResult) -> None:
        super().__init__(
            told(unsaved.what, unsaved.saved), where=unsaved.where, hint=mending(unsaved.hint, unsaved.saved)
        )
        self.unsaved = unsaved


def together(parts: Sequence[SpilledResult], where: str) -> SpilledResult:
    """What several hosts could not keep, as one: the first says why. Pure."""
    first = parts[0]
    saved = tuple(one for part in parts for one in part.saved)
    return SpilledResult(what=first.what, where=where, hint=first.hint, saved=saved)


def told(what: str, saved: Sequence[SpilledFile]) -> str:
    """The message: what was refused, then host and file of each result. Pure."""
    if not saved:
        return what
    count = "the result was saved:" if len(saved) == 1 else f"{len(saved)} results were saved:"
    more = [f"and {len(saved) - _SHOWN} more, named alike"] if len(saved) > _SHOWN else []
    return "\n    ".join((f"{what}; {count}", *(f"{one.host}:{one.file}" for one in saved[:_SHOWN]), *more))


def mending(hint: str, saved: Sequence[SpilledFile]) -> str:
    """The next step: what mends the disk, then what brings the results in. Pure."""
    if not saved:
        return hint
    hosts = hostlist.fold([one.host for one in saved])
    return (
        f"{hint}\n        going on brings in what was saved, where it runs on {hosts} again or sees the files"
        f"\n        by hand, RUN being the run directory: mv {saved[0].file} RUN/{saved[0].belongs}"
    )


def _name(directory: RunDirectory, folder: Path) -> str:
    """The name under which a result of that folder is saved."""
    try:
        text = (directory.path / "manifest.json").read_bytes()
    except OSError:
        text = str(directory.path.resolve()).encode()
    return (
        f"shakedown-rescue-{hashlib.sha256(text).hexdigest()[:10]}-{folder.parent.name}-{folder.name}-measurement.json"
    )


def places(*, in_job: bool = False) -> tuple[Path, ...]:
    """Where a result can be saved. A job's temporary folder may be its own and go with it: there the home comes first."""
    home, temporary = Path(os.path.expanduser("~")), Path(tempfile.gettempdir())
    first = (home, temporary) if in_job else (temporary, home)
    return tuple(dict.fromkeys((*first, Path("/var/tmp"), Path("/dev/shm"))))


def save(
    refusal: StoreFailed, directory: RunDirectory, folder: Path, record: Measurement, *, in_job: bool = False
) -> StoreFailed:
    """Save a result that a folder of a run directory refused; the error to raise: where it lies, or the refusal itself where
    no place takes it."""
    name = _name(directory, folder)
    for place in places(in_job=in_job):
        try:
            atomic.replace(place / name, msgspec.json.encode(record), mode=0o600)
        except OSError:
            continue
        return ResultSaved(_unsaved(refusal, directory, folder, record, place / name))
    return refusal


def _unsaved(
    refusal: StoreFailed, directory: RunDirectory, folder: Path, record: Measurement, file: Path
) -> SpilledResult:
    belongs = str((folder / "measurement.json").relative_to(directory.path))
    one = SpilledFile(host=record.host or os.uname().nodename, file=str(file), belongs=belongs)
    return SpilledResult(what=refusal.what, where=refusal.where, hint=refusal.hint, saved=(one,))


def _own(path: Path) -> bytes | None:
    """The content of a plain file that is ours; None for anything else."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() else None
    except OSError:
        return None


def bring_in(directory: RunDirectory, folder: Path) -> Measurement | None:
    """Move what was saved of a repeat into its folder, if it lies on this host and the folder has no result. Raises
    ResultSaved where the run directory still refuses it: then it stays where it is."""
    target = folder / "measurement.json"
    if target.exists():
        return None
    for place in places():
        path = place / _name(directory, folder)
        data = _own(path)
        if data is None:
            continue
        try:
            record = msgspec.json.decode(data, type=Measurement)
        except strict.UNREADABLE:
            continue
        if (record.run, str(record.repeat)) != (folder.parent.name, folder.name.partition("@")[0]):
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_record(target, record)
        except (OSError, StoreFailed) as error:
            refusal = error if isinstance(error, StoreFailed) else failed(error, folder, "create the folder of a run")
            raise ResultSaved(_unsaved(refusal, directory, folder, record, path)) from None
        with contextlib.suppress(OSError):
            path.unlink()
        return record
    return None


def reserve(folder: Path, hosts: int) -> None:
    """Take the room for a note, before anything is full: blanks, which are no note. Raises OSError."""
    atomic.reserve(folder / NOTE, _NOTE_BYTES + _HOST_BYTES * hosts)


def leave(folder: Path, error: StoreFailed) -> None:
    """Leave the note in the room that was taken for it: in place, which needs no more of the disk. Where even that is
    refused (file systems that write nothing in place) the room is given back first; and else there is none."""
    note = SpilledResult(what=error.what, where=error.where, hint=error.hint)
    if isinstance(error, ResultSaved):
        note = error.unsaved
    path = folder / NOTE
    try:
        _in_place(path, note)
    except OSError:
        with contextlib.suppress(OSError, StoreFailed):
            path.unlink(missing_ok=True)
            write_record(path, note)


def _in_place(path: Path, note: SpilledResult) -> None:
    room = path.stat().st_size
    saved = note.saved
    while len(data := msgspec.json.encode(msgspec.structs.replace(note, saved=saved))) > room and saved:
        saved = saved[:-1]
    atomic.fill(path, data)


def note_in(folder: Path) -> SpilledResult | None:
    """What a job left in its folder, if it could not keep everything."""
    try:
        note = msgspec.json.decode((folder / NOTE).read_bytes(), type=SpilledResult)
    except (OSError, *strict.UNREADABLE):
        return None
    return note if note.what else None
