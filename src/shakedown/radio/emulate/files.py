"""The directory of an emulation.

emulation.json                 what it is
control                        the forwarder's socket
events.jsonl  forwarder.log    what the forwarder prints; its last event says what became of all frames
updates.jsonl  updating.log    what moved when, how late it was told, who heard whom, and what became of frames by then
report.html                    its page, where one was asked for
log/NODE.log                   what the daemons and commands of a node print
run/                           process ids of daemons
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ... import strict
from ...errors import BadInput
from ...files import atomic
from ...records import Record
from .scenario import Scenario

SCHEMA = 1
DESCRIPTION, EVENTS, FORWARDER_LOG, UPDATES, UPDATING_LOG = (
    "emulation.json", "events.jsonl", "forwarder.log", "updates.jsonl", "updating.log",
)  # fmt: skip
READY = "ready"
REPORT = "report.html"
LOCK = "lock"


class Description(Record, frozen=True, kw_only=True):
    """What ``emulation.json`` holds."""

    schema: int = SCHEMA
    version: str
    scenario: Scenario
    user: bool = False  # below a user namespace
    host: int = 1  # which of the scenario's hosts this is, from 1 on
    begin_unix_s: float | None = None  # when nodes begin to move; None: as soon as all is up


def save(directory: Path, description: Description) -> None:
    """Raises StoreFailed."""
    atomic.write_record(directory / DESCRIPTION, description, flush=False)


def load(directory: Path) -> Description:
    """Raises BadInput where there is none, or it is not one of ours."""
    path = directory / DESCRIPTION
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Description)
    except OSError:
        raise BadInput("there is no emulation here", where=str(directory), hint="name its --directory") from None
    except strict.UNREADABLE as error:
        raise BadInput(f"is not an emulation: {error}", where=str(path), hint="another --directory") from None
    if found.schema != SCHEMA:
        raise BadInput(f"has schema {found.schema}; this version knows {SCHEMA}", where=str(path))
    return found


def looks_like_ours(directory: Path) -> bool:
    """Whether nothing else lies there: it may then be removed whole."""
    ours = {
        DESCRIPTION,
        EVENTS,
        FORWARDER_LOG,
        UPDATES,
        UPDATING_LOG,
        READY,
        REPORT,
        LOCK,
        "control",
        "log",
        "run",
        "scenario.toml",
    }
    return directory.is_dir() and {one.name for one in directory.iterdir()} <= ours


def mark_ready(directory: Path) -> None:
    """The first links have been told."""
    (directory / READY).touch()


def last_words(directory: Path, name: str) -> tuple[str, str]:
    """What a program said last in a log, and the next step that it named; both may be empty."""
    try:
        lines = [line for line in (directory / name).read_text("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    following = lines.pop().partition("next: ")[2] if lines and lines[-1].startswith("  next: ") else ""
    return (lines[-1] if lines else ""), following
