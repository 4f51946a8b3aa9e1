"""An install from the wheelhouse with the network cut, and a run from it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.needs("unshare", "root")
def test_an_install_without_a_network_measures(tmp_path: Path) -> None:
    made = subprocess.run([ROOT / "scripts" / "wheelhouse"], capture_output=True, text=True, check=False)
    if made.returncode and "Temporary failure in name resolution" in made.stdout + made.stderr:
        pytest.skip("a wheelhouse is gathered over the network, and there is none: run make test where there is one")
    assert made.returncode == 0, made.stdout + made.stderr
    (tmp_path / "mine.toml").write_text('name = "m"\ntitle = "M"\n[[run]]\nworkload = "probe"\n')
    script = f"""
    set -e
    ip link set lo up 2>/dev/null || true
    ! python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 1)' 2>/dev/null
    {ROOT}/wheelhouse/install {tmp_path}/target
    cd {tmp_path}
    target/bin/shakedown run mine.toml --directory run
    """
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "VIRTUAL_ENV", "PYTHON"))}
    env["PIP_NO_COMPILE"] = "1"  # of 5,000 modules a run imports a tenth
    done = subprocess.run(
        ["unshare", "--net", "bash", "-c", script], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
