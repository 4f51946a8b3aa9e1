"""What the programs of the compilers' test must print: computed by Python's integers and IEEE 754 doubles.

No compiler under test has a part in it. Doubles are told as their bits.
"""

from __future__ import annotations

import math
import struct
import sys


def expected(program: str, language: str) -> dict[str, str]:
    """What a program must print, by name."""
    match program:
        case "numerics":
            return {**_integers(), **_reals(), **_language(language)}
        case "openmp":
            return {
                "omp_sum": str(sum(range(1, 1000001))),
                "omp_threads": "4",
                "omp_atomic": "10000",
                "omp_tasks": "6765",  # the 20th Fibonacci number
                "omp_wrong": "0",
            }
        case "c++20":
            squares = [i * i for i in range(1, 100) if i % 3 == 0][:5]
            return {
                "concepts": str(42 * 10 - 1),
                "compare": "11",
                "ranges": str(sum(squares)),
                "coroutines": str(sum(i * i for i in range(1, 11))),
                "jthread": "1",
                "bit_cast": struct.pack(">d", 1.5).hex(),
                "popcount": str(0xDEADBEEF.bit_count()),
                "span": str(3 + 4 + 5),
                "consteval": str(math.factorial(10)),
            }
        case "parallel":
            n = 2**18
            after = 2 * sum(i * 40503 % 65537 for i in range(1, n + 1))
            return {"par_sum": str(n * (n + 1) // 2), "par_sorted": "1", "par_after": str(after)}
        case "fortran2008":
            return {
                "concurrent": str(sum(i * i for i in range(1, 1001))),
                "submodule": "42",
                "block": "99",
                "popcnt": str(0x55555555.bit_count() * 10 + 3),
                "norm": "5",
                "contiguous": str(1 + 9 + 25 + 49 + 81),
            }
        case "coarray":
            return {"images": "1", "image": "1", "coarray": str(14 * 100 + 17)}
        case "interoperability":
            return {"answer": "20", "structure": "630", "tag": "z", "array": "20", "length": "8"}
    raise AssertionError(program)


def _next(x: int) -> int:
    return (1103515245 * x + 12345) % 2**31


def _integers() -> dict[str, str]:
    x = 1
    for _ in range(1000):
        x = _next(x)
    count, word = 0, 1
    for _ in range(100):
        word = _next(word)
        count += ((word ^ (word >> 7)) & 0x55555555).bit_count()
    n = range(1, 33)
    trace = sum((i * 3 - k * 2) * (k * i % 17) for i in n for k in n)
    values, y = [], 42
    for _ in range(1000):
        y = _next(y)
        values.append(y)
    hashed = 0
    for value in sorted(values):
        hashed = (hashed * 31 + value) % 1000000007
    divided = int(-7 / 3) * 100 + int(math.fmod(-7, 3))  # towards zero, as all three languages do
    return {
        "lcg": str(x),
        "divide": str(divided),
        "bits": str(count),
        "matrix": str(trace),
        "sort": str(hashed),
    }


def _reals() -> dict[str, str]:
    total = product = roots = kahan = lost = short = 0.0
    for i in range(1, 100001):
        total += 1.0 / i
    product = 1.0
    for i in range(1, 1001):
        product *= 1.0 + 1.0 / (float(i) * i)
        roots += math.sqrt(i)
    for _ in range(100000):
        term = 0.1 - lost
        after = kahan + term
        lost = (after - kahan) - term
        kahan = after
    for i in range(1, 10001):
        short = _single(short + _single(1.0 / i))
    return {
        "sum": _bits(total),
        "product": _bits(product),
        "roots": _bits(roots),
        "rounding": _bits(0.1 + 0.2),
        "compensated": _bits(kahan),
        "single": struct.pack(">f", short).hex(),
        "subnormal": _bits(sys.float_info.min / 1024),
        "infinity": _bits(math.inf),
        "nan": "1",
    }


def _language(language: str) -> dict[str, str]:
    if language == "fortran":
        ackermann = 2 * 5 + 3  # A(2, n) = 2 n + 3
        grid = [[i + 1 + 4 * j for i in range(4)] for j in range(6)]  # grid[column][row]
        columns = [sum(column) for column in grid]
        strided = sum(grid[j][i] for j in (0, 3) for i in (1, 3))
        return {
            "dispatch": "43",
            "text": "[  3.1416  042 T]",
            "arrays": str(strided * 10 + max(one for one in columns if one < 60)),
            "recursion": str(ackermann),
            "unformatted": "66",
        }
    common = {"text": f"{0.1:.17g}|   42|ab  |", "fields": str(5 * 100 + 21)}
    if language == "c":
        return {**common, "generic": "123"}
    return {
        **common,
        "generic": "absent",
        "thrown": "1700",
        "carried": "17",
        "threads": str(sum(range(40000))),
        "locked": "40000",
        "dispatch": "43",
        "containers": "b3",
        "sorted": "999000",
    }


def _bits(x: float) -> str:
    return struct.pack(">d", x).hex()


def _single(x: float) -> float:
    """Rounded to single precision. Sums and quotients of two singles come out right through a double (53 >= 2 24 + 2)."""
    return float(struct.unpack("f", struct.pack("f", x))[0])
