"""mdtest's summaries of every version: what must be read, what is in doubt, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.records import Job
from shakedown.results.outcome import judge
from shakedown.workloads import Garbage, mdtest

DONE = Job(run="r", repeat=1, argv=(), exit_code=0, begin_ns=1, end_ns=2)
HEADINGS = (
    "SUMMARY: (of 3 iterations)",
    "SUMMARY rate: (of 3 iterations)",
    "SUMMARY rate (in ops/sec): (of 3 iterations)",
)
ROWS = (
    ("Directory creation", 9000.5, 8000.25, 8500.125),
    ("Directory stat", 0.0, 0.0, 0.0),
    ("File creation", 439.763, 404.632, 422.661),
    ("File stat", 3232.092, 2645.504, 2947.822),
    ("File read", 1.25e6, 1.0e6, 1.1e6),
    ("File removal", 449.8, 414.304, 435.508),
    ("Tree creation", 465.711, 450.048, 456.378),
)


def output(heading: str = HEADINGS[2], colon: str = "", *, options: str = "", between: str = "") -> str:
    """A run of 1,404,928 files on four ranks, its rows with a colon or without."""
    rows = "\n".join(
        f"   {name:<18}{colon:<1} {most:>16.3f} {least:>14.3f} {mean:>14.3f} {0.0:>14.3f}"
        for name, most, least, mean in ROWS
    )
    return f"""-- started at 11/01/2019 13:22:48 --

mdtest-1.9.3 was launched with 4 total task(s) on 2 node(s)
Command line used: src/mdtest "-C" "-T" "-r" "-d" "/mnt/f" {options}"-i" "3"
Path: /mnt/f
FS: 4731.7 TiB   Used FS: 57.0%   Inodes: 0.0 Mi   Used Inodes: -nan%

4 tasks, 1404928 files/directories
{between}
{heading}
   Operation                      Max            Min           Mean        Std Dev
   ---------                      ---            ---           ----        -------
{rows}

-- finished at 11/01/2019 14:22:48 --
"""


def test_all_headings_with_colons_and_without_say_the_same() -> None:
    """Of 3.x and 1.9 the names end in a colon, and of 4.x not."""
    found = [mdtest.parse(output(heading, colon), {}) for heading in HEADINGS for colon in (":", "")]
    assert all(one == found[0] for one in found)
    rates = {case.kernel: case.work["op"] / case.seconds[0] for case in found[0] if case.seconds}
    assert rates == pytest.approx(
        {"mkdir": 8500.125, "create": 422.661, "stat": 2947.822, "read": 1.1e6, "unlink": 435.508}
    )
    (tree,) = (case for case in found[0] if case.kernel == "make_tree")
    assert tree.work["op_per_s"] == 456.378 and not tree.seconds, "how many folders it has is not printed"
    assert found[0][1].params == {
        "application": "mdtest", "ranks": 4, "files": 351232, "nodes": 2, "layout": "shared folder",
        "synced": False, "iterations": 3,
    }  # fmt: skip


def test_a_phase_that_was_left_out_is_not_a_rate_of_zero() -> None:
    assert "stat_folder" not in {case.kernel for case in mdtest.parse(output(), {})}
    text = output()
    for _, most, least, mean in ROWS:
        text = text.replace(f"{most:.3f}", "0.000").replace(f"{least:.3f}", "0.000").replace(f"{mean:.3f}", "0.000")
    with pytest.raises(Garbage, match="measured nothing"):
        mdtest.parse(text, {})


def test_options_say_what_was_done() -> None:
    (case, *_) = mdtest.parse(output(options='"-u" "-y" "-w" "3901" '), {})
    assert (
        case.params["synced"] is True and case.params["layout"] == "folder a rank" and case.params["file_size"] == 3901
    )


def test_a_quote_that_is_not_closed_hides_no_option() -> None:
    (case, *_) = mdtest.parse(output(options="'-y' '-w' '100' '-x '1' "), {})
    assert case.params["synced"] is True and case.params["file_size"] == 100


def test_several_runs_and_several_summaries_are_all_read() -> None:
    assert len(mdtest.parse(output() + output(HEADINGS[0], ":"), {})) == 2 * len(mdtest.parse(output(), {}))
    times = output("SUMMARY time (in ms/op): (of 3 iterations)").split("4 tasks, 1404928 files/directories\n")[1]
    both = output().replace("\n-- finished", "\n" + times.split("-- finished")[0] + "-- finished", 1)
    assert mdtest.parse(both, {}) == mdtest.parse(output(), {}), "a summary of times is none of rates"


def test_what_took_less_than_a_second_is_in_doubt(recordings: Path) -> None:
    text = (recordings / "mdtest/mdtest-4.1.0-dev-files.txt").read_text()
    found = {case.kernel: case.params.get("doubt") for case in mdtest.parse(text, {})}
    assert set(found.values()) == {"shorter than 1 s"}, "a tree of two folders, too"
    (told,) = (one for one in mdtest.notices(text, {}) if one.code == "in-doubt")
    assert "create, stat, read, unlink, make_tree" in told.text and "less than a second" in told.text
    assert [one.code for one in mdtest.notices(text, {})].count("mdtest-warning") == 1
    long = {case.kernel: "doubt" in case.params for case in mdtest.parse(output(options='"-b" "8" "-z" "4" '), {})}
    assert long.pop("make_tree") is False and not any(long.values()), "4681 folders at 456 a second"
    assert mdtest.parse(output(options='"-b" "8" "-z" "2" '), {})[-1].params["doubt"] == "shorter than 1 s"


@pytest.mark.parametrize("count", ["12", "1"])
def test_errors_of_verification_leave_no_score(count: str) -> None:
    said = f"\nERROR: verifying the data on read ({count} errors)! Take the performance values with care!\n"
    cases = mdtest.parse(output(between=said), {})
    state, reason = judge(DONE, cases, b"", "", limit_s=1)
    assert state == "wrong" and "mdtest found" in reason


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("-- finished", "-- finish", "ends before"),
        ("-- started", "-- start", "not output of mdtest"),
        ("4 tasks, 1404928", "4 tasks, none", "tasks and files"),
        ("4 tasks, 1404928", "0 tasks, 1404928", "tasks and files"),
        ("SUMMARY", "SUMMARIES", "no summary"),
        ("        422.661", "        522.661", "do not agree"),
        ("        422.661", "            nan", "do not agree"),
        ("4 tasks,", "V-0: ERROR unable to create file\n4 tasks,", "reports an error"),
    ],
)
def test_what_mdtest_does_not_print_when_it_works_is_refused(old: str, new: str, said: str) -> None:
    text = output()
    assert old in text
    with pytest.raises(Garbage, match=said):
        mdtest.parse(text.replace(old, new), {})


def test_the_times_are_those_of_the_log() -> None:
    found = mdtest.stated(output())
    assert found.begin and found.end and (found.end - found.begin).total_seconds() == 3600
