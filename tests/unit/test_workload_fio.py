"""fio: what may be of the page cache."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shakedown.records import Params
from shakedown.workloads import fio

GIB = 2**30


@pytest.fixture
def reading(recordings: Path) -> str:
    """The recorded job as one that read, which fio prints alike."""
    text = (recordings / "fio/fio-3.33-write-1m.json").read_text()
    text = text.replace('"read" : {', '"r" : {').replace('"write" : {', '"read" : {').replace('"r" : {', '"write" : {')
    return text.replace('"rw" : "write"', '"rw" : "read"')


@pytest.mark.parametrize(
    ("params", "size", "cache", "doubt"),
    [
        ({}, "64m", "unknown", None),
        ({"memory_bytes": GIB}, "64m", "possible", "page cache"),
        ({"memory_bytes": 2**25}, "64m", "exceeded", None),
        ({"memory_bytes": 2**25}, "16m", "possible", "page cache"),
        ({"memory_bytes": 2**25}, "50%", "exceeded", None),
        ({"memory_bytes": 2**25, "device_rate": 5e8}, "64m", "exceeded", "above the device's rate"),
        ({"memory_bytes": 2**25, "device_rate": 8e8}, "64m", "exceeded", None),
    ],
)
def test_a_read_that_may_be_of_the_page_cache_is_marked(
    reading: str, params: Params, size: str, cache: str, doubt: str | None
) -> None:
    """64 MiB moved in 89 ms (754 MB/s), of a file of that size or a smaller one again and again."""
    (case,) = fio.parse(re.sub(r'"size" : "[^"]*"', f'"size" : "{size}"', reading), params)
    assert case.kernel == "read" and case.params["cache"] == cache and case.params.get("doubt") == doubt
    assert case.work["bytes"] / case.seconds[0] == pytest.approx(754032179.775)


def test_direct_reads_and_writes_with_an_fsync_are_of_the_device(recordings: Path, reading: str) -> None:
    direct = re.sub(r'"size" :', '"direct" : "1", "size" :', reading)
    assert fio.parse(direct, {"memory_bytes": GIB})[0].params["cache"] == "direct"
    text = (recordings / "fio/fio-3.33-write-1m.json").read_text()
    for option, cache in (("end_fsync", "synced"), ("fdatasync", "synced"), ("loops", "possible")):
        other = text.replace('"end_fsync" : "1"', f'"{option}" : "1"')
        assert fio.parse(other, {"memory_bytes": GIB})[0].params["cache"] == cache
