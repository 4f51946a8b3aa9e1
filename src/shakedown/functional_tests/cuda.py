"""CUDA on every device: through the driver alone with PTX that is brought along, and compiled by nvcc where there is one.

Devices work one after another, then those that were right all at the same time. What they computed is checked on the host
in double precision. The management library (NVML) is asked before and after: a GPU that has gone, or new uncorrectable
memory errors, fail the run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BadInput, Unavailable
from ..hosts import nvidia
from ..programs.emitter import Emitter, ProgramArguments, run
from ..records import Residual
from ..workloads.cuda import TABLE
from . import _work
from ._cuda_driver import Context, CudaError, Device, Driver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SOURCE = _work.SOURCES / "cuda" / "kernels.cu"
_PTX = _work.SOURCES / "cuda" / "kernels.ptx"
_TILE = 256  # bodies of one block: see kernels.cu
_FLOP_PER_PAIR = 20  # as in native/opencl/README.md
_CHECKED = 64
_LIMIT = 16.0  # of the residual of the bodies: native/opencl/README.md
_SOFTENING = 0.0625
_SAMPLE_S = 0.01
_COMPILE_S = 300.0


class CudaOptions(NamedTuple):
    """What is asked for on the command line."""

    bodies: int
    elements: int
    samples: int
    together_s: float


class Result(NamedTuple):
    """What one kernel did on one device. ``error``: the call that failed."""

    kernel: str
    n: int
    work: float
    seconds: tuple[float, ...]
    residual: float | None
    error: str = ""


def sample(launch: Callable[[int], None], samples: int, seconds: float) -> tuple[list[float], int]:
    """Seconds of each sample and launches in each: at least so many samples, and at least so many seconds in all."""
    launch(1)  # the first may still be translated
    once = _timed(launch, 1)
    launches = max(1, min(100_000, round(_SAMPLE_S / max(once, 1e-7))))
    taken: list[float] = []
    while len(taken) < samples or sum(taken) < seconds:
        taken.append(_timed(launch, launches))
    return taken, launches


def _timed(launch: Callable[[int], None], launches: int) -> float:
    begin = time.perf_counter()
    launch(launches)
    return time.perf_counter() - begin


def _address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


def triad(context: Context, elements: int, samples: int, seconds: float) -> Result:
    """a = b + 3 c in single precision on whole numbers: every element is exact."""
    import numpy as np

    elements = min(elements, context.free_bytes() // 16)
    number = np.arange(elements, dtype=np.uint32)
    b = (number % 1024).astype(np.float32)
    c = (number % 509 * 7 % 509).astype(np.float32)
    del number
    a = np.full(elements, np.nan, np.float32)
    buffers = [context.filled(_address(array), array.nbytes) for array in (a, b, c)]
    arguments = [*(ctypes.c_uint64(one) for one in buffers), ctypes.c_float(3), ctypes.c_uint(elements)]
    function = context.function("triad")
    blocks = min(65535, -(-elements // 1024))
    taken, launches = sample(lambda times: context.launch(function, blocks, 256, arguments, times), samples, seconds)
    context.read(buffers[0], _address(a), a.nbytes)
    wrong = int(np.count_nonzero(~(a == b + 3 * c)))
    return Result("triad", elements, 3.0 * a.nbytes * launches, tuple(taken), wrong)


def bodies(context: Context, n: int, samples: int, seconds: float) -> Result:
    """The gravity of n bodies on each, some of it computed again on the host."""
    import numpy as np

    n = max(_TILE, n // _TILE * _TILE)
    body = (np.random.default_rng(7085).integers(0, 2**24, (n, 4)) / 2**24).astype(np.float32)  # exact
    out = np.full((n, 4), np.nan, np.float32)
    source, target = (context.filled(_address(array), array.nbytes) for array in (body, out))
    arguments = [ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_uint(n), ctypes.c_float(_SOFTENING)]
    function = context.function("bodies")
    taken, launches = sample(
        lambda times: context.launch(function, n // _TILE, _TILE, arguments, times), samples, seconds
    )
    context.read(target, _address(out), out.nbytes)
    return Result("nbody", n, _FLOP_PER_PAIR * float(n) ** 2 * launches, tuple(taken), bodies_residual(body, out))


def bodies_residual(body: NDArray[np.float32], out: NDArray[np.float32]) -> float | None:
    """How far forces are from those in double precision, over what rounding explains (native/opencl/README.md)."""
    import numpy as np

    n = len(body)
    worst = 0.0
    unit = float(np.finfo(np.float32).eps) * n**0.5
    places = body.astype(np.float64)
    for i in np.linspace(0, n - 1, min(_CHECKED, n)).astype(int):
        distance = places[:, :3] - places[i, :3]
        force = places[:, 3] * (np.sum(distance**2, axis=1) + _SOFTENING) ** -1.5
        terms = force[:, None] * distance
        error = np.abs(out[i, :3] - terms.sum(axis=0)) / (np.abs(terms).sum(axis=0) * unit)
        if not np.all(np.isfinite(error)):
            return None
        worst = max(worst, float(error.max()))
    return worst


def emit_result(emit: Emitter, device: Device, result: Result, more: Mapping[str, str]) -> bool:
    """A result as a case; whether it was right. One that ended in an error has no samples and a check that fails."""
    limit, kind = (0.0, "wrong elements") if result.kernel == "triad" else (_LIMIT, "error over rounding")
    if result.error:
        kind = "the device failed"
        what = f"{device.name} ({device.number}), {more['pattern']}: {result.error}"
        emit.notice("cuda-device", what, "look for NVRM: Xid in dmesg; run `nvidia-smi -q` and DCGM's diagnosis")
    residual = Residual(value=result.residual, limit=limit, kind=kind)
    params: dict[str, str | int] = {"device": device.name, "index": device.number, **more, "n": result.n}
    done = {("bytes" if result.kernel == "triad" else "flop"): result.work} if result.work else {}
    emit.case(result.kernel, params, done, result.seconds, residual)
    return residual.passed


def alone(driver: Driver, device: Device, codes: Mapping[str, bytes], asked: CudaOptions, emit: Emitter) -> bool:
    """Both kernels of each code on one device that nothing else uses."""
    right = True
    for code, image in codes.items():
        for kernel, work in (
            ("triad", lambda context: triad(context, asked.elements, asked.samples, 0)),
            ("nbody", lambda context: bodies(context, asked.bodies, asked.samples, 0)),
        ):
            result = guarded(driver, device, image, kernel, work)
            right = emit_result(emit, device, result, {"pattern": "alone", "code": code}) and right
    return right


def guarded(driver: Driver, device: Device, image: bytes, kernel: str, work: Callable[[Context], Result]) -> Result:
    """Run a kernel in a context of its own; what the device refuses is a result with an error."""
    try:
        with Context(driver, device, image) as context:
            return work(context)
    except (CudaError, MemoryError) as error:
        return Result(kernel, 0, 0.0, (), None, str(error) or "the host has too little memory")


def together(
    driver: Driver, devices: Sequence[Device], image: bytes, asked: CudaOptions, emit: Emitter
) -> list[Device]:
    """All devices at the same time, each for so many seconds; those that were right."""
    results: list[Result] = [Result("nbody", 0, 0.0, (), None, "its thread did not end")] * len(devices)
    ready = threading.Barrier(len(devices))

    def drive(place: int, device: Device) -> None:
        def work(context: Context) -> Result:
            with contextlib.suppress(threading.BrokenBarrierError):  # the others work all the same
                ready.wait(60)
            return bodies(context, asked.bodies, asked.samples, asked.together_s)

        results[place] = guarded(driver, device, image, "nbody", work)
        if results[place].error:
            ready.abort()  # the others must not wait for one that is not there

    threads = [threading.Thread(target=drive, args=pair, daemon=True) for pair in enumerate(devices)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    more = {"pattern": "together", "code": "ptx"}
    return [device for device, result in zip(devices, results, strict=True) if emit_result(emit, device, result, more)]


# ---------------------------------------------------------------------------------------------------- nvcc and libraries


def find_nvcc(word: str, environment: Mapping[str, str]) -> str:
    """The path of nvcc; empty where there is none. ``word``: auto, off, or a path. Raises BadInput."""
    if word == "off":
        return ""
    if word != "auto":
        if not os.access(word, os.X_OK):
            raise BadInput(f"{word!r} cannot be executed", hint="the path of nvcc, auto, or off")
        return word
    places = [shutil.which("nvcc") or ""]
    places += [
        f"{environment[name]}/bin/nvcc" for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT") if environment.get(name)
    ]
    places.append("/usr/local/cuda/bin/nvcc")
    places += [str(path) for folder in sys.path for path in sorted(Path(folder).glob("nvidia/*/bin/nvcc"))]
    return next((place for place in places if place and os.access(place, os.X_OK)), "")


def compiled(nvcc: str, device: Device, folder: Path) -> bytes | _work.Ran:
    """The kernels compiled for a device; what the compiler said where it did not."""
    target = folder / f"kernels-{device.capability}.cubin"
    if not target.exists():
        architecture = f"-arch=sm_{device.capability.replace('.', '')}"
        ran = _work.run(
            (nvcc, "-cubin", architecture, "-O3", "-o", str(target), str(_SOURCE)), limit_s=_COMPILE_S, cwd=folder
        )
        if not ran.ok or not target.exists():
            return ran
    return target.read_bytes()


def runtime_version() -> str:
    """The version of the CUDA runtime on the library path: "12.4"; empty where there is none."""
    for name in ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"):
        try:
            library = ctypes.CDLL(name)
            number = ctypes.c_int()
            if library.cudaRuntimeGetVersion(ctypes.byref(number)) == 0:
                return f"{number.value // 1000}.{number.value % 1000 // 10}"
        except (OSError, AttributeError):
            continue
    return ""


class Health(NamedTuple):
    """What the management library says: GPUs that answer, and their uncorrectable memory errors since the driver's start."""

    driver: str
    errors: dict[str, int | None]  # by PCI address


def health() -> Health | str:
    """The health of all GPUs of the host; the reason where it cannot be had."""
    said = nvidia.answer(whole=False)
    if "error" in said:
        return str(said["error"])
    answering = [gpu for gpu in said["gpus"] if "error" not in gpu]  # the others have fallen off the bus
    return Health(said["driver"], {gpu["pci"]: gpu.get("ecc_uncorrected") for gpu in answering})


def worsened(before: Health, after: Health | str) -> list[str]:
    """What has become worse meanwhile. Pure."""
    if isinstance(after, str):
        return [f"the management library no longer answers: {after}"]
    found = [f"the GPU {address} no longer answers" for address in before.errors if address not in after.errors]
    for address, errors in before.errors.items():
        now = after.errors.get(address)
        if errors is not None and now is not None and now > errors:
            found.append(f"the GPU {address} has {now - errors} new uncorrectable memory errors")
    return found


def codes_of(device: Device, nvcc: str, folder: Path, emit: Emitter) -> tuple[dict[str, bytes], bool]:
    """The codes to run on a device, and whether nvcc did its part."""
    codes = {"ptx": _PTX.read_bytes() + b"\0"}
    if not nvcc:
        return codes, True
    begin = time.perf_counter()
    image = compiled(nvcc, device, folder)
    failed = not isinstance(image, bytes)
    if isinstance(image, bytes):
        codes["nvcc"] = image
    else:
        what = f"{nvcc} does not compile for {device.name} ({device.capability}): {_work.said(image)}"
        emit.notice("cuda-nvcc", what)
    check = Residual(value=float(failed), limit=0, kind="the compiler failed")
    seconds = time.perf_counter() - begin
    emit.case("compile", {"device": device.name, "index": device.number}, {"programs": 1}, [seconds], check)
    return codes, not failed


def demonstrate(
    driver: Driver, devices: Sequence[Device], nvcc: str, asked: CudaOptions, emit: Emitter
) -> list[Device]:
    """Every device alone, then all that were right together; those that were right throughout."""
    right = []
    with _work.workshop() as folder:
        for number, device in enumerate(devices):
            emit.progress(number / (len(devices) + 1), device.name)
            with emit.phase("measure", f"{device.name} ({device.number})"):
                codes, compiles = codes_of(device, nvcc, folder, emit)
                if alone(driver, device, codes, asked, emit) and compiles:
                    right.append(device)
    if len(right) > 1 and asked.together_s > 0:
        with emit.phase("measure", "all devices at once"):
            right = together(driver, right, _PTX.read_bytes() + b"\0", asked, emit)
    return right


def body(argv: Sequence[str], emit: Emitter) -> None:
    words = ProgramArguments("cuda", "two kernels on every CUDA device, one after another and all at once, verified")
    _work.add_options(words, TABLE)
    given = words.parse_args(argv)
    asked = CudaOptions(given.bodies, given.elements, given.samples, given.together)
    if asked.bodies < 1 or asked.elements < 1 or asked.samples < 1 or asked.together_s < 0:
        raise BadInput("--bodies, --elements and --samples begin at 1, --together at 0", hint="see --help")
    driver = Driver(given.library)
    devices = driver.devices()
    if not devices:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        raise Unavailable(
            "the CUDA driver shows no device" + (f" (CUDA_VISIBLE_DEVICES={visible!r})" if visible is not None else ""),
            hint="in a batch job ask for a GPU (--gres=gpu:1); else look at `nvidia-smi` and dmesg",
        )
    nvcc = find_nvcc(given.nvcc, os.environ)
    before = health()
    emit.start(dict(_facts(driver, devices, nvcc, before)))
    if isinstance(before, str):
        emit.notice("cuda-nvml", f"the GPUs' health was not compared: {before}")
    right = demonstrate(driver, devices, nvcc, asked, emit)
    if not isinstance(before, str):
        worse = worsened(before, health())
        for text in worse:
            emit.notice("cuda-health", text, "look for NVRM: Xid in dmesg; drain the node")
        residual = Residual(value=len(worse), limit=0, kind="GPUs that became worse")
        emit.case("health", {}, {"gpus": len(before.errors)}, (), residual)
    emit.case("devices", {"asked": len(devices)}, {"devices": len(right)})


def _facts(driver: Driver, devices: Sequence[Device], nvcc: str, before: Health | str) -> Iterator[tuple[str, Any]]:
    yield "cuda", driver.version()
    yield "runtime", runtime_version()
    yield "nvcc", nvcc
    yield "devices", [device._asdict() for device in devices]
    if not isinstance(before, str):
        yield "driver", before.driver
        yield "uncorrectable_errors", before.errors


if __name__ == "__main__":
    sys.exit(run("cuda", body))
