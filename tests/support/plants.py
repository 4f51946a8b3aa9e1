"""Plants of sensors whose every value a test chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shakedown.energy.facility import plant, ratios
from shakedown.energy.facility.ratios import Indicator, Window

BEGIN = 1_700_000_000
DAY = 86400


SENSOR = '[[sensor]]\nname = "{name}"\nfile = "all.csv"\ncolumn = "{name}"\nunit = "{unit}"\n{more}\n'


def sensors(**kinds: str) -> str:
    """``name="W; accuracy = {...}"``: the unit, and what else there is to say."""
    blocks = []
    for name, text in kinds.items():
        unit, _, more = text.partition(";")
        blocks.append(SENSOR.format(name=name, unit=unit.strip(), more=more.strip().replace("; ", "\n")))
    return "".join(blocks)


def data(folder: Path, text: str, columns: dict[str, Any], *, step_s: float = 60.0, title: str = "t") -> ratios.Data:
    """A plant with one file of readings, evenly spaced."""
    count = max(len(values) for values in columns.values())
    rows = {"time": [f"{BEGIN + step_s * at:.3f}" for at in range(count)]}
    rows |= {name: ["" if v is None or v != v else repr(float(v)) for v in values] for name, values in columns.items()}
    lines = [",".join(rows), *(",".join(cells) for cells in zip(*rows.values(), strict=True))]
    (folder / "all.csv").write_text("\n".join(lines) + "\n")
    return ratios.Data.of(plant.parse(f'title = "{title}"\n{text}', "plant.toml", folder))


def whole(one: ratios.Data) -> Window:
    return ratios.evaluate(one, one.begin_ns, one.end_ns)


def indicator(window: Window, name: str) -> Indicator:
    return next(one for one in window.indicators if one.name == name)


def value(window: Window, name: str) -> float:
    found = indicator(window, name).quantity.value
    assert found is not None
    return found


LOOP = '[[loop]]\nname = "q"\nflow = "v"\nwarm = "a"\ncool = "b"\nflow_at = "cool"\n'
AREA = '[[area]]\nname = "z"\nit = ["it"]\ninfrastructure = ["cooling"]\n'
ACCURATE = "accuracy = { reading = '1 %', kind = 'sigma' }"
