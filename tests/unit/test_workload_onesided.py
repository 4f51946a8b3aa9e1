"""The onesided workload: what is refused, what words become, and what is started."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown import workloads
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import onesided
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options, params_of

WORKLOAD = onesided.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "onesided")


def resolve_all(found: Machine | None = None, **given: Value) -> tuple[Params, ...]:
    here = found or machine(4, software=(OPEN_MPI,))
    return WORKLOAD.resolve(workloads.check_params(WORKLOAD, given), here)


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), {"operations": "put", **given})


def test_each_operation_is_a_run_and_each_word_of_atomic_ones() -> None:
    runs = [(params["operations"], params["atomic_bytes"]) for params in resolve_all()]
    assert runs == [
        *((name, "8,4") for name in ("put", "get", "accumulate", "get_accumulate")),
        *(("fetch_and_op", width) for width in ("8", "4")),
        *(("compare_and_swap", width) for width in ("8", "4")),
    ]
    labels = [WORKLOAD.label(params) for params in resolve_all() if WORKLOAD.label]
    assert labels[0] == "onesided put, 8 B to 1 MiB" and labels[-1] == "onesided compare_and_swap, 4 B"
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    "given",
    [
        *({"ranks": ranks} for ranks in (1, 3)),
        *({"sizes": sizes} for sizes in ("", "0", "2147483648")),
        {"operations": "putt"},
        {"windows": "shared"},
        {"atomic_bytes": "16"},
        {"in_flight": 0},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve_all(**given)
    assert caught.value.hint


def test_one_cpu_is_too_few_and_between_hosts_there_must_be_two() -> None:
    with pytest.raises(Unavailable, match="two CPUs"):
        resolve(machine(1, software=(OPEN_MPI,)))
    with pytest.raises(Unavailable, match="between hosts needs two, and there is one"):
        resolve(ranks="hosts")
    two = msgspec.structs.replace(host(1, software=(OPEN_MPI,)), count=2)
    assert resolve(msgspec.structs.replace(machine(1), hosts=(two,)), ranks="hosts")["ranks"] == 2


def test_the_command_line_says_all_that_was_resolved_and_how_many_ranks_there_must_be(built: Path) -> None:
    params = resolve(operations="compare_and_swap", atomic_bytes="4", windows="create,dynamic", computing=False)
    command = WORKLOAD.command(params, host(4, software=(OPEN_MPI,)))
    assert command.ranks == 2 and command.argv[0] == str(built / "onesided")
    assert "--no-computing" in command.argv
    told = options([word for word in command.argv if word != "--no-computing"])
    assert (told["--operations"], told["--windows"], told["--atomic-bytes"], told["--world-size"]) == (
        *("compare_and_swap", "create,dynamic", "4"),
        "2",
    )


def test_the_estimate_grows_with_what_is_measured() -> None:
    here = host(4)
    short, default = resolve(windows="allocate", sizes="8"), resolve()
    assert 0 < WORKLOAD.estimate_s(short, here) < WORKLOAD.estimate_s(default, here) < 60
