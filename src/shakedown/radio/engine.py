"""Speaks with the native program that finds the losses: ``native/radio_engine``, whose README has the protocol.

    with Engine(terrain, RadioSetting(frequency_mhz=300)) as engine:
        engine.place(latitude_deg, longitude_deg, height_m)
        i, j, loss_db = engine.links(below_db=140)
        engine.move([3], [47.01], [11.02], [2.0])
        i, j, loss_db = engine.changes(above_db=1, below_db=140)

One process for each engine; it ends with it. An engine is used from one thread at a time.
"""

from __future__ import annotations

import enum
import os
import subprocess
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import programs
from ..errors import UNREADABLE, USAGE, BadInput, CannotMeasure, ShakedownError, plain
from .buildings import Town
from .scene import LAST_ID, Place, RadioSetting
from .terrain import Terrain

Precision = Literal["fp32", "fp64"]
#: How long a program may take to end once nobody asks any more of it; then it is killed.
_GRACE_S = 5.0


class Standing(enum.IntEnum):
    """What became of a place; all but KNOWN have no loss to anywhere."""

    KNOWN = 0
    NOT_FINITE = 1
    OFF_MAP = 2
    OVER_HOLE = 3  # the height of the ground there is not known
    HEIGHT = 4  # below ground, or lower or higher than the model has a loss for: ITM from 0.5 to 3000 m
    INSIDE = 5  # of a building: the model rays has no loss through walls

    @property
    def words(self) -> str:
        return {
            Standing.KNOWN: "known",
            Standing.NOT_FINITE: "not a finite number",
            Standing.OFF_MAP: "off the map",
            Standing.OVER_HOLE: "where the height of the ground is not known",
            Standing.HEIGHT: "below ground, or lower or higher than the model has a loss for",
            Standing.INSIDE: "inside a building",
        }[self]


class Placed(NamedTuple):
    """What became of the places that were given, each by its Standing; those without losses by their index."""

    standing: NDArray[np.uint8]

    @property
    def off_map(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.standing == Standing.OFF_MAP)

    @property
    def over_hole(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.standing == Standing.OVER_HOLE)

    @property
    def unknown(self) -> NDArray[np.int64]:
        """All that have no loss to anywhere, for whatever reason."""
        return np.flatnonzero(self.standing != Standing.KNOWN)


class Pairs(NamedTuple):
    """Links between radios i < j, in order of i, then j, with their losses in dB."""

    i: NDArray[np.uint32]
    j: NDArray[np.uint32]
    loss_db: NDArray[np.float32]


class Engine:
    """Losses between radios over a terrain. ``buildings``: the town that the model ``rays`` needs and no other reads; it
    is put on the terrain, and the engine's ``buildings`` says what was left out. ``threads``: as many as there are CPUs;
    ``precision``: "fp32" is nearly twice as fast, within 0.05 dB on 999 links of 1,000. Raises BadInput where the model has
    no loss for the setting, CannotMeasure where the program does not start or the memory does not hold the terrain."""

    def __init__(
        self,
        terrain: Terrain,
        setting: RadioSetting | None = None,
        *,
        buildings: Town | None = None,
        threads: int | None = None,
        precision: Precision = "fp64",
    ) -> None:
        self.terrain = terrain
        self.setting = setting or RadioSetting()
        self.buildings = buildings.on(terrain) if buildings else None
        self.count = 0  # radios placed
        self._whole = False  # whether request and reply are in step
        program = programs.path("radio_engine")
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        files = [_in_memory("terrain", np.ascontiguousarray(terrain.heights).view(np.uint8).data)]
        if self.buildings:
            files.append(_in_memory("town", self.buildings.text().encode()))
        try:
            self._process = subprocess.Popen(
                [program, *_arguments(terrain, self.setting, precision, threads, files)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                pass_fds=files,
                process_group=0,  # Ctrl-C is the caller's to answer
            )
        except OSError as error:
            self._stderr.close()
            raise CannotMeasure(f"does not start: {error.strerror}", where=program, hint="build it again") from None
        finally:
            for file in files:
                os.close(file)
        try:
            self._whole = True
            self.engine_facts, _ = self._reply()  # isa, threads, holes, warnings of the model for all links
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Of the program."""
        return self._process.pid

    # ------------------------------------------------------------------------------------------------------- the radios

    def place(self, latitude_deg: ArrayLike, longitude_deg: ArrayLike, height_m: ArrayLike) -> Placed:
        """All radios anew; gives the Standing of each. Raises BadInput where the arrays differ in length or are more than
        65,534, CannotMeasure where the memory does not hold the losses of all pairs (the radios stay as they were)."""
        places = _places(latitude_deg, longitude_deg, height_m)
        count = places.shape[1]
        _, standing = self._ask("place", places.tobytes(), count=count)
        self.count = count
        return Placed(np.frombuffer(standing, np.uint8))

    def move(self, index: ArrayLike, latitude_deg: ArrayLike, longitude_deg: ArrayLike, height_m: ArrayLike) -> Placed:
        """Some radios have moved; gives the Standing of each of these. What they touch is found again when it is next
        wanted. Raises BadInput where an index is not one of the radios, or the arrays differ in length."""
        places = _places(latitude_deg, longitude_deg, height_m)
        given = np.atleast_1d(np.asarray(index))
        if given.shape != places.shape[1:]:
            raise BadInput(f"{given.size} radios and {places.shape[1]} places", where="radio engine", hint=_ALIKE)
        if given.size and not (given.dtype.kind in "iu" and given.min() >= 0 and given.max() < self.count):
            raise BadInput(
                "an index is not one of the radios", where="radio engine", hint=f"give 0 to {self.count - 1}"
            )
        _, standing = self._ask("move", given.astype(np.uint32).tobytes() + places.tobytes(), count=given.size)
        return Placed(np.frombuffer(standing, np.uint8))

    # ------------------------------------------------------------------------------------------------------- the losses

    def losses(self) -> NDArray[np.float32]:
        """Losses of all pairs in dB, row by row: of radio 0 to 1, 2, ..., then of 1 to 2, 3, ...; NaN: not known."""
        _, losses = self._ask("losses")
        return np.frombuffer(losses, np.float32)

    def links(self, below_db: float) -> Pairs:
        """Pairs whose loss is at most ``below_db``."""
        return _pairs(*self._ask("links", below_db=below_db))

    def changes(self, above_db: float, below_db: float) -> Pairs:
        """Pairs to report since the last call: those at most ``below_db`` that were not so when last reported, or have
        changed by more than ``above_db`` since; and, with their loss of now, those that were and no longer are."""
        return _pairs(*self._ask("changes", above_db=above_db, below_db=below_db))

    def explain(self, i: int, j: int) -> dict[str, Any]:
        """Every step of the loss from radio i to j in double precision: ``distance_m``, ``profile`` (heights, latitudes
        and longitudes of its points), ``from`` and ``to``, ``model``, ``loss_db`` (None with its ``error``), its
        ``terms`` (name, value, summand, meaning, source), ``warnings`` in words, ``effective_earth_radius_m``; of the
        model rays also ``paths`` and the ``buildings`` around them, in metres of the town's plane. Losses of pairs are
        those from the lower index to the higher. Raises BadInput where an end is not known."""
        _, text = self._ask("explain", i=int(i), j=int(j))
        try:
            explained = msgspec.json.decode(text, type=dict[str, Any])
        except UNREADABLE as error:
            raise CannotMeasure(
                f"its explanation cannot be read: {error}", where="radio engine", hint=_REPORT
            ) from None
        unknown = explained.pop("unknown")
        explained |= explained.pop("loss")
        return explained | ({"error": unknown, "loss_db": None} if unknown else {})

    def coverage(
        self,
        place: Place,
        receiver_height_m: float,
        rows: int,
        columns: int,
        bounds: tuple[float, float, float, float],
    ) -> NDArray[np.float32]:
        """Losses in dB from a place to the middles of the cells of a picture, from the north-west; NaN: not known.
        ``bounds``: south, west, north, east in degrees. Raises BadInput where the place is not known."""
        south, west, north, east = bounds
        _, picture = self._ask(
            "coverage",
            latitude_deg=place.latitude_deg,
            longitude_deg=place.longitude_deg,
            height_m=place.height_m,
            receiver_height_m=receiver_height_m,
            rows=int(rows),
            columns=int(columns),
            south_deg=south,
            west_deg=west,
            north_deg=north,
            east_deg=east,
        )
        return np.frombuffer(picture, np.float32).reshape(rows, columns)

    # ------------------------------------------------------------------------------------------------------ the process

    def close(self) -> None:
        """Ends the program. Once is enough; twice does no harm."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what was left to be written: nobody reads it
                pass
        if not self._whole:
            self._process.kill()  # it may be in the middle of a long answer
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._whole = False
        self._stderr.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, op: str, payload: bytes = b"", **fields: float) -> tuple[dict[str, Any], bytes]:
        """One request and its reply. After a reply that was not read to its end no other can be asked for."""
        if not self._whole:
            raise CannotMeasure("has ended, or was interrupted", where="radio engine", hint="start another")
        for name, value in fields.items():
            if not np.isfinite(value):
                raise BadInput(f"{name} = {value}", where="radio engine", hint="give a finite number")
        line = msgspec.json.encode({"op": op, **fields, "bytes": len(payload)}) + b"\n"
        self._whole = False
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + payload)
            self._process.stdin.flush()
        except OSError:
            raise self._died() from None
        return self._reply()

    def _reply(self) -> tuple[dict[str, Any], bytes]:
        self._whole = False
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._died()
        try:
            fields = msgspec.json.decode(line)
            size = int(fields["bytes"])
        except (*UNREADABLE, TypeError, KeyError):
            text = plain(line[:80].decode(errors="replace"))
            raise CannotMeasure(f"its reply cannot be read: {text!r}", where="radio engine", hint=_REPORT) from None
        found = self._process.stdout.read(size)
        if len(found) < size:
            raise self._died()
        self._whole = True
        if not fields.get("ok"):
            raise _refusal(str(fields.get("error")), int(fields.get("code", 0)))
        return fields, found

    def _died(self) -> ShakedownError:
        """What the program said at its end, as one error."""
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._stderr.seek(0)
        said = plain(self._stderr.read(4000).decode(errors="replace")).removeprefix("radio_engine: ").strip()
        if said and code > 0:
            return _refusal(said, code)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return CannotMeasure(f"{how}{': ' + said if said else ''}", where="radio engine", hint="start another")


_ALIKE = "give as many of each"
_REPORT = "this is a defect: report it"


def _in_memory(name: str, content: bytes | memoryview) -> int:
    """A file without a name in a folder, which the program inherits."""
    number = os.memfd_create(f"shakedown-{name}")
    with open(number, "wb", closefd=False) as file:
        file.write(content)
    return number


def _arguments(
    terrain: Terrain, setting: RadioSetting, precision: Precision, threads: int | None, files: list[int]
) -> list[str]:
    """The program's arguments; ``files``: the terrain and, where there is one, the town."""
    values: dict[str, object] = {
        "terrain": f"/proc/self/fd/{files[0]}",
        "town": f"/proc/self/fd/{files[1]}" if len(files) > 1 else None,
        "rows": terrain.rows,
        "columns": terrain.columns,
        "north-deg": float(terrain.north_deg),
        "west-deg": float(terrain.west_deg),
        "row-deg": float(terrain.step_latitude_deg),
        "column-deg": float(terrain.step_longitude_deg),
        "kind": terrain.heights.dtype.name,
        "scale-m": float(terrain.scale_m),
        "offset-m": float(terrain.offset_m),
        "precision": precision,
        "model": setting.model,
        "frequency-mhz": setting.frequency_mhz,
        "polarization": setting.polarization,
        "climate": setting.climate,
        "refractivity-n": setting.refractivity_n,
        "permittivity": setting.permittivity,
        "conductivity-s-per-m": setting.conductivity_s_per_m,
        "variability-mode": setting.variability_mode,
        "time-percent": setting.time_percent,
        "location-percent": setting.location_percent,
        "situation-percent": setting.situation_percent,
        "points": setting.points,
        "spacing-m": setting.spacing_m,
        "threads": threads,
        **{name.replace("_", "-"): value for name, value in setting.parameters.items()},
    }
    return [f"--{name}={value!r}".replace("'", "") for name, value in values.items() if value is not None]


def _places(*columns: ArrayLike) -> NDArray[np.float64]:
    """Latitudes, longitudes and heights as rows of one array."""
    try:
        rows: Sequence[NDArray[np.float64]] = [np.atleast_1d(np.asarray(one, np.float64)) for one in columns]
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"places are not numbers: {error}", where="radio engine", hint="give degrees and metres"
        ) from None
    if any(row.ndim != 1 or row.size != rows[0].size for row in rows):
        sizes = ", ".join(str(row.size) for row in rows)
        raise BadInput(f"{sizes} latitudes, longitudes and heights", where="radio engine", hint=_ALIKE)
    if rows[0].size > LAST_ID:
        raise BadInput(f"{rows[0].size} radios", where="radio engine", hint=f"at most {LAST_ID:,} have an id")
    return np.stack(rows)


def _pairs(fields: dict[str, Any], found: bytes) -> Pairs:
    count = int(fields["count"])
    i, j = (np.frombuffer(found, np.uint32, count, 4 * count * at) for at in (0, 1))
    return Pairs(i, j, np.frombuffer(found, np.float32, count, 8 * count))


def _refusal(said: str, code: int) -> ShakedownError:
    """The program's own error as one of ours, by its exit code."""
    what, _, hint = said.partition("\n  next: ")
    kind = BadInput if code == USAGE else CannotMeasure
    return kind(what, where="radio engine", hint=hint)
