"""Simulated targets of the sampler."""

from __future__ import annotations

import json
from pathlib import Path

from shakedown.metering.meters import Target, parse_target


def simulated(folder: Path, name: str = "load", **script: object) -> Target:
    """A target whose power rises from 100 to 300 W, with faults as told."""
    path = folder / f"{name}.json"
    channels = [{"id": f"simulated/{name}", "truth": {"refresh_s": 0.01, "window_s": 0.01}}]
    path.write_text(json.dumps({"load": {"t_s": [0, 0.3], "w": [100, 300]}, "channels": channels, **script}))
    return parse_target(f"simulated:{path}?interval=0.01")
