"""The workers workload: how many launches, what is refused, and what is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import workers
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options

WORKLOAD = workers.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "workers")


def resolve_all(found: Machine | None = None, **given: Value) -> tuple[Params, ...]:
    return WORKLOAD.resolve(workloads.check_params(WORKLOAD, given), found or machine(12, software=(OPEN_MPI,)))


def test_each_number_of_workers_is_a_launch() -> None:
    assert [one["workers"] for one in resolve_all()] == ["2", "4", "8", "12"]
    assert [one["workers"] for one in resolve_all(machine(8, software=(OPEN_MPI,)))] == ["2", "4", "8"]
    assert [one["workers"] for one in resolve_all(workers="3,12,3")] == ["3", "12"]
    many = resolve_all(workers="64", allow_oversubscribe=True)
    assert [one["workers"] for one in many] == ["64"]
    assert WORKLOAD.label is not None
    assert WORKLOAD.label(resolve_all(meet_every=16)[0]) == (
        "workers 2, strong, arrays of 128 KiB, meeting every 16 sweeps"
    )


@pytest.mark.parametrize(
    "given",
    [
        *({"workers": text} for text in ("", "1", "13", "two", "4097")),
        {"scaling": "both"},
        {"bytes": 8},
        {"bytes": 68719476736},
        {"sweeps": 0},
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput):
        resolve_all(**given)


def test_one_core_is_too_few() -> None:
    with pytest.raises(Unavailable, match="two cores"):
        resolve_all(machine(1, software=(OPEN_MPI,)))


def test_the_command_says_how_many_ranks_there_must_be(built: Path) -> None:
    params = resolve_all(workers="4", scaling="weak", meet_every=3)[0]
    command = WORKLOAD.command(params, host(12, software=(OPEN_MPI,)))
    told = options(list(command.argv))
    assert command.ranks == 4 and command.argv[0] == str(built / "workers")
    assert (told["--scaling"], told["--meet-every"], told["--world-size"]) == ("weak", "3", "4")
    one, weak = (WORKLOAD.estimate_s(resolve_all(scaling=kind)[-1], host(12)) for kind in ("strong", "weak"))
    assert one < weak
