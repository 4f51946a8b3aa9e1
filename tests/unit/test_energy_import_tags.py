"""Letters that name racks and rows are no units; files of power are unpacked whatever packed them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from shakedown.energy.importing import trace_import, unit_names
from shakedown.errors import BadInput
from shakedown.metering import trace

T0 = 1_790_000_000


def bring(text: str, folder: Path, **options: str) -> trace_import.Imported:
    file = folder / "given.csv"
    file.write_text(text)
    return trace_import.bring([file], {"place": "rack", **options}, (), folder / "power.parquet")


def long(racks: str, metric: str, column: str = "rack") -> str:
    head = f"timestamp,{column},metric,value\n"
    return head + "".join(
        f"{T0 + 5 * i},{rack},{metric},{9000 + 100 * at + i % 7}\n" for i in range(40) for at, rack in enumerate(racks)
    )


@pytest.mark.parametrize("racks", ["W", "J", "WJ", "HIJK", "VWX", "w"])
def test_a_rack_of_one_letter_is_no_unit(racks: str, tmp_path: Path) -> None:
    """Without a unit anywhere it is asked for, and with one every rack is a power."""
    with pytest.raises(BadInput, match="no channel of power or energy") as refused:
        bring(long(racks, "pdu"), tmp_path)
    assert "--unit" in refused.value.hint
    found = bring(long(racks, "pdu"), tmp_path, unit="W")
    assert len(found.channels) == len(racks) and {one.channel.quantity for one in found.channels} == {"power"}
    named = bring(long(racks, "power_kw"), tmp_path, place="facility")
    assert [one.unit for one in named.channels] == ["kW"] * len(racks)


@pytest.mark.parametrize("column", ["kind", "dimension", "quantity"])
def test_a_column_of_units_is_one_whatever_its_name(column: str, tmp_path: Path) -> None:
    rows = [
        (T0 + 5 * i, unit, value) for i in range(40) for unit, value in (("W", 9000 + i % 7), ("V", 230), ("C", 21))
    ]
    text = f"timestamp,host,{column},value\n" + "".join(f"{t},r1,{unit},{value}\n" for t, unit, value in rows)
    (one,) = bring(text, tmp_path).channels
    assert one.unit == "W" and one.readings == 40


@pytest.mark.parametrize(
    ("tag", "unit"),
    [
        ("power_w", "W"), ("node power [W]", "W"), ("energy_J", "J"), ("outlet3_kwh", "kWh"), ("watts", "W"),
        ("feed kW", "kW"), ("row W", ""), ("rack-J", ""), ("W", ""), ("cabinet_MW", ""), ("J", ""), ("x_mJ", ""),
        ("power_MW", "MW"), ("rack A", ""),
    ],
)  # fmt: skip
def test_what_a_tag_says_of_its_unit(tag: str, unit: str) -> None:
    assert unit_names.tag_unit(tag, alone=False) == unit


@pytest.mark.parametrize("stem", ["rack_", "", "cell "])
def test_columns_that_count_by_letters_have_no_unit(stem: str, tmp_path: Path) -> None:
    letters = "HIJKVW"
    head = "time," + ",".join(f"{stem}{letter}" for letter in letters)
    text = (
        head + "\n" + "".join(f"{T0 + 5 * i}," + ",".join(f"{9000 + i % 7}" for _ in letters) + "\n" for i in range(40))
    )
    with pytest.raises(BadInput, match=r"name it with column= and its unit|gives no unit|no column of power"):
        bring(text, tmp_path)
    found = bring(text, tmp_path, unit="W", column=",".join(f"{stem}{letter}" for letter in letters))
    assert [one.channel.quantity for one in found.channels] == ["power"] * len(letters)


def test_headers_that_are_units_still_are(tmp_path: Path) -> None:
    text = "time,V,A,W\n" + "".join(f"{T0 + 5 * i},230.1,40.2,{9200 + i % 7}\n" for i in range(40))
    (one,) = bring(text, tmp_path).channels
    assert one.unit == "W" and one.mean_w == pytest.approx(9203, abs=3)


def shapes() -> Iterator[str]:
    yield "time,power_w\n" + "".join(f"{T0 + 5 * i},{9000 + i % 7}\n" for i in range(400))
    yield long("AB", "power_w")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_of_power_may_be_packed_by_anything(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    for text in shapes():
        (tmp_path / "plain").write_text(text)
        (tmp_path / "packed").write_bytes(pack(text.encode()))
        options, out = {"place": "rack"}, tmp_path / "out.parquet"
        plain = trace_import.bring([tmp_path / "plain"], options, (), None)
        found = trace_import.bring([tmp_path / "packed"], options, (), out)
        assert found.channels == plain.channels and found.files == (str(tmp_path / "packed"),)
        assert np.array_equal(trace.read(out)[0].t_ns[:3], (T0 + 5 * np.arange(3)) * 10**9)
    for cut in (30, 100):
        (tmp_path / "packed").write_bytes(pack(text.encode())[:-cut])
        with pytest.raises(BadInput) as refused:
            trace_import.bring([tmp_path / "packed"], options, (), None)
        assert "Error" not in str(refused.value)
