"""Rows that are not quoted: mended by what fixed columns look like, the same way for every reader."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.operate.availability import jobs
from shakedown.schedulers.common.slurm_rows import rows

COLUMNS = ("JobID", "JobName", "State")
NAMES = st.text(st.sampled_from("ab |\\7_.\r"), max_size=12) | st.text(st.sampled_from("ab \n\\7_.\r"), max_size=12)


@settings(max_examples=200, deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=4), delimiter=st.sampled_from(["|", "\x1f", "::"]))
def test_names_with_line_breaks_and_delimiters_spoil_no_row(names: list[str], delimiter: str) -> None:
    """But for a name whose lines look like rows themselves, which nothing can tell from rows."""
    lines = [delimiter.join((str(100 + at), name, "COMPLETED")) for at, name in enumerate(names)]
    forged = any(part.partition(delimiter)[0].strip("7_.\\") == "" for name in names for part in name.split("\n")[1:])
    odd: list[str] = []
    found = rows("\n".join(lines) + "\n", COLUMNS, delimiter, free="JobName", odd=odd)
    if not forged:
        assert [(row["JobID"], row["JobName"]) for row in found] == [
            (str(100 + at), name) for at, name in enumerate(names)
        ]
        assert odd == [] and {row["State"] for row in found} == {"COMPLETED"}


def test_what_is_no_row_is_given_back() -> None:
    odd: list[str] = []
    found = rows("1|COMPLETED\n|FAILED\nrunaway\n2|FAILED\ncut", ("JobID", "State"), "|", odd=odd)
    assert [row["JobID"] for row in found] == ["1", "2"] and odd == ["|FAILED", "runaway", "cut"]
    assert rows("", COLUMNS) == [] and rows("\n\n", COLUMNS) == []


def test_lines_that_end_in_a_delimiter_keep_their_columns(tmp_path: Path) -> None:
    """`sacct -p`: a name with the delimiter took the next column's text before."""
    path = tmp_path / "jobs"
    path.write_text(
        "JobID|JobName|State|Start|End|AllocCPUS|\n7|a|b|COMPLETED|1700000000|1700000600|4|\n8|c|FAILED|1|2|4|\n"
    )
    first, second = jobs.read(path).records
    assert (first.name, first.state, first.cpus, second.name, second.state) == ("a|b", "done", 4, "c", "failed")
