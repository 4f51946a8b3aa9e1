"""What tests of workloads share: programs that seem built, what is resolved on a machine, the options of what is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from shakedown import programs, workloads
from shakedown.programs import events
from shakedown.records import Case, Machine, Params, Value
from support.machines import BUILD


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str, build: Mapping[str, object] = BUILD) -> Path:
    """Native programs of these names in a folder, which do nothing, and what their build says of itself: unless told
    otherwise, that it had the MPI of the machines of tests. Gives the folder."""
    for name in names:
        (folder / name).touch(0o755)
    (folder / "build.json").write_bytes(msgspec.json.encode(build))
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(folder))
    # Not kept from one test to the next.
    monkeypatch.setattr("shakedown.programs.build", programs.build.__wrapped__)
    return folder


def params_of(one: workloads.Workload, where: Machine, given: Mapping[str, Value]) -> Params:
    """The parameters of the one run that a workload makes of what is given."""
    (params,) = one.resolve(workloads.check_params(one, given), where)
    return params


def cases_of(one: workloads.Workload, data: bytes, params: Params) -> tuple[Case, ...]:
    """The cases of what a program printed, and what the workload makes of all of them."""
    if one.parse is None:
        found = events.parse(data)
        assert found.ended and not found.garbage
        cases = found.cases
    else:
        cases = tuple(one.parse(data.decode(), params))
    return (*cases, *one.totals(cases)[0]) if one.totals else cases


def options(argv: Sequence[str], *flags: str) -> dict[str, str]:
    """A program's command line as option -> value: each option once, and each but the flags, which have the empty word,
    with a value."""
    found: dict[str, str] = {}
    words = iter(argv[1:])
    for word in words:
        assert word.startswith("--") and word not in found, (word, argv)
        found[word] = "" if word in flags else next(words)
        assert not found[word].startswith("--"), (word, argv)
    return found
