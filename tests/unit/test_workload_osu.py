"""OSU's tables of every version: what must be read, what is not measured, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.records import Case, Job
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, osu

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
FORMS = Path(__file__).parents[1] / "recordings/osu"

CHECKED = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_INT.
# Size       Avg Latency(us)        Validation P50 Tail Lat(us) P99 Tail Lat(us)
4                       1.88              Pass             1.80             3.10
8                       1.91              {word}             1.81             3.20
1048576               310.20              Pass           309.00           330.00
"""
ATOMICS = """# OSU OpenSHMEM Atomic Operation Rate Test v5.0
# Operation            Million ops/s    Latency (us)
shmem_int_fadd                  0.37            2.68
shmem_int_cswap                 0.38            2.66
"""
OVERLAP = """
# OSU MPI Non-blocking Allreduce Latency Test v5.8
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       4.00              1.70              1.60              0.00
1048576               700.00            400.00            390.00             23.08
"""
ALONE = "This test requires exactly two processes\n" * 2


def text(name: str) -> str:
    return (FORMS / name).read_text()


def by_bytes(cases: tuple[Case, ...], kernel: str) -> dict[object, Case]:
    return {case.params.get("bytes", case.params.get("case")): case for case in cases if case.kernel == kernel}


@pytest.mark.parametrize(
    ("name", "kernel", "count"),
    [
        ("latency-5.8-infiniband.txt", "latency", 24),
        ("put-latency-5.8.txt", "put_latency", 23),
        ("put-bibw-5.6.3.txt", "put_bidirectional", 23),
        ("reduce-6.2-full.txt", "collective", 6),
        ("alltoall-without-version.txt", "collective", 10),
        ("latency-5.7-cuda.txt", "latency", 24),
        ("two-tests-7.5-cuda.txt", "bidirectional", 23),
        ("mbw-mr-5.7-intel-mpi.txt", "multi_pair", 1),
        ("mbw-mr-7.4.txt", "multi_pair", 2),
        ("allgather-7.4-full.txt", "collective", 2),
        ("latency-7.3-headings-first.txt", "latency", 6),
        ("latency-7.5-bindings.txt", "latency", 2),
        ("bandwidth-7.5-one-size.txt", "bandwidth", 1),
    ],
)
def test_outputs_of_other_sites_are_read(name: str, kernel: str, count: int) -> None:
    assert sum(case.kernel == kernel for case in osu.parse(text(name), {})) == count


def test_units_and_names_are_osus() -> None:
    latency = by_bytes(osu.parse(text("latency-5.7-cuda.txt"), {}), "latency")
    assert latency[1].seconds == pytest.approx((5.47e-6,)) and latency[1].params["device"] == "gpu"
    assert latency[1].params["sides"] == "dd"
    rate = by_bytes(osu.parse(text("bandwidth-7.5-one-size.txt"), {}), "bandwidth")
    assert rate[268435456].work["bytes"] == pytest.approx(279575.44e6)
    put = by_bytes(osu.parse(text("put-bibw-5.6.3.txt"), {}), "put_bidirectional")
    assert put[1].params["window"] == "Win_allocate"
    assert put[1].params["synchronization"] == "Win_post/start/complete/wait"


def test_two_tests_of_gpus_whose_sides_are_not_said_are_two_cases() -> None:
    cases = osu.parse(text("latency-7.5-bindings.txt"), {})
    assert [case.seconds[0] for case in cases] == pytest.approx([2.46e-6, 1.31e-6]), (
        "device to device, and host to device"
    )


def test_passes_of_one_test_are_samples_of_one_case() -> None:
    twice = text("latency-5.8-infiniband.txt") * 2
    assert by_bytes(osu.parse(twice, {}), "latency")[8].seconds == pytest.approx((1.61e-6, 1.61e-6))


def test_full_output_percentiles_and_overlap() -> None:
    reduce = by_bytes(osu.parse(text("reduce-6.2-full.txt"), {}), "collective")[100000]
    assert (reduce.work["min_s"], reduce.work["max_s"]) == pytest.approx((31.23e-6, 831.04e-6))
    checked = by_bytes(osu.parse(CHECKED.format(word="Pass"), {}), "collective")[8]
    assert (checked.work["p50_s"], checked.work["p99_s"]) == pytest.approx((1.81e-6, 3.2e-6))
    hidden = by_bytes(osu.parse(OVERLAP, {}), "collective")[1048576]
    assert hidden.seconds == pytest.approx((390e-6,)) and hidden.work["overlap"] == pytest.approx(0.2308)
    assert hidden.params["blocking"] is False and hidden.params["operation"] == "allreduce"


def test_what_osu_found_wrong_leaves_no_score() -> None:
    assert judge(DONE, osu.parse(CHECKED.format(word="Pass"), {}), b"", "", limit_s=1)[0] == "ok"
    assert judge(DONE, osu.parse(CHECKED.format(word="Fail"), {}), b"", "", limit_s=1)[0] == "wrong"


def test_atomics_have_a_rate_and_a_latency() -> None:
    found = by_bytes(osu.parse(ATOMICS, {}), "shmem_atomic")
    (seconds,) = found["shmem_int_fadd"].seconds
    assert seconds == pytest.approx(2.68e-6) and found["shmem_int_fadd"].work["op"] / seconds == pytest.approx(0.37e6)


def test_0_00_is_not_measured() -> None:
    zero = text("put-latency-5.8.txt").replace("1                       0.27", "1                       0.00")
    assert len(osu.parse(zero, {})) == 22
    assert [one.code for one in osu.notices(zero, {})] == ["osu-below-resolution"]


def test_a_log_that_ends_early_is_said() -> None:
    assert [one.code for one in osu.notices(text("latency-7.3-headings-first.txt"), {})] == ["osu-ends-early"]
    assert osu.notices(text("latency-7.3-headings-first.txt"), {"sizes": "32"}) == ()


LATENCY = text("latency-5.8-infiniband.txt")


@pytest.mark.parametrize(
    ("garbage", "said"),
    [
        (ALONE, "requires exactly two processes"),
        (text("hello-5.6.2.txt"), "no row"),
        (text("iallreduce-7.5-crashed.txt"), "no row"),
        ("# OSU MPI Latency Test v5.8\n" + LATENCY, "begin the same test"),
        (LATENCY.replace("\n2   ", "\n1                       1.64\n2   "), "mixed"),
        (LATENCY.replace("1.61\n2 ", "nan\n2 "), "not a number"),
        (LATENCY.replace("1.61\n2 ", "-1.61\n2 "), "not a number"),
        (LATENCY.replace("1.61\n2 ", "1.61 7\n2 "), "3 words below the 2 headings"),
        (LATENCY[: LATENCY.index("4194304") + 27], "ends within"),
        (text("reduce-6.2-full.txt").replace(" 31.23", "931.23"), "not between"),
        (text("mbw-mr-7.4.txt").replace("6414.24", "9414.24"), "not the messages"),
        (OVERLAP.replace("23.08", "123.08"), "cannot be hidden"),
        (LATENCY.replace("MPI Latency", "MPI Telepathy"), "is not read"),
    ],
)
def test_what_osu_does_not_print_when_it_works_is_refused(garbage: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        osu.parse(garbage, {})


def test_the_hosts_of_a_job_say_what_messages_went_through() -> None:
    found = [osu.parse(LATENCY, {"ranks": 2, "hosts": hosts})[0].params["link"] for hosts in (1, 2)]
    assert found == ["shared memory", "network"]
    assert "link" not in osu.parse(LATENCY, {})[0].params, "a log does not say it"
