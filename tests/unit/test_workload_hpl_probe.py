"""The pieces of HPL: what is chosen on a machine, the command line, and what is refused. No program runs here."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown import units
from shakedown.errors import BadInput, Unavailable
from shakedown.records import Host, Machine, Params
from shakedown.workloads import hpl_probe
from support.machines import OPEN_MPI, OPENBLAS, host
from support.workloads import installed, options, params_of

WITH_MPI = host(4, software=(OPENBLAS, OPEN_MPI))


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return installed(tmp_path, monkeypatch, "hpl_probe")


def resolve(given: Params, on: Host = WITH_MPI) -> Params:
    return params_of(hpl_probe.WORKLOAD, Machine(hosts=(on,), discovered_ns=1, version="test"), given)


def words(given: Params, on: Host = WITH_MPI) -> tuple[str, ...]:
    return hpl_probe.WORKLOAD.command(resolve(given, on), on).argv[1:]


def test_the_cores_are_shared_by_the_ranks() -> None:
    assert (resolve({"ranks": 2})["ranks"], resolve({"ranks": 2})["threads"]) == (2, 2)
    assert resolve({"ranks": "all"})["ranks"] == 4
    with pytest.raises(BadInput, match="need 6 CPUs"):
        resolve({"ranks": 2, "threads": 3})


def test_several_ranks_need_an_mpi() -> None:
    with pytest.raises(Unavailable):
        resolve({"ranks": 2}, host(4, software=(OPENBLAS,)))
    assert hpl_probe.WORKLOAD.command(resolve({"ranks": 1}), WITH_MPI).ranks == 0
    assert hpl_probe.WORKLOAD.command(resolve({"ranks": 2}), WITH_MPI).ranks == 2


def test_the_command_line_has_what_was_named_and_leaves_the_rest_to_the_program() -> None:
    plain = options(("hpl_probe", *words({"ranks": 1})))
    chosen = {"--threads": "4", "--library": "/lib/libopenblas.so"}
    assert plain == {**chosen, "--samples": "7", "--seconds-total": "0", "--seed": "1"}
    named = words(
        {"only": "gemm, ring", "k": "64,128", "panel_rows": "1000", "sizes": "65536", "rows": 256, "ranks": 2}
    )
    for option, value in (
        ("--only", "gemm,ring"),
        ("--k", "64,128"),
        ("--panel-rows", "1000"),
        ("--sizes", "65536"),
        ("--rows", "256"),
    ):
        assert named[named.index(option) + 1] == value


@pytest.mark.parametrize(
    "given", [{"only": "gem"}, {"k": "0"}, {"trsm": "fast"}, {"sizes": "1"}, {"only": "ring", "ranks": 1}]
)
def test_nonsense_is_refused_with_what_is_known(given: Params) -> None:
    with pytest.raises(BadInput) as refused:
        resolve(given)
    assert refused.value.hint


def test_the_estimate_follows_what_is_asked_for_and_ends_at_the_limit() -> None:
    def estimate(**given: object) -> float:
        params = resolve({"ranks": 2, **given})  # type: ignore[dict-item]
        return hpl_probe.WORKLOAD.estimate_s(params, WITH_MPI)

    assert estimate(only="gemm", k="64") < estimate(only="gemm") < estimate()
    assert estimate(samples=70) > 5 * estimate()
    assert estimate(seconds_total=3) < 4


def test_the_label_names_what_runs() -> None:
    assert hpl_probe.WORKLOAD.label is not None
    text = hpl_probe.WORKLOAD.label(resolve({"ranks": 2, "only": "ring"}))
    assert text == "hpl_probe ring, 2 threads on each of 2 ranks, openblas 0.3.34"


def test_every_probe_has_a_metric() -> None:
    probes = hpl_probe.TABLE.params["only"].items
    assert {metric.kernel for metric in hpl_probe.TABLE.metrics} == {f"probe.{one}" for one in probes}
    assert all(units.si(metric.unit) for metric in hpl_probe.WORKLOAD.metrics)
