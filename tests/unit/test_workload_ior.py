"""IOR's output of every version: what must be read from it, what is refused, what is in doubt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shakedown.records import Case, Job, Params
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, ior

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
MIB = 2**20
FORMS = Path(__file__).parents[1] / "recordings/ior"
#: As IOR 3.2 prints it with -vv: no IOPS and no Latency, other lines in between. As 3.0 does, and 2.10 without -v.
VERBOSE, OLDER, OLDEST = ((FORMS / f"form-{name}.txt").read_text() for name in ("3.2.0-verbose", "3.0.1", "2.10.3"))


def rates(cases: tuple[Case, ...]) -> list[tuple[str, float]]:
    """Each pass in MiB/s."""
    return [(case.kernel, case.work["bytes"] / seconds / MIB) for case in cases for seconds in case.seconds]


def verbose(extra: str = "", between: str = "") -> str:
    """The run of 3.2 with other options, and with lines before its first row."""
    text = replaced(VERBOSE, "-a MPIIO ", f"-a MPIIO {extra}")
    return replaced(text, "write     91.52 ", f"{between}write     91.52 ")


@pytest.fixture
def text(recordings: Path) -> str:
    return (recordings / "ior/ior-4.1.0-dev-file-a-rank.txt").read_text()


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def test_each_pass_of_iors_own_run_is_as_its_summary_says(text: str) -> None:
    found = rates(ior.parse(text, {}))
    assert [kernel for kernel, _ in found] == ["write"] * 2 + ["read"] * 2
    # Printed 4739 and 4732 without a point; the summary has 4738.59 and 4731.81.
    assert [rate for kernel, rate in found if kernel == "read"] == pytest.approx([4738.59, 4731.81], abs=0.01)
    assert [rate for kernel, rate in found if kernel == "write"] == pytest.approx([1164.39, 1196.29], abs=0.005)


def test_older_versions_lack_columns_and_are_read() -> None:
    (case,) = ior.parse(verbose(), {})
    assert rates((case,))[0] == ("write", pytest.approx(91.52, abs=0.005))
    assert case.params["ranks"] == 16 and case.params["nodes"] == 2 and case.params["block"] == 20 * MIB
    assert "latency_s" not in case.work and case.params["api"] == "MPIIO"
    found = ior.parse(OLDER, {})
    assert [rate for _, rate in rates(found)] == pytest.approx([320, 160, 6400, 3600], rel=1e-4)
    assert {case.params["block"] for case in found} == {65536} and found[0].params["cache"] == "synced"
    assert found[0].params["segments"] == 16 and found[0].params["ranks"] == 4 and found[0].params["nodes"] == 2


def test_a_summary_alone_is_read() -> None:
    found = ior.parse(OLDEST, {})
    assert rates(found) == [("write", pytest.approx(181.56, abs=0.01)), ("read", pytest.approx(5120, abs=0.01))]
    assert found[0].params["access"] == "file-per-process" and found[0].params["segments"] == 16
    of_three = ior.parse(replaced(OLDEST, "= 1\n\txfersize", "= 3\n\txfersize"), {})
    assert rates(of_three)[1][1] == pytest.approx(64 / 0.0125)


def test_several_runs_in_one_log_are_all_read(text: str) -> None:
    assert len(rates(ior.parse(text + verbose() + OLDER, {}))) == 4 + 1 + 4
    assert len(rates(ior.parse(text + text, {}))) == 8 and len(ior.parse(text + text, {})) == 2


def test_a_run_of_several_tests_takes_the_options_of_each() -> None:
    two = replaced(
        verbose(),
        "Max Write",
        VERBOSE[VERBOSE.index("TestID") : VERBOSE.index("Max Write")] + "Max Write",
    )
    head, _, tail = two.rpartition("TestID              : 0")
    two = (
        head
        + "TestID              : 1"
        + replaced(tail, "xfersize            : 20 MiB", "xfersize            : 40 MiB")
    )
    assert [case.params["block"] // MIB for case in ior.parse(two, {})] == [20, 40]


@pytest.mark.parametrize(
    ("said", "errors"),
    [
        ("WARNING: incorrect data on read (3 errors found).\nUsed Time Stamp 1 (0x1) for Data Signature\n", 3),
        ("WARNING: Incorrect data on write (6640830 errors found).\n", 6640830),
        ("WARNING: incorrect data on read.\n         12 errors found on read check.\n", 12),
        ("WARNING: incorrect data on read (-1 errors found).\n", None),
        (
            "[0] FAILED comparison of buffer containing 8-byte ints:\n"
            "[0]   In transfer 0, 5242880 errors between buffer indices 0 and 10485758.\n",
            5242880,
        ),
        ("[1] FAILED comparison of buffer containing 8-byte ints:\n", 1),
    ],
)
def test_errors_that_ior_finds_in_its_data_leave_no_score(said: str, errors: int | None) -> None:
    (case,) = ior.parse(verbose(between=said), {})
    assert case.residual is not None and case.residual.value == errors
    assert judge(DONE, (case,), b"", "", limit_s=1)[0] == "wrong"


def test_a_check_that_found_nothing_is_a_check_that_passed() -> None:
    (case,) = ior.parse(verbose(extra="-R "), {})
    assert case.residual is not None and case.residual.passed
    assert ior.parse(verbose(), {})[0].residual is None


def test_what_was_really_moved_counts() -> None:
    said = "WARNING: Expected aggregate file size       = 3355443200.\n"
    said += "WARNING: Using actual aggregate bytes moved = 1677721600.\n"
    text = replaced(verbose(between=said), "write     91.52 ", "write     45.76 ")
    (case,) = ior.parse(text, {})
    assert case.work["bytes"] == 1677721600
    assert [one.code for one in ior.notices(text, {})] == ["ior-warning"] * 2


def test_a_pass_that_the_clock_ended_has_its_bytes_from_its_rate(text: str) -> None:
    stopped = replaced(replaced(text, "-i 2 ", "-i 2 -D 1 "), "write     1164.39 ", "write     582.20  ")
    found = ior.parse(stopped, {})
    assert found[0].params["stonewalled"] is True
    assert found[0].work["bytes"] == pytest.approx(256 * MIB, rel=1e-3)
    assert all("latency_s" not in case.work for case in found), "IOR divides by the wrong size there"


def test_a_pass_of_one_minute_of_1000_gib_is_what_it_moved() -> None:
    """hpc/ior issue 495: the options are of 1000 GiB, the clock ended it after 60 s, and the latency is wrong."""
    text = VERBOSE[: VERBOSE.index("access    bw")].replace(
        "xfersize            : 20 MiB", "xfersize            : 1 GiB"
    )
    text = text.replace("blocksize           : 200 MiB", "blocksize           : 1000 GiB\nstonewallingTime    : 60")
    text = text.replace("tasks               : 16", "tasks               : 1").replace(
        "clients per node    : 8", "clients per node    : 1"
    )
    text += "access bw(MiB/s) IOPS Latency(s) block(KiB) xfer(KiB) open(s) wr/rd(s) close(s) total(s) iter\n"
    text += "write 1290.15 1.26 0.060289 1048576000 1048576 0.032257 60.29 0.000028 60.32 0\n"
    text += "Finished            : Fri May  3 10:52:38 2019\n"
    (case,) = ior.parse(text, {})
    assert rates((case,)) == [("write", pytest.approx(1290.15))] and case.work["bytes"] == pytest.approx(
        76 * 2**30, rel=1e-3
    )
    assert "latency_s" not in case.work


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("write     1164.39 ", "write     2164.39 ", "which is not the 512 MiB"),
        ("write     1164.39 ", "write     nan     ", "not a number"),
        ("write     1164.39 ", "write     ", "words below"),
        ("0.439714   0   ", "0   ", "words below"),
        ("Finished            :", "Finish", "before IOR said"),
        ("IOR-4.1.0+dev: MPI Coordinated", "IOR MPI Coordinated", "not output of IOR"),
        ("Results: \n", "ERROR: open64() failed, (ior.c:1)\nResults: \n", "reports an error"),
        ("access    bw(MiB/s)", "access    speed    ", "neither a table"),
        ("     2   2    2   1", "    -2   2    2   1", ""),
    ],
)
def test_what_ior_does_not_print_when_it_works_is_refused(text: str, old: str, new: str, said: str) -> None:
    spoiled = replaced(text, old, new)
    if said:
        with pytest.raises(Garbage, match=said):
            ior.parse(spoiled, {})
    else:  # a summary that cannot be read is not needed: the options say it, too
        assert rates(ior.parse(spoiled, {})) == rates(ior.parse(text, {}))


def test_na_and_dashes_are_not_measured(text: str) -> None:
    text = replaced(text, "read      4732 ", "read      NA   ")
    assert [kernel for kernel, _ in rates(ior.parse(text, {}))] == ["write", "write", "read"]


GIB = 2**30


@pytest.mark.parametrize(
    ("params", "cache", "doubt"),
    [
        ({}, "unknown", None),
        ({"memory_bytes": 24 * GIB}, "possible", "page cache"),
        ({"memory_bytes": 256 * MIB}, "exceeded", None),
        ({"memory_bytes": 256 * MIB, "device_rate": 2e9}, "exceeded", "above the device's rate"),
        ({"memory_bytes": 256 * MIB, "device_rate": 6e9}, "exceeded", None),
    ],
)
def test_a_read_that_may_be_of_the_page_cache_is_marked(
    text: str, params: Params, cache: str, doubt: str | None
) -> None:
    write, read = ior.parse(text, params)[:2]
    assert read.params["cache"] == cache and read.params.get("doubt") == doubt
    assert write.params["cache"] == "synced" and "doubt" not in write.params
    told = [one for one in ior.notices(text, params) if one.code == "in-doubt"]
    assert len(told) == (doubt is not None)


def test_data_that_another_node_wrote_are_not_in_the_own_cache(text: str) -> None:
    text = replaced(
        replaced(text, "nodes               : 1", "nodes               : 2"),
        "clients per node    : 2",
        "clients per node    : 1",
    )
    assert ior.parse(text, {"memory_bytes": 24 * GIB})[1].params["cache"] == "another node"
    assert ior.parse(replaced(text, "-e -C", "-C"), {"memory_bytes": 24 * GIB})[0].params["cache"] == "possible"
    by_chance = replaced(text, "constant task offset", "random task offset")
    assert ior.parse(by_chance, {"memory_bytes": 24 * GIB})[1].params["doubt"] == "page cache"


def test_direct_reads_are_of_the_device(recordings: Path) -> None:
    text = (recordings / "ior/ior-4.1.0-dev-direct-40g.txt").read_text()
    assert [case.params["cache"] for case in ior.parse(text, {"memory_bytes": 24 * GIB})] == ["direct", "direct"]


def test_json_and_text_of_the_same_say_the_same(recordings: Path) -> None:
    found = json.loads((recordings / "ior/ior-4.1.0-dev.json").read_text())
    cases = ior.parse(json.dumps(found), {})
    results = found["tests"][0]["Results"]
    said = [(access, one["bwMiB"]) for access in ("write", "read") for one in results if one["access"] == access]
    assert [kernel for kernel, _ in rates(cases)] == [access for access, _ in said]
    assert [rate for _, rate in rates(cases)] == pytest.approx([rate for _, rate in said], rel=1e-7)
    del found["Finished"]
    with pytest.raises(Garbage, match="Finished"):
        ior.parse(json.dumps(found), {})
    found["Finished"] = "x"
    found["tests"][0]["Results"][0]["totalTime"] = 1.5
    with pytest.raises(Garbage, match="which is not the 128 MiB"):
        ior.parse(json.dumps(found), {})


def test_csv_says_neither_api_nor_layout(recordings: Path) -> None:
    text = (recordings / "ior/ior-4.1.0-dev.csv").read_text()
    cases = ior.parse(text, {})
    assert {case.params["api"] for case in cases} == {"not stated"} and cases[0].work["bytes"] == 128 * MIB
    # Four segments, which the CSV does not say: four times the time at the same rate.
    four = replaced(text, "0.1037,0.0059,0.1037", "0.4149,0.0059,0.4149")
    assert ior.parse(four, {})[0].work["bytes"] == 512 * MIB


def test_host_and_times_are_those_of_the_log(text: str, recordings: Path) -> None:
    for one in (text, (recordings / "ior/ior-4.1.0-dev.json").read_text()):
        found = ior.stated(one)
        assert found.host == "vm" and found.begin and found.end and found.begin <= found.end
        assert found.begin.hour == 12 and found.begin.year == 2026
    assert ior.stated(OLDEST).host == "n1" and ior.stated(OLDEST).begin is not None


def test_passes_are_samples_and_what_they_tell_beside_is_their_middle(text: str) -> None:
    write, read = ior.parse(text, {})
    assert len(write.seconds) == len(read.seconds) == 2 and "pass" not in write.params
    assert write.work["latency_s"] == pytest.approx(1.6885e-3, rel=1e-9)
    worse = ior.parse(replaced(verbose(), "Max Write", VERBOSE[VERBOSE.index("write     91.52") :]), {})
    assert [len(case.seconds) for case in worse] == [2]


def test_a_pass_of_other_work_stands_apart(text: str) -> None:
    stopped = replaced(replaced(text, "-i 2 ", "-i 2 -D 1 "), "write     1164.39 ", "write     582.20  ")
    found = [(case.kernel, case.params.get("pass"), len(case.seconds)) for case in ior.parse(stopped, {})]
    assert found[:2] == [("write", None, 1), ("write", 2, 1)]
