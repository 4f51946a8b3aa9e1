"""elbencho's results as CSV and JSON, by its documentation and rows of real runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from shakedown.workloads import Garbage, elbencho

MIB = 2**20


@pytest.fixture
def text(recordings: Path) -> str:
    return (recordings / "elbencho/elbencho-3.1-1-weka.csv").read_text()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def as_csv(found: list[dict[str, str]]) -> str:
    return "\n".join([",".join(found[0]), *(",".join(one.values()) for one in found)]) + "\n"


def test_the_last_thread_counts_and_what_was_cut_is_between_its_bounds(text: str) -> None:
    folders, write, read = elbencho.parse(text, {})
    assert folders.kernel == "mkdir" and folders.params["doubt"] == "shorter than 1 s"
    assert 2941 <= write.work["bytes"] / write.seconds[0] / MIB < 2942 and 2.784 <= write.seconds[0] < 2.785
    assert 9048 <= read.work["bytes"] / read.seconds[0] / MIB < 9049
    assert write.work["op"] / write.seconds[0] == pytest.approx(2941, rel=1e-3)
    assert write.params["cache"] == "direct" and write.params["depth"] == 4 and write.params["block"] == MIB
    assert read.work["latency_mean_s"] == pytest.approx(3223e-6) and read.work["latency_max_s"] == pytest.approx(
        6922e-6
    )


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("form", ["list", "lines", "one after another"])
def test_json_of_the_same_says_the_same(text: str, form: str, numbers: bool) -> None:
    """The form "can still change": a list or objects one after another, numbers or words."""
    found: list[dict[str, object]] = [dict(one) for one in rows(text)]
    if numbers:
        found = [
            {name: int(value) if str(value).isdecimal() else value or None for name, value in one.items()}
            for one in found
        ]
    said = {
        "list": json.dumps(found),
        "lines": "\n".join(map(json.dumps, found)),
        "one after another": ",\n".join(json.dumps(one, indent=2) for one in found),
    }[form]
    assert elbencho.parse(said, {}) == elbencho.parse(text, {})
    with pytest.raises(Garbage):
        elbencho.parse(said[: len(said) * 2 // 3], {})


def test_a_version_with_other_columns_is_read(text: str) -> None:
    older = [
        {name: value for name, value in one.items() if not name.startswith(("CPU", "random aligned"))}
        for one in rows(text)
    ]
    newer = [{**one, "version": "3.1-2", "command": '"elbencho" "-w"'} for one in rows(text)]
    assert elbencho.parse(as_csv(older), {}) == elbencho.parse(as_csv(newer), {}) == elbencho.parse(text, {})
    assert len(elbencho.parse(text + as_csv(newer), {})) == 6, "a file that two runs appended to"


def test_reads_among_writes_are_told_from_reads_alone(text: str) -> None:
    (mixed,) = [one for one in rows(text) if one["operation"] == "WRITE"]
    mixed |= {
        "operation": "RWMIX30",
        "rwmix read MiB [last]": "3510",
        "rwmix read MiB/s [last]": "1260",
        "rwmix read IOPS [last]": "1260",
    }
    write, read = elbencho.parse(as_csv([mixed]), {})
    assert write.params["mix"] is True and read.params["mix"] is True and read.kernel == "read"
    assert read.work["bytes"] == 3510 * MIB and "mix" not in elbencho.parse(text, {})[1].params


def test_several_hosts_share_the_memory(text: str) -> None:
    some = [{**one, "hosts": "4", "direct IO": "0"} for one in rows(text)]
    found = elbencho.parse(as_csv(some), {"memory_bytes": 3 * 2**30})
    assert {case.params["nodes"] for case in found} == {4} and found[2].params["doubt"] == "page cache"
    assert elbencho.parse(as_csv(some), {"memory_bytes": 2**30})[2].params["cache"] == "exceeded"


def test_files_that_are_read_again_and_again_are_no_larger_for_it(text: str) -> None:
    """With a time limit 64 GiB are read of 32 files of 256 MiB: they fit into 16 GiB of memory."""
    some = [{**one, "direct IO": "0"} for one in rows(text) if one["operation"] == "READ"]
    some[0] |= {"MiB [last]": "65536", "time ms [last]": "7243", "MiB/s [last]": "9048"}
    assert elbencho.parse(as_csv(some), {"memory_bytes": 2**34})[0].params["doubt"] == "page cache"


def test_phases_that_measure_nothing_are_passed_over(text: str) -> None:
    sync = dict.fromkeys(rows(text)[0], "") | {
        "operation": "SYNC",
        "time ms [first]": "3",
        "time ms [last]": "9",
        "ISO date": "x",
    }
    assert elbencho.parse(as_csv([*rows(text), sync]), {}) == elbencho.parse(text, {})
    with pytest.raises(Garbage, match="no phase"):
        elbencho.parse(as_csv([sync]), {})
    quick = [{**one, "time ms [last]": "0"} for one in rows(text)]
    with pytest.raises(Garbage, match="no phase"):
        elbencho.parse(as_csv(quick), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",2784,", ",278,", "which is not 8192"),
        (",2941,10,", ",5941,10,", "which is not 8192"),
        ("7460,8192,", "7460,many,", "not a number"),
        ("ISO date", "date", "no heading"),
        ("time ms [last]", "time", "no 'time ms"),
        (",1661,9383,120903", ",1661", "words below"),
    ],
)
def test_what_elbencho_does_not_write_is_refused(text: str, old: str, new: str, said: str) -> None:
    assert old in text
    with pytest.raises(Garbage, match=said):
        elbencho.parse(text.replace(old, new), {})


def test_its_text_table_is_none_of_its_files() -> None:
    with pytest.raises(Garbage, match="--csvfile"):
        elbencho.parse("OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\nWRITE       Elapsed time : 1s 2s\n", {})


def test_json_without_an_end_is_refused_in_time() -> None:
    with pytest.raises(Garbage):
        elbencho.parse("[" * 200_000, {})


def test_a_word_without_an_end_is_refused(text: str) -> None:
    with pytest.raises(Garbage, match="not a CSV file"):
        elbencho.parse(text + '"' + "x" * 200_000, {})


def test_the_times_are_those_of_the_rows(text: str) -> None:
    found = elbencho.stated(text)
    assert found.begin and found.end and (found.end - found.begin).total_seconds() == 3
