"""The forwarder as a process: its words, how it is found again, and how a command enters a node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ... import programs
from ...hosts import process
from .hosts import Share
from .scenario import Scenario

PROGRAM = "radio_forwarder"


def channel_argv(scenario: Scenario) -> tuple[str, ...]:
    """The forwarder and what it is told of the channel. Raises Unavailable where it was not built."""
    channel = scenario.channel
    return (
        programs.path(PROGRAM), "--bandwidth-hz", repr(scenario.budget.bandwidth_hz),
        "--rate-bit-s", repr(channel.rate_bit_s), "--modulation", channel.modulation,
        "--coding-gain-db", repr(channel.coding_gain_db), "--snr-half-db", repr(channel.snr_half_db),
        "--slope-db", repr(channel.slope_db), "--overhead-us", repr(channel.overhead_us),
        "--delay-us", repr(channel.delay_us), "--queue", str(channel.queue), "--latest-ms", repr(channel.latest_ms),
    )  # fmt: skip


def argv(scenario: Scenario, directory: Path, share: Share, *, user: bool, threads: int) -> tuple[str, ...]:
    """The words that start the forwarder. Raises Unavailable where it was not built."""
    channel = scenario.channel
    words = [
        *channel_argv(scenario), "--directory", str(directory), "--nodes", str(scenario.nodes),
        "--mtu", str(scenario.mtu), "--threads", str(threads), "--seed", str(scenario.seed),
        "--first", str(share.first), "--last", str(share.last),
    ]  # fmt: skip
    if share.others:
        words += ["--own", share.own, "--others", ",".join(share.others)]
    flags = {
        "--no-serialise": not channel.serialise,
        "--collisions": channel.collisions,
        "--routed": scenario.routing != "none",
        "--user": user,
    }
    return (*words, *(flag for flag, wanted in flags.items() if wanted))


def find(directory: Path) -> tuple[int, ...]:
    """The forwarder's processes of this directory, as this host counts: the one that waits, and process 1 of its nodes,
    which comes last. Nothing is found by a file with a number in it, which may lie."""
    found = []
    for pid in process.pids():
        words = process.facts_of(pid, "cmdline").split(b"\0")
        if os.path.basename(words[0]) == PROGRAM.encode() and _directory(words) == os.fsencode(directory):
            found.append((process.innermost_id(pid) == 1, pid))
    return tuple(pid for _, pid in sorted(found))


def process_1(directory: Path) -> int:
    """Process 1 of the nodes; 0 where it does not run."""
    pids = find(directory)
    return pids[-1] if pids and process.innermost_id(pids[-1]) == 1 else 0


def enter(pid: int, space: int, command: Sequence[str], *, user: bool, folder: str) -> tuple[str, ...]:
    """The words that run a command among the nodes' processes, in the network that file ``space`` of process 1 holds."""
    kinds = ("--user", "--preserve-credentials") if user else ()
    network = f"--net=/proc/{pid}/fd/{space}"
    return (
        "nsenter",
        "--target",
        str(pid),
        *kinds,
        "--pid",
        "--mount",
        network,
        "--",
        "env",
        f"--chdir={folder}",
        *command,
    )


def _directory(words: Sequence[bytes]) -> bytes:
    return words[words.index(b"--directory") + 1] if b"--directory" in words[:-1] else b""
