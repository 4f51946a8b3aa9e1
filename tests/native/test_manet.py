"""The program manet on real namespaces: its cases, and that its checks can fail."""

from __future__ import annotations

import subprocess
from typing import Any

import msgspec
import pytest

from shakedown import programs

pytestmark = pytest.mark.needs("root")


def ran(*words: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    argv = [programs.path("manet"), *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    events = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
    return done, [one for one in events if one["event"] == "case"]


def test_frames_arrive_and_losses_are_those_of_their_links() -> None:
    done, cases = ran(
        "--radios", "22", "--frames", "3000", "--samples", "2", "--delay-frames", "50", "--loss-frames", "200"
    )
    assert done.returncode == 0, done.stderr
    by_kernel = {one["kernel"]: one for one in cases}
    assert list(by_kernel) == ["up", "rate", "delay", "loss", "down"]
    assert by_kernel["rate"]["residual"]["value"] == 0 and len(by_kernel["rate"]["seconds"]) == 2
    assert len(by_kernel["delay"]["seconds"]) == 50 and min(by_kernel["delay"]["seconds"]) > 0
    loss = by_kernel["loss"]
    assert loss["work"]["links"] == 22 * 20 and loss["work"]["uncounted"] == 0
    assert 0 <= loss["residual"]["value"] <= loss["residual"]["limit"] < 30


def test_losses_that_are_not_those_of_their_links_fail() -> None:
    done, cases = ran("--radios", "22", "--kernels", "loss", "--loss-frames", "400", "--shift-db", "1.5")
    assert done.returncode == 1 and "checks failed" in done.stderr
    (loss,) = [one for one in cases if one["kernel"] == "loss"]
    assert loss["residual"]["value"] > loss["residual"]["limit"]


def test_the_same_seed_loses_the_same() -> None:
    words = ("--radios", "5", "--kernels", "loss", "--loss-frames", "100")
    least = [ran(*words, "--threads", threads)[1][1]["work"]["least_tail"] for threads in ("1", "2")]
    other = ran(*words, "--seed", "2")[1][1]["work"]["least_tail"]
    assert least[0] == least[1] != other


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--radios", "1"), "--radios '1'"),
        (("--radios", "65535"), "at most 65534"),
        (("--kernels", "rate,noise"), "'noise' is none"),
        (("--bytes", "10"), "--bytes '10'"),
        (("--radio", "10"), "did you mean --radios?"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], said: str) -> None:
    done, cases = ran(*words)
    assert done.returncode == 2 and said in done.stderr and not cases
