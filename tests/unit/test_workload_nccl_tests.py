"""nccl-tests' table and JSON: rates made anew, elements that are wrong, copies of one rank, the algorithm that ran."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from shakedown.records import Case, Job
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, nccl_tests

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
A100 = (Path(__file__).parents[1] / "recordings/nccl/all-reduce-8-a100.log").read_text()
FORMS = Path(__file__).parents[1] / "recordings/nccl"
#: As 2.17 prints it, with what NCCL_DEBUG adds; the devices of one node and one row.
NEW = (FORMS / "form-2.17-all-reduce-nvls.txt").read_text()
#: Two processes that were started in place of two ranks (as in nccl-tests issue 107).
COPIES = NEW.replace("nGpus 4", "nGpus 1")
COPIES = COPIES[: COPIES.index("#  Rank  1")] + COPIES[COPIES.index("#\n#     ") :]
MIXED = COPIES[: COPIES.index("# Out of")] + COPIES
TWICE = NEW.replace("Rank  1 Group", "Rank  0 Group")
#: The keys of src/util.cu (JSON version 2).
JSON: dict[str, Any] = json.loads((FORMS / "form-2.19-all-gather.json").read_text())


def state(cases: tuple[Case, ...]) -> str:
    return judge(DONE, cases, b"", "", limit_s=1)[0]


def bus(case: Case) -> float:
    return case.work["bus_bytes"] / case.seconds[0]


def test_rates_are_those_of_size_and_time() -> None:
    cases = nccl_tests.parse(A100, {})
    largest = [case for case in cases if case.params["bytes"] == 2**33]
    assert [case.params["in_place"] for case in largest] == [False, True]
    assert [bus(case) / 1e9 for case in largest] == pytest.approx([235.26, 235.03], abs=0.005)
    assert largest[0].params["operation"] == "all_reduce" and largest[0].params["gpus"] == 8
    assert 0 not in {case.params["bytes"] for case in cases}, "nothing was moved"


def test_a_table_that_was_not_checked_says_so() -> None:
    assert [one.code for one in nccl_tests.notices(A100, {})] == ["nccl-unchecked"]
    assert nccl_tests.notices(NEW, {}) == ()
    told = nccl_tests.notices(NEW.replace("NCCL INFO All", "NCCL INFO Channel 00/0 : via NET/Socket/0\nn: All"), {})
    assert [one.code for one in told] == ["nccl-sockets"]


def test_the_algorithm_is_nccls_own_word() -> None:
    assert {case.params["algorithm"] for case in nccl_tests.parse(NEW, {})} == {"nvls"}
    numbered = NEW.replace("Algo NVLS", "Algo 1")
    assert {case.params["algorithm"] for case in nccl_tests.parse(numbered, {})} == {"ring"}
    assert all("algorithm" not in case.params for case in nccl_tests.parse(A100, {}))
    assert nccl_tests.parse(A100, {"algorithm": "tree"})[-1].params["algorithm"] == "tree"


def test_one_wrong_element_leaves_no_score() -> None:
    assert state(nccl_tests.parse(NEW, {})) == "ok"
    assert state(nccl_tests.parse(NEW.replace("370.03      0", "370.03      1"), {})) == "wrong"
    assert state(nccl_tests.parse(NEW.replace("values : 0 OK", "values : 3 FAILED"), {})) == "wrong"


def test_json_has_a_sample_for_each_iteration() -> None:
    out_of_place, in_place = nccl_tests.parse(json.dumps(JSON), {})
    assert out_of_place.seconds == pytest.approx((2.99e-3, 3e-3, 3.01e-3)) and in_place.seconds == (3.1e-3,)
    assert out_of_place.work["bus_bytes"] == pytest.approx(2**30 * 7 / 8)
    assert out_of_place.params["operation"] == "all_gather" and out_of_place.params["nodes"] == 2
    said = nccl_tests.stated(json.dumps(JSON))
    assert said.host == "n0" and said.begin is not None and said.begin.minute == 36


def spoiled(**entry: object) -> str:
    whole = copy.deepcopy(JSON)
    whole["results"][0].update(entry)
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NEW[: NEW.index("# Out of")], "it is cut"),
        (MIXED, "copies of the program"),
        (TWICE, "names a rank twice"),
        (NEW.replace("369.94", "469.94"), "bus bandwidth of 469.94"),
        (NEW.replace("246.62", "346.62"), "are not 346.62 GB/s"),
        (NEW.replace("    34830", "      nan"), "no time and rates"),
        (NEW.replace("      0    34821", "    34821"), "12 words below 13 headings"),
        (NEW.replace("#  Rank", "#  Runk"), "which devices"),
        (json.dumps({key: value for key, value in JSON.items() if key != "end_time"}), "come to its end"),
        (spoiled(size="big"), "no size"),
        (spoiled(in_place={"time": 1.0}), "no time or no rate"),
        (
            spoiled(out_of_place={"time": 3000.0, "alg_bw": 357.913941, "bus_bw": 413.2, "nwrong": None}),
            "bus bandwidth",
        ),
        ('{"results": ' + "[" * 100_000, "not the JSON"),
    ],
)
def test_what_nccl_tests_do_not_print_when_they_work_is_refused(text: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        nccl_tests.parse(text, {})


def test_ranks_that_were_asked_for_must_have_been_seen() -> None:
    assert state(nccl_tests.parse(NEW, {"ranks": 4, "gpus": 1})) == "ok"
    assert state(nccl_tests.parse(NEW, {"ranks": 8, "gpus": 1})) == "wrong"
