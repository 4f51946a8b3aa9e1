"""What a tuner asks of a run and what becomes of it: trials, HPL.dat, the command line, the explanation, the page."""

from __future__ import annotations

import msgspec
import pytest

from shakedown import programs, workloads
from shakedown.machine import mpi as flavours
from shakedown.records import Case, Machine, Measurement, Residual
from shakedown.schedulers import Allocation
from shakedown.tuning import explain, launch, loop, page, program
from shakedown.tuning.records import Interval, Request
from shakedown.tuning.windows import Step, orders
from shakedown.workloads.common import hpl_dat
from support.machines import OPEN_MPI, OPENBLAS
from support.machines import host as small_host
from support.tunings import host, result, trial, windows_of

# -------------------------------------------------------------------------------------------------------------- program


def asked(kind: str = "whole", **point: object) -> loop.TrialRequest:
    full = {"layout": "2x4", "grid": "1x2", "nb": 192, "depth": 1, "bcast": "1ringM", "binding": "packed", **point}
    request = Request(
        point=full,  # type: ignore[arg-type]
        n=8000,
        kind=kind,  # type: ignore[arg-type]
        shares=(1.0, 0.5, 0.25) if kind == "windows" else (),
        panels=4 if kind == "windows" else 0,
        stage="halving",
        block="b",
        estimate_s=1,
        cap_s=1,
    )
    return loop.TrialRequest(request, 1.0, 1)


def measurement(*cases: Case, state: str = "ok") -> Measurement:
    return Measurement(
        run="r",
        repeat=1,
        workload="hpl",
        params={},
        host="h",
        state=state,  # type: ignore[arg-type]
        reason="" if state == "ok" else "why",
        cases=cases,
        begin_ns=10**9,
        end_ns=3 * 10**9,
    )


def test_a_measurement_becomes_a_trial() -> None:
    residual = Residual(value=0.002, limit=16.0, kind="HPL scaled residual")
    cases = (
        Case(kernel="hpl", params={"n": 8000, "nbmin": 16}, work={"flop": 3e11}, seconds=(2.0,), residual=residual),
        Case(kernel="ceiling", work={"flop": 6e10}, seconds=(0.5, 0.6, 0.4)),
        Case(kernel="update", work={"value": 0.8}),
        Case(kernel="panel", work={"value": 0.1}),
    )
    made = program.trial(asked(), measurement(*cases))
    assert made.ok and made.seconds == 2.0 and made.cost_s == 2.0 and made.residual == residual
    assert made.phases == {"update": 0.8, "panel": 0.1} and made.ceiling == 1.2e11 and made.ran["nbmin"] == 16
    failed = program.trial(asked(), measurement(*cases, state="wrong"))
    assert not failed.ok and failed.seconds is None and failed.residual == residual
    empty = program.trial(asked(), measurement(cases[1]))
    assert empty.state == "garbage" and not empty.ok


def test_windows_and_hosts_become_trials() -> None:
    step = Step(1e-11, 1e-7, 0.0)
    cases = [
        Case(kernel="window", params={"order": one.order, "panels": one.panels}, seconds=(one.seconds,))
        for one in windows_of(step, 8000, 192, 4, (1.0, 0.5, 0.25))
    ]
    made = program.trial(asked("windows"), measurement(*cases))
    assert made.ok and made.seconds == pytest.approx(sum(map(step.seconds, orders(8000, 192, 10**9))), rel=1e-6)
    solved = [Case(kernel="hpl", params={"host": f"n{i}"}, seconds=(1.0 + i,)) for i in range(3)]
    assert program.trial(asked("hosts"), measurement(*solved)).hosts == {"n0": 1.0, "n1": 2.0, "n2": 3.0}


def test_the_parameters_are_the_workloads_own() -> None:
    from shakedown import workloads

    params = program.parameters(asked("windows", binding="spread").request, host(), 1)
    checked = workloads.check_params(workloads.get("hpl"), params)
    assert (checked["p"], checked["q"], checked["ranks"], checked["threads"]) == ("1", "2", 2, 4)
    assert checked["windows"] == "1,0.5,0.25" and checked["window_panels"] == 4 and checked["ceiling"] is False
    assert checked["cpus"] == "0,4,1,5,2,6,3,7"


def test_n_is_rounded_to_the_grid_where_that_is_cheap() -> None:
    point = {"layout": "4x2", "grid": "2x2", "nb": 192}
    assert program.rounded(40000, point) == 40000 - 40000 % 384
    assert program.rounded(3900, point) == 3900 - 3900 % 192
    assert program.rounded(100, point) == 100
    machine = Machine(hosts=(host(),), discovered_ns=0, version="")
    by_memory = program.largest(machine, 1, share=0.5, limit_s=0, nb=192, grid=(1, 1), threads=8)
    assert 0.42 * (32 << 30) < 8 * by_memory**2 <= 0.5 * (32 << 30)
    assert program.largest(machine, 4, share=0.5, limit_s=0, nb=192, grid=(1, 1), threads=8) == pytest.approx(
        2 * by_memory, rel=0.01
    )
    assert program.largest(machine, 1, share=0.5, limit_s=10, nb=192, grid=(1, 1), threads=8) < by_memory


# ------------------------------------------------------------------------------------------------------- what is written


def test_hpl_dat_says_what_was_chosen_and_what_the_program_chose() -> None:
    point = {
        "layout": "4x2",
        "grid": "2x2",
        "nb": 224,
        "depth": 0,
        "bcast": "2ringM",
        "pfact": "auto",
        "mapping": "column",
    }
    ran = {"pfact": "left", "rfact": "right", "nbmin": 16, "ndiv": 2, "swap": "long", "swap_threshold": 80, "depth": 1}
    found = hpl_dat.read(launch.hpl_dat(point, 40320, ran))
    assert (found.n, found.nb, found.grids, found.mapping) == ((40320,), (224,), ((2, 2),), "column")
    assert (found.depth, found.bcast, found.pfact, found.rfact) == ((0,), ("2ringM",), ("left",), ("right",))
    assert (found.nbmin, found.ndiv, found.swap, found.swap_threshold) == ((16,), (2,), "long", 80)


def test_the_command_line_names_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    flavour = {"flavour": flavours.OPEN_MPI, "version": "4.1.4", "source": "site"}
    monkeypatch.setattr(programs, "build", lambda: {"mpi": flavour})
    monkeypatch.setattr(programs, "path", lambda name: f"/opt/{name}")
    here = small_host(cores=2, software=(msgspec.structs.replace(OPEN_MPI, name=flavours.OPEN_MPI), OPENBLAS))
    params = program.parameters(
        Request(
            point={"layout": "2x1", "grid": "2x2", "nb": 64}, n=1000, stage="final", block="", estimate_s=0, cap_s=0
        ),
        here,
        2,
    )
    found = workloads.check_params(workloads.get("hpl"), {**params, "n": "1000", "ranks": 4, "p": "2", "q": "2"})
    allocation = Allocation(engine="", job="", hosts=("a", "b"))
    (line,) = launch.lines({"layout": "2x1"}, found, here, hosts=2, slurm=False, allocation=allocation)
    assert "/usr/bin/mpirun -np 4 --host a:2,b:2" in line and "/opt/hpl" in line
    assert launch.in_slurm({"SLURM_JOB_ID": "7"}) and not launch.in_slurm({})


def test_the_explanation_says_what_is_sure_and_what_is_not() -> None:
    words = " ".join(explain.explanation(result()))
    assert "533 Gflop/s" in words and "NB mattered" in words and "+3.0 % [1.0, 5.0]" in words
    unsure = result(
        effects=(msgspec.structs.replace(result().effects[0], spread=Interval(value=0.01, low=-0.02, high=0.04)),)
    )
    assert "No difference was distinguishable from noise for: NB" in " ".join(explain.explanation(unsure))
    assert "No configuration gave a valid result" in explain.explanation(result(chosen=None))[0]
    early = " ".join(explain.explanation(result(finished=False)))
    assert "budget ended the search early" in early


def test_the_page_is_whole_and_asks_for_nothing_from_outside() -> None:
    found = result()
    found = msgspec.structs.replace(found, explanation=explain.explanation(found), launch=("hpl --n <1>",))
    html = page.page(found, host="node1", hpl_dat="HPLinpack <x>", trials=[trial(1)], created_ns=0)
    assert "HPL rate by NB" in html and "<svg" in html
    assert "hpl --n &lt;1&gt;" in html and "HPLinpack &lt;x&gt;" in html
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
    empty = page.page(result(chosen=None, effects=(), others=()), host="h", hpl_dat="", trials=[], created_ns=0)
    assert "No configuration gave a valid result" in empty
