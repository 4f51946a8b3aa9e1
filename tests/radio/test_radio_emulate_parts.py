"""An emulation's parts that need no root: scenarios, links, updates, files for EMANE."""

from __future__ import annotations

import io
import math
import statistics
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from shakedown.errors import BadInput, CannotMeasure
from shakedown.radio.emulate import emane_files, hosts, lab, links, processes, reception, scenario, updating
from shakedown.radio.emulate.scenario import Channel, FixedLink, Mobility, Scenario
from shakedown.radio.mobility import tracks
from shakedown.radio.mobility.tracks import Numbers, Positions
from shakedown.radio.scene import LinkBudget

WHOLE = """
nodes = 3
names = ["alpha", "bravo"]
seed = 7
update_s = 0.25
routing = "babeld"
[terrain]
files = ["N47E011.hgt"]
[mobility]
model = "trace"
file = "ways.csv"
[radio]
frequency_mhz = 300.0
[budget]
tx_power_dbm = 30.0
[channel]
modulation = "logistic"
rate_bit_s = 2e6
[[links]]
nodes = ["alpha", "node3"]
loss_db = 101.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "lab.toml"
    path.write_text(text)
    return path


def test_a_scenario_is_read_with_paths_from_its_folder(tmp_path: Path) -> None:
    found = scenario.read(written(tmp_path, WHOLE))
    assert scenario.node_names(found) == ("alpha", "bravo", "node3")
    assert found.terrain.files == (str(tmp_path / "N47E011.hgt"),)
    assert found.mobility.file == str(tmp_path / "ways.csv")
    assert (found.radio.frequency_mhz, found.budget.tx_power_dbm, found.channel.rate_bit_s) == (300.0, 30.0, 2e6)
    assert not found.moves
    assert scenario.read(written(tmp_path, "")) == Scenario()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes = 0", "not at least 1"),
        ("nodes = 65535", "not at most 65534"),
        ("nodez = 3", "did you mean 'nodes'"),
        ("update_s = 0", "not above 0"),
        ("update_s = nan", "nan"),
        ('names = ["a b"]', "cannot be the name"),
        ('nodes = 2\nnames = ["a", "a"]', "two nodes are called a"),
        ('nodes = 2\nnames = ["node2"]', "two nodes are called node2"),
        ('nodes = 1\nnames = ["a", "b"]', "2 names for 1 nodes"),
        ('[mobility]\nmodel = "trace"', "belong together"),
        ('[mobility]\nfile = "x.csv"', "belong together"),
        ('[channel]\nmodulation = "qam"', "unknown word 'qam'"),
        ("[channel]\ncollisions = true\nserialise = false", "collisions need"),
        ("[channel]\nrate_bit_s = 0", "not above 0"),
        ('nodes = 2\n[[links]]\nnodes = ["node1", "node3"]\nloss_db = 1.0', "unknown node 'node3'"),
        ('nodes = 2\n[[links]]\nnodes = ["node1", "node1"]\nloss_db = 1.0', "to itself"),
        ("[radio]\nclimate = 9", "climate = 9"),
        ('routing = "olsr"', "unknown word 'olsr'"),
        ("nodes = [", "not TOML"),
    ],
)
def test_a_scenario_that_is_wrong_is_refused_in_words(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        scenario.read(written(tmp_path, text))
    assert (said in str(refused.value) and "lab.toml" in str(refused.value)) or "climate" in said


def test_fixed_links_carry_the_budget_both_ways() -> None:
    budget = LinkBudget(tx_power_dbm=20, noise_figure_db=5, bandwidth_hz=1e6)
    asked = Scenario(
        nodes=3,
        budget=budget,
        links=(
            FixedLink(nodes=("node1", "node2"), loss_db=100, distance_m=300),
            FixedLink(nodes=("node2", "node3"), loss_db=100, back_db=400),
        ),
    )
    found = links.fixed(asked)
    assert found["from"].tolist() == [1, 2, 2, 3] and found["to"].tolist() == [2, 1, 3, 2]
    noise_dbm = -173.975 + 60 + 5
    assert found["snr_db"][:3] == pytest.approx(np.full(3, 20 - 100 - noise_dbm), abs=0.01)
    assert math.isnan(found["snr_db"][3]), "too little signal is out of range"
    assert len(found.tobytes()) == 4 * 16


def test_the_least_signal_that_is_told_hides_no_link_that_could_be_heard() -> None:
    for channel in (Channel(), Channel(rate_bit_s=1e5), Channel(coding_gain_db=5), Channel(modulation="logistic"),
                    Channel(modulation="threshold", snr_half_db=3)):  # fmt: skip
        asked = Scenario(channel=channel)
        least = asked.least_snr_db
        below, above = reception.probabilities(asked, (least - 1e-6, least + 40), 60)
        assert below < 1e-4 and above > 0.999


def test_reception_is_the_textbooks() -> None:
    """BPSK at Eb/N0 of 6.79 dB: a bit in a thousand is wrong (the inverse of Q)."""
    asked = Scenario()
    snr_db = 10 * math.log10(statistics.NormalDist().inv_cdf(1e-3) ** 2 / 2)
    by_bit = (1 - 1e-3) ** 800, (1 - math.erfc(math.sqrt(10 ** (snr_db / 10))) / 2) ** 800
    assert by_bit[0] == pytest.approx(by_bit[1], rel=1e-9)
    found = reception.probabilities(asked, (snr_db, 3.0), 100)
    assert found == pytest.approx((by_bit[0], (1 - math.erfc(math.sqrt(10**0.3)) / 2) ** 800), rel=2e-6)


def test_reception_is_that_of_the_channel_of_the_scenario() -> None:
    """Rate, gain, half, slope: each as its formula says."""
    slow = Scenario(channel=Channel(rate_bit_s=1e5, coding_gain_db=2))
    fast = Scenario(channel=Channel(rate_bit_s=1e6))
    assert reception.probabilities(slow, (-7.0,), 500) == pytest.approx(
        reception.probabilities(fast, (5.0,), 500), rel=1e-4
    )
    logistic = Scenario(channel=Channel(modulation="logistic", snr_half_db=4, slope_db=2))
    expected = [1 / (1 + math.exp((4 - snr) / 2)) for snr in (-3.5, 4.0, 9.25)]
    assert reception.probabilities(logistic, (-3.5, 4.0, 9.25), 77) == pytest.approx(expected, rel=1e-6)
    assert reception.probabilities(Scenario(channel=Channel(modulation="threshold")), (9.99, 10), 1) == (0.0, 1.0)
    assert reception.probabilities(fast, (), 500) == ()


def test_what_the_forwarder_refuses_is_told() -> None:
    with pytest.raises(CannotMeasure, match="'nan' is not a valid number"):
        reception.probabilities(Scenario(), (math.nan,), 500)


class FreeSpace:
    """The stand-in of the engine: 130 dB at 1 km and 20 dB a decade, of a sphere; what moved is asked anew."""

    def __init__(self) -> None:
        self.positions: Positions
        self.told: NDArray[np.float64]
        self.calls: list[str] = []

    unknown = np.empty(0, np.int64)

    def place(self, latitude_deg: Numbers, longitude_deg: Numbers, height_m: Numbers) -> FreeSpace:
        self.positions = Positions(latitude_deg.copy(), longitude_deg.copy(), height_m.copy())
        self.told = np.full((len(latitude_deg),) * 2, np.inf)
        self.calls.append("place")
        return self

    def move(
        self, index: NDArray[np.int64], latitude_deg: Numbers, longitude_deg: Numbers, height_m: Numbers
    ) -> FreeSpace:
        for held, given in zip(self.positions, (latitude_deg, longitude_deg, height_m), strict=True):
            held[index] = given
        self.calls.append(f"move {len(index)}")
        return self

    def losses(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        first, second = np.triu_indices(len(self.positions.height_m), 1)
        away = np.maximum(tracks.distance_m(self.positions, first, second), 1.0)
        return first, second, 130 + 20 * np.log10(away / 1000)

    def changes(self, above_db: float, below_db: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        first, second, loss_db = self.losses()
        before = self.told[first, second]
        with np.errstate(invalid="ignore"):
            told = (np.abs(loss_db - before) > above_db) & ((loss_db < below_db) | (before < below_db))
        self.told[first[told], second[told]] = loss_db[told]
        return first[told], second[told], loss_db[told]


def test_updates_leave_the_forwarder_with_what_the_losses_are() -> None:
    asked = Scenario(nodes=30, mobility=Mobility(bounds=(47.0, 11.0, 47.5, 11.7), speed_m_s=(20, 200), pause_s=60))
    ways = scenario.ways(asked, scenario.ground(Scenario(terrain=scenario.Ground(rows=9, columns=9))))
    engine = FreeSpace()
    updater = updating.Updater(asked, ways, engine)
    held: dict[tuple[int, int], float] = {}
    seen = set()
    for step in range(80):
        found, moved = updater.update(5.0 * step)
        assert moved <= 30
        for one in found:
            held[int(one["from"]), int(one["to"])] = float(one["snr_db"])
        first, second, loss_db = engine.losses()
        snr_db = asked.budget.snr_db(0) - loss_db
        pairs = zip((first + 1).tolist(), (second + 1).tolist(), strict=True)
        wanted = {pair: snr for pair, snr in zip(pairs, snr_db.tolist(), strict=True) if snr > asked.least_snr_db}
        known = {pair: snr for pair, snr in held.items() if not math.isnan(snr) and pair[0] < pair[1]}
        edge = {pair for pair, snr in (wanted | known).items() if abs(snr - asked.least_snr_db) < 0.26}
        assert known.keys() - edge == wanted.keys() - edge
        assert all(held[pair] == pytest.approx(wanted[pair], abs=0.2501) for pair in wanted.keys() - edge)
        assert all(held[j, i] == s or math.isnan(s) for (i, j), s in held.items())
        seen |= {len(wanted)}
    assert len(seen) > 5 and engine.calls[0] == "place" and "move 30" not in engine.calls[1:], "some rest"


def test_what_stands_is_told_once() -> None:
    asked = Scenario(nodes=4, mobility=Mobility(model="still", bounds=(47.0, 11.0, 47.001, 11.001)))
    ways = scenario.ways(asked, scenario.ground(Scenario(terrain=scenario.Ground(rows=9, columns=9))))
    told, ready, log = [], [], io.StringIO()
    updating.run(updating.Updater(asked, ways, FreeSpace()), asked, told.append, log, lambda: ready.append(1))
    assert len(told) == 1 and len(told[0]) == 12 and ready == [1]
    assert msgspec.json.decode(log.getvalue())["moved"] == 4


@pytest.mark.parametrize(("now_s", "due_s", "index"), [(0.0, 0.5, 1), (0.49, 0.5, 1), (0.5, 1.0, 2), (7.3, 7.5, 15)])
def test_a_late_update_skips_to_the_next_on_the_grid(now_s: float, due_s: float, index: int) -> None:
    assert updating.next_update(now_s, 0.5) == (due_s, index)


def test_files_for_emane_are_whole(tmp_path: Path) -> None:
    asked = Scenario(nodes=3, channel=Channel(rate_bit_s=2e6, delay_us=1500))
    assert emane_files.write(asked, tmp_path / "emane", "eth1") == 7 + 3
    for path in (tmp_path / "emane").iterdir():
        assert ElementTree.parse(path).getroot().tag
    platform = ElementTree.parse(tmp_path / "emane/platform3.xml").getroot()
    nem = platform.find("nem")
    assert nem is not None and nem.get("id") == "3" and (tmp_path / "emane" / str(nem.get("definition"))).exists()
    values = {one.get("name"): one.get("value") for one in platform.iter("param")}
    assert values["eventservicegroup"] == "224.1.2.8:45703" and values["eventservicedevice"] == "eth1"
    phy = {one.get("name"): one.get("value") for one in ElementTree.parse(tmp_path / "emane/phy.xml").iter("param")}
    assert phy["propagationmodel"] == "precomputed" and phy["frequency"] == "450000000"
    mac = {one.get("name"): one.get("value") for one in ElementTree.parse(tmp_path / "emane/mac.xml").iter("param")}
    assert mac["datarate"] == "2000000" and mac["delay"] == "0.001500"
    rows = list(ElementTree.parse(tmp_path / "emane/pcr.xml").iter("row"))
    shares = [float(str(one.get("por"))) for one in rows]
    assert shares == sorted(shares) and shares[0] < 0.1 and shares[-1] > 99.9


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        emane_files.write(Scenario(), tmp_path / "file", "lo")


HOSTS = """
nodes = 5
[[hosts]]
address = "127.0.0.1:45800"
nodes = 2
[[hosts]]
address = "192.0.2.7:45801"
nodes = 3
"""


def test_hosts_share_the_nodes_in_their_order(tmp_path: Path) -> None:
    asked = scenario.read(written(tmp_path, HOSTS))
    first, second = hosts.shares(asked)
    assert (first.first, first.last, first.own, first.others) == (1, 2, "127.0.0.1:45800", ("192.0.2.7:45801",))
    assert (second.first, second.last, second.others) == (3, 5, ("127.0.0.1:45800",))
    assert 2 in first and 3 not in first and hosts.this_host(asked) == 1, "192.0.2.7 is nobody's (RFC 5737)"
    assert hosts.this_host(asked, 2) == 2
    words = processes.argv(asked, tmp_path, second, user=False, threads=1)
    told = {one: words[words.index(one) + 1] for one in ("--first", "--last", "--own", "--others", "--nodes")}
    assert told == {"--first": "3", "--last": "5", "--own": second.own, "--others": first.own, "--nodes": "5"}
    grouped = scenario.read(written(tmp_path, 'group = "239.1.2.3:45800"' + HOSTS))
    assert [one.others for one in hosts.shares(grouped)] == [("239.1.2.3:45800",)] * 2
    alone = hosts.shares(Scenario(nodes=7))
    assert alone == (hosts.Share(1, 7),) and hosts.this_host(Scenario()) == 1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("nodes = 3", "nodes = 4", "6 nodes, of 5"),
        ("192.0.2.7:45801", "127.0.0.1:45800", "twice"),
        ("192.0.2.7:45801", "192.0.2.7", "not an IPv4 address with a port"),
        ("192.0.2.7:45801", "192.0.2.7:0", "not an IPv4 address with a port"),
        ("192.0.2.7:45801", "host2:45801", "not an IPv4 address with a port"),
        ("192.0.2.7:45801", "239.1.2.3:45801", "is a multicast address"),
        ("nodes = 5\n", 'nodes = 5\ngroup = "192.0.2.9:45800"\n', "is not a multicast address"),
    ],
)
def test_hosts_that_are_wrong_are_refused(before: str, after: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        scenario.read(written(tmp_path, HOSTS.replace(before, after)))
    assert said in str(refused.value) and "lab.toml" in str(refused.value)


def test_a_host_that_is_none_of_them_is_asked_which_it_is(tmp_path: Path) -> None:
    elsewhere = scenario.read(written(tmp_path, HOSTS.replace("127.0.0.1", "192.0.2.8")))
    with pytest.raises(BadInput, match=r"none of the scenario's 2 hosts.*\n.*--host 1 to --host 2"):
        hosts.this_host(elsewhere)
    with pytest.raises(BadInput, match="host 3 of 2"):
        hosts.this_host(elsewhere, 3)
    with pytest.raises(BadInput, match="names no hosts"):
        hosts.this_host(Scenario(), 1)
    with pytest.raises(BadInput, match="move by one clock"):
        lab.up(elsewhere, tmp_path / "lab", host=1)
    assert not (tmp_path / "lab").exists() or not list((tmp_path / "lab").glob("emulation.json"))


def test_time_begins_where_all_hosts_say() -> None:
    assert updating.begin_of(None, 1000.0, 7.0) == 7.0
    assert updating.begin_of(1005.0, 1000.0, 7.0) == 12.0, "in 5 s"
    assert updating.begin_of(995.0, 1000.0, 7.0) == 2.0, "5 s ago: it catches up"


TOWN = 'nodes = 4\n[town]\nseed = 3\nhouses = 30\n[radio]\nmodel = "rays"\n'


def test_a_town_stands_on_flat_ground_around_it(tmp_path: Path) -> None:
    asked = scenario.read(written(tmp_path, TOWN))
    town, ground = scenario.town(asked), scenario.ground(asked)
    assert town is not None and len(town.buildings) == 30 and np.ptp(ground.heights) == 0
    corners = [at for building in town.buildings for at in building.rings[0]]
    assert all(
        ground.south_deg < lat < ground.north_deg and ground.west_deg < lon < ground.east_deg for lon, lat in corners
    )
    places = tracks.at(scenario.ways(asked, ground), 1.0)
    assert ((places.latitude_deg > ground.south_deg) & (places.latitude_deg < ground.north_deg)).all()
    assert scenario.town(Scenario()) is None


def test_a_town_from_a_file_is_read_from_the_scenarios_folder(tmp_path: Path) -> None:
    ring = [[11.2, 47.2], [11.2002, 47.2], [11.2002, 47.2002], [11.2, 47.2002], [11.2, 47.2]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "geometry": shape, "properties": {"height": 12}}
    (tmp_path / "town.geojson").write_bytes(msgspec.json.encode({"type": "FeatureCollection", "features": [feature]}))
    text = TOWN.replace("seed = 3\nhouses = 30", 'file = "town.geojson"')
    town = scenario.town(scenario.read(written(tmp_path, text)))
    assert town is not None and len(town.buildings) == 1 and town.buildings[0].height_m == 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TOWN.replace('"rays"', '"itm"'), "knows no buildings"),
        ('[radio]\nmodel = "rays"', "needs a town"),
        (TOWN.replace("seed = 3\n", ""), "a file or a seed"),
        (TOWN.replace("seed = 3\n", 'seed = 3\nfile = "x"\n'), "a file or a seed"),
        (TOWN + "[terrain]\nrelief_m = 90.0", "is flat"),
    ],
)
def test_a_town_that_is_wrong_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        scenario.read(written(tmp_path, text))


def test_who_is_connected_follows_what_was_told() -> None:
    connected = updating.Connected(5)
    assert connected.words() == {"pairs": 0, "parts": 5, "largest": 1}
    pairs = [(1, 2), (2, 3), (4, 5)]
    near = np.array([(a, b, 10.0, 0.0) for one, other in pairs for a, b in ((one, other), (other, one))], links.LINK)
    connected.change(near)
    assert connected.words() == {"pairs": 3, "parts": 2, "largest": 3}
    gone = np.array([(2, 3, np.nan, 0.0), (3, 2, np.nan, 0.0)], links.LINK)
    connected.change(gone)
    assert connected.words() == {"pairs": 2, "parts": 3, "largest": 2}
    assert updating.Connected(updating.MOST_PARTED + 1).words() == {}
