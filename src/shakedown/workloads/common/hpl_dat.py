"""HPL.dat, the input file of every HPL: its text from parameters, and its parameters from a text. Pure.

The 31 lines and their order are those of netlib HPL 2.3 (``HPL_pdinfo.c``, ``TUNING``): two lines of heading, then a value
or a list of values a line, each with its comment behind. At most 20 values in a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ...errors import BadInput
from ...records import Record

BCASTS = ("1ring", "1ringM", "2ring", "2ringM", "long", "longM")
FACTS = ("left", "crout", "right")
SWAPS = ("binary", "long", "mix")
MAPPINGS = ("row", "column")
#: As many values may stand in one list.
MOST = 20
STDOUT, STDERR = 6, 7
_HINT = "a whole HPL.dat has 31 lines, in the order of netlib's; shakedown writes one where no file is named"


class HplDat(Record, frozen=True, kw_only=True):
    """What an HPL.dat says. The defaults are those of its algorithmic part that suit most machines."""

    n: tuple[int, ...]
    nb: tuple[int, ...]
    grids: tuple[tuple[int, int], ...]  # (P, Q)
    mapping: str = "row"
    threshold: float = 16.0  # of the scaled residual; 0 or less: no check
    pfact: tuple[str, ...] = ("right",)
    nbmin: tuple[int, ...] = (4,)
    ndiv: tuple[int, ...] = (2,)
    rfact: tuple[str, ...] = ("crout",)
    bcast: tuple[str, ...] = ("1ringM",)
    depth: tuple[int, ...] = (1,)
    swap: str = "mix"
    swap_threshold: int = 64
    l1_transposed: bool = True
    u_transposed: bool = True
    equilibration: bool = True
    alignment: int = 8  # in double-precision words
    output: str = "HPL.out"  # the file that the result goes to where the device is none of 6 and 7
    device: int = STDOUT

    @property
    def ranks(self) -> int:
        """The most ranks that one of its grids needs."""
        return max(p * q for p, q in self.grids)

    @property
    def combinations(self) -> int:
        """How many systems are solved for each order, block size and grid."""
        lists = (self.pfact, self.nbmin, self.ndiv, self.rfact, self.bcast, self.depth)
        return math.prod(len(values) for values in lists)


def text(dat: HplDat) -> str:
    """The 31 lines. Raises BadInput for an empty list, one of more than 20 values, or a value that HPL has no word for."""
    for name in ("n", "nb", "grids", "pfact", "nbmin", "ndiv", "rfact", "bcast", "depth"):
        values = getattr(dat, name)
        if not 1 <= len(values) <= MOST:
            raise BadInput(
                f"HPL.dat: {name} has {len(values)} values, and may have 1 to {MOST}",
                hint="split it into several runs" if values else "give at least one",
            )
    lines = [
        "HPLinpack benchmark input file",
        "written by shakedown",
        _one(dat.output, "output file name (if any)"),
        _one(dat.device, "device out (6=stdout,7=stderr,file)"),
        *_list(dat.n, "# of problems sizes (N)", "Ns"),
        *_list(dat.nb, "# of NBs", "NBs"),
        _one(_code(MAPPINGS, dat.mapping, "mapping"), "PMAP process mapping (0=Row-,1=Column-major)"),
        *_list([p for p, _ in dat.grids], "# of process grids (P x Q)", "Ps"),
        _one(" ".join(str(q) for _, q in dat.grids), "Qs"),
        _one(float(dat.threshold), "threshold"),
        *_codes(FACTS, dat.pfact, "# of panel fact", "PFACTs (0=left, 1=Crout, 2=Right)"),
        *_list(dat.nbmin, "# of recursive stopping criterium", "NBMINs (>= 1)"),
        *_list(dat.ndiv, "# of panels in recursion", "NDIVs"),
        *_codes(FACTS, dat.rfact, "# of recursive panel fact.", "RFACTs (0=left, 1=Crout, 2=Right)"),
        *_codes(BCASTS, dat.bcast, "# of broadcast", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        *_list(dat.depth, "# of lookahead depth", "DEPTHs (>=0)"),
        _one(_code(SWAPS, dat.swap, "swap"), "SWAP (0=bin-exch,1=long,2=mix)"),
        _one(dat.swap_threshold, "swapping threshold"),
        _one(int(not dat.l1_transposed), "L1 in (0=transposed,1=no-transposed) form"),
        _one(int(not dat.u_transposed), "U  in (0=transposed,1=no-transposed) form"),
        _one(int(dat.equilibration), "Equilibration (0=no,1=yes)"),
        _one(dat.alignment, "memory alignment in double (> 0)"),
    ]
    return "\n".join(lines) + "\n"


def _one(value: object, comment: str) -> str:
    return f"{value!s:<12} {comment}"


def _list(values: Sequence[object], of: str, name: str) -> tuple[str, str]:
    return _one(len(values), of), _one(" ".join(map(str, values)), name)


def _codes(words: tuple[str, ...], values: Sequence[str], of: str, name: str) -> tuple[str, str]:
    return _list([_code(words, value, name.split()[0]) for value in values], of, name)


def _code(words: tuple[str, ...], value: str, what: str) -> int:
    if value not in words:
        raise BadInput(f"HPL.dat: {value!r} is not a valid {what}", hint=f"one of {', '.join(words)}")
    return words.index(value)


# ---------------------------------------------------------------------------------------------------------------- read


def read(given: str, *, where: str = "HPL.dat") -> HplDat:
    """What a user's HPL.dat says. Windows' line ends, comments and further lines (HPCC's) are taken as they come.

    Raises BadInput, naming the line, for what no HPL would accept.
    """
    lines = given.splitlines()
    if len(lines) < 30:  # some lack the last one, the alignment
        raise BadInput(f"has {len(lines)} lines, and an HPL.dat has 31", where=where, hint=_HINT)
    line = _Lines(lines, where)
    output, device = line.word(3), line.integer(4)
    n, nb = line.integers(5), line.integers(7)
    mapping = line.coded(9, MAPPINGS)
    count = line.count(10)
    ps, qs = (tuple(line.integers_of(number, count, low=1)) for number in (11, 12))
    return HplDat(
        output=output,
        device=device,
        n=n,
        nb=nb,
        mapping=mapping,
        grids=tuple(zip(ps, qs, strict=True)),
        threshold=line.real(13),
        pfact=line.codes(14, FACTS),
        nbmin=line.integers(16),
        ndiv=line.integers(18),
        rfact=line.codes(20, FACTS),
        bcast=line.codes(22, BCASTS),
        depth=line.integers(24, low=0),
        swap=line.coded(26, SWAPS),
        swap_threshold=line.integer(27),
        l1_transposed=line.integer(28) == 0,
        u_transposed=line.integer(29) == 0,
        equilibration=line.integer(30) != 0,
        alignment=line.integer(31) if len(lines) > 30 else 8,
    )


class _Lines:
    """The lines of a file by their number, from 1; each reads its values or raises BadInput with its place."""

    def __init__(self, lines: Sequence[str], where: str) -> None:
        self._lines = lines
        self._where = where

    def _refuse(self, number: int, why: str) -> BadInput:
        shown = self._lines[number - 1].strip()[:60]
        return BadInput(f"{why}: {shown!r}", where=f"{self._where}: line {number}", hint=_HINT)

    def word(self, number: int) -> str:
        words = self._lines[number - 1].split()
        if not words:
            raise self._refuse(number, "is empty")
        return words[0]

    def integer(self, number: int) -> int:
        return self.integers_of(number, 1)[0]

    def real(self, number: int) -> float:
        try:
            return float(self.word(number))
        except ValueError:
            raise self._refuse(number, "does not begin with a number") from None

    def count(self, number: int) -> int:
        count = self.integer(number)
        if not 1 <= count <= MOST:
            raise self._refuse(number, f"says {count} values, and 1 to {MOST} may stand there")
        return count

    def integers_of(self, number: int, count: int, low: int | None = None) -> list[int]:
        words = self._lines[number - 1].split()[:count]
        if len(words) < count or not all(re.fullmatch(r"[-+]?[0-9]{1,18}", word) for word in words):
            raise self._refuse(number, f"does not begin with {count} whole number{'s' * (count > 1)}")
        values = [int(word) for word in words]
        if low is not None and min(values) < low:
            raise self._refuse(number, f"has a value below {low}")
        return values

    def integers(self, number: int, low: int = 1) -> tuple[int, ...]:
        """The list whose length stands in line ``number`` and whose values in the next."""
        return tuple(self.integers_of(number + 1, self.count(number), low))

    def coded(self, number: int, words: tuple[str, ...]) -> str:
        return self._word_of(number, self.integer(number), words)

    def codes(self, number: int, words: tuple[str, ...]) -> tuple[str, ...]:
        values = self.integers_of(number + 1, self.count(number))
        return tuple(self._word_of(number + 1, value, words) for value in values)

    def _word_of(self, number: int, value: int, words: tuple[str, ...]) -> str:
        if not 0 <= value < len(words):
            raise self._refuse(number, f"has {value} where 0 to {len(words) - 1} are known")
        return words[value]
