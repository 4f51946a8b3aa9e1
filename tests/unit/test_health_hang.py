"""A mount that hangs: a real FUSE file system that takes requests and never answers, in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# It mounts, answers the first greeting and nothing after it; makes three calls beside it, the third once it is gone.
BESIDE = r"""
import ctypes, json, os, signal, struct, subprocess, sys, time

target, state = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
descriptor = os.open("/dev/fuse", os.O_RDWR)
data = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"hung", target.encode(), b"fuse", 0, data):
    print(json.dumps({"why": f"mount: {os.strerror(ctypes.get_errno())}"}))
    sys.exit(0)
server = os.fork()
if server == 0:
    while True:
        length, operation, unique = struct.unpack_from("IIQ", os.read(descriptor, 1 << 17))
        if operation == 26:  # FUSE_INIT
            body = struct.pack("IIIIHHIIHH8I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
            os.write(descriptor, struct.pack("IiQ", 16 + len(body), 0, unique) + body)
os.close(descriptor)

def call():
    words = [sys.executable, "-m", "shakedown.operate.health", "--state", state, "--plan", "none", "--json", "--limit", "6"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, timeout=300).stdout)

told = [call(), call()]
os.kill(server, signal.SIGKILL)
os.waitpid(server, 0)
libc.umount2(target.encode(), 2)  # MNT_DETACH
for _ in range(15000):  # the stuck child ends once its request is aborted
    if not os.path.exists(f"/proc/{told[0]['stuck'][0]['pid']}"):
        break
    time.sleep(0.02)
print(json.dumps({"told": [*told, call()]}))
"""


@pytest.mark.system
@pytest.mark.needs("root", "unshare")
def test_a_mount_that_hangs_is_named_left_and_not_asked_again(tmp_path: Path) -> None:
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs /dev/fuse: modprobe fuse")
    mount, state = tmp_path / "hung", tmp_path / "state"
    mount.mkdir()
    state.mkdir(mode=0o755)
    words = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", BESIDE, str(mount), str(state)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    if "why" in printed:
        pytest.skip(f"no FUSE file system can be mounted here: {printed['why']}")
    first, second, third = printed["told"]
    for report in (first, second):
        (one,) = (found for found in report["findings"] if found.get("item") == str(mount))
        assert one["severity"] == "CRITICAL" and f"statvfs {mount}" in one["what"] and "cannot be killed" in one["what"]
        assert one["action"] and report["severity"] == "CRITICAL"
        others = {found["check"] for found in report["findings"]}
        assert {"cpu", "memory", "kernellog", "load", "uptime"} <= others  # all the rest still answers
        assert ("mounts", "/") in {(found["check"], found.get("item")) for found in report["findings"]}
    (left,) = first["stuck"]
    assert second["stuck"] == [left], "a second child was begun on the mount that hangs"
    assert third.get("stuck", []) == [] and str(mount) not in {found.get("item") for found in third["findings"]}


@pytest.mark.system
@pytest.mark.needs("root", "setpriv")
def test_a_log_that_may_not_be_read_is_unknown() -> None:
    """Without its capabilities root may not read the kernel's log where dmesg_restrict is set."""
    if Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "1":
        pytest.skip("anybody may read the kernel's log here (kernel.dmesg_restrict = 0)")
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "shakedown.operate.health"]
    done = subprocess.run(
        [*words, "kernellog", "--state", "none", "--json"], capture_output=True, text=True, check=False
    )
    (one,) = json.loads(done.stdout)["findings"]
    if one.get("severity", "OK") == "OK":
        pytest.skip("the journal of this machine may be read instead")
    assert done.returncode == 3 and one["severity"] == "UNKNOWN" and "Operation not permitted" in one["what"]
