"""An emulated network of radios on this machine: each node a network namespace with a TAP, one native forwarder between.

    from shakedown.radio import emulate

    with emulate.up(emulate.read(Path("lab.toml")), Path("/tmp/lab")) as lab:
        lab.run("node1", ["ping", "-c1", "10.77.0.2"])

``scenario`` is what is asked for, ``links`` what the forwarder is told, ``control`` how; ``lab`` brings a network up and
down, ``updating`` moves its nodes. See docs/radio-emulation.md.
"""

from .lab import Lab, default_directory, down, open_, up
from .scenario import Scenario, read

__all__ = ["Lab", "Scenario", "default_directory", "down", "open_", "read", "up"]
