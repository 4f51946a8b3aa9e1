"""Every meter, found by discovery: its recordings read to what they say, its channels are whole, it fails with advice."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from shakedown import units
from shakedown.errors import BadInput, ShakedownError, Unavailable
from shakedown.hosts.access import ReplayHost
from shakedown.metering import meters
from shakedown.metering.meters import PLACES, Meter, Sample, Status, Target

ALL = [meters.get(name) for name in meters.names()]
SAMPLES = [(one, sample) for one in ALL for sample in one.samples]
#: What a meter of this machine reads; those behind a network and those that read a file need an address instead.
LOCAL = ("amdsmi", "cray", "hwmon", "nvml", "rapl", "slurm")
UNITS = {"power": "W", "energy": "J", "temperature": "degC", "flow": "m3/s", "speed": "Hz", "ratio": "1"}


def recorded(sample: Sample, recordings: Path) -> ReplayHost:
    root = recordings / sample.recording
    commands = {tuple(line.split()): (root / name).read_text() for line, name in sample.commands.items()}
    return ReplayHost(root, commands=commands)


@pytest.mark.parametrize(
    ("meter", "sample"), SAMPLES, ids=[f"{one.name}-{s.recording}-{s.target}" for one, s in SAMPLES]
)
def test_a_recording_reads_to_what_it_says(meter: Meter, sample: Sample, recordings: Path) -> None:
    source = meter.open(meters.parse_target(sample.target), recorded(sample, recordings))
    try:
        got = {source.channels[one.channel].id: one for one in source.read()}
    finally:
        source.close()
        source.close()  # twice is allowed
    assert sample.expect and sample.source
    for channel, expected in sample.expect.items():
        assert channel in got, f"no {channel} among {sorted(got)}"
        reading = got[channel]
        if isinstance(expected, str):
            assert reading.status is Status[expected] and reading.value is None, (channel, reading)
        else:
            assert reading.status is Status.OK and reading.value == pytest.approx(expected, rel=1e-12), (
                channel,
                reading,
            )


@pytest.mark.parametrize(
    ("meter", "sample"), SAMPLES, ids=[f"{one.name}-{s.recording}-{s.target}" for one, s in SAMPLES]
)
def test_channels_are_whole_and_every_one_is_answered(meter: Meter, sample: Sample, recordings: Path) -> None:
    source = meter.open(meters.parse_target(sample.target), recorded(sample, recordings))
    readings = source.read()
    source.close()
    ids = [channel.id for channel in source.channels]
    assert len(set(ids)) == len(ids) and ids
    assert sorted({one.channel for one in readings}) == list(range(len(ids)))
    for channel in source.channels:
        assert channel.id.startswith(f"{meter.name}/") and channel.title
        assert channel.unit == UNITS[channel.quantity]
        assert (channel.scope == "counter") == (channel.quantity == "energy"), channel.id
        assert channel.place in PLACES
        assert channel.within in ("", *ids) and channel.within != channel.id
        for size in (channel.modulus, channel.resolution, channel.refresh_s, channel.window_s, channel.most_w):
            assert size is None or size > 0, channel.id
    for reading in readings:
        assert (reading.value is not None) == (reading.status is Status.OK)
        assert reading.before_ns <= reading.after_ns


@pytest.mark.parametrize("meter", ALL, ids=lambda one: one.name)
def test_a_meter_says_what_it_is(meter: Meter) -> None:
    text = importlib.import_module(f"shakedown.metering.meters.{meter.name}").__doc__
    assert text and len(text.split()) > 30
    assert meter.name in meters.names() and meter.title
    assert meter.address.startswith(meter.name)
    assert 0 < meter.least_poll_s <= meter.poll_s
    assert all(meter.options.values())
    assert all(units.si(unit) == (unit, 1.0) for unit in UNITS.values())


@pytest.mark.parametrize("meter", ALL, ids=lambda one: one.name)
def test_the_page_of_meters_has_its_line(meter: Meter) -> None:
    page = (Path(__file__).parents[2] / "docs/meters.md").read_text()
    assert f"\n| `{meter.name}` |" in page, f"give {meter.name} a line in docs/meters.md"


@pytest.mark.parametrize("meter", ALL, ids=lambda one: one.name)
def test_find_is_quiet_on_an_empty_machine(meter: Meter, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert meter.find(ReplayHost(tmp_path)) == ()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("meter", "sample"), SAMPLES, ids=[f"{one.name}-{s.recording}-{s.target}" for one, s in SAMPLES]
)
def test_what_find_finds_can_be_opened(meter: Meter, sample: Sample, recordings: Path) -> None:
    door = recorded(sample, recordings)
    for target in meter.find(door):
        assert meters.parse_target(str(target)) == target
        meter.open(target, door).close()


@pytest.mark.parametrize("name", LOCAL)
def test_an_absent_source_is_unavailable_with_a_next_step(name: str, tmp_path: Path) -> None:
    door = ReplayHost(tmp_path)
    if name in ("nvml", "amdsmi") and any(meters.get(name).find(one) for one in [_real()]):
        pytest.skip("this machine has such GPUs")
    with pytest.raises(Unavailable) as told:
        meters.get(name).open(Target(meter=name), door)
    assert told.value.what and told.value.hint


@pytest.mark.parametrize("meter", [one for one in ALL if one.name not in LOCAL], ids=lambda one: one.name)
def test_a_meter_without_its_address_says_what_it_needs(meter: Meter, tmp_path: Path) -> None:
    try:
        source = meter.open(Target(meter=meter.name), ReplayHost(tmp_path))
    except ShakedownError as error:
        assert error.what and error.hint
    else:
        source.close()
        assert meter.name == "simulated"  # the shipped fake needs nothing


@pytest.mark.parametrize("meter", ALL, ids=lambda one: one.name)
def test_a_password_in_a_target_is_refused(meter: Meter) -> None:
    with pytest.raises(BadInput) as told:
        meters.parse_target(f"{meter.name}://operator:hunter2@bmc7/")
    assert "hunter2" not in str(told.value) and f"SHAKEDOWN_{meter.name.upper()}_PASSWORD" in told.value.hint


@pytest.mark.parametrize("meter", ALL, ids=lambda one: one.name)
def test_an_unknown_option_names_the_nearest(meter: Meter) -> None:
    for option in meter.options or ("interval",):
        with pytest.raises(BadInput) as told:
            meters.parse_target(f"{meter.name}?{option}x=1")
        assert repr(option) in told.value.hint


def _real() -> meters.HostAccess:
    from shakedown.hosts.access import LocalHost

    return LocalHost()
