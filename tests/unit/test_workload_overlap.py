"""The overlap workload: what is refused, what words become, and what is started, with and without a progress thread."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.records import Machine, Params, Value
from shakedown.workloads import overlap
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options, params_of

WORKLOAD = overlap.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "overlap")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), given)


def test_the_default_is_one_rank_on_each_core_without_and_with_tests() -> None:
    params = resolve()
    assert (params["ranks"], params["tests"], params["progress"]) == (4, "0,16", "calls")
    assert WORKLOAD.label and WORKLOAD.label(resolve(operations="all", sizes="8")) == "overlap all, 8 B, 4 ranks"
    assert (
        0 < WORKLOAD.estimate_s(resolve(sizes="8", operations="send"), host(4)) < WORKLOAD.estimate_s(params, host(4))
    )


@pytest.mark.parametrize(
    "given",
    [
        *({"ranks": ranks} for ranks in (1, 5)),
        *({"sizes": sizes} for sizes in ("", "12", "17179869184")),
        {"operations": "allreduce"},
        {"tests": "-1"},
        {"computation": 0.0},
        {"progress": "threads"},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_one_cpu_is_too_few_and_between_hosts_there_must_be_two() -> None:
    with pytest.raises(Unavailable, match="two CPUs"):
        resolve(machine(1, software=(OPEN_MPI,)))
    with pytest.raises(Unavailable, match="between hosts needs two, and there is one"):
        resolve(ranks="hosts")
    three = msgspec.structs.replace(host(1, software=(OPEN_MPI,)), count=3)
    assert resolve(msgspec.structs.replace(machine(1), hosts=(three,)), ranks="hosts")["ranks"] == 3


def test_the_command_line_says_all_and_a_progress_thread_is_a_run_of_its_own(built: Path) -> None:
    here = machine(4, software=(OPEN_MPI,))
    given = {name: param.default for name, param in WORKLOAD.params.items()} | {"progress": "all", "tests": "0,4"}
    calls, thread = WORKLOAD.resolve(given, here)
    assert (calls["progress"], thread["progress"]) == ("calls", "thread")
    plain, threaded = (WORKLOAD.command(one, here.hosts[0]) for one in (calls, thread))
    assert plain.argv == threaded.argv and plain.argv[0] == str(built / "overlap") and plain.ranks == 4
    told = options(list(plain.argv))
    assert (told["--tests"], told["--computation"], told["--world-size"]) == ("0,4", "1.25", "4")
    assert not plain.env and threaded.env["OMPI_MCA_btl_tcp_progress_thread"] == "1"
    assert WORKLOAD.label and WORKLOAD.label(thread).endswith("with a progress thread")
