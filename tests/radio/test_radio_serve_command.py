"""`shakedown radio serve` as a user starts it, with the real engine: its report, its ends, its refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shakedown.radio.wire import eel, lines, traces
from support import natives
from support.command import called, shakedown

SMALL = ("--side-km", "6", "--points", "50", "--threads", "1")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """12 radios, three of which move in each of ten intervals; one leaves the map, and comes back."""
    rng = np.random.Generator(np.random.PCG64(2))
    rows = [lines.Position(at + 1, 47.005 + at * 0.003, 11.01, height_m=2.0, time_s=0.0) for at in range(12)]
    for number in range(1, 11):
        for radio in (1, 2):
            latitude, longitude = (np.array([47.01, 11.01]) + rng.random(2) * 0.03).tolist()
            rows.append(lines.Position(radio, latitude, longitude, time_s=number * 0.5))
        away = 80.0 if number < 10 else 47.02
        rows.append(lines.Position(3, away, 11.02, height_m=float(number), time_s=number * 0.5))
    path = tmp_path / "trace.jsonl"
    traces.write(path, rows)
    return path


def test_a_trace_as_fast_as_it_goes_makes_a_scenario_and_a_report(trace: Path, tmp_path: Path) -> None:
    natives.path("radio_engine")
    scenario = tmp_path / "losses.eel"
    words = ("radio", "serve", *SMALL, "--from", f"trace:{trace}", "--to", f"eel:{scenario}", "--speed", "0")
    done = shakedown(*words, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["updates"], report["skipped"], report["radios"]) == (11, 0, 12)
    assert report["ended"] == "the end of its input" and report["radios_not_known"] == {}
    assert report["ceased"] > 0 and report["links"] > 0
    told: dict[tuple[int, int], float] = {}
    for batch in eel.batches(scenario.read_text(), "losses.eel"):
        told |= {(to, loss.transmitter): loss.forward_db for to, each in batch.losses.items() for loss in each.values()}
    assert sum(loss < 140 for loss in told.values()) == pytest.approx(2 * report["links"], abs=24)
    assert all(told[one, other] == told[other, one] for one, other in told)
    again = shakedown(*words)
    assert again.returncode == 2 and "there already" in again.stderr and "next: " in again.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_its_report(trace: Path, number: signal.Signals) -> None:
    natives.path("radio_engine")
    words = [sys.executable, "-m", "shakedown", "radio", "serve", *SMALL, "--from", f"trace:{trace}",
             "--from", "json:-", "--to", "json:127.0.0.1:0", "--gather", "0", "--json"]  # fmt: skip
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdin is not None and child.stderr is not None
        assert "losses as lines of JSON at 127.0.0.1:" in child.stderr.readline()
        child.stdin.write('{"id": 40, "latitude_deg": 47.01, "longitude_deg": 11.03}\nnonsense\n')
        child.stdin.flush()
        child.send_signal(number)
        out, err = child.communicate(timeout=300)
    assert child.returncode in (0, 3), err  # 3: it was ended before its first update
    report = json.loads(out)
    assert report["ended"] == "a signal" and "Traceback" not in err


def test_positions_from_a_pipe_end_with_it(tmp_path: Path) -> None:
    natives.path("radio_engine")
    places = [lines.Position(at, 47.01 + at / 1000, 11.02, altitude_m=1e4 * (at == 3)) for at in (1, 2, 3)]
    words = [sys.executable, "-m", "shakedown", "radio", "serve", *SMALL, "--from", "json:-", "--gather", "0"]
    text = b"".join(map(lines.write_position, places)) + b'{"id": 70000, "latitude_deg": 0, "longitude_deg": 0}\n'
    done = subprocess.run(words, input=text, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    out = done.stdout.decode()
    assert "ended by the end of its input" in out and "JSON: an id that is not from 1 to 65534" in out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--from", "smoke"), "'smoke' is not understood"),
        (("--from", "trace:x.csv", "--to", "smoke"), "'smoke' is not understood"),
        (("--from", "json:-", "--every", "0"), "--every = 0"),
        (("--from", "json:-", "--above-db", "nan"), "--above-db = nan"),
        (("--from", "json:-", "--most-radios", "65535"), "--most-radios = 65535"),
        (("--from", "json:-", "--datagram-bytes", "65508"), "--datagram-bytes = 65508"),
        (("--from", "json:-", "--altitudes", "see"), "did you mean 'sea'"),
        ((), "--from"),
    ],
)
def test_words_that_are_wrong_are_refused_before_anything_starts(words: tuple[str, ...], what: str) -> None:
    done = called("radio", "serve", *words)
    assert done.returncode == 2 and what in done.stderr


def test_no_update_is_no_success() -> None:
    natives.path("radio_engine")
    words = [sys.executable, "-m", "shakedown", "radio", "serve", *SMALL, "--from", "json:-", "--gather", "0"]
    done = subprocess.run(words, input=b"{}\n", capture_output=True, timeout=300, check=False, text=False)
    assert done.returncode == 3 and b"positions of two radios are needed" in done.stderr
