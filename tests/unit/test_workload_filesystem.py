"""The file system workload: what is refused, what words become, what is started, and what its cases say."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.programs import events
from shakedown.records import Job, Machine, Params, Run, Value
from shakedown.results import outcome
from shakedown.workloads import filesystem
from support.machines import host, machine, over_hosts
from support.workloads import installed, options, params_of

WORKLOAD = filesystem.WORKLOAD


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "storage")


def resolve(found: Machine | None = None, **given: Value) -> Params:
    return params_of(WORKLOAD, found or machine(4), given)


@pytest.mark.parametrize(
    "given",
    [
        {"kernels": "wrte"},
        {"kernels": ""},
        {"blocks": "1000"},
        {"blocks": "4k"},
        {"blocks": ""},
        {"blocks": "0"},
        {"blocks": "1048576", "size": 1048576 + 4096},
        {"threads": "0"},
        {"threads": "all"},
        {"size": 100},
        {"files": 0},
        {"samples": 0},
        {"cache": "cold"},
        {"ranks": 0},
        {"ranks": "cores"},
        {"seconds": -1.0},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(given: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given)
    assert caught.value.hint


def test_one_host_needs_no_launcher_and_several_get_one_rank_each(built: Path) -> None:
    alone = WORKLOAD.command(resolve(), host(4))
    assert alone.ranks == 0 and alone.argv[0] == str(built / "storage")
    assert alone.argv[alone.argv.index("--ranks") + 1] == "1"
    many = WORKLOAD.command(resolve(over_hosts(5)), host(4))
    assert many.ranks == 5 and many.argv[many.argv.index("--ranks") + 1] == "5"


def test_the_command_line_says_all_that_was_resolved() -> None:
    params = resolve(
        directory="/scratch",
        kernels="write,read",
        blocks="4096, 65536",
        threads="1,2",
        size=1 << 20,
        require="direct,posix",
    )
    argv = WORKLOAD.command(params, host(4)).argv
    said = options(argv)
    assert said["--directory"] == "/scratch" and said["--blocks"] == "4096,65536" and said["--threads"] == "1,2"
    assert said["--size"] == "1048576" and said["--kernels"] == "write,read" and said["--require"] == "direct,posix"
    assert resolve(require="")["require"] == "none"


def test_the_estimate_grows_with_what_is_asked_for() -> None:
    here = host(4)
    default = WORKLOAD.estimate_s(resolve(), here)
    assert 5 < default < 120
    assert WORKLOAD.estimate_s(resolve(kernels="features"), here) < default
    assert WORKLOAD.estimate_s(resolve(size=1 << 30), here) > 2 * default
    assert WORKLOAD.estimate_s(resolve(over_hosts(8)), here) > 2 * default


def test_the_label_says_where() -> None:
    assert WORKLOAD.label is not None
    assert (
        WORKLOAD.label(resolve(directory="/scratch", kernels="write"))
        == "file system of /scratch: write, 256 MiB a thread"
    )
    assert "the run's folder" in WORKLOAD.label(resolve(over_hosts(3))) and "3 ranks" in WORKLOAD.label(
        resolve(over_hosts(3))
    )


@pytest.mark.parametrize("name", ["ext4", "3-ranks"])
def test_cases_agree_with_their_own_words(name: str, recordings: Path) -> None:
    found = events.parse((recordings / "native" / f"filesystem-{name}.jsonl").read_bytes())
    facts = found.provenance["facts"]
    assert facts["world_size"] == len(facts["ranks"])
    for case in found.cases:
        assert case.residual is not None and case.residual.passed
        if case.kernel == "features":
            states = [one["state"] for one in facts["features"]]
            assert case.work["features"] == states.count("holds") and case.work["tried"] == len(states)
            shared = [
                one
                for one in facts["features"]
                if one["feature"].startswith("shared-") and "-map" not in one["feature"]
            ]
            assert bool(shared) == (facts["world_size"] > 1), "what hosts see of one another needs two processes"
        elif case.kernel in ("write", "rewrite", "read"):
            files = int(case.params["threads"]) * int(case.params["ranks"])
            assert case.work["bytes"] == files * int(case.params["size"])
            assert case.work["op"] == case.work["bytes"] / int(case.params["block"])
        else:
            threads = int(case.params["threads"]) * int(case.params["ranks"])
            assert case.work["op"] == threads * int(case.params["files"])


def test_a_feature_that_is_required_and_absent_makes_the_run_wrong(recordings: Path) -> None:
    text = (recordings / "native" / "filesystem-ramfs-absent.jsonl").read_bytes()
    run = Run(id="r", workload="filesystem", params=resolve(), label="", estimate_s=1, limit_s=9)
    job = Job(run="r", repeat=1, argv=("filesystem",), begin_ns=1, end_ns=2, exit_code=1)
    found = outcome.measurement(run, job, text, b"")
    assert found.state == "wrong" and "required and absent" in found.reason
    assert {one.text.split()[0] for one in found.notices if one.code == "filesystem-feature-failed"} == {
        "attributes",
        "access-lists",
        "holes",
        "reserve",
        "punch-hole",
        "direct",
    }
