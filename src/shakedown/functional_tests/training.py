"""A language model trained in JAX: the ranks are started, and what they leave is judged and printed as events.

The Python that has JAX may be another one than ours: it is given the folder ``language_model/`` alone. On one host the
ranks are started from here; over several the launcher of the site's MPI starts them, of which no rank knows anything else.
A rank that fails ends all.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .. import launchers, schedulers
from ..errors import CannotMeasure, ShakedownError, Unavailable
from ..hosts import hostlist
from ..hosts.access import LocalHost
from ..machine import mpi as flavours
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Host, Residual, Value
from ..workloads.training import HEAD, TABLE, flop_of_step, parameters
from . import _modules, _work
from .language_model.rank import NO_GPU
from .mpi_bindings import Site, chosen, read_host, started

_FOLDER = Path(__file__).with_name("language_model")
#: The folder as a package by itself, without any path of ours: argv is the folder of the job.
_START = """
import importlib.util as u, pathlib, sys
place = sys.argv[1]
spec = u.spec_from_file_location("language_model", place + "/__init__.py", submodule_search_locations=[place])
sys.modules["language_model"] = made = u.module_from_spec(spec)
spec.loader.exec_module(made)
from language_model import rank
sys.exit(rank.main(pathlib.Path(sys.argv[2])))
"""
_LIMIT_S = 30 * 86400.0
_TRIES = 100
#: The largest relative difference from the steps in float64: of a loss, of the change of a group of parameters. Ten times
#: what was seen over smoke and small, seeds 1 to 4, 1, 2, 4 and 8 ranks: docs/applications.md.
LIMITS = {"float32": (4e-6, 5e-5), "bfloat16": (6e-4, 0.1)}


class Complaint(NamedTuple):
    """What a line of a rank that failed means."""

    pattern: str
    error: type[ShakedownError]
    what: str
    hint: str


COMPLAINTS = (
    Complaint(
        r"No module named '(jax|jaxlib|numpy)",
        Unavailable,
        "this Python has no {1}: {python}",
        "pip install jax (on NVIDIA's GPUs: pip install 'jax[cuda13]'), or name the Python that has it (program=PATH)",
    ),
    Complaint(
        rf"(?:Unable to initialize backend|Unknown backend|no supported devices found|{NO_GPU})[^\n]*",
        Unavailable,
        "JAX has no such device here: {0}",
        "device=cpu, or a JAX with the plugin of the GPUs: pip install 'jax[cuda13]'",
    ),
    Complaint(
        r"RESOURCE_EXHAUSTED[^\n]*|MemoryError|std::bad_alloc|[Oo]ut of memory[^\n]*",
        CannotMeasure,
        "the model and its batch need more memory than there is: {0}",
        "take a smaller size or batch, or more hosts",
    ),
    Complaint(
        r"(?:[Aa]ddress already in use|Failed to (?:bind|add port))[^\n]*",
        CannotMeasure,
        "the port at which the ranks meet was taken in the meantime: {0}",
        "run it again: each run takes a free one",
    ),
    Complaint(
        r"Unrecognized config option[^\n]*|module 'jax[^\n]* has no attribute[^\n]*",
        Unavailable,
        "this JAX is too old: {0}",
        "pip install --upgrade jax: 0.6 or newer",
    ),
    Complaint(r"refused: ([^\n]*)", CannotMeasure, "{1}", "take another batch, or other ranks"),
)


class Ranks(NamedTuple):
    """What came of all ranks: when they were started and had ended, and what each left."""

    begin_ns: int
    end_ns: int
    seconds: float
    left: tuple[dict[str, Any], ...]


def in_words(text: str, why: str, python: str) -> ShakedownError:
    """The error of a rank that failed: what its output means, or what it said last."""
    for one in COMPLAINTS:
        if found := re.search(one.pattern, text):
            groups = [str(group or "").strip()[:160] for group in (found[0], *found.groups())]
            return one.error(one.what.format(*groups, python=python), hint=one.hint)
    said = _work.said(_work.Ran(None, "", text, 0.0, why))
    return CannotMeasure(f"a rank of the training failed: {said}", hint="its output stands in the run's stderr")


def python_of(word: str) -> str:
    """The Python that has JAX. Raises Unavailable."""
    if word == "auto":
        return sys.executable
    found = shutil.which(word)
    if found is None:
        raise Unavailable(f"there is no {word} to run", hint="program= names a Python, by its name on PATH or its path")
    return found


def places(ranks: int, hosts: int) -> list[tuple[int, int]]:
    """For each rank which of its host's it is, and how many are there: blocks, the first hosts one more."""
    each, more = divmod(ranks, hosts)
    return [(one, many) for host in range(hosts) for many in (each + (host < more),) for one in range(many)]


def _coordinator(spread: bool) -> str:
    """Where the ranks meet: a port of this host that is free now, below those that the kernel gives to whoever asks for any,
    so that none of the many that ask takes it until the first rank listens there. Raises CannotMeasure."""
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32768
    for _ in range(_TRIES):
        port = lowest // 2 + secrets.randbelow(max(1, lowest // 2))
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return f"{socket.gethostname() if spread else '127.0.0.1'}:{port}"
    raise CannotMeasure("no port is free at which the ranks could meet", hint="look at what listens here: ss -tln")


def _here(argv: Sequence[str], ranks: int, folder: Path) -> tuple[str, str]:
    """Start the ranks on this host and wait for all; of one that failed what it printed and how it ended, else nothing."""
    children: list[subprocess.Popen[bytes]] = []
    texts = [folder / f"rank-{rank}.txt" for rank in range(ranks)]
    try:
        for rank, text in enumerate(texts):
            with text.open("wb") as out:
                env = {**os.environ, "SHAKEDOWN_RANK": str(rank)}
                children.append(
                    subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=env)
                )
        while True:
            codes = [child.poll() for child in children]
            failed = next((rank for rank, code in enumerate(codes) if code), None)
            if failed is not None:
                return texts[failed].read_text(errors="replace"), _ended(failed, codes[failed])
            if all(code == 0 for code in codes):
                return "", ""
            time.sleep(0.02)
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()


def _ended(rank: int, code: int | None) -> str:
    if code is not None and code < 0:
        return f"rank {rank} was ended by {signal.Signals(-code).name}"
    return f"rank {rank} ended with exit code {code}"


def _spread(argv: Sequence[str], asked: Mapping[str, Any], host: Host, names: Sequence[str]) -> tuple[str, str]:
    """The same over several hosts, by the launcher of an MPI."""
    software = flavours.mpi(LocalHost()) if asked["modules"] else host.software
    mpi = launchers.site_mpi(software) if asked["mpi"] == "auto" else chosen(software, str(asked["mpi"]))
    alone = msgspec.structs.replace(host, software=(mpi,))
    site = Site(alone, mpi, schedulers.inside(os.environ, LocalHost()), tuple(names), int(asked["ranks"]))
    words, env = started(site, tuple(argv))
    ran = _work.run(words, limit_s=_LIMIT_S, cwd=Path.cwd(), env=env)
    return ("", "") if ran.ok else (f"{ran.err}\n{ran.out}", ran.why)


def train(asked: Mapping[str, Any], host: Host, python: str, folder: Path) -> Ranks:
    """All ranks from their start to their end. Raises ShakedownError where one fails."""
    ranks = int(asked["ranks"])
    names = hostlist.expand(host.name) if host.count > 1 else (host.name,)
    numbers = ("layers", "width", "sequence", "vocabulary", "batch", "seed", "steps", "ranks")
    job: dict[str, Any] = {name: int(asked[name]) for name in numbers}
    job |= {
        "precision": asked["precision"],
        "device": asked["device"],
        "heads": job["width"] // HEAD,
        "threads": 0 if asked["threads"] == "auto" else int(asked["threads"]),
        "places": places(ranks, len(names)),
        "gpus": 0 if asked["device"] == "cpu" else len(host.gpus),
        "coordinator": _coordinator(len(names) > 1),
    }
    (folder / "job.json").write_text(json.dumps(job))
    argv = (python, "-c", _START, str(_FOLDER), str(folder))
    begin_ns, begin = time.time_ns(), time.monotonic()
    text, why = _here(argv, ranks, folder) if len(names) == 1 else _spread(argv, asked, host, names)
    seconds = time.monotonic() - begin
    if why:
        print(text, file=sys.stderr)
        raise in_words(text, why, python)
    left = []
    for rank in range(ranks):
        try:
            left.append(json.loads((folder / f"rank-{rank}.json").read_text()))
        except (OSError, ValueError):
            raise CannotMeasure(f"rank {rank} ended and left nothing", hint="run it again") from None
    return Ranks(begin_ns, begin_ns + round(seconds * 1e9), seconds, tuple(left))


def checks(left: Sequence[Mapping[str, Any]], ranks: int, precision: str) -> list[Residual]:
    """What is held against what: the first is that of the losses."""
    first = left[0]
    of_loss, of_update = LIMITS[precision]
    known = first["reference"]
    errors = [abs(ours / right - 1) for ours, right in zip(known["losses"], known["expected"], strict=True)]
    name, update = max(known["updates"].items(), key=lambda pair: math.inf if math.isnan(pair[1]) else pair[1])
    wrong = {int(one["ranks"]) for one in left} - {ranks}
    course = first["losses"]
    quarter = max(1, len(course) // 4)
    falls = sum(course[-quarter:]) / quarter - course[0]
    return [
        Residual(
            value=_number(max(errors, key=lambda one: math.inf if math.isnan(one) else one)),
            limit=of_loss,
            kind="relative difference of a loss from the same step in float64",
        ),
        Residual(
            value=_number(update),
            limit=of_update,
            kind=f"relative difference of the change of parameters ({name}) from the same steps in float64",
        ),
        Residual(
            value=float(max((abs(ranks - one) for one in wrong), default=0)),
            limit=0.0,
            kind=f"ranks of {ranks} that JAX did not see (it saw {min(wrong, default=ranks)})",
        ),
        Residual(
            value=float(len({one["fingerprint"] for one in left}) - 1),
            limit=0.0,
            kind="ranks whose parameters are others than the first one's",
        ),
        Residual(
            value=_number(max(0.0, falls) if not math.isnan(falls) else falls),
            limit=0.0,
            kind="rise of the loss over the steps that are timed",
        ),
    ]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(asked: Mapping[str, Any], ranks: Ranks, emit: Emitter) -> None:
    """The cases of a run."""
    first = ranks.left[0]
    number = {name: int(asked[name]) for name in ("layers", "width", "sequence", "vocabulary", "batch")}
    gpu = first["platform"] != "cpu"
    params: dict[str, Value] = {**number, "seed": int(asked["seed"]), "precision": str(asked["precision"])}
    params |= {"device": "gpu" if gpu else "cpu", "ranks": int(asked["ranks"])}
    params |= {"gpus": int(first["devices"])} if gpu else {"threads": int(first["threads"])}
    steps = [(int(begin), int(end), float(took)) for begin, end, took in first["times"]]
    flop = flop_of_step(**number)
    simple = asked["precision"] == "float32" and not gpu
    tokens = float(number["batch"] * number["sequence"])
    work = {"tokens": tokens, "flop" if simple else "other_flop": flop}
    own, *others = checks(ranks.left, int(asked["ranks"]), str(asked["precision"]))
    phases = {name: (int(begin), int(end)) for name, (begin, end) in first["phases"].items()}
    for name, word in (("init", "compile"), ("warmup", "check"), ("measure", "measure"), ("verify", "reference")):
        begin = phases["import"][0] if name == "init" else phases[word][0]
        emit.phase_was(name, begin, phases[word][1])
    emit.case("step", params, work, [took for *_, took in steps], own, spans=[(begin, end) for begin, end, _ in steps])
    whole = {"tokens": tokens * len(steps)}
    emit.case("job", params, whole, [ranks.seconds], begin_ns=ranks.begin_ns, end_ns=ranks.end_ns)
    for name, (begin, end) in phases.items():
        emit.case("phase", {**params, "phase": name}, seconds=[(end - begin) * 1e-9])
    for check in others:
        emit.case("check", params, {"checks": 1.0}, residual=check)


def body(argv: Sequence[str], emit: Emitter) -> None:
    """Find the Python, train, judge."""
    words = ProgramArguments("training", "a language model trained in JAX, beside the same steps in float64")
    _work.add_options(words, TABLE)
    words.add_argument("--host", default="host.json", help="the file with what the harness knows of the host")
    asked = {name.replace("-", "_"): value for name, value in vars(words.parse_args(argv)).items()}
    host = read_host(asked["host"])
    _modules.load([one for one in str(asked["modules"]).split(",") if one])
    python = python_of(str(asked["program"]))
    shape = {name: int(asked[name]) for name in ("layers", "width", "sequence", "vocabulary")}
    emit.start({"python": python, "parameters": parameters(**shape), "ranks_asked": int(asked["ranks"])})
    _work.end_with_parent()
    with _work.workshop() as folder:
        ranks = train(asked, host, python, folder)
    first = ranks.left[0]
    emit.facts({name: first[name] for name in ("jax", "platform", "kind", "devices", "ranks", "threads")})
    emit.facts({"losses": first["losses"], "reference": first["reference"]})
    _print(asked, ranks, emit)


if __name__ == "__main__":
    sys.exit(run("training", body))
