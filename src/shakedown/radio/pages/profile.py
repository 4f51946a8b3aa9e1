"""The profile of one link, drawn with the Earth's curvature: ground, line of sight, first Fresnel zone, horizons.

The ground is raised by what the curvature of the effective Earth hides, x (d - x) / (2 a), so that rays are straight lines:
a ray that leaves at an elevation e stands at h + x (e + d / (2 a)). The radius of the first Fresnel zone is
sqrt(wavelength x (d - x) / d) (ITU-R P.526, section 2); 0.6 of it free of the ground costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...document import axes
from ...document.model import Axis, Drawing
from ...document.palette import FONT, Spec, colour
from ...units import show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH, HIGH = 720, 340
#: Points that a curve is drawn with at most.
MOST_POINTS = 600
LIGHT_M_MHZ = 299.792458  # wavelength in m of 1 MHz


class Horizon(NamedTuple):
    """Of one end: elevation and distance."""

    elevation_rad: float
    distance_m: float


class Profile(NamedTuple):
    """One path; heights above sea level, antennas above ground."""

    step_m: float
    ground_m: Floats
    tx_m: float
    rx_m: float
    frequency_mhz: float
    earth_m: float  # the effective radius
    horizons: tuple[Horizon, Horizon] | None = None
    effective_m: tuple[float, float] | None = None
    names: tuple[str, str] = ("A", "B")

    @property
    def length_m(self) -> float:
        return self.step_m * (len(self.ground_m) - 1)

    def along(self) -> Floats:
        """Distances of the heights from the first end."""
        import numpy as np

        return np.arange(len(self.ground_m), dtype=np.float64) * self.step_m

    def bulge(self) -> Floats:
        """What the curvature adds to each height."""
        import numpy as np

        x = self.along()
        return np.asarray(x * (self.length_m - x) / (2 * self.earth_m))

    def sight(self) -> Floats:
        """The straight line between the antennas."""
        import numpy as np

        return np.linspace(self.ground_m[0] + self.tx_m, self.ground_m[-1] + self.rx_m, len(self.ground_m))

    def fresnel(self) -> Floats:
        """The radius of the first Fresnel zone."""
        import numpy as np

        x = self.along()
        return np.asarray(np.sqrt(LIGHT_M_MHZ / self.frequency_mhz * x * (self.length_m - x) / self.length_m))


class Clearance(NamedTuple):
    """Where the ground comes nearest to the line of sight, in first Fresnel radii; below 0 it stands above the line."""

    radii: float
    above_m: float  # the line above the ground
    at_m: float  # from the first end


def clearance(path: Profile) -> Clearance | None:
    """The least clearance; None where the path has no height between its ends."""
    import numpy as np

    if len(path.ground_m) < 3:
        return None
    gap = (path.sight() - path.ground_m - path.bulge())[1:-1]
    radii = gap / path.fresnel()[1:-1]
    at = int(np.argmin(radii))
    return Clearance(float(radii[at]), float(gap[at]), (at + 1) * path.step_m)


def in_words(path: Profile) -> str:
    """What the profile shows, as a sentence."""
    found = clearance(path)
    if found is None:
        return "The path has no height between its ends."
    where = f"{show(found.at_m, 'm')} from {path.names[0]}"
    if found.radii < 0:
        return f"The ground stands {show(-found.above_m, 'm')} above the line of sight, {where}."
    if found.radii < 0.6:
        return (
            f"The line of sight is free, and passes the ground by {show(found.above_m, 'm')}, {found.radii:.2g} of the "
            f"radius of the first Fresnel zone, {where}."
        )
    return f"At least {found.radii:.2g} of the first Fresnel zone's radius is free everywhere: {where} is nearest."


def drawing(path: Profile) -> Drawing:
    """The figure."""
    x, y, floor = _axes(path)
    layers = [*_fresnel(path, x, y), *_ground(path, x, y, floor), *_rays(path, x, y), *_ends(path, x, y)]
    keys = [
        ("ground, raised by the Earth's curvature", colour("grid"), "area"),
        ("line of sight", colour("series1"), "derived"),
        ("first Fresnel zone, and 0.6 of its radius", colour("series1"), "measured"),
    ]
    keys += [("rays to the horizons", colour("series2"), "derived")] if path.horizons else []
    keys += [("effective heights of the antennas", colour("series3"), "derived")] if path.effective_m else []
    times, raised = _exaggeration(path, y), path.bulge().max()
    return Drawing(
        title=f"Profile from {path.names[0]} to {path.names[1]}",
        caption=f"Heights above sea level, drawn {times:.3g} times as high as long; the effective radius of the Earth is "
        f"{path.earth_m / 1000:,.0f} km, which raises the middle by {raised:.3g} m.",
        summary=in_words(path),
        layout={"layer": layers, "width": WIDTH, "height": HIGH},
        keys=tuple(keys),
    )


# --------------------------------------------------------------------------------------------------------------- layers


def _axes(path: Profile) -> tuple[Spec, Spec, float]:
    """The channels of distance and height, and where the ground's area ends below."""
    km = path.length_m / 1000
    unit, length = ("km", km) if km >= 1 else ("m", path.length_m)
    step = axes.step_of(length / 7)
    ticks = {index * step: f"{index * step:g}" for index in range(int(length / step + 1e-9) + 1)}
    x = axes.x_of(Axis(title=f"distance, {unit}", labels=ticks, low=0.0, high=length))
    sight, zone = path.sight(), path.fresnel()
    low = float(min(path.ground_m.min(), (sight - zone).min()))
    high = float(max((path.ground_m + path.bulge()).max(), (sight + zone).max()))
    margin = 0.06 * (high - low) or 1.0
    step = axes.step_of((high - low + 2 * margin) / 5)
    low, high = low - margin, high + margin
    at = int(-(-low // step))
    marks = {}
    while at * step <= high:
        marks[at * step] = f"{at * step:g}"
        at += 1
    y = axes.y_of(axes.Scale(1.0, "m", low, high, marks, False), "height, m")
    return x, y, low


def _exaggeration(path: Profile, y: Spec) -> float:
    low, high = y["scale"]["domain"]
    return float((HIGH - 50) / (high - low) / ((WIDTH - 60) / path.length_m))


def _scale(path: Profile) -> float:
    """Metres of a unit of the axis of distance."""
    return 1000.0 if path.length_m >= 1000 else 1.0


def _picked(path: Profile) -> list[int]:
    """The heights that are drawn: all, or both ends and the highest of each group."""
    import numpy as np

    count = len(path.ground_m)
    if count <= MOST_POINTS:
        return list(range(count))
    size = -(-count // MOST_POINTS)
    highest = [int(begin + np.argmax(path.ground_m[begin : begin + size])) for begin in range(0, count, size)]
    return sorted({0, *highest, count - 1})


def _ground(path: Profile, x: Spec, y: Spec, floor: float) -> list[Spec]:
    raised, along = path.ground_m + path.bulge(), path.along() / _scale(path)
    rows = [{"x": float(along[at]), "y": float(raised[at]), "z": floor} for at in _picked(path)]
    area = {
        "type": "area",
        "color": colour("grid"),
        "opacity": 1,
        "line": {"color": colour("muted"), "strokeWidth": 1.2},
    }
    return [
        {
            "data": {"values": rows},
            "mark": {**area, "aria": False},
            "encoding": {"x": x, "y": y, "y2": {"field": "z"}},
        },
        {
            "data": {
                "values": [
                    {**row, "d": f"{show(row['x'] * _scale(path), 'm')}: ground {path.ground_m[at]:.1f} m"}
                    for row, at in list(zip(rows, _picked(path), strict=True))[:: max(1, len(rows) // 150)]
                ]
            },
            "mark": {"type": "point", "opacity": 0, "size": 20},
            "encoding": {"x": x, "y": y, "description": {"field": "d"}},
        },
    ]


def _fresnel(path: Profile, x: Spec, y: Spec) -> list[Spec]:
    sight, zone, along = path.sight(), path.fresnel(), path.along() / _scale(path)
    picked = _picked(path)
    band = [
        {"x": float(along[at]), "y": float(sight[at] - zone[at]), "z": float(sight[at] + zone[at])} for at in picked
    ]
    hue = colour("series1")
    layers: list[Spec] = [
        {
            "data": {"values": band},
            "mark": {"type": "area", "color": hue, "opacity": 0.13, "aria": False},
            "encoding": {"x": x, "y": y, "y2": {"field": "z"}},
        }
    ]
    for share, dash, width in ((-1.0, [1, 0], 0.6), (1.0, [1, 0], 0.6), (-0.6, [5, 3], 1.0), (0.6, [5, 3], 1.0)):
        rows = [{"x": float(along[at]), "y": float(sight[at] + share * zone[at])} for at in picked]
        mark = {"type": "line", "color": hue, "strokeWidth": width, "strokeDash": dash, "aria": False}
        layers.append({"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y}})
    return layers


def _rule(x: Spec, y: Spec, begin: tuple[float, float], end: tuple[float, float], **mark: Any) -> Spec:
    says = mark.pop("says")
    row = {"x": begin[0], "y": begin[1], "x2": end[0], "y2": end[1], "d": says}
    channels = {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}, "description": {"field": "d"}}
    return {"data": {"values": [row]}, "mark": {"type": "rule", "clip": True, **mark}, "encoding": channels}


def _rays(path: Profile, x: Spec, y: Spec) -> list[Spec]:
    """The line of sight, and the rays from each antenna to its horizon."""
    unit, length = _scale(path), path.length_m
    ends = (path.ground_m[0] + path.tx_m, path.ground_m[-1] + path.rx_m)
    hue = colour("series1")
    says = f"line of sight, {show(length, 'm')}"
    layers = [_rule(x, y, (0.0, ends[0]), (length / unit, ends[1]), color=hue, strokeWidth=1.6, says=says)]
    for number, horizon in enumerate(path.horizons or ()):
        run_m = min(horizon.distance_m, length)
        top = ends[number] + run_m * (horizon.elevation_rad + length / (2 * path.earth_m))
        begin, end = (0.0, run_m) if number == 0 else (length, length - run_m)
        says = (
            f"horizon of {path.names[number]}: {show(horizon.distance_m, 'm')} away, elevation "
            f"{1000 * horizon.elevation_rad:.3g} mrad"
        )
        look = {"color": colour("series2"), "strokeWidth": 1.6, "says": says}
        layers.append(_rule(x, y, (begin / unit, ends[number]), (end / unit, top), **look))
    return layers


def _ends(path: Profile, x: Spec, y: Spec) -> list[Spec]:
    """The antennas with their names, and their effective heights beside them."""
    unit, length = _scale(path), path.length_m
    layers: list[Spec] = []
    for number, (ground, above) in enumerate(((path.ground_m[0], path.tx_m), (path.ground_m[-1], path.rx_m))):
        at, top = number * length / unit, float(ground + above)
        says = f"{path.names[number]}: {above:g} m above ground, which is {ground:.1f} m high"
        layers.append(_rule(x, y, (at, float(ground)), (at, top), color=colour("ink"), strokeWidth=2.4, says=says))
        if path.effective_m:
            inside = at + (1 - 2 * number) * 0.012 * length / unit
            foot = top - path.effective_m[number]
            says = f"effective height of {path.names[number]}: {path.effective_m[number]:.1f} m"
            layers.append(_rule(x, y, (inside, foot), (inside, top), color=colour("series3"), strokeWidth=3, says=says))
        mark = {"type": "text", "text": path.names[number], "align": "right" if number else "left", "dy": -10}
        mark |= {"dx": -4 if number else 4, "fontSize": 12, "fontWeight": "bold", "font": FONT, "color": colour("ink")}
        place = {"x": x, "y": y}
        layers.append({"data": {"values": [{"x": at, "y": top}]}, "mark": {**mark, "aria": False}, "encoding": place})
        point = {"type": "point", "filled": True, "size": 40, "opacity": 1, "color": colour("ink"), "aria": False}
        layers.append({"data": {"values": [{"x": at, "y": top}]}, "mark": point, "encoding": place})
    return layers
