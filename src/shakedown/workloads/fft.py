"""Complex Fourier transforms in one to three dimensions, by FFTW or another library with its interface.

The one-dimensional ones in double precision by all threads are those of EuroBen's mod2f, powers of two by default. The
library (FFTW 3, AOCL's build of it, MKL, Arm's and NVIDIA's performance libraries) is loaded at run time. The rate is
5 N log2 N operations over the time of one transform, by convention and whatever the library really does. Planning
stands apart, in seconds. Each result is checked twice: plane waves, whose transform is known exactly, and the timed data
there and back again; the relative error has a limit, and beyond it there is no score. ``batch = "each"`` runs one
transform of its own on every core, ``data = "cold"`` goes over so many arrays that no cache holds them. See
native/fft/README.md.
"""

from __future__ import annotations

import math
import os
import platform
import posixpath
import re

from ..errors import BadInput, unknown
from ..launchers import Command
from ..records import Host, Machine, Params
from ..units import show_bytes
from .common import lists
from .common.table import table_of
from .common.threads import counts

TABLE = table_of(__file__)

#: Longest dimension, which libraries count in int, and most points in all, as in native/fft/fft.hpp.
_MOST_LENGTH, _MOST_POINTS = 2**31 - 1, 2**40
#: Of the memory that is free, what the arrays may take.
_SHARE = 0.9
_LIBRARIES = ("auto", "fftw", "mkl", "armpl", "nvpl")


def shapes(params: Params, workload: str = "fft") -> tuple[tuple[int, ...], ...]:
    """The lengths of each transform. Raises BadInput."""
    found = []
    for word in (one.strip() for one in str(params["sizes"]).split(",")):
        lengths = tuple(map(int, word.split("x"))) if re.fullmatch(r"[0-9]{1,99}(x[0-9]{1,99}){0,2}", word) else ()
        if lengths and (max(lengths) > _MOST_LENGTH or math.prod(lengths) > _MOST_POINTS):
            raise BadInput(
                f"{workload}.sizes: {word} is too large for a transform",
                hint=f"lengths up to {_MOST_LENGTH}, and {_MOST_POINTS} (2^40) points in all",
            )
        if not lengths or min(lengths) < 1 or math.prod(lengths) < 2:
            raise BadInput(
                f"{workload}.sizes: {word!r} is not a valid shape of a transform",
                hint="write lengths separated by commas, with x between dimensions: 65536,1024x1024,128x128x128",
            )
        found.append(lengths)
    return tuple(dict.fromkeys(found))


def _cases(params: Params) -> tuple[tuple[str, ...], ...]:
    """Precisions, batches and data. Raises BadInput."""
    return tuple(TABLE.selection(params, name) for name in ("precision", "batch", "data"))


def _library(word: str, host: Host) -> tuple[str, str]:
    """What the program is to load, and its label. Raises BadInput."""
    if "/" in word:
        return word, ""
    if word not in _LIBRARIES:
        raise unknown("FFT library", word, _LIBRARIES)
    # The BLAS of a maker holds its transforms too, and was found where the loader would not look.
    path = next((one.path for one in host.software if one.kind == "blas" and one.name == word and word == "mkl"), word)
    return path, ""


def _check_wisdom(path: str, host: Host) -> None:
    """Raises BadInput where the file cannot be read on this very host; of others only their program knows."""
    if not path or host.name.split(".")[0] != platform.node().split(".")[0] or os.access(path, os.R_OK):
        return
    raise BadInput(
        f"fft.wisdom: cannot read {path} on {host.name}", hint="name a file that fftw-wisdom or fft --save-wisdom wrote"
    )


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    host = machine.hosts[0]
    _check_wisdom(str(params["wisdom"]), host)
    threads = counts(str(params["threads"]), host, where="fft.threads")
    precisions, batches, _ = _cases(params)
    point_bytes = 16 if "d" in precisions else 8
    largest = max(math.prod(shape) for shape in shapes(params))
    need = 2 * largest * point_bytes * (max(threads) if "each" in batches else 1)
    room = host.memory.room_bytes
    if need > _SHARE * room:
        raise BadInput(
            f"fft.sizes: the arrays of {largest} points need {show_bytes(need)}, and {show_bytes(room)} are free",
            hint="take a smaller transform" + (", fewer threads or batch = together" if "each" in batches else ""),
        )
    chosen = [_library(word.strip(), host) for word in str(params["library"]).split(",")]
    return tuple(
        {**params, "library": path, "label": str(params["label"]) or label, "threads": lists.text(threads)}
        for path, label in dict.fromkeys(chosen)
    )


def _command(params: Params, host: Host) -> Command:
    sizes = tuple("x".join(map(str, shape)) for shape in shapes(params))
    return Command(argv=TABLE.argv(params, sizes=sizes))


def _estimate_s(params: Params, host: Host) -> float:
    """For each case filling, planning, warm-up, samples and check.

    The rate is guessed as 5 Gflop/s a thread and 5 us for threads to meet, the planner as 300 transforms and at least
    0.3 s. A sample is a call, or as many as do 5e8 operations within half a second.
    """
    precisions, batches, data = _cases(params)
    total = 0.3
    for threads in map(int, str(params["threads"]).split(",")):
        for shape in shapes(params):
            points = math.prod(shape)
            flop = 5 * points * math.log2(points)
            call_s = flop / (5e9 * threads) + (5e-6 if threads > 1 and "together" in batches else 0)
            sample_s = max(call_s, min(0.5, 5e8 / flop * call_s))
            plan_s = {"estimate": 0.0, "measure": max(0.3, 300 * call_s), "patient": max(3.0, 3000 * call_s)}
            case_s = 0.25 + max(float(params["seconds"]), int(params["samples"]) * sample_s)
            check_s = points * 2e-7
            limit_s = float(params["plan_limit"]) or math.inf
            each = len(data) * (case_s + check_s)
            total += len(precisions) * len(batches) * (min(limit_s, plan_s[str(params["plan"])]) + each)
    return total


def _label(params: Params) -> str:
    found = ["x".join(map(str, shape)) for shape in shapes(params)]
    span = lists.span(found)
    threads = str(params["threads"])
    library = str(params["label"]) or posixpath.basename(str(params["library"]))
    return f"fft {span}, {threads} thread{'s' * (threads != '1')}, {library}"


WORKLOAD = TABLE.workload(
    title="Fourier transforms (FFT)",
    command=_command,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
