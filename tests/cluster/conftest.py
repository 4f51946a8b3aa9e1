"""The rehearsal cluster for tests: brought up once by each worker, made whole again after each test that used it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown import rehearsal_cluster
from shakedown.errors import Unavailable
from shakedown.rehearsal_cluster import namespaces

#: A third less than the default: half of the group waits for a node or an engine to count as lost.
SILENCE_S = 10


def _up(**asked: object) -> Iterator[rehearsal_cluster.RehearsalCluster]:
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))  # short: Unix sockets lie below it
    parent.chmod(0o755)
    try:
        try:
            lab = rehearsal_cluster.up(parent / "lab", silence_s=SILENCE_S, **asked)
        except Unavailable as error:
            pytest.skip(f"no rehearsal cluster here: {error}")
        try:
            yield lab
        finally:
            lab.down()
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm_lab() -> Iterator[rehearsal_cluster.RehearsalCluster]:
    """One Slurm cluster of four nodes for the whole session, with ssh between them where this machine has a server;
    ``lab`` is the same one, made whole after each test."""
    yield from _up(nodes=4, ssh=os.geteuid() == 0 and shutil.which("sshd", path=namespaces.search_path()) is not None)


@pytest.fixture
def lab(slurm_lab: rehearsal_cluster.RehearsalCluster) -> Iterator[rehearsal_cluster.RehearsalCluster]:
    """A Slurm cluster of four nodes with accounting: all nodes idle, no jobs. Break what you like."""
    yield slurm_lab
    slurm_lab.restore()


@pytest.fixture(scope="session")
def gridengine_session() -> Iterator[rehearsal_cluster.RehearsalCluster]:
    yield from _up(nodes=4, engines=("gridengine",))


@pytest.fixture
def gridengine_lab(
    gridengine_session: rehearsal_cluster.RehearsalCluster,
) -> Iterator[rehearsal_cluster.RehearsalCluster]:
    """A Grid Engine cluster of four nodes: no jobs, all queues enabled. Break what you like."""
    yield gridengine_session
    gridengine_session.restore()
