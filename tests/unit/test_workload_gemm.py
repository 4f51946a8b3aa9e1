"""Products of matrices: which libraries, which sizes, how many threads, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import programs
from shakedown.errors import BadInput, Unavailable
from shakedown.programs import events
from shakedown.records import Params, Software, Value
from shakedown.workloads import check_params, gemm
from shakedown.workloads.common import blas
from support.machines import machine
from support.workloads import options


def library(name: str, version: str = "", path: str = "", **facts: Value) -> Software:
    return Software(
        kind="blas",
        name=name,
        version=version,
        path=path or f"/lib/lib{name}.so",
        facts={"source": "site", "threading": "pthread", "ilp64": False, **facts},
    )


OPENBLAS = library("openblas", "0.3.34.481.3")
MKL = library("mkl", "2024.1", threading="openmp")
BLIS = library("blis", "1.0")
NETLIB = library("netlib", "3.11.0", threading="serial", reference=True)
ALL = (NETLIB, BLIS, OPENBLAS, MKL)


def resolve(given: Params, software: tuple[Software, ...] = ALL, **details: object) -> tuple[Params, ...]:
    cores = details.pop("cores", 4)
    assert isinstance(cores, int)
    return gemm.WORKLOAD.resolve(check_params(gemm.WORKLOAD, given), machine(cores, software=software, **details))


def test_all_is_one_run_for_each_library_but_the_reference() -> None:
    runs = resolve({"library": "all"})
    assert [(run["library"], run["label"]) for run in runs] == [
        ("/lib/libmkl.so", "mkl 2024.1"),
        ("/lib/libopenblas.so", "openblas 0.3.34"),
        ("/lib/libblis.so", "blis 1.0"),
    ]


@pytest.mark.parametrize(
    ("vendor", "first"), [("GenuineIntel", "mkl"), ("AuthenticAMD", "openblas"), ("ARM", "openblas")]
)
def test_auto_takes_the_one_that_suits_the_processor(vendor: str, first: str) -> None:
    assert blas.ordered(ALL, vendor)[0].name == first


def test_auto_prefers_threads_then_small_integers_then_the_site() -> None:
    serial = library("mkl", path="/a", threading="serial")
    wide = library("openblas", path="/b", ilp64=True)
    wheel = library("openblas", path="/c", source="wheel")
    site = library("openblas", path="/d")
    assert [one.path for one in blas.ordered((serial, wide, wheel, site), "GenuineIntel")] == ["/d", "/c", "/b", "/a"]


def test_a_name_a_label_or_a_path() -> None:
    assert resolve({"library": "blis"})[0]["library"] == "/lib/libblis.so"
    assert resolve({"library": "openblas 0.3.34"})[0]["library"] == "/lib/libopenblas.so"
    assert resolve({"library": "netlib"})[0]["library"] == "/lib/libnetlib.so"
    other = resolve({"library": "/my/libblas.so"}, ())
    assert [(run["library"], run["label"]) for run in other] == [("/my/libblas.so", "")]
    with pytest.raises(BadInput, match="openbla") as caught:
        resolve({"library": "openbla"})
    assert "openblas" in caught.value.hint


def test_without_a_library_it_says_how_to_get_one() -> None:
    for software in ((), (NETLIB,)):
        with pytest.raises(Unavailable) as caught:
            resolve({}, software)
        assert "scipy-openblas32" in caught.value.hint


def test_labels_tell_all_libraries_apart() -> None:
    found = (
        library("openblas", "0.3.21", "/p/a.so"),
        library("openblas", "0.3.21", "/o/a.so", threading="openmp"),
        library("openblas", "0.3.21", "/i/a.so", ilp64=True),
        library("openblas", "0.3.26", "/n/a.so"),
        library("blis", "", "/x/libblis.so"),
        library("blis", "", "/y/libblis.so"),
    )
    named = blas.labels(found)
    assert named["/n/a.so"] == "openblas 0.3.26"
    assert named["/o/a.so"] == "openblas 0.3.21 openmp"
    assert named["/i/a.so"] == "openblas 0.3.21 ilp64 pthread"
    assert named["/y/libblis.so"] == "blis pthread /y"
    assert len(set(named.values())) == len(found)


@pytest.mark.parametrize(
    ("text", "cores", "expected"),
    [
        ("all", 6, "6"),
        ("sweep", 1, "1"),
        ("sweep", 2, "1,2"),
        ("sweep", 6, "1,2,4,6"),
        ("sweep", 8, "1,2,4,8"),
        ("1, 3,3", 4, "1,3"),
    ],
)
def test_numbers_of_threads(text: str, cores: int, expected: str) -> None:
    assert resolve({"threads": text, "library": "auto"}, cores=cores)[0]["threads"] == expected


@pytest.mark.parametrize(
    "given",
    [
        {"threads": "0"},
        {"threads": "5"},
        {"threads": "two"},
        {"threads": ""},
        {"sizes": "0"},
        {"sizes": "10,-4"},
        {"sizes": "many"},
        {"precision": "x"},
        {"precision": ""},
        {"samples": 0},
        {"beta": 2},
        {"pages": "tiny"},
    ],
)
def test_nonsense_is_refused_with_a_hint(given: Params) -> None:
    with pytest.raises(BadInput) as caught:
        resolve({"library": "auto", **given})
    assert caught.value.hint


def test_matrices_beyond_the_memory_are_refused_with_the_largest_that_fits() -> None:
    with pytest.raises(BadInput, match="free") as caught:
        resolve({"sizes": "20000"}, memory_bytes=8 * 2**30)
    largest = int(caught.value.hint.split()[3])
    assert resolve({"sizes": str(largest)}, memory_bytes=8 * 2**30)
    with pytest.raises(BadInput):
        resolve({"sizes": str(largest + 1)}, memory_bytes=8 * 2**30)
    assert resolve({"sizes": str(int(largest * 1.4)), "precision": "s"}, memory_bytes=8 * 2**30), "half the bytes"


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "gemm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    assert programs.path("gemm") == str(program)
    params = resolve({"library": "blis", "sizes": "64,128", "threads": "1,2", "precision": "d"})[0]
    found = machine(4).hosts[0]
    command = gemm.WORKLOAD.command(params, found)
    words = options(command.argv)
    assert words["--library"] == "/lib/libblis.so" and words["--label"] == "blis 1.0"
    assert (words["--sizes"], words["--threads"], words["--precision"]) == ("64,128", "1,2", "d")
    assert command.ranks == 0
    assert gemm.WORKLOAD.label is not None
    assert gemm.WORKLOAD.label(params) == "dgemm 64 to 128, 1,2 threads, blis 1.0"


def test_larger_products_and_longer_loads_are_estimated_longer() -> None:
    found = machine(4).hosts[0]

    def seconds(**given: Value) -> float:
        return gemm.WORKLOAD.estimate_s(resolve({"library": "auto", **given})[0], found)

    assert 0 < seconds(sizes="512") < seconds(sizes="512,2048") < seconds(sizes="4096")
    assert seconds(sizes="512", seconds=60) > 60


def test_a_recorded_wrong_product_is_a_failed_check(recordings: Path) -> None:
    found = events.parse((recordings / "native/gemm-wrong.jsonl").read_bytes())
    assert found.ended
    (case,) = found.cases
    assert case.residual is not None and not case.residual.passed


def test_the_recorded_products_passed_their_check(recordings: Path) -> None:
    found = events.parse((recordings / "native/gemm-openblas.jsonl").read_bytes())
    assert len(found.cases) == 12
    assert all(case.residual is not None and case.residual.passed for case in found.cases)
    for case in found.cases:
        assert case.work["flop"] == 2 * float(case.params["n"]) ** 3 * case.work["calls"]
