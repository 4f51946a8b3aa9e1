"""The rehearsal cluster for tests: brought up once, made whole again after each test that used it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown import cluster
from shakedown.cluster import namespaces
from shakedown.errors import Unavailable


def _up(**asked: object) -> Iterator[cluster.Lab]:
    parent = Path(tempfile.mkdtemp(prefix="sd-", dir="/tmp"))  # short: Unix sockets lie below it
    parent.chmod(0o755)
    try:
        try:
            lab = cluster.up(parent / "lab", **asked)
        except Unavailable as error:
            pytest.skip(f"no rehearsal cluster here: {error}")
        try:
            yield lab
        finally:
            lab.down()
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture(scope="session")
def slurm_lab() -> Iterator[cluster.Lab]:
    """One Slurm cluster of four nodes for the whole session, with ssh between them where this machine has a server;
    ``lab`` is the same one, made whole after each test."""
    yield from _up(nodes=4, ssh=os.geteuid() == 0 and shutil.which("sshd", path=namespaces.search_path()) is not None)


@pytest.fixture
def lab(slurm_lab: cluster.Lab) -> Iterator[cluster.Lab]:
    """A Slurm cluster of four nodes with accounting: all nodes idle, no jobs. Break what you like."""
    yield slurm_lab
    slurm_lab.restore()


@pytest.fixture(scope="session")
def gridengine_session() -> Iterator[cluster.Lab]:
    yield from _up(nodes=4, engines=("gridengine",))


@pytest.fixture
def gridengine_lab(gridengine_session: cluster.Lab) -> Iterator[cluster.Lab]:
    """A Grid Engine cluster of four nodes: no jobs, all queues enabled. Break what you like."""
    yield gridengine_session
    gridengine_session.restore()
