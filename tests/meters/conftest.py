"""The moving load that all servers of these tests share, and the servers that take long to start."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from . import servers
from .servers import Device, Drive, Truth, square


class Shared(NamedTuple):
    """One load, a power meter of 1 W steps every 0.05 s over 0.3 s, and an energy counter of the same refresh."""

    drive: Drive
    power: Device
    energy: Device


@pytest.fixture(scope="session")
def shared() -> Iterator[Shared]:
    with Drive(square(200.0, 400.0, 1.4, 300.0), seconds=300.0) as drive:
        power = drive.device(Truth(refresh_s=0.05, window_s=0.3, resolution=1.0, noise=2.0), seed=1)
        yield Shared(drive, power, drive.device(Truth(refresh_s=0.05, resolution=0.36), "energy"))


@pytest.fixture(scope="session", autouse=True)
def _starting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """Prometheus takes five seconds before it scrapes: it starts first, while other tests run."""
    with contextlib.ExitStack() as stack:
        started: list[Any] = []
        wanted = any("watched" in getattr(item, "fixturenames", ()) for item in request.session.items)
        if wanted and shutil.which("prometheus"):
            shared: Shared = request.getfixturevalue("shared")
            folder = tmp_path_factory.mktemp("prometheus")
            started.append(stack.enter_context(servers.prometheus(folder, shared.power, shared.energy)))
        yield started


@pytest.fixture(scope="session")
def watched(_starting: list[Any]) -> servers.Prometheus:
    """A Prometheus that scrapes."""
    if not _starting:
        pytest.skip("needs prometheus: apt-get install prometheus")
    found: servers.Prometheus = _starting[0].wait()
    return found
