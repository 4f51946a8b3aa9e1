"""Emulations that are up: real namespaces and TAPs, ping between them, babeld over several hops, and every way to end."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scipy import stats

from shakedown.errors import BadInput, CannotMeasure
from shakedown.radio import emulate
from shakedown.radio.emulate import Lab, Scenario, processes, reception, scenario
from shakedown.radio.emulate.scenario import Channel, FixedLink, Ground, Mobility
from support.command import called, shakedown
from support.waiting import until

pytestmark = [pytest.mark.needs("root", "nsenter", "ping")]

#: Nothing is lost by its time: what else runs here may hold the forwarder up.
AT_ONCE = Channel(modulation="threshold", serialise=False, latest_ms=0)
#: Behind it a receiver has an snr of 50 dB: all is received.
NEAR_DB = 95.0


def line(count: int, **more: object) -> Scenario:
    """Nodes of which each hears only the next and the one before."""
    pairs = [FixedLink(nodes=(f"node{i}", f"node{i + 1}"), loss_db=NEAR_DB) for i in range(1, count)]
    return Scenario(nodes=count, links=tuple(pairs), **{"channel": AT_ONCE, **more})  # type: ignore[arg-type]


def address(node: int) -> str:
    return f"10.77.{node >> 8}.{node & 255}"


#: Echoes of ping's size. Once ping has heard one it gives the last of them twice the longest time so far, which on a busy
#: machine is too short; this one waits as long as it is told.
ECHOES = """
import os, select, socket, struct, sys, time
to, count, interval_s, wait_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
six, own = ":" in to, os.getpid() & 0xFFFF
family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if six else (socket.AF_INET, socket.IPPROTO_ICMP)
one = socket.socket(family, socket.SOCK_RAW, protocol)
sent_s, took_s = {}, {}

def packet(number, check=0):
    return struct.pack("!BBHHH", 128 if six else 8, 0, check, own, number) + bytes(56)

def checked(number):
    total = sum(struct.unpack("!32H", packet(number)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return packet(number, ~total & 0xFFFF)  # the kernel makes that of IPv6

def hear(end_s):
    while (left_s := end_s - time.monotonic()) > 0 and len(took_s) < count:
        if not select.select([one], [], [], left_s)[0]:
            return False
        data = one.recv(2000)
        kind, _, _, who, number = struct.unpack("!BBHHH", data[0 if six else 4 * (data[0] & 15):][:8])
        if (kind, who) == (129 if six else 0, own) and number in sent_s:
            took_s.setdefault(number, time.monotonic() - sent_s[number])
            return True
    return False

for number in range(count):
    sent_s[number] = time.monotonic()
    try:
        one.sendto(checked(number), (to, 0))
    except OSError:
        break  # no route
    while hear(sent_s[number] + interval_s):
        pass
while sent_s and len(took_s) < len(sent_s) and hear(time.monotonic() + wait_s):
    pass
print(len(took_s), min(took_s.values(), default=0.0))
"""
LONG_S = 60.0  # for what must come


def echoes(lab: Lab, node: str, to: str, count: int, interval_s: float, wait_s: float) -> tuple[int, float]:
    """How many of so many echoes come back, none where there is no route; and the shortest time of one, s."""
    words = [sys.executable, "-I", "-S", "-c", ECHOES, to, str(count), str(interval_s), str(wait_s)]
    done = lab.run(node, words, limit_s=600)
    assert done.ok, done.err
    found, least_s = done.out.split()
    return int(found), float(least_s)


def received(lab: Lab, node: str, to: str, count: int, interval_s: float = 0.01, wait_s: float = LONG_S) -> int:
    return echoes(lab, node, to, count, interval_s, wait_s)[0]


@contextlib.contextmanager
def spaces(lab: Lab) -> Iterator[Callable[[], bool]]:
    """Whether some process is in the network of a node. Those are held meanwhile: no other gets their numbers."""
    networks = [next(word for word in lab.argv(node, ["true"]) if word.startswith("--net=")) for node in lab.names]
    held = [os.open(word.removeprefix("--net="), os.O_RDONLY) for word in networks]
    ours = {os.fstat(one).st_ino for one in held}

    def inhabited() -> bool:
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.stat(f"/proc/{name}/ns/net").st_ino in ours:
                    return True
        return False

    try:
        yield inhabited
    finally:
        for one in held:
            os.close(one)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where an emulation may lie; whatever a test leaves there is ended."""
    yield tmp_path / "lab"
    for path in (tmp_path / "lab", tmp_path / "other"):
        if path.exists():
            emulate.down(path, hard=True)


def test_nodes_hear_their_neighbours_and_nobody_else(place: Path) -> None:
    with contextlib.ExitStack() as held:
        _whole_life(place, held)


def _whole_life(place: Path, held: contextlib.ExitStack) -> None:
    with emulate.up(line(4), place) as lab:
        inhabited = held.enter_context(spaces(lab))
        held.callback(subprocess.Popen(lab.argv("node3", ["sleep", "600"])).wait)
        until(inhabited)
        assert received(lab, "node1", address(2), 20) == 20
        assert received(lab, "node2", "fd77::3", 20) == 20
        assert received(lab, "node1", address(3), 2, wait_s=0.3) == 0, "no neighbour, and nobody routes"
        assert "radio0" in lab.run("node4", ["ip", "-o", "link"]).out
        status = lab.status()
        assert status.up and status.links == 6 and status.counts["delivered"] >= 80
        assert status.counts["malformed"] == status.counts["tap_full"] == 0
        with lab.control() as control:
            sent, heard = control.traffic()
        assert len(sent) == 4 and heard[1] >= 20
        assert lab.run("node1", ["sh", "-c", "exit 7"]).code == 7
        with pytest.raises(BadInput, match="unknown node 'node5'"):
            lab.argv("node5", ["true"])
    assert not place.exists() and not processes.find(place)
    until(lambda: not inhabited())


def test_frames_are_lost_as_often_as_the_model_says(place: Path) -> None:
    """Of 1,000 echoes, of frames of 98 bytes, both ways must be received: within the binomial interval that one run in ten
    million leaves."""
    channel = Channel(modulation="logistic", serialise=False, latest_ms=0)
    loss_db = Scenario().budget.snr_db(0.0) - 12.0
    link = FixedLink(nodes=("node1", "node2"), loss_db=loss_db)
    asked = Scenario(nodes=2, channel=channel, links=(link,))
    (one_way,) = reception.probabilities(asked, (12.0,), 98)
    likely = one_way**2
    assert 0.7 < likely < 0.8
    with emulate.up(asked, place) as lab:
        for _ in range(20):  # addresses are resolved
            received(lab, "node1", address(2), 1, wait_s=0.2)
        found = received(lab, "node1", address(2), 1000, interval_s=0.002, wait_s=5)
    low, high = stats.binom.interval(1 - 1e-7, 1000, likely)
    assert low <= found <= high, (found, likely)


def test_a_frame_takes_its_time(place: Path) -> None:
    channel = Channel(modulation="threshold", rate_bit_s=1e5, delay_us=20_000, latest_ms=0)
    with emulate.up(line(2, channel=channel), place) as lab:
        received(lab, "node1", address(2), 1)
        count, least_s = echoes(lab, "node1", address(2), 5, interval_s=0.2, wait_s=LONG_S)
    assert count == 5 and least_s >= 2 * (0.020 + 98 * 8 / 1e5) - 1e-5, "both ways: the delay, and 98 bytes on air"


@pytest.mark.needs("/usr/sbin/babeld")
def test_babeld_finds_the_way_over_four_hops(place: Path) -> None:
    with emulate.up(line(5, routing="babeld"), place) as lab:
        until(lambda: address(5) in lab.run("node1", ["ip", "route"]).out)
        until(lambda: received(lab, "node1", address(5), 3, wait_s=1) == 3)
        said = lab.run("node1", ["ping", "-n", "-c", "1", "-W", "50", address(5)]).out
        assert "ttl=61" in said, "three nodes between"


def test_the_forwarder_killed_takes_all_with_it_and_down_clears_up(place: Path) -> None:
    lab = emulate.up(line(5, routing="none"), place)
    sleeper = subprocess.Popen(lab.argv("node3", ["sleep", "300"]))
    assert lab.status().up
    os.kill(processes.process_1(place), signal.SIGKILL)
    assert sleeper.wait(300) != 0, "what runs on a node ends with it"
    until(lambda: not processes.find(place))
    assert not lab.status().up
    with pytest.raises(CannotMeasure, match="does not answer"):
        lab.run("node1", ["true"])
    with pytest.raises(BadInput, match="something lies here"):
        emulate.up(line(2), place)
    emulate.down(place)
    assert not place.exists()
    with pytest.raises(BadInput, match="there is no emulation here"):
        emulate.down(place)


def test_a_place_that_is_taken_and_two_emulations_side_by_side(place: Path) -> None:
    other = place.with_name("other")
    with emulate.up(line(3), place) as one, emulate.up(line(3), other) as two:
        with pytest.raises(BadInput, match="an emulation is up here"):
            emulate.up(line(3), place)
        for lab in (one, two):
            assert received(lab, "node1", address(2), 5) == 5
        assert one.status().counts["frames"] < 200, "they do not hear each other"
        emulate.down(other)
        assert received(one, "node1", address(2), 5) == 5
        emulate_again = emulate.up(line(3), other)
        assert received(emulate_again, "node2", address(3), 5) == 5


def test_an_emulation_below_a_user_namespace(place: Path) -> None:
    with emulate.up(line(2), place, user=True) as lab:
        assert received(lab, "node1", address(2), 5) == 5
        assert lab.run("node1", ["cat", "/proc/self/uid_map"]).out.split()[0] == "0"
    assert not place.exists()


def test_what_cannot_start_says_why_and_leaves_nothing(place: Path) -> None:
    deep = place / ("x" * 60) / ("y" * 60)
    with pytest.raises(CannotMeasure, match="path of the control socket"):
        emulate.up(line(2), deep)
    assert not deep.exists() and not processes.find(deep)
    deep.parent.rmdir()
    (place / "letters").touch()
    with pytest.raises(BadInput, match="something lies here"):
        emulate.up(line(2), place)
    with pytest.raises(BadInput, match="there is no emulation here"):
        emulate.down(place)
    assert (place / "letters").exists(), "what is not ours stays"
    (place / "letters").unlink()
    (place / "lock").unlink()


def test_the_verbs(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('nodes = 2\nnames = ["alpha"]\n[[links]]\nnodes = ["alpha", "node2"]\nloss_db = 95.0\n')
    where = ("--directory", str(place))
    up = called("radio", "emulate", "up", str(file), *where)
    assert up.returncode == 0 and "2 nodes, 2 links" in up.stdout, up.stderr
    ping = shakedown("radio", "emulate", "exec", *where, "alpha", "--", "ping", "-c1", "-W60", address(2))
    assert ping.returncode == 0 and " 0% packet loss" in ping.stdout
    status = called("radio", "emulate", "status", "--json", *where)
    assert status.returncode == 0 and '"links": 2' in status.stdout
    down = called("radio", "emulate", "down", "--keep", *where)
    assert down.returncode == 0
    events = (place / "events.jsonl").read_text()
    assert '"kernel":"forward"' in events and events.strip().endswith("}") and '"event":"end"' in events
    assert called("radio", "emulate", "status", *where).returncode == 3
    assert called("radio", "emulate", "down", *where).returncode == 0 and not place.exists()
    script = 'test -S "$SHAKEDOWN_EMULATION/control" && exit 5'
    run = shakedown("radio", "emulate", "run", str(file), *where, "--", "sh", "-c", script)
    assert run.returncode == 5 and not place.exists(), run.stderr


def test_nodes_that_move_by_the_engines_losses(place: Path) -> None:
    ground = Ground(rows=61, columns=61, relief_m=50)
    moving = Mobility(speed_m_s=(5, 20), pause_s=0)
    asked = Scenario(nodes=6, update_s=0.1, terrain=ground, mobility=moving, channel=AT_ONCE)
    with emulate.up(asked, place) as lab:
        until(lambda: (lab.status().updates or 0) >= 5)
        status = lab.status()
        assert status.links == 30, "2 km of low hills: all hear all"
        assert received(lab, "node1", address(6), 5) == 5
        lines = [json.loads(line) for line in (place / "updates.jsonl").read_text().splitlines()]
        assert lines[0]["moved"] == 6 and all(one["moved"] == 6 and one["unknown"] == 0 for one in lines)
        assert [one["time_s"] for one in lines] == sorted({one["time_s"] for one in lines})


def test_a_scenario_whose_terrain_cannot_be_read_comes_not_up(place: Path) -> None:
    asked = Scenario(nodes=3, terrain=Ground(files=("/nowhere/N47E011.hgt",)))
    with pytest.raises(CannotMeasure, match="finding losses did not start"):
        emulate.up(asked, place)
    assert not place.exists() and not processes.find(place)


TWO_HOSTS = """
nodes = 4
{more}
[channel]
modulation = "threshold"
serialise = false
latest_ms = 0
[[hosts]]
address = "10.213.77.1:45800"
nodes = 2
[[hosts]]
address = "10.213.77.2:45800"
nodes = 2
"""
IN_A_LINE = "".join(f'[[links]]\nnodes = ["node{at}", "node{at + 1}"]\nloss_db = {NEAR_DB}\n' for at in (1, 2, 3))


@pytest.fixture
def two_hosts() -> Iterator[tuple[str, str]]:
    """Two networks with a cable between; their names."""
    names = tuple(f"radio{os.getpid()}{end}" for end in "ab")
    cable = tuple(f"sd{os.getpid()}{end}" for end in "ab")
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(["ip", "link", "add", cable[0], "type", "veth", "peer", "name", cable[1]], check=True)
        for at, (name, end) in enumerate(zip(names, cable, strict=True), 1):
            subprocess.run(["ip", "link", "set", end, "netns", name], check=True)
            subprocess.run(["ip", "-n", name, "addr", "add", f"10.213.77.{at}/24", "dev", end], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", end, "up"], check=True)
        yield names[0], names[1]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def up_on(host: str, file: Path, directory: Path, *more: str) -> Lab:
    """This host's part of a scenario, brought up by the verb in the host's network."""
    words = [sys.executable, "-m", "shakedown", "radio", "emulate", "up", str(file), "--directory", str(directory)]
    done = subprocess.run(["ip", "netns", "exec", host, *words, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return emulate.open_(directory)


@pytest.mark.needs("ip")
@pytest.mark.parametrize("group", ["", 'group = "239.77.1.2:45800"'])
def test_one_scenario_over_two_hosts(place: Path, tmp_path: Path, two_hosts: tuple[str, str], group: str) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO_HOSTS.format(more=group) + IN_A_LINE)
    left = up_on(two_hosts[0], file, place)
    right = up_on(two_hosts[1], file, place.with_name("other"))
    assert received(left, "node1", address(2), 5) == 5, "on this host"
    assert received(left, "node2", address(3), 20) == 20, "on the other"
    assert received(right, "node4", "fd77::3", 5) == 5
    assert received(right, "node4", address(1), 2, wait_s=0.3) == 0, "out of range wherever it is"
    counts = left.status().counts
    assert counts["sent_to_hosts"] >= 20 and counts["malformed"] == counts["too_late"] == 0
    with pytest.raises(BadInput, match=r"node3 is on another host\n.*10\.213\.77\.2:45800"):
        left.argv("node3", ["true"])
    assert (left.share.first, left.share.last, right.share.first, right.share.last) == (1, 2, 3, 4)


@pytest.mark.needs("ip")
def test_nodes_of_two_hosts_move_by_one_clock(place: Path, tmp_path: Path, two_hosts: tuple[str, str]) -> None:
    ground = "update_s = 0.1\n[terrain]\nrows = 61\ncolumns = 61\nrelief_m = 50.0\n[mobility]\npause_s = 0.0\n"
    file = tmp_path / "two.toml"
    file.write_text(TWO_HOSTS.format(more=ground))
    begin = int(time.time()) - 100
    labs = [
        up_on(host, file, path, "--begin", str(begin))
        for host, path in zip(two_hosts, (place, place.with_name("other")), strict=True)
    ]
    until(lambda: all((lab.status().updates or 0) >= 3 for lab in labs))
    assert received(labs[0], "node1", address(4), 5) == 5, "2 km of low hills: all hear all"
    for lab in labs:
        told = [json.loads(text)["time_s"] for text in (lab.directory / "updates.jsonl").read_text().splitlines()]
        assert told[0] == 0 and told[1] >= 100, "what went by is not played again"
        assert all(abs(at / 0.1 - round(at / 0.1)) < 1e-6 for at in told), "on one grid"


def town_of_one_house(folder: Path, height_m: float) -> Path:
    """A scenario on flat ground: a house of 300 m by 30 m; two nodes south of it, two north, and one beyond its end, which
    sees all of them. What is heard has lost less than 100 dB: in sight up to 88, behind the house 138."""
    south, west, degree_m = 47.2, 11.2, 111_200.0

    def place(x_m: float, y_m: float) -> tuple[float, float]:
        return west + x_m / (degree_m * math.cos(math.radians(south))), south + y_m / degree_m

    ring = [list(place(*corner)) for corner in ((0, 0), (300, 0), (300, 30), (0, 30), (0, 0))]
    shape = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "geometry": shape, "properties": {"height": height_m}}
    (folder / "town.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    rows = ["time_s,id,latitude_deg,longitude_deg,height_m"]
    for node, at in enumerate(((100, -60), (200, -60), (100, 90), (200, 90), (390, 15)), 1):
        longitude_deg, latitude_deg = place(*at)
        rows.append(f"0,{node},{latitude_deg:.8f},{longitude_deg:.8f},2")
    (folder / "places.csv").write_text("\n".join(rows) + "\n")
    file = folder / "town.toml"
    half_db = Scenario().budget.snr_db(100.0)
    file.write_text(
        'nodes = 5\n[town]\nfile = "town.geojson"\n[radio]\nmodel = "rays"\n'
        '[mobility]\nmodel = "trace"\nfile = "places.csv"\n'
        f'[channel]\nmodulation = "threshold"\nsnr_half_db = {half_db:.2f}\nserialise = false\nlatest_ms = 0\n'
    )
    return file


@pytest.mark.parametrize("height_m", [60.0, 1.0])
def test_a_house_stands_between_nodes_of_a_town(place: Path, tmp_path: Path, height_m: float) -> None:
    with emulate.up(scenario.read(town_of_one_house(tmp_path, height_m)), place) as lab:
        for one, other in ((1, 2), (3, 4), (5, 1), (5, 4)):
            assert received(lab, f"node{one}", address(other), 5) == 5, (one, other)
        for one, other in ((1, 3), (2, 4), (1, 4)):
            assert received(lab, f"node{one}", address(other), 3, wait_s=0.3) == (0 if height_m > 2 else 3), (
                one,
                other,
            )
