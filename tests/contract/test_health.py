"""Every health check, found by discovery: it says what it is, and takes nothing that it could not look at for fine."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown import plugins
from shakedown.hosts.access import Result
from shakedown.operate.health import calling
from shakedown.operate.health.node_access import NodeAccess, Space, Timex
from shakedown.operate.health.records import Check, CheckContext, Finding, Outcome

ALL = [calling.check(name) for name in plugins.names(calling.FOLDER)]
IDS = [one.name for one in ALL]
NOW = 1_700_000_000.0


class Refused(NodeAccess):
    """A machine on which everything is there and nothing may be looked at."""

    number_of_error = errno.EACCES

    def _refuse(self, *arguments: object) -> Any:
        raise OSError(self.number_of_error, "refused", str(arguments[0]) if arguments else None)

    text = names = space = write_through = kernel_log = timex = _refuse  # type: ignore[assignment]

    def there(self, path: str) -> bool:
        return True

    def link(self, path: str) -> str | None:
        return None

    def owner(self, path: str) -> int | None:
        return None

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}"

    def run(self, argv: Any, limit_s: float = 3.0) -> Result:
        return Result(1, "", "refused")

    def connect(self, path: str) -> str:
        return "Permission denied"

    def nvml(self) -> Any:
        return None


class Broken(Refused):
    number_of_error = errno.EIO


class Nothing(NodeAccess):
    """A machine that has nothing at all: an empty folder."""

    def space(self, path: str) -> Space:
        raise OSError(errno.ENOENT, "there is none")

    def timex(self) -> Timex:
        raise OSError(errno.ENOSYS, "there is none")

    def which(self, name: str) -> str | None:
        return None

    def connect(self, path: str) -> str:
        return "No such file or directory"

    def nvml(self) -> Any:
        return None


def look(check: Check, senses: NodeAccess) -> Outcome:
    """As a call does it: what a check raises is what it could not look at."""
    try:
        return check.run(CheckContext(senses, check.plan(), {}, NOW, "b"))
    except (OSError, ValueError) as error:
        return Outcome(findings=(Finding(check=check.name, severity="UNKNOWN", what=str(error)),))


def test_the_folder_is_what_discovery_finds() -> None:
    assert set(calling.names()) == set(plugins.names(calling.FOLDER)) and len(ALL) >= 15


def test_the_page_of_checks_has_a_line_for_each_and_their_number() -> None:
    page = (Path(__file__).parents[2] / "docs/health.md").read_text()
    assert not [name for name in IDS if f"\n| {name} |" not in page], "give it a line in the table of docs/health.md"
    assert f"{len(ALL)} checks" in page, "docs/health.md says how many checks there are"


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_it_says_what_it_is(check: Check) -> None:
    module = sys.modules[f"shakedown.operate.health.checks.{check.name}"]
    assert check.title and module.__doc__ and len(module.__doc__) > 60
    assert module.CHECK is check and check.stuck in ("UNKNOWN", "CRITICAL")
    assert msgspec.to_builtins(check.plan()) == {}  # every key of a plan may be left out


@pytest.mark.parametrize("check", ALL, ids=IDS)
@pytest.mark.parametrize("senses", [Refused, Broken])
def test_what_is_refused_or_broken_is_never_fine(check: Check, senses: type[NodeAccess]) -> None:
    found = look(check, senses())
    assert not found.absent, "what may not be looked at is not absent"
    assert found.findings and not [one for one in found.findings if one.severity == "OK"]
    assert all(one.what for one in found.findings)


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_on_a_machine_that_has_nothing_nothing_is_fine(check: Check, tmp_path: Path) -> None:
    found = look(check, Nothing(str(tmp_path)))
    assert not [one for one in found.findings if one.severity == "OK"]
    assert found.absent or found.findings


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_this_machine_is_looked_at_and_what_is_found_is_whole(check: Check) -> None:
    found = look(check, NodeAccess())
    assert found.absent or found.findings
    for one in found.findings:
        assert one.check == check.name and one.what and (one.severity in ("OK", "UNKNOWN") or one.action)
    series = [(one.name, tuple(one.labels.items())) for one in found.metrics]
    assert len(series) == len(set(series)) and all(one.help for one in found.metrics)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Outcome) == found
    msgspec.convert(found.learnt, check.plan)


@pytest.mark.parametrize("check", ALL, ids=IDS)
def test_it_says_what_it_is_about_to_touch(check: Check) -> None:
    notes: list[str] = []
    look(check, NodeAccess(note=notes.append))
    assert notes and all(notes)
