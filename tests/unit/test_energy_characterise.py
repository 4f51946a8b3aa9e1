"""The controller on simulated meters, the store of characters, the command and its page; and once for real."""

from __future__ import annotations

import dataclasses
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from shakedown.cli import meter_characterise
from shakedown.energy.characterise import page as character_page
from shakedown.energy.characterise import session
from shakedown.energy.characterise.experiments import Experiment, Limits, MeterKnowledge, following, interval
from shakedown.energy.characterise.session import Findings, Recorded
from shakedown.energy.simulate import Truth
from shakedown.errors import BadInput, CannotMeasure, StoreFailed
from shakedown.metering import character_store
from shakedown.metering.character import Character, Estimate
from shakedown.metering.meters import Channel
from support.characters import A100, BETTER, K40, METER, PRACE, Bench


def run(folder: Path, bench: Bench, minutes: float, least_s: float) -> tuple[list[Recorded], Findings]:
    reference = BETTER.id if bench.better else ""
    return session.run(folder, bench, Limits(60 * minutes, least_s), channel=METER.id, reference=reference)


class Made(NamedTuple):
    """A session with a simulated meter: its folder, and what came of it."""

    folder: Path
    recorded: list[Recorded]
    findings: Findings


@pytest.fixture(scope="module")
def a100(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A meter like an A100's, beside a better one."""
    folder = tmp_path_factory.mktemp("a100")
    return Made(folder, *run(folder, Bench(A100._replace(phase_s=0.0317), 3, better=True), 3, 0.005))


@pytest.fixture(scope="module")
def steps_alone(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    """A window of several refreshes, which steps alone resolve: few edges among some thousand readings of a better meter."""
    truth = Truth(refresh_s=1.017, window_s=3.858, delay_s=0.466, gain=0.99, offset=0.3, resolution=1.0, noise=0.7)
    return run(tmp_path_factory.mktemp("steps"), Bench(truth._replace(phase_s=0.87), 107, better=True), 12, 0.05)[0]


def holds(estimate: Estimate | None, true: float, slack: float = 0.0) -> bool:
    """Inside the interval, or by ``slack`` of its width beside it: one seed is one throw."""
    assert estimate is not None
    more = slack * (estimate.high - estimate.low)
    return estimate.low - more <= true <= estimate.high + more


# --------------------------------------------------------------------------------------------------------- the experiments


def test_the_refresh_is_looked_for_first_and_longer_each_time() -> None:
    limits = Limits(7200, 0.01)
    tried: list[Experiment] = []
    while (step := following(MeterKnowledge(tuple(tried)), limits)) is not None:
        tried.append(step)
    assert [one.kind for one in tried] == ["irregular"] * 3
    assert tried[0].seconds < 60 < tried[1].seconds < 600 < tried[2].seconds
    assert tried[0].interval_s <= tried[1].interval_s <= tried[2].interval_s
    assert following(MeterKnowledge(), Limits(10, 0.01)) is None


@pytest.mark.parametrize("window", [0.02, 0.1, 0.3, 5.0])
@pytest.mark.parametrize("budget", [120.0, 600.0, 3600.0])
def test_every_experiment_fits_the_time_and_ends_low(window: float, budget: float) -> None:
    limits = Limits(budget, 0.001, seed=4)
    done: list[Experiment] = []
    while (step := following(MeterKnowledge(tuple(done), 0.1, False, window, window), limits)) is not None:
        done.append(step)
        assert step.schedule[-1][1] == 0.0 and min(length for length, _ in step.schedule) >= 0.001
        assert len(done) < 20
    assert sum(one.seconds for one in done) <= budget
    kinds = [one.kind for one in done]
    assert ("square" in kinds) == (window <= 0.3)
    steps = [one.schedule[1][0] for one in done if one.kind == "step"]
    assert steps == sorted(steps) and steps[-1] >= min(5 * window, 0.25 * budget)
    if budget >= 600:
        assert {"staircase", "cadence", "constant"} <= set(kinds)
    # What follows depends on what is known alone.
    again: list[Experiment] = []
    while (step := following(MeterKnowledge(tuple(again), 0.1, False, window, window), limits)) is not None:
        again.append(step)
    assert again == done


def test_it_is_read_often_enough_and_never_in_step_with_the_refresh() -> None:
    for period in (0.02, 0.1, 1.0, 10.0):
        every = interval(MeterKnowledge((), period), Limits(600, 0.001))
        assert (every <= period / 5 and abs(period / every - round(period / every)) > 0.1) or every == 1.0
    assert interval(MeterKnowledge((), 0.1), Limits(600, 0.5)) == 0.5


# ------------------------------------------------------------------------------------------------------------- simulated


@pytest.mark.parametrize("ahead", [0.0, 0.35])
def test_the_better_meters_clock_does_not_bend_the_delay(steps_alone: list[Recorded], ahead: float) -> None:
    """Its clock has to be found to far less than the time between the edges that a search can look at."""
    recorded = [
        one._replace(reference=replace(one.reference, t_ns=one.reference.t_ns + round(ahead * 1e9)))
        for one in steps_alone
        if one.reference is not None
    ]
    assert len(recorded) == len(steps_alone)
    found = session.character(recorded, session.analyse(recorded), made_ns=1)
    assert holds(found.delay_s, 0.466, 0.3) and holds(found.window_s, 3.858, 0.3)
    assert found.delay_s is not None and found.delay_s.high - found.delay_s.low < 0.04


def test_a_meter_like_an_a100s_is_characterised(a100: Made) -> None:
    found = session.character(a100.recorded, a100.findings, made_ns=1)
    assert found.kernel == "boxcar" and found.reference == "lab/power"
    assert holds(found.refresh_s, 0.1012) and holds(found.window_s, 0.025, 0.2) and holds(found.delay_s, 0.012, 0.2)
    assert holds(found.gain, 0.954, 0.2) and holds(found.offset, -1.2, 0.2)
    assert found.window_s is not None and found.window_s.high - found.window_s.low < 0.001
    assert found.resolution == pytest.approx(0.01) and found.noise == pytest.approx(1.0, rel=0.1)
    assert found.covered == pytest.approx(0.247, abs=0.01)
    assert found.nonlinearity is not None and found.nonlinearity < 1.5
    assert found.gain_offset_covariance is not None and found.gain_offset_covariance < 0
    assert found.warm_up_rise is None


def test_the_blades_of_2013_are_characterised_with_their_warm_up(tmp_path: Path) -> None:
    """40 s windows every 10 s, 1 W: no waves are driven, since the step tells all."""
    bench = Bench(PRACE._replace(phase_s=3.3), 3, warm_w=9.0)
    recorded, findings = run(tmp_path, bench, 90, 0.2)
    found = session.character(recorded, findings, made_ns=1)
    assert {one.experiment.kind for one in recorded} >= {"irregular", "step", "staircase", "cadence", "constant"}
    assert "square" not in {one.experiment.kind for one in recorded}
    assert found.kernel == "boxcar" and holds(found.refresh_s, 10.0)
    assert holds(found.window_s, 40.0, 0.2) and holds(found.delay_s, 1.5, 0.3)
    assert found.gain is None and found.offset is None and found.reference == ""  # no better meter: not absolute
    assert found.resolution == pytest.approx(1.0) and found.covered == 1.0
    assert found.warm_up_tau_s == pytest.approx(120, rel=0.3)


def test_a_lag_is_told_from_a_window(tmp_path: Path) -> None:
    recorded, findings = run(tmp_path, Bench(K40._replace(refresh_s=0.03), 5), 1.2, 0.003)
    found = session.character(recorded, findings, made_ns=1)
    assert found.kernel == "exponential" and holds(found.tau_s, 0.25, 0.2) and found.covered == 1.0


def test_a_counter_is_characterised_by_the_power_between_its_refreshes(tmp_path: Path) -> None:
    """An energy counter is a mean over its own refresh, and wraps."""
    channel = msgspec.structs.replace(METER, quantity="energy", unit="J", scope="counter", modulus=65536.0)
    truth = Truth(refresh_s=0.1, delay_s=0.02, gain=1.03, modulus=65536.0, resolution=1e-3)
    recorded, findings = run(tmp_path, Bench(truth, 2, channel=channel), 1, 0.005)
    found = session.character(recorded, findings, made_ns=1)
    assert found.kernel == "boxcar" and found.window_s is not None
    assert found.window_s.value == pytest.approx(0.1, rel=0.02) and holds(found.refresh_s, 0.1, 0.5)
    assert found.delay_s is not None and found.delay_s.value == pytest.approx(0.02, abs=0.003)


def test_a_meter_that_its_reading_disturbs_is_seen(tmp_path: Path) -> None:
    recorded, _ = run(tmp_path, Bench(PRACE, 4), 60, 0.2)
    idle = [one for one in recorded if one.experiment.kind == "cadence"]
    assert len(idle) >= 2 and not session.analyse(recorded).notices
    least = min(one.experiment.interval_s for one in idle)
    disturbed = [
        one._replace(trace=dataclasses.replace(one.trace, value=one.trace.value + 3.0))
        if one.experiment.kind == "cadence" and one.experiment.interval_s == least
        else one
        for one in recorded
    ]
    assert "reading-disturbs" in [one.code for one in session.analyse(disturbed).notices]


def test_recordings_are_gone_on_from(tmp_path: Path) -> None:
    """What an interrupted session left is not recorded again, and its half experiment is made anew."""
    first = Bench(PRACE, 6)
    made: list[str] = []

    def interrupted(experiment: Experiment, place: Path) -> None:
        if len(made) == 3:
            (place / "load.jsonl").write_text("{")
            raise KeyboardInterrupt
        made.append(experiment.name)
        first(experiment, place)

    with pytest.raises(KeyboardInterrupt):
        session.run(tmp_path, interrupted, Limits(3600, 0.2), channel=METER.id)
    assert len(session.read(tmp_path, METER.id)) == 3

    def counted(experiment: Experiment, place: Path) -> None:
        made.append(experiment.name)
        first(experiment, place)

    recorded, findings = session.run(tmp_path, counted, Limits(3600, 0.2), channel=METER.id)
    assert made == [one.experiment.name for one in recorded] and len(set(made)) == len(made)
    assert findings.fit is not None
    again, _ = session.run(tmp_path, interrupted, Limits(3600, 0.2), channel=METER.id)
    assert len(again) == len(recorded)


def test_a_meter_that_never_changes_cannot_be_characterised(tmp_path: Path) -> None:
    dead = Truth(refresh_s=1.0, gain=0.0, offset=100.0)
    recorded, findings = run(tmp_path, Bench(dead, 1), 6, 0.1)
    assert findings.fit is None and findings.notices[0].code == "refresh-unknown"
    with pytest.raises(CannotMeasure, match="changed 0 times"):
        session.character(recorded, findings, made_ns=1)


def test_a_meter_of_something_else_gets_no_character(tmp_path: Path) -> None:
    other = Truth(refresh_s=0.1, window_s=0.1, gain=0.0, offset=200.0, noise=1.0)
    recorded, findings = run(tmp_path, Bench(other, 1), 1, 0.01)
    with pytest.raises(CannotMeasure, match="does not see this load"):
        session.character(recorded, findings, made_ns=1)


def test_damage_is_named(tmp_path: Path, a100: Made) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(a100.folder, copy)
    load = next(copy.glob("02-*")) / "load.jsonl"
    load.write_text("\n".join(load.read_text().splitlines()[:-1]))
    with pytest.raises(StoreFailed, match="cut short"):
        session.read(copy, METER.id)
    load.unlink()
    with pytest.raises(StoreFailed):
        session.read(copy, METER.id)
    with pytest.raises(BadInput, match="sim/power, lab/power"):
        session.read(a100.folder, "sim/energy")
    with pytest.raises(BadInput, match="2 channels"):
        session.read(a100.folder)
    with pytest.raises(BadInput):
        session.analyse([])


# -------------------------------------------------------------------------------------------------------------- the store


def character(channel: Channel = METER, made_ns: int = 1, **more: object) -> Character:
    return Character(channel=channel, made_ns=made_ns, kernel="boxcar", **more)  # type: ignore[arg-type]


def test_a_character_is_found_for_the_same_device_firmware_and_driver(tmp_path: Path) -> None:
    assert character_store.find(METER, tmp_path).state == "absent"
    character_store.save(character(), tmp_path)
    character_store.save(character(made_ns=2), tmp_path)
    found = character_store.find(METER, tmp_path)
    assert found.state == "known" and found.character is not None and found.character.made_ns == 2
    assert len(list(tmp_path.iterdir())) == 1
    assert character_store.find(msgspec.structs.replace(METER, id="sim/other"), tmp_path).state == "absent"


@pytest.mark.parametrize("what", ["driver", "firmware", "device"])
def test_a_change_makes_it_stale_and_says_what_changed(tmp_path: Path, what: str) -> None:
    character_store.save(character(), tmp_path)
    later = msgspec.structs.replace(METER, **{what: "550"})
    found = character_store.find(later, tmp_path)
    assert found.state == "stale" and found.character is not None
    (notice,) = found.notices
    assert (
        notice.code == "character-stale" and what in notice.text and "550" in notice.text and "again" in notice.advice
    )
    character_store.save(character(later, made_ns=5), tmp_path)
    assert character_store.find(later, tmp_path).state == "known"
    assert character_store.find(METER, tmp_path).state == "known"  # back to the old one: its own character holds again


def test_a_damaged_character_is_told_and_passed_over(tmp_path: Path) -> None:
    character_store.save(character(), tmp_path)
    (tmp_path / "broken.json").write_text("{")
    found = character_store.find(METER, tmp_path)
    assert found.state == "known" and found.notices[0].code == "character-damaged"


def test_the_store_lies_where_state_belongs() -> None:
    assert character_store.folder({"XDG_STATE_HOME": "/state"}) == Path("/state/shakedown/meters")
    assert character_store.folder({"HOME": "/home/u"}) == Path("/home/u/.local/state/shakedown/meters")


# ------------------------------------------------------------------------------------------------- the command and its page


def command(*words: str) -> tuple[int, str, str]:
    app = typer.Typer()
    app.command()(meter_characterise.command)
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_command_prints_keeps_and_draws(a100: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    words = (
        "--from",
        str(a100.folder),
        "--channel",
        METER.id,
        "--reference",
        BETTER.id,
        "--store",
        str(tmp_path / "store"),
    )
    code, out, err = command(*words, "--output", str(page))
    assert code == 0 and "makes a new value every 101." in out and "sees 25% of the time" in out
    assert "95 % interval" in out and "page:" in err and "kept:" in err
    assert character_store.find(METER, tmp_path / "store").state == "known"
    text = page.read_text()
    assert text.count("<svg role") == 6 and "http://" not in text.replace("http://www.w3.org", "")
    for title in ("Step response", "Swing against", "Profile of the window", "Staircase", "Edges of", "Constant load"):
        assert title in text
    monkeypatch.setattr(session, "analyse", lambda recorded: a100.findings)  # the same recordings: once is enough
    code, out, _ = command(*words, "--json", "--no-keep")
    assert code == 0 and json.loads(out)["kernel"] == "boxcar"


def test_bad_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no meter"):
        command()
    with pytest.raises(BadInput, match="no recording"):
        command("--from", str(tmp_path))
    with pytest.raises(BadInput, match="minutes"):
        command("simulated:/nonexistent", "--minutes", "0")
    with pytest.raises(BadInput):
        command("simulated:/nonexistent", "--directory", str(tmp_path / "x"))


def test_every_kernel_has_its_words() -> None:
    one = Estimate(value=0.025, low=0.024, high=0.026)
    mean = character(window_s=one, refresh_s=one, delay_s=one, covered=0.3)
    assert "mean over 25.0 ms" in " ".join(character_page.lead(mean))
    lagged = msgspec.structs.replace(character(), kernel="exponential", tau_s=one)
    assert "time constant of 25.0 ms" in " ".join(character_page.lead(lagged))
    assert "never seen" in " ".join(character_page.lead(msgspec.structs.replace(character(), kernel="point")))
    ahead = Estimate(value=-2.0, low=-2.1, high=-1.9)
    assert "2.00 s before" in " ".join(character_page.lead(character(delay_s=ahead)))
    assert character_page.interval(one, "s") == "24.0 to 26.0 ms"
    assert any("not known" in row[1] for row in character_page.rows(character()))
