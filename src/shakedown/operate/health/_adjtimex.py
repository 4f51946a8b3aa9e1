"""adjtimex(2) without a change: what the kernel thinks of its clock."""

from __future__ import annotations

import ctypes
import os

_STA_NANO = 0x2000


class _Timex(ctypes.Structure):
    """struct timex of <sys/timex.h>, 64-bit Linux."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("fraction", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("rest", ctypes.c_long * 24),
    )


def adjtimex() -> tuple[int, int, float, float, float]:
    """Status, what the call returned; offset, greatest and estimated error in seconds. Raises OSError where it may not be
    asked."""
    one = _Timex()
    library = ctypes.CDLL(None, use_errno=True)
    state = library.adjtimex(ctypes.byref(one))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    unit = 1e-9 if one.status & _STA_NANO else 1e-6
    return one.status, state, one.offset * unit, one.maxerror * 1e-6, one.esterror * 1e-6
