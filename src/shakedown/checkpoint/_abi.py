"""checkpoint.h for ctypes: records, callbacks, and the functions with their types."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

ABI = 1
MOST_DIMENSIONS = 8


class Options(ctypes.Structure):
    """shakedown_ckpt_options; ``shakedown_ckpt_options_init`` fills it."""

    _fields_ = (
        ("struct_bytes", c_size_t),
        ("local", c_char_p),
        ("global_", c_char_p),  # `global` is a word of Python
        ("node", c_char_p),
        ("domain", c_char_p),
        ("address", c_char_p),
        ("group_size", c_int),
        ("group_losses", c_int),
        ("keep", c_int),
        ("synchronous", c_int),
        ("mtti_seconds", c_double),
        ("interval_seconds", c_double * 5),
        ("timeout_seconds", c_double),
    )


class Restart(ctypes.Structure):
    """shakedown_ckpt_restart."""

    _fields_ = (
        ("struct_bytes", c_size_t),
        ("available", c_int),
        ("level", c_int),
        ("generation", c_uint64),
        ("ranks", c_int),
        ("bytes", c_uint64),
        ("unix_seconds", c_double),
    )


class LevelStatistics(ctypes.Structure):
    """shakedown_ckpt_level_stats."""

    _fields_ = (
        ("tried", c_uint64),
        ("committed", c_uint64),
        ("failed", c_uint64),
        ("blocked_seconds", c_double),
        ("drain_seconds", c_double),
        ("bytes", c_uint64),
        ("interval_seconds", c_double),
    )


class Statistics(ctypes.Structure):
    """shakedown_ckpt_statistics."""

    _fields_ = (
        ("struct_bytes", c_size_t),
        ("level", LevelStatistics * 5),
        ("generation", c_uint64),
        ("restored_level", c_int),
        ("repaired_blocks", c_uint64),
        ("restore_seconds", c_double),
        ("open_seconds", c_double),
        ("waste_predicted", c_double),
        ("waste_achieved", c_double),
    )


class Entry(ctypes.Structure):
    """shakedown_ckpt_entry."""

    _fields_ = (
        ("struct_bytes", c_size_t),
        ("folder", c_char_p),
        ("generation", c_uint64),
        ("ranks", c_int),
        ("ranks_whole", c_int),
        ("copies", c_int),
        ("parities", c_int),
        ("committed", c_int),
        ("level", c_int),
        ("bytes", c_uint64),
        ("unix_seconds", c_double),
        ("removable", c_int),
        ("problem", c_char_p),
    )


VISIT = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Entry))
ALLGATHER = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


class Comm(ctypes.Structure):
    """shakedown_ckpt_comm."""

    _fields_ = (("rank", c_int), ("size", c_int), ("context", c_void_p), ("allgather", ALLGATHER), ("release", RELEASE))


_SHAPE = POINTER(c_uint64)
_ARGUMENTS = {
    "open": (POINTER(Comm), POINTER(Options), POINTER(c_void_p)),
    "close": (c_void_p, c_int),
    "protect": (c_void_p, c_char_p, c_void_p, c_int, c_int, _SHAPE, _SHAPE, _SHAPE),
    "protect_inside": (c_void_p, c_char_p, c_void_p, c_int, c_int, *[_SHAPE] * 5),
    "unprotect": (c_void_p, c_char_p),
    "due": (c_void_p, POINTER(c_int)),
    "checkpoint": (c_void_p, c_int),
    "poll": (c_void_p, POINTER(c_int)),
    "wait": (c_void_p, c_double),
    "restart_info": (c_void_p, POINTER(Restart)),
    "restore": (c_void_p, c_char_p),
    "snapshot": (c_void_p, POINTER(c_int)),
    "stats": (c_void_p, POINTER(Statistics)),
    "set_option": (c_void_p, c_char_p, c_char_p),
    "list": (POINTER(c_char_p), c_int, c_int, VISIT, c_void_p),
    "prune": (POINTER(c_char_p), c_int, c_int, c_int, VISIT, c_void_p),
}


def load(library: Path) -> ctypes.CDLL:
    """The library, its functions typed. Raises OSError."""
    loaded = ctypes.CDLL(str(library))
    for name, arguments in _ARGUMENTS.items():
        function = getattr(loaded, f"shakedown_ckpt_{name}")
        function.argtypes, function.restype = arguments, c_int
    loaded.shakedown_ckpt_options_init.argtypes = (POINTER(Options),)
    loaded.shakedown_ckpt_options_init.restype = None
    loaded.shakedown_ckpt_last_error.argtypes = (c_void_p,)
    loaded.shakedown_ckpt_last_error.restype = c_char_p
    return loaded
