"""The script that Slurm's HealthCheckProgram calls: slurmd gives it no environment but SLURMD_NODENAME and PWD.

It is run as root on every node. So it names its interpreter by its full path, takes nothing from the caller's environment,
and is not made where others could change what it starts.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from ...errors import BadInput

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def script(words: Sequence[str], slurm_conf: str = "", python: str = "", package: str = "") -> str:
    """The text. ``words`` go to the check; ``python`` and ``package`` are by default those that run now.

    Raises BadInput where others may write to the interpreter or the package.
    """
    python = python or sys.executable
    package = package or str(Path(__file__).parents[3])
    for path in (python, package):
        if why := writable(path):
            raise BadInput(
                f"{why}: others may change what root would run",
                where=path,
                hint="install Shakedown where only root may write",
            )
    lines = [
        "#!/bin/sh",
        "# Made by `shakedown health wrapper`: for HealthCheckProgram in slurm.conf.",
        f"PATH={_PATH}",
        "export PATH",
    ]
    if slurm_conf:
        lines += [f"SLURM_CONF={shlex.quote(slurm_conf)}", "export SLURM_CONF"]
    start = (
        f"import sys; sys.path.insert(0, {package!r}); "
        "from shakedown.operate.health.__main__ import main; sys.exit(main())"
    )
    command = " ".join(map(shlex.quote, (python, "-I", "-c", start, *words)))
    # slurmd takes an exit code for no more than a line in its log, and its output as well: the reason is on the node.
    lines += [f'exec {command} --node "$SLURMD_NODENAME" </dev/null', ""]
    return "\n".join(lines)


def writable(path: str) -> str:
    """Why somebody else than root and we may change what lies at a path; empty where nobody may. A folder with the sticky
    bit (/tmp) protects what lies in it, but not the name of a folder that does not yet exist."""
    at = Path(os.path.realpath(path))
    for one in (at, *at.parents):
        try:
            found = one.stat()
        except OSError as error:
            return f"{one} cannot be looked at: {error.strerror}"
        if found.st_uid not in (0, os.geteuid()):
            return f"{one} belongs to user {found.st_uid}"
        sticky = bool(found.st_mode & stat.S_ISVTX) and stat.S_ISDIR(found.st_mode)
        if stat.S_IMODE(found.st_mode) & 0o022 and not sticky:
            return f"{one} may be written to by group or others"
    return ""
