"""Tables on the terminal: amounts from the right, everything else from the left; and what a page says on paper."""

from __future__ import annotations

import pytest

from shakedown.document import terminal
from shakedown.document.model import Column, Document, Section, Table
from shakedown.document.terminal import is_numeric, print_table
from shakedown.report.formats import html


@pytest.mark.parametrize(
    "cells",
    [
        ("44.4 GB/s", "not measured"),
        ("1,024", "12"),
        ("< 0.1", "-"),
        ("-3.5 %", "97 %"),
        ("3 min 20 s", "45 s"),
        ("1.20 [1.10, 1.30]", "2.00 [1.90, 2.10]"),
        ("64KiB", "1.5GiB"),
        ("2.50e-9",),
        ("4.52 G interactions/s",),
    ],
)
def test_amounts_stand_from_the_right(cells: tuple[str, ...]) -> None:
    assert is_numeric("value", cells)


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("clause", ("2.1", "10.2")),
        ("section", ("2.3.1", "10.2")),
        ("CPUs", ("0-3", "4-7")),
        ("size", ("1", "2 to 4")),
        ("begin", ("2026-10-01", "2026-10-02 12:00")),
        ("at", ("12:30",)),
        ("device", ("0000:9b:00.0",)),
        ("project", ("17b-genome", "9x")),
        ("what", ("3 nodes of the second rack were taken out of use for a week",)),
        ("value", ("not measured", "-", "")),
        ("value", ("1.2 GB/s", "unknown")),
    ],
)
def test_names_clauses_ranges_and_times_stand_from_the_left(heading: str, cells: tuple[str, ...]) -> None:
    assert not is_numeric(heading, cells)


def test_a_table_is_as_it_should_be(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("clause", "what", "value"), [("2.1", "STREAM", "9.1 GB/s"), ("10.2", "HPL", "120 Gflop/s")])
    assert capsys.readouterr().out.splitlines() == [
        "  clause  what          value",
        "  ------  ------  -----------",
        "  2.1     STREAM     9.1 GB/s",
        "  10.2    HPL     120 Gflop/s",
    ]


@pytest.mark.parametrize(
    ("rows_in", "says"), [("report.json", "They are in report.json."), ("", "Unfold it on the page to print them.")]
)
def test_paper_names_only_files_that_there_are(rows_in: str, says: str) -> None:
    table = Table(title="Long", columns=(Column("a"),), rows=(("1",), ("2",)), folded=True)
    page = Document(
        title="t",
        subtitle="",
        state="measured",
        counts=(),
        lead=("x",),
        sections=(Section(id="a", title="A", blocks=(table,)),),
        footer="",
        rows_in=rows_in,
    )
    text = html.render_document(page)
    assert says in text and "CSV" not in text


HEADS = ("kind", "lost h", "what was seen", "share of all")
ROWS = (
    ("power", "12.5", "the supply of the second chassis was off for an hour", "93 %"),
    ("gpu", "1.0", "fell off the bus /a/very/long/path/that/has/no/blank/in/it", "7 %"),
)


@pytest.mark.parametrize("width", [None, 200, 80, 60, 44])
def test_a_table_that_is_too_wide_is_folded_and_loses_no_word(width: int | None) -> None:
    lines = terminal.table(HEADS, ROWS, width)
    if width:
        assert max(map(len, lines)) <= width
    else:
        assert len(lines) == 2 + len(ROWS)
    whole = "".join("".join(lines).split())
    for cell in (cell for row in ROWS for cell in row):
        assert all(letter in whole for letter in cell if letter != " ")
    assert any("12.5" in line for line in lines)


def test_a_few_rows_that_cannot_be_folded_stand_as_pairs() -> None:
    heads = ("window", "from", "to")
    rows = [("all", "2026-11-21T23:45:35+0000", "2026-11-22T00:39:16+0000")]
    assert terminal.table(heads, rows, 40) == [
        "  window  all",
        "  from    2026-11-21T23:45:35+0000",
        "  to      2026-11-22T00:39:16+0000",
    ]


def test_what_fits_is_not_folded() -> None:
    assert terminal.table(HEADS, ROWS, 120) == terminal.table(HEADS, ROWS, None)


def test_columns_that_can_be_spared_go_first_to_last_and_are_named() -> None:
    rows = [("1" * 20, "2" * 20, "3" * 20, "4" * 20)]
    lines = terminal.table(("a", "b", "c", "d"), rows, 50, spare=("c", "b", "x"))
    assert lines[-1] == "  (too narrow for b, c)" and max(map(len, lines[:-1])) <= 50
    assert "1" * 20 in lines[2] and "4" * 20 in lines[2]


def test_a_sentence_is_folded_on_a_terminal_and_its_words_stay_whole() -> None:
    text = "see what waits: ps -eo stat,pid,wchan,comm | grep ^D, and who runs more than the node has CPUs"
    assert terminal.sentence(text, None, first="next: ") == [f"next: {text}"]
    lines = terminal.sentence(text, 40, first="next: ", rest="      ")
    assert max(map(len, lines)) <= 40 and " ".join(" ".join(lines).split()) == f"next: {text}"
    long = terminal.sentence("/a/path/that/is/longer/than/the/terminal/is/wide", 30)
    assert long == ["/a/path/that/is/longer/than/the/terminal/is/wide"]
