"""Everything about GPUs on the machine that it runs on, by one command: build, correctness, benchmarks, recordings.

    scripts/gpu-check [--out FOLDER] [--steps build,query,correct,bench,tests] [--quick] [--limit-s 560]

It needs Python 3.11 with its standard library alone, CMake, a C++ compiler and an nvcc (the site's, or that of
`scripts/setup cuda`); no network. It leaves in FOLDER (build/gpu-check/out):

    gpu-check.json       date, device, driver, build, every case with its median, the goals with what was measured
    recordings.tar.gz    what every program printed (native events) and what the driver's tools say: for tests/recordings
    performance.md       the table for docs/performance.md, where what was not measured says so

The JSON is written anew after every step, so that one that is cut short keeps what it has. Steps that do not fit into
--limit-s are left out and say so. Exit codes: 0 all checks passed, 1 one failed, 3 something could not be measured.
--backend host rehearses everything without a GPU, on small sizes: its figures are those of the host.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import datetime
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpu_goals import case_of, facts_of, goals, table
from gpu_steps import BENCH, CORRECT, FIRST, Step, filled, least_memory, library

ROOT = Path(__file__).resolve().parent.parent
#: In the order of their worth on a machine that is lent for minutes: the native tests need no GPU and come last.
STEPS = ("build", "query", "correct", "bench", "tests")
_TOOK_TOO_LONG = 124  # exit code of a command that was ended, as of timeout(1)


class Check:
    """What is known so far; kept after every step."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        self.out: Path = asked.out
        self.build_folder: Path = asked.build.resolve()
        self.rehearsal = asked.backend != "cuda"
        self.ends = time.monotonic() + asked.limit_s
        self.recordings: dict[str, bytes] = {}
        self.found: dict[str, Any] = {
            "schema": 1,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "backend": asked.backend,
            "rehearsal": self.rehearsal,  # on small sizes, without a GPU: no figure is one of a goal
            "commit": _words("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
            "host": {"kernel": os.uname().release, "cpus": os.cpu_count(), "machine": os.uname().machine},
            "driver": "",
            "pcie": None,
            "devices": [],
            "steps": [],
            "cases": [],
            "notices": [],
            "goals": [],
        }

    def read_build(self) -> dict[str, Any]:
        """What the build says of itself, of an earlier call too; empty where there is none."""
        with contextlib.suppress(OSError, ValueError):
            self.found["build"] = json.loads((self.build_folder / "build.json").read_text())
        return dict(self.found.get("build", {}))

    def left_s(self) -> float:
        return float(self.ends - time.monotonic())

    def keep(self) -> None:
        """Write what is known, and the recordings."""
        self.found["goals"] = goals(self.found)
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "gpu-check.json").write_text(json.dumps(self.found, indent=1) + "\n")
        (self.out / "performance.md").write_text(table(self.found))
        with tarfile.open(self.out / "recordings.tar.gz", "w:gz") as archive:
            for name, data in self.recordings.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))

    def step(self, name: str, state: str, seconds: float = 0.0, why: str = "", command: str = "") -> None:
        self.found["steps"].append(
            {"name": name, "state": state, "seconds": round(seconds, 2), "why": why, "command": command}
        )
        print(f"{name:24} {state:14} {seconds:7.1f} s  {why}", file=sys.stderr, flush=True)
        self.keep()


def _words(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run(command: Sequence[str], limit_s: float, env: dict[str, str] | None = None) -> tuple[int, bytes, str, float]:
    """Exit code (124 where it took too long), both streams, seconds."""
    begin = time.monotonic()
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=env, start_new_session=True
        ) as child:
            try:
                out, err = child.communicate(timeout=max(limit_s, 1))
                code = child.returncode
            except BaseException as cut:  # its children too: a compiler would go on beside what is measured
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                if not isinstance(cut, subprocess.TimeoutExpired):
                    raise
                code, err = _TOOK_TOO_LONG, err + f"\nno end within {limit_s:.0f} s".encode()
    except OSError as error:
        code, out, err = 127, b"", str(error).encode()
    return code, out, err.decode("utf-8", "replace"), time.monotonic() - begin


def last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""


def reason(err: str) -> str:
    """What a program of ours said last, without what it advises."""
    return last_line(err.split("\n  next:")[0])


# --------------------------------------------------------------------------------------------------------------- build


def gpu_programs() -> dict[str, Path]:
    """The programs that use GPUs and their folders, by their CMakeLists.txt: a new one is found without an edit here."""
    found = {}
    for file in sorted((ROOT / "native").glob("*/CMakeLists.txt")):
        for name in re.findall(r"shakedown_gpu_program\(\s*(\w+)", file.read_text()):
            found[name] = file.parent
    return found


def gpu_tests(check: Check) -> list[str]:
    """The native tests of these programs' folders and of the interface, as far as this build has them."""
    folders = {*gpu_programs().values(), ROOT / "native" / "gpu"}
    wanted: set[str] = set()  # patterns: a name may hold a variable of a loop
    for folder in folders:
        words = re.findall(r"shakedown_(?:gpu_|mpi_)?test\(\s*([\w${}]+)", (folder / "CMakeLists.txt").read_text())
        wanted |= {re.sub(r"\$\{\w+\}", r"\\w+", word) for word in words}
    listed = _words("ctest", "--test-dir", str(check.build_folder), "-N")
    return [name for name in re.findall(r"Test +#\d+: (\S+)", listed) if re.fullmatch("|".join(wanted), name)]


def build(check: Check) -> None:
    """Configure and build all GPU programs. Where nothing can be built, all ends."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    options = ["-DSHAKEDOWN_TESTS=ON", "-DSHAKEDOWN_STRICT=OFF", *architectures(check)]
    _configured(check, ["cmake", "-S", ".", "-B", str(check.build_folder), *generator, *options])
    known = check.read_build()
    if check.asked.backend == "cuda" and "cuda" not in known:
        check.step("cuda", "not measured", 0, str(known.get("cuda_absent", "no nvcc was found")))
        raise SystemExit(3)
    programs = [name for name in gpu_programs() if f"{name}_absent" not in known]
    # One that does not compile, or not in time, must not keep the others from being measured.
    ends = time.monotonic() + 0.5 * check.left_s()
    _built(check, "build", [name for name in programs if name in FIRST], ends - time.monotonic())
    _built(check, "build the rest", [name for name in programs if name not in FIRST], ends - time.monotonic())
    if not any(path_of(check, name).exists() for name in programs):
        raise SystemExit(3)


def architectures(check: Check) -> list[str]:
    """Only those of the GPUs that are here, where nobody named others: kernels for three take three times as long."""
    if check.rehearsal or os.environ.get("SHAKEDOWN_CUDA_ARCHITECTURES"):
        return []
    return ["-DSHAKEDOWN_CUDA_ARCHITECTURES=native"]


def _configured(check: Check, command: Sequence[str]) -> None:
    code, out, err, seconds = run(command, check.left_s())
    text = out.decode("utf-8", "replace") + err
    check.recordings["configure.log"] = text.encode()
    if code != 0:
        print(text[-3000:], file=sys.stderr)
        check.step("configure", "failed", seconds, last_line(err) or last_line(text))
        raise SystemExit(3)
    check.step("configure", "done", seconds)


def _built(check: Check, name: str, targets: Sequence[str], limit_s: float) -> None:
    jobs = str(max(1, len(os.sched_getaffinity(0))))
    on = ["-k", "0"] if (check.build_folder / "build.ninja").exists() else ["-k"]
    command = ["cmake", "--build", str(check.build_folder), "-j", jobs, "--target", *targets, "--", *on]
    code, out, err, seconds = run(command, limit_s)
    log = f"{name.replace(' ', '-')}.log"
    check.recordings[log] = out + err.encode()
    missing = [target for target in targets if not list(check.build_folder.glob(f"native/*/{target}"))]
    if code == 0 and not missing:
        check.step(name, "done", seconds)
        return
    why = f"not built: {', '.join(missing)}" if missing else ""
    again = "call again with the same --build, which keeps what is there, or with a longer --limit-s"
    told = again if code == _TOOK_TOO_LONG else f"see {log} in recordings.tar.gz"
    check.step(name, "failed", seconds, "; ".join(filter(None, (last_line(err), why, told))))


def tests(check: Check) -> None:
    """The native tests: the host backend, the fake driver, every state. Those that could be built."""
    if check.left_s() < 30:
        check.step("native tests", "not measured", 0, f"left out: {max(0.0, check.left_s()):.0f} s are left")
        return
    _built(check, "build tests", gpu_tests(check), 0.6 * check.left_s())
    there = [name for name in gpu_tests(check) if list(check.build_folder.glob(f"native/*/{name}"))]
    if not there:
        check.step("native tests", "not measured", 0, "none was built")
        return
    names = "^(" + "|".join(there) + ")$"
    command = ["ctest", "--test-dir", str(check.build_folder), "--output-on-failure", "-R", names]
    code, out, err, seconds = run(command, min(check.left_s(), 240))
    check.recordings["tests.log"] = out + err.encode()
    state, why = ("passed", "") if code == 0 else ("failed", last_line(out.decode("utf-8", "replace")))
    check.step("native tests", state, seconds, why)


# --------------------------------------------------------------------------------------------------------------- query


def query(check: Check) -> None:
    """What the driver, its tools and the bus say: recordings for tests, and the facts of the report."""
    program = path_of(check, "gpu_query")
    if not program.exists():
        check.step(
            "query", "not measured", 0, f"gpu_query was not built in {check.build_folder}: begin with --steps build"
        )
        return
    code, out, err, seconds = run([str(program), "--backend", check.asked.backend], 60)
    check.recordings["gpu_query.json"] = out
    if code == 0:
        check.found["devices"] = json.loads(out)["devices"]
    check.step("query", "done" if code == 0 else "not measured", seconds, "" if code == 0 else reason(err))
    for name, command in (
        ("nvidia-smi.xml", ["nvidia-smi", "-q", "-x"]),
        ("nvidia-smi-topo.txt", ["nvidia-smi", "topo", "-m"]),
        ("nvidia-smi-nvlink.txt", ["nvidia-smi", "nvlink", "-s"]),
        ("nvml.json", [sys.executable, "-P", str(ROOT / "src/shakedown/hosts/nvidia.py")]),
        ("lspci.txt", ["lspci", "-vv", "-d", "10de:"]),
    ):
        code, out, _, _ = run(command, 60)
        if out:
            check.recordings[name] = out
        if name == "nvidia-smi.xml" and code == 0:
            check.found |= facts_of(out.decode("utf-8", "replace"))


def path_of(check: Check, program: str) -> Path:
    return check.build_folder / "native" / program / program


# ------------------------------------------------------------------------------------------------------------- measure


def steps(check: Check, wanted: Sequence[Step]) -> None:
    for step in wanted:
        if why := absent(check, step) or too_late(check, step):
            check.step(step.name, "not measured", 0, f"left out: {why}")
        elif step.each_device:
            burn(check, step)
        else:
            words = command_of(check, step)
            state, why, seconds = measure(check, step.name, words, limit_of(check, step))
            check.step(step.name, state, seconds, why, " ".join(words))


def absent(check: Check, step: Step) -> str:
    """Why the program cannot be run; empty where it can."""
    if step.program not in gpu_programs():
        return f"this tree has no {step.program}"
    if not path_of(check, step.program).exists():
        why = check.read_build().get(f"{step.program}_absent", "see build.log")
        return f"{step.program} was not built: {why}"
    return "there is no mpirun" if step.ranks and not shutil.which("mpirun") else ""


def too_late(check: Check, step: Step) -> str:
    if step.takes_s <= check.left_s() or (check.rehearsal and check.left_s() > 0):
        return ""
    return f"{max(0.0, check.left_s()):.0f} s are left and it takes {step.takes_s:.0f}"


def limit_of(check: Check, step: Step) -> float:
    return min(check.left_s(), 6 * step.takes_s + 30)


def command_of(check: Check, step: Step) -> list[str]:
    arguments = step.tiny if check.rehearsal else filled(step, least_memory(check.found["devices"]))
    words = [str(path_of(check, step.program)), "--backend", check.asked.backend, *arguments.split()]
    if not check.rehearsal:
        words += library(step.program, _words("ldconfig", "-p"))
    if not step.ranks:
        return words
    root = ["--allow-run-as-root"] if os.geteuid() == 0 and "Open" in _words("mpirun", "--version") else []
    return ["mpirun", *root, "-np", str(step.ranks), *words]


def measure(check: Check, name: str, words: Sequence[str], limit_s: float) -> tuple[str, str, float]:
    """Run a program and keep its events: state, why, seconds."""
    code, out, err, seconds = run(words, limit_s)
    check.recordings[f"{name}.jsonl"] = out
    passed = keep_events(check, name, out)
    state = {0: "passed", 1: "failed", 3: "not measured"}.get(code, "failed")
    why = "" if code == 0 else reason(err) or f"exit code {code}"
    if code == 0 and not passed:
        state, why = "failed", "a check failed, or the program did not come to its end"
    return state, why, seconds


def burn(check: Check, step: Step) -> None:
    """A worker for each device, all from one moment on: each device has a verdict of its own."""
    devices = [int(device["index"]) for device in check.found["devices"]] or [0]
    start = str(time.time_ns() + 3_000_000_000)
    with concurrent.futures.ThreadPoolExecutor(len(devices)) as pool:
        waiting = []
        for index in devices:
            words = [*command_of(check, step), "--device", f"gpu:{index}", "--start", start]
            name = f"{step.name}-gpu{index}"
            waiting.append((name, words, pool.submit(measure, check, name, words, limit_of(check, step))))
    for name, words, done in waiting:
        state, why, seconds = done.result()
        check.step(name, state, seconds, why, " ".join(words))


def keep_events(check: Check, step: str, out: bytes) -> bool:
    """Take the cases and notices of native events; whether the end is there and all checks passed."""
    ended = False
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") == "case":
            check.found["cases"].append(case_of(step, event))
        elif event.get("event") == "notice":
            check.found["notices"].append({"step": step, **{key: event[key] for key in ("code", "text", "advice")}})
        elif event.get("event") == "end":
            ended = bool(event["ok"])
    return ended


def main(argv: Sequence[str]) -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--out", type=Path, default=ROOT / "build" / "gpu-check" / "out", help="where the results go")
    words.add_argument("--steps", default=",".join(STEPS), help="which: " + ", ".join(STEPS))
    words.add_argument(
        "--bench", default="", help="of the benchmarks only these, separated by commas: stream, gemm, copy, ..."
    )
    words.add_argument(
        "--quick", action="store_true", help="only what is measured in a short time: no sweeps, not the largest"
    )
    words.add_argument(
        "--build", type=Path, default=ROOT / "build" / "gpu-check", help="where it is built; kept between calls"
    )
    words.add_argument("--limit-s", type=float, default=560.0, help="seconds in all: what does not fit is left out")
    words.add_argument("--backend", default="cuda", choices=("cuda", "host"), help="host rehearses without a GPU")
    asked = words.parse_args(argv)
    wanted = [word.strip() for word in asked.steps.split(",")]
    for word in wanted:
        if word not in STEPS:
            print(f"gpu-check: no step {word!r}\n  next: {', '.join(STEPS)}", file=sys.stderr)
            return 2
    measuring = [index for index, word in enumerate(wanted) if word in ("correct", "bench")]
    if measuring and "query" not in wanted[: measuring[0]]:
        wanted.insert(measuring[0], "query")  # sizes and goals are those of the devices that are here
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "gpu-check.json").touch()
    except OSError as error:
        print(f"gpu-check: results cannot go to {asked.out}: {error.strerror}\n  next: another --out", file=sys.stderr)
        return 2
    check = Check(asked)
    bench = [step for step in BENCH if not (asked.quick and step.extra)]
    if asked.bench:
        named = [word.strip() for word in asked.bench.split(",")]
        unknown = [word for word in named if word not in [step.name for step in BENCH]]
        if unknown:
            known = ", ".join(step.name for step in BENCH)
            print(f"gpu-check: no benchmark {unknown[0]!r}\n  next: {known}", file=sys.stderr)
            return 2
        bench = [step for step in BENCH if step.name in named]
    actions: dict[str, Callable[[Check], None]] = {
        "build": build,
        "tests": tests,
        "query": query,
        "correct": lambda one: steps(one, CORRECT),
        "bench": lambda one: steps(one, bench),
    }
    try:
        for word in wanted:
            actions[word](check)
    except SystemExit as stopped:
        check.keep()
        return int(stopped.code or 0)
    check.keep()
    print(table(check.found))
    states = {step["state"] for step in check.found["steps"]}
    return 1 if "failed" in states else 3 if "not measured" in states else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
