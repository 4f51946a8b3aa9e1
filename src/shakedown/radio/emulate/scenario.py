"""What an emulation is asked to be: a TOML file, read strictly."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ... import strict
from ...errors import BadInput, unknown
from ...records import Record
from .. import buildings
from ..buildings import Town
from ..mobility import tracks, waypoint
from ..mobility.tracks import Tracks
from ..scene import LAST_ID, LinkBudget, RadioSetting
from ..terrain import Terrain, synthetic
from ..terrain import read as read_terrain
from ..wire import traces
from . import endpoints

Routing = Literal["none", "babeld"]
_HINT = "docs/radio-emulation.md shows a whole file"


class Ground(Record, frozen=True, kw_only=True):
    """Heights: of files, or made from a seed."""

    files: tuple[str, ...] = ()
    seed: strict.CountOrNone = 1
    rows: strict.Count = 1201
    columns: strict.Count = 1201
    step_arcsec: strict.Positive = 1.0
    south_deg: float = 47.0
    west_deg: float = 11.0
    relief_m: strict.NotNegative = 300.0


class TownSetting(Record, frozen=True, kw_only=True):
    """Buildings, for the model ``rays``: of a GeoJSON file, or made from a seed in the middle of the ground. Without
    ``terrain.files`` the ground is flat, around the town."""

    file: str = ""
    seed: strict.CountOrNone | None = None
    houses: strict.Count = 400


class EmulationHost(Record, frozen=True, kw_only=True):
    """A machine of an emulation: where its forwarder listens for the others, and how many nodes it has."""

    address: str  # IPv4:port
    nodes: strict.Count


class Mobility(Record, frozen=True, kw_only=True):
    """How nodes move. ``bounds`` (south, west, north, east in degrees): without, the middle nine tenths of the terrain."""

    model: Literal["still", "waypoint", "trace"] = "waypoint"
    speed_m_s: tuple[float, float] = (1.0, 10.0)
    pause_s: strict.NotNegative = 10.0
    duration_s: strict.Positive = 3600.0
    antenna_m: strict.Positive = 2.0
    bounds: tuple[float, float, float, float] | None = None
    file: str = ""


class Channel(Record, frozen=True, kw_only=True):
    """What the radios make of a signal. native/radio_forwarder/README.md has each entry."""

    modulation: Literal["psk", "logistic", "threshold"] = "psk"
    rate_bit_s: strict.Positive = 1e6
    coding_gain_db: float = 0.0
    snr_half_db: float = 10.0
    slope_db: strict.Positive = 1.0
    serialise: bool = True
    overhead_us: strict.NotNegative = 0.0
    delay_us: strict.NotNegative = 0.0
    queue: strict.Count = 64
    latest_ms: strict.NotNegative = 1000.0  # what is written later after its time is lost; 0: nothing is
    collisions: bool = False

    @property
    def least_snr_db(self) -> float:
        """The ratio below which not one frame of 60 bytes in 10,000 comes, relative to a bandwidth of the rate. psk: 3 dB,
        where a bit in 44 is wrong."""
        if self.modulation == "psk":
            return 3.0 - self.coding_gain_db
        return self.snr_half_db - (10 * self.slope_db if self.modulation == "logistic" else 0.0)


class FixedLink(Record, frozen=True, kw_only=True):
    """A loss that is given, not found; in both directions, unless ``back_db`` is another."""

    nodes: tuple[str, str]
    loss_db: float
    back_db: float | None = None
    distance_m: strict.NotNegative = 0.0


class Scenario(Record, frozen=True, kw_only=True):
    """A whole scenario. With ``links`` nothing else is in range, nothing moves, and no terrain is needed."""

    nodes: Annotated[int, msgspec.Meta(ge=1, le=LAST_ID)] = 10
    names: tuple[str, ...] = ()  # of the first nodes; the others are node<i>
    seed: strict.CountOrNone = 1
    update_s: strict.Positive = 0.5
    change_db: strict.NotNegative = 0.25  # a loss that changed by less is not told
    mtu: Annotated[int, msgspec.Meta(ge=576, le=9000)] = 1500
    routing: Routing = "none"
    terrain: Ground = Ground()
    town: TownSetting | None = None
    mobility: Mobility = Mobility()
    radio: RadioSetting = RadioSetting()
    budget: LinkBudget = LinkBudget()
    channel: Channel = Channel()
    links: tuple[FixedLink, ...] = ()
    hosts: tuple[EmulationHost, ...] = ()  # nodes are theirs in this order; none: all are this machine's
    group: str = ""  # a multicast group and port: between hosts each frame is sent once

    @property
    def moves(self) -> bool:
        return not self.links and self.mobility.model != "still"

    @property
    def least_snr_db(self) -> float:
        """The ratio of signal to noise from which on a node is told to the forwarder as a neighbour."""
        least = self.channel.least_snr_db
        if self.channel.modulation == "psk":
            least += 10 * math.log10(self.channel.rate_bit_s / self.budget.bandwidth_hz)
        return least


def read(path: Path) -> Scenario:
    """The scenario in a file; paths in it are relative to its folder. Raises BadInput with the place of what is wrong."""
    raw = strict.read_toml(strict.read_text(path), str(path))
    found = strict.convert(raw, Scenario, str(path), hint=_HINT)
    check(found, str(path))
    folder = path.absolute().parent
    ground = msgspec.structs.replace(found.terrain, files=tuple(str(folder / one) for one in found.terrain.files))
    mobility, town = found.mobility, found.town
    if mobility.file:
        mobility = msgspec.structs.replace(mobility, file=str(folder / mobility.file))
    if town and town.file:
        town = msgspec.structs.replace(town, file=str(folder / town.file))
    return msgspec.structs.replace(found, terrain=ground, mobility=mobility, town=town)


def check(scenario: Scenario, where: str) -> None:
    """Raise BadInput for what contradicts itself."""
    names = node_names(scenario)
    if len(scenario.names) > scenario.nodes:
        raise BadInput(f"{len(scenario.names)} names for {scenario.nodes} nodes", where=where, hint="give more nodes")
    for name in scenario.names:
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", name):
            raise BadInput(f"{name!r} cannot be the name of a node", where=where, hint="letters, digits, _ . and -")
    if twice := {name for name in names if names.count(name) > 1} if scenario.names else set():
        raise BadInput(f"two nodes are called {min(twice)}", where=where, hint="give each a name of its own")
    if (scenario.mobility.model == "trace") != bool(scenario.mobility.file):
        raise BadInput('mobility: model = "trace" and file belong together', where=where, hint="give both or neither")
    if scenario.channel.collisions and not scenario.channel.serialise:
        raise BadInput(
            "channel: collisions need serialise = true", where=where, hint="a frame without length overlaps none"
        )
    _check_town(scenario, where)
    _check_hosts(scenario, where)
    known = {name: index for index, name in enumerate(names, 1)}
    for link in scenario.links:
        for name in link.nodes:
            if name not in known:
                raise unknown("node", name, names if len(names) < 50 else names[:10], where=f"{where}: links")
        if link.nodes[0] == link.nodes[1]:
            raise BadInput(f"a link from {link.nodes[0]} to itself", where=where, hint="name two nodes")


def _check_town(scenario: Scenario, where: str) -> None:
    town, rays = scenario.town, scenario.radio.model.partition("+")[0] == "rays"
    if rays and not town and not scenario.links:
        raise BadInput('radio: model = "rays" needs a town', where=where, hint="write [town] with a file or a seed")
    if town is None:
        return
    if not rays:
        raise BadInput(
            f"town: model = {scenario.radio.model!r} knows no buildings", where=where, hint='[radio] model = "rays"'
        )
    if bool(town.file) == (town.seed is not None):
        raise BadInput("town: a file or a seed, one of them", where=where, hint=f"{_HINT}")
    if not scenario.terrain.files and scenario.terrain != Ground():
        raise BadInput(
            "terrain: ground that is made around a town is flat", where=where, hint="leave [terrain] out, or name files"
        )


def _check_hosts(scenario: Scenario, where: str) -> None:
    hosts = scenario.hosts
    if not hosts:
        if scenario.group:
            raise BadInput("group: there are no hosts", where=where, hint="write [[hosts]], or leave it out")
        return
    if len(hosts) == 1:
        raise BadInput("hosts: one alone", where=where, hint="name two or more, or none")
    if (count := sum(host.nodes for host in hosts)) != scenario.nodes:
        raise BadInput(f"hosts: {count} nodes, of {scenario.nodes}", where=where, hint="give each node one host")
    for address in (host.address for host in hosts):
        endpoints.parse(address, where=f"{where}: hosts")
    if twice := {one.address for one in hosts if sum(one.address == other.address for other in hosts) > 1}:
        raise BadInput(f"hosts: {min(twice)} twice", where=where, hint="give each an address of its own")
    if scenario.group:
        endpoints.parse(scenario.group, multicast=True, where=f"{where}: group")


def node_names(scenario: Scenario) -> tuple[str, ...]:
    """In the order of their ids, from 1 on."""
    return scenario.names + tuple(f"node{index}" for index in range(len(scenario.names) + 1, scenario.nodes + 1))


def ground(scenario: Scenario) -> Terrain:
    """The terrain of a scenario. Raises BadInput."""
    asked = scenario.terrain
    if asked.files:
        return read_terrain([Path(one) for one in asked.files])
    if houses := town(scenario):
        return buildings.ground(houses)
    return synthetic(
        asked.seed,
        rows=asked.rows,
        columns=asked.columns,
        step_arcsec=asked.step_arcsec,
        south_deg=asked.south_deg,
        west_deg=asked.west_deg,
        relief_m=asked.relief_m,
    )


def town(scenario: Scenario) -> Town | None:
    """The buildings of a scenario, where it has some. Raises BadInput."""
    asked = scenario.town
    if asked is None:
        return None
    if asked.file:
        return buildings.read(Path(asked.file))
    seed = asked.seed or 0
    if not scenario.terrain.files:
        return buildings.synthetic(seed, buildings=asked.houses)
    found = ground(msgspec.structs.replace(scenario, town=None))
    middle = (found.south_deg + found.north_deg) / 2, (found.west_deg + found.east_deg) / 2
    return buildings.synthetic(seed, buildings=asked.houses, latitude_deg=middle[0], longitude_deg=middle[1])


def ways(scenario: Scenario, terrain: Terrain) -> Tracks:
    """Where all nodes are, over time. Raises BadInput."""
    asked = scenario.mobility
    if asked.model == "trace":
        return tracks.of_trace(traces.load(Path(asked.file)), scenario.nodes, asked.antenna_m)
    if asked.bounds is not None:
        area = waypoint.Area(*asked.bounds)
    else:
        high, wide = terrain.north_deg - terrain.south_deg, terrain.east_deg - terrain.west_deg
        south, west = terrain.south_deg + high / 20, terrain.west_deg + wide / 20
        area = waypoint.Area(south, west, south + 0.9 * high, west + 0.9 * wide)
    found = waypoint.tracks(
        scenario.nodes,
        area,
        seed=scenario.seed,
        duration_s=asked.duration_s if asked.model == "waypoint" else 0.0,
        speed_m_s=asked.speed_m_s,
        pause_s=asked.pause_s,
        height_m=asked.antenna_m,
    )
    return found if asked.model == "waypoint" else tracks.standing(tracks.at(found, 0.0))
