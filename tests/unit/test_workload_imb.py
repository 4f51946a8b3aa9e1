"""IMB's tables: units of every age, one-sided operations, copies of one rank, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.records import Case, Job
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, imb

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
FORMS = Path(__file__).parents[1] / "recordings/imb"
TWO = (FORMS / "mpi1-2021.11-two-ranks.txt").read_text()
COPIES = (FORMS / "copies-of-one-rank-2021.11.txt").read_text()
#: As IMB 3.2 heads and ends its output; rates in MB of 2^20 bytes: 65536 B in 20.00 us, and 4 of them in 80.00 us.
OLD = """#---------------------------------------------------
#    Intel (R) MPI Benchmark Suite V3.2.3, MPI-1 part
#---------------------------------------------------
# Date                  : Tue Jul 15 15:11:30 2008
#-----------------------------------------------------------------------------
# Benchmarking Exchange
# #processes = 40
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec{defects}
            0         1000        19.70        20.37        19.87         0.00{zero}
        65536          640        78.00        80.00        79.10      3125.00{wrong}


# All processes entering MPI_Finalize
"""


def old(wrong: str = "") -> str:
    defects = {"defects": "      defects", "zero": "         0.00", "wrong": wrong} if wrong else {}
    return OLD.format(**{"defects": "", "zero": "", "wrong": "", **defects})


def state(cases: tuple[Case, ...]) -> str:
    return judge(DONE, cases, b"", "", limit_s=1)[0]


def of(text: str, kernel: str, **params: object) -> Case:
    (case,) = (case for case in imb.parse(text, {}) if case.kernel == kernel and params.items() <= case.params.items())
    return case


def test_mb_mean_what_the_tables_own_times_say() -> None:
    case = of(old(), "exchange", bytes=65536)
    assert case.work["bytes"] / case.seconds[0] == pytest.approx(3125 * 2**20), "before 2018"
    assert of(TWO, "bandwidth", bytes=1048576).work["bytes"] == pytest.approx(11806.44e6), "since 2018"
    with pytest.raises(Garbage, match="neither in MB"):
        imb.parse(old().replace("3125.00", "4125.00"), {})


def test_copies_of_one_rank_leave_no_score() -> None:
    for params in ({}, {"ranks": 2, "hosts": 1}):
        cases = imb.parse(COPIES, params)
        assert state(cases) == "wrong" and {case.params["ranks"] for case in cases} == {1}
    assert any("invalid for 1 processes" in one.text for one in imb.notices(COPIES, {}))


def test_fewer_ranks_than_were_asked_for_leave_no_score() -> None:
    assert state(imb.parse(TWO, {"ranks": 2, "hosts": 1})) == "ok"
    assert state(imb.parse(TWO, {"ranks": 4, "hosts": 1})) == "wrong"


def test_defects_leave_no_score() -> None:
    assert state(imb.parse(old("         0.00"), {})) == "ok"
    assert state(imb.parse(old("         1.00"), {})) == "wrong"


def test_each_kind_of_table_has_its_own_meaning() -> None:
    assert of(TWO, "latency", bytes=8).seconds == pytest.approx((1.68e-6,))
    assert of(TWO, "collective", operation="allreduce", bytes=8).work["max_s"] == pytest.approx(0.41e-6)
    assert "bytes" not in of(TWO, "collective", operation="barrier").params
    rma = (FORMS / "rma-2021.11.txt").read_text()
    assert of(rma, "put_latency", bytes=8).seconds == pytest.approx((3.36e-6,))
    assert of(rma, "rma", operation="unidir_put", mode="aggregate", bytes=8).seconds == pytest.approx((0.28e-6,))
    assert of(rma, "truly_passive", bytes=8).work["overlapped_s"] == pytest.approx(1.76e-6)
    nbc = (FORMS / "nbc-2021.11.txt").read_text()
    assert of(nbc, "nonblocking", operation="barrier").seconds == pytest.approx((5.2e-6,))
    multi = (FORMS / "multi-2021.11.txt").read_text()
    assert of(multi, "multi_latency", groups=2, bytes=8).seconds == pytest.approx((5.6e-6,)), (
        "the slowest of both pairs"
    )


def test_what_imb_left_out_is_said() -> None:
    failed = old().replace(
        "        65536          640        78.00        80.00        79.10      3125.00",
        '        65536 out-of-mem.; needed X=   1.250 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
    )
    assert [case.params["bytes"] for case in imb.parse(failed, {})] == [0]
    (told,) = imb.notices(failed, {})
    assert "exchange, 65536 B: out-of-mem" in told.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWO[:-60], "ends before IMB said"),
        (TWO.partition("# Date")[0] + TWO + TWO[-40:], "copies of the program"),
        (TWO[: TWO.index("# Benchmarking")] + TWO[-40:], "has no table"),
        (old().replace("Intel (R) MPI", "Other MPI"), "not output of the Intel MPI"),
        (old().replace("# #processes = 40", "#"), "how many processes"),
        (old().replace("        79.10      3125.00", "        79.10"), "has not 6 numbers"),
        (old().replace("79.10", "99.10"), "not between t_min and t_max"),
        (old().replace("79.10", "  nan"), "has not 6 numbers"),
        (old().replace("            0         1000", "       131072         1000"), "do not grow"),
    ],
)
def test_what_imb_does_not_print_when_it_works_is_refused(text: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        imb.parse(text, {})


def test_the_date_is_read() -> None:
    begin = imb.stated(old()).begin
    assert begin is not None and (begin.year, begin.hour) == (2008, 15)
