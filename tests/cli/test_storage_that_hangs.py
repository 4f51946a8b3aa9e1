"""A run on storage that never answers: it ends by its limit, though its process cannot be killed, and the rest goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: A FUSE file system that greets, takes every request and answers none; then a campaign beside it.
BESIDE = r"""
import ctypes, json, os, signal, struct, subprocess, sys

target, campaign, results = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
descriptor = os.open("/dev/fuse", os.O_RDWR)
data = f"fd={descriptor},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"hung", target.encode(), b"fuse", 0, data):
    print(json.dumps({"why": f"mount: {os.strerror(ctypes.get_errno())}"}))
    sys.exit(0)
server = os.fork()
if server == 0:
    os.setsid()
    while True:
        length, operation, unique = struct.unpack_from("IIQ", os.read(descriptor, 1 << 17))
        if operation == 26:  # FUSE_INIT
            body = struct.pack("IIIIHHIIHH8I", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, *[0] * 8)
            os.write(descriptor, struct.pack("IiQ", 16 + len(body), 0, unique) + body)
os.close(descriptor)
words = [sys.executable, "-m", "shakedown", "run", campaign, "--no-report", "--directory", results]
try:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    print(json.dumps({"code": done.returncode, "err": done.stderr}))
finally:
    os.kill(server, signal.SIGKILL)
    libc.umount2(target.encode(), 2)  # MNT_DETACH
"""
CAMPAIGN = """
name = "hung"
title = "Storage that hangs, and what is beside it"

[[run]]
workload = "storage"
params = {{ directory = "{place}", kernels = "write" }}
limit = "10 s"

[[run]]
workload = "empty"
"""


@pytest.mark.system
@pytest.mark.needs("root", "unshare")
def test_a_process_that_storage_holds_is_left_and_said_and_the_rest_is_measured(tmp_path: Path) -> None:
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs /dev/fuse: modprobe fuse")
    place, file, results = tmp_path / "hung", tmp_path / "hung.toml", tmp_path / "runs" / "results"
    place.mkdir()
    results.parent.mkdir()
    file.write_text(CAMPAIGN.format(place=place))
    words = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", BESIDE, place, file, results]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=True)
    printed: dict[str, Any] = json.loads(done.stdout)
    if "why" in printed:
        pytest.skip(f"no FUSE file system can be mounted here: {printed['why']}")
    assert printed["code"] == 3, printed["err"]
    records = [json.loads(one.read_text()) for one in results.rglob("measurement.json")]
    found = {record["workload"]: record for record in records}
    assert found["storage"]["state"] == "timeout" and "limit of 10 s" in found["storage"]["reason"]
    (notice,) = (one for one in found["storage"]["notices"] if one["code"] == "process-stuck")
    assert "cannot be ended" in notice["text"] and "dmesg" in notice["advice"]
    assert found["empty"]["state"] == "ok"
    assert printed["err"].count("limit of 10 s") == 1, printed["err"]
