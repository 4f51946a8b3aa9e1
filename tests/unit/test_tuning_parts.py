"""The tuner's parts: comparison, windows, space, journal, rates, launch lines, HPL.dat, the page."""

from __future__ import annotations

import math
import random
from pathlib import Path

import msgspec
import pytest

from shakedown import programs, workloads
from shakedown.errors import BadInput, CannotMeasure, StoreFailed
from shakedown.machine import mpi as flavours
from shakedown.records import Cache, Case, Core, Cpu, Host, Machine, Measurement, Memory, NumaNode, Peak, Residual
from shakedown.schedulers import Allocation
from shakedown.tuning import explain, launch, loop, page, prior, program, space
from shakedown.tuning.journal import TRIALS, Journal
from shakedown.tuning.paired import Observation, compare, t95
from shakedown.tuning.records import Candidate, Effect, Interval, Level, Request, Result, Trial, Window, name_of
from shakedown.tuning.windows import Step, fit, orders, whole_seconds
from shakedown.workloads.common import hpl_dat
from support.machines import OPEN_MPI, OPENBLAS
from support.machines import host as small_host


def host(cores: int = 8, nodes: int = 2) -> Host:
    per_node = cores // nodes
    return Host(
        name="node1",
        cpu=Cpu(
            model="x",
            vendor="GenuineIntel",
            architecture="x86_64",
            microarchitecture="x",
            sockets=nodes,
            cores=tuple(
                Core(cpus=(i, i + cores), core_id=i, socket=i // per_node, numa_node=i // per_node)
                for i in range(cores)
            ),
        ),
        memory=Memory(total_bytes=64 << 30, available_bytes=32 << 30),
        numa=tuple(
            NumaNode(
                id=node,
                cpus=tuple(cpu for i in range(node * per_node, (node + 1) * per_node) for cpu in (i, i + cores)),
            )
            for node in range(nodes)
        ),
        usable_cpus=tuple(range(2 * cores)),
        peaks=(Peak(name="flops.fp64", scope="node", value=8e11, unit="flop/s", kind="derived", basis=""),),
    )


# ----------------------------------------------------------------------------------------------------------- comparison


def test_a_drift_that_is_larger_than_the_difference_cancels_in_blocks() -> None:
    generator = random.Random(1)
    truth = {"a": 0.0, "b": 0.01, "c": 0.03}
    seen = [
        Observation(item, block, value + 0.2 * math.sin(block) + generator.gauss(0, 0.003))
        for block in range(8)
        for item, value in truth.items()
    ]
    found = compare(seen)
    for item, value in truth.items():
        difference, error = found.difference(item, "a")
        assert difference == pytest.approx(value, abs=0.006)
        assert error < 0.006
    assert found.order() == ["a", "b", "c"]


def test_the_intervals_cover_the_truth_as_often_as_they_say() -> None:
    generator = random.Random(2)
    covered = 0
    for _ in range(300):
        seen = [
            Observation(item, block, value + shift + generator.gauss(0, 0.02))
            for block in range(4)
            for shift in [generator.gauss(0, 0.05)]
            for item, value in (("a", 0.0), ("b", 0.02), ("c", -0.01))
        ]
        slower = compare(seen).interval("b", "a")
        covered += slower.low <= math.expm1(0.02) <= slower.high
    assert 0.91 <= covered / 300 <= 0.99


def test_a_spike_hardly_moves_a_comparison() -> None:
    seen = [Observation(item, block, 0.001 * ((block * 7) % 3)) for block in range(5) for item in "abcd"]
    seen[6] = Observation("c", 1, 0.5)
    assert abs(compare(seen).difference("c", "a")[0]) < 0.03


def test_those_that_never_met_are_compared_less_surely() -> None:
    together = compare([Observation(item, block, 0.0) for block in range(3) for item in "ab"])
    apart = compare([Observation("a", block, 0.0) for block in range(3)] + [Observation("b", 9, 0.0)] * 3)
    assert apart.difference("a", "b")[1] > 2 * together.difference("a", "b")[1]


def test_students_quantile_against_tables() -> None:
    for dof, value in ((1, 12.706), (4, 2.776), (12, 2.179), (30, 2.042), (1e9, 1.960)):
        assert t95(dof) == pytest.approx(value, rel=2e-3)


# -------------------------------------------------------------------------------------------------------------- windows


def windows_of(step: Step, n: int, nb: int, panels: int, shares: tuple[float, ...]) -> list[Window]:
    found = []
    for share in shares:
        left = orders(int(n * share), nb, panels)
        found.append(Window(order=int(n * share), panels=panels, seconds=sum(map(step.seconds, left))))
    return found


def test_windows_of_exact_steps_give_the_whole_exactly() -> None:
    step = Step(2e-11, 3e-7, 4e-4)
    n, nb = 20000, 192
    found = windows_of(step, n, nb, 6, (1.0, 0.7, 0.4, 0.15))
    assert whole_seconds(found, n, nb) == pytest.approx(sum(map(step.seconds, orders(n, nb, 10**9))), rel=1e-9)
    assert fit(found, nb) == pytest.approx(step, rel=1e-6)


def test_few_windows_still_give_a_time_and_noise_never_makes_a_negative_one() -> None:
    step = Step(2e-11, 0.0, 0.0)
    assert whole_seconds(windows_of(step, 8000, 128, 4, (0.7,)), 8000, 128) == pytest.approx(
        sum(map(step.seconds, orders(8000, 128, 10**9)))
    )
    generator = random.Random(3)
    for _ in range(50):
        noisy = [
            msgspec.structs.replace(one, seconds=one.seconds * generator.uniform(0.7, 1.4))
            for one in windows_of(step, 8000, 128, 4, (1.0, 0.7, 0.4, 0.15))
        ]
        assert min(fit(noisy, 128)) >= 0
    with pytest.raises(ValueError):
        fit([], 128)


# ---------------------------------------------------------------------------------------------------------------- space


def test_the_default_space_has_both_sides_of_the_square_and_fitting_grids() -> None:
    made = space.default(host(), n=20000)
    grids = {space.pair(str(grid)) for grid in made.axes["grid"]}
    assert any(p > q for p, q in grids) and any(p < q for p, q in grids)
    assert {"1x8", "2x4", "8x1"} <= set(made.axes["layout"])
    assert set(made.axes["binding"]) == {"packed", "spread"}
    for point in space.combinations(made, space.PRIMARY, space.canonical(made, made.defaults)):
        p, q = space.pair(str(point["grid"]))
        assert p * q == space.pair(str(point["layout"]))[0]


def test_sockets_that_are_not_known_are_not_one() -> None:
    """A rank a socket is tried where the sockets are known, and first where nothing nearer is; else by what is known."""
    one = host(16)
    two = msgspec.structs.replace(one, numa=(), cpu=msgspec.structs.replace(one.cpu, sockets=2))
    assert space.layouts(two)[0] == (2, 8)
    untold = msgspec.structs.replace(one, cpu=msgspec.structs.replace(two.cpu, sockets=None, caches=four_l3(two)))
    assert [ranks for ranks, _ in space.layouts(untold)] == [2, 4, 1, 16]  # NUMA nodes, L3, the host, cores


def four_l3(one: Host) -> tuple[Cache, ...]:
    groups = tuple(tuple(range(at, at + 4)) for at in range(0, 16, 4))
    return (*one.cpu.caches[:2], Cache(level=3, kind="unified", size_bytes=2**25, groups=groups))


def test_what_cannot_matter_is_one_configuration() -> None:
    made = space.default(host(), n=20000)
    one = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "long", "swap": "binary"})
    other = space.canonical(made, {"layout": "1x8", "grid": "1x1", "nb": 192, "bcast": "1ring", "swap": "long"})
    assert one == other and name_of(one) == name_of(dict(reversed(other.items())))
    tall = space.canonical(made, {"layout": "2x4", "grid": "2x1", "bcast": "long", "swap": "binary"})
    assert tall["bcast"] == made.defaults["bcast"] and tall["swap"] == "binary"


def test_fixing_values() -> None:
    made = space.default(host(), n=20000)
    here = host()
    fixed = space.replace(made, {"nb": [192], "p": [2]}, here)
    assert fixed.axes["nb"] == (192,) and {space.pair(str(g))[0] for g in fixed.axes["grid"]} == {2}
    assert all(space.pair(str(layout))[0] % 2 == 0 for layout in fixed.axes["layout"])
    threads = space.replace(made, {"threads": [2]}, here)
    assert threads.axes["layout"] == ("4x2",)
    assert space.parse_fix("nb=128,192") == ("nb", [128, 192])
    assert space.parse_fix("progress-thread=true") == ("progress_thread", [True])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nbb": [1]}, "unknown parameter 'nbb'"),
        ({"nb": []}, "no value"),
        ({"p": [3]}, "no grid fits"),
        ({"threads": [0]}, "not a whole number"),
        ({"ranks": [64], "threads": [64]}, "CPUs"),
        ({"layout": ["4"]}, "with an x between"),
    ],
)
def test_what_cannot_be_searched_is_refused(given: dict[str, list[int]], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        space.replace(space.default(host(), n=20000), given, host())


def test_a_space_file_that_is_wrong_says_where(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text("nb = [128, {a = 1}]\n")
    with pytest.raises(BadInput, match="nb"):
        space.read(path)
    path.write_text("nb = [128\n")
    with pytest.raises(BadInput, match="not TOML"):
        space.read(path)


# -------------------------------------------------------------------------------------------------------------- journal


def trial(number: int = 1) -> Trial:
    request = Request(point={"nb": number}, n=1000, stage="halving", block="b", estimate_s=1, cap_s=1)
    return msgspec.structs.replace(loop.blank(loop.TrialRequest(request, 1.0, 1)), state="ok", seconds=1.5, cost_s=2.0)


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "t")
    journal.add(trial(1))
    journal.add(trial(2))
    journal.close()
    again = Journal(tmp_path / "t")
    assert again.trials == [trial(1), trial(2)] and again.session == 2 and not again.notices
    assert again.spent_s() == 4.0
    again.close()


@pytest.mark.parametrize("cut", range(2, 40, 6))
def test_a_last_line_that_was_cut_short_is_survived(tmp_path: Path, cut: int) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    journal.add(trial(2))
    journal.close()
    path = tmp_path / TRIALS
    path.write_bytes(path.read_bytes()[:-cut])
    again = Journal(tmp_path)
    kept = [trial(1)]
    assert again.trials == kept and len(again.notices) == 1
    again.add(trial(3))
    again.close()
    last = Journal(tmp_path)
    assert last.trials == [trial(1), trial(3)]
    last.close()


def test_a_last_line_that_only_lacks_its_end_is_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    journal.close()
    path = tmp_path / TRIALS
    path.write_bytes(path.read_bytes()[:-1])
    again = Journal(tmp_path)
    again.add(trial(2))
    again.close()
    last = Journal(tmp_path)
    assert last.trials == [trial(1), trial(2)] and not last.notices
    last.close()


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in (1, 2, 3):
        journal.add(trial(number))
    journal.close()
    path = tmp_path / TRIALS
    lines = path.read_bytes().split(b"\n")
    lines[1] = b"\x00\xff" * 20
    path.write_bytes(b"\n".join(lines))
    again = Journal(tmp_path)
    assert again.trials == [trial(1), trial(3)]
    assert "line 2" in again.notices[0].text
    again.close()


def test_two_tuners_in_one_folder_are_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(CannotMeasure, match="another tuner"):
        Journal(tmp_path)
    journal.close()


def test_trials_without_their_problem_are_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(trial(1))
    with pytest.raises(StoreFailed, match=r"problem\.json"):
        journal.setup()
    journal.close()


# ---------------------------------------------------------------------------------------------------------------- rates


def test_rates_come_back_out_of_a_run_that_was_made_with_them() -> None:
    base = prior.Base(dgemm=7e10, panel=1e10, trsm=3e10)
    point = {"layout": "2x4", "grid": "1x2", "nb": 384}
    n, nb, threads = 20000, 384, 8
    seconds = 12.0
    phases = {
        "update": 2 / 3 * n**3 / 7e10 / (seconds * threads),
        "panel": nb * n**2 / 2 / 1e10 / (seconds * threads),
        "solve": nb * n**2 / 2 / 3e10 / (seconds * threads),
    }
    request = Request(point=point, n=n, stage="calibrate", block="b", estimate_s=1, cap_s=1)
    made = msgspec.structs.replace(
        loop.blank(loop.TrialRequest(request, 1.0, 1)), state="ok", seconds=seconds, phases=phases, cost_s=13.0
    )
    found = prior.from_trials(prior.base(host()), [made])
    assert (found.dgemm, found.panel, found.trsm) == pytest.approx((base.dgemm, base.panel, base.trsm), rel=1e-9)


def test_rates_from_probes() -> None:
    def case(kernel: str, seconds: float, **more: object) -> Case:
        work = {name: float(more.pop(name)) for name in ("flop", "elements", "bytes") if name in more}  # type: ignore[arg-type]
        return Case(kernel=kernel, params=more, work=work, seconds=(seconds,) * 3)  # type: ignore[arg-type]

    found = prior.from_probes(
        prior.base(host()),
        [
            case("probe.gemm", 1.0, k=192, threads=4, flop=2.4e11),
            case("probe.gemm", 1.0, k=384, threads=4, flop=3.0e11),
            case("probe.solve", 2.0, threads=4, flop=8e10),
            case("probe.panel", 1.0, threads=1, flop=9e9),
            case("probe.rows", 1.0, threads=2, elements=4e8),
            case("probe.ring", 1.0, scope="off", contended=1, bytes=3e9),
        ],
    )
    assert found.dgemm == 7.5e10 and dict(found.curve) == {192: pytest.approx(0.8), 384: 1.0}
    assert (found.trsm, found.panel, found.rows) == (1e10, 9e9, 2e8)
    assert found.network["node_off"] == 3e9


def test_the_model_knows_what_every_expert_knows() -> None:
    predict = prior.learn(prior.base(host()), 1)(())
    made = space.default(host(), n=20000)
    at = space.canonical(made, {**made.defaults, "layout": "8x1", "grid": "2x4", "nb": 192})
    flat_, tall = ({**at, "grid": grid} for grid in ("2x4", "8x1"))
    assert predict(flat_, 20000) < predict(tall, 20000)
    assert predict(at, 10000) < predict(at, 20000)
    assert predict({**at, "nb": 8}, 20000) > predict(at, 20000)


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


def result(**changes: object) -> Result:
    point = {"layout": "2x4", "grid": "1x2", "nb": 192, "bcast": "1ring"}
    nothing = Interval(value=0.0, low=0.0, high=0.0)
    chosen = Candidate(point=point, seconds=10.0, low_s=9.8, high_s=10.2, runs=3, kind="whole", predicted_s=9.0)
    other = Candidate(
        point={**point, "nb": 256},
        seconds=10.3,
        low_s=10.0,
        high_s=10.6,
        runs=2,
        kind="whole",
        behind=Interval(value=0.03, low=0.01, high=0.05),
    )
    effect = Effect(
        axis="nb",
        chosen="192",
        levels=(
            Level(value="192", slower=nothing, runs=3),
            Level(value="256", slower=Interval(value=0.03, low=0.01, high=0.05), runs=2),
        ),
        spread=Interval(value=0.03, low=0.01, high=0.05),
    )
    made = Result(
        n=20000,
        n_reason="as asked",
        searched=("layout", "grid", "nb", "bcast"),
        chosen=chosen,
        others=(other,),
        effects=(effect,),
        noise=0.01,
        finished=True,
        runs=7,
        spent_s=100.0,
        budget_s=600.0,
    )
    return msgspec.structs.replace(made, **changes)  # type: ignore[arg-type]


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
