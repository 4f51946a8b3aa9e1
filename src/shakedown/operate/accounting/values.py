"""What engines write -> numbers: as SQL for millions of rows, and in Python for the readers that go line by line. NULL
and None stand for what is not recorded or cannot be read."""

from __future__ import annotations

import re

#: Words that engines write where there is no time.
_NEVER = ("Unknown", "None", "N/A", "NONE", "INVALID", "", "-/-")
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?")
_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]+)?)\s*([kKmMgGtTpP]?)[iI]?[bBwW]?")
#: Unix seconds of 1980, before any batch engine: what lies before was no stamp of the form that it was read in
#: (``28/09/26`` as a day of the year 28).
EARLIEST_S = 315_532_800
_UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P"))}


def is_local(stamp: str) -> bool:
    """Whether a stamp says no zone."""
    return _LOCAL.fullmatch(stamp) is not None


def seconds(text: str) -> float | None:
    """``1-02:03:04.5``, ``02:03:04``, ``03:04.5`` as seconds (sacct(1), PBS's walltime)."""
    match = re.fullmatch(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]+)?)", text.strip())
    if not match:
        return float(text) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]+)?", text.strip()) else None
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def memory_bytes(text: str) -> int | None:
    """``62500M``, ``8gb``, ``2434024kb``, ``1.5G``: in powers of 1024, as engines count."""
    match = _MEMORY.fullmatch(text.strip())
    return int(float(match[1]) * _UNITS[match[2].upper()]) if match else None


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def whole(column: str) -> str:
    """SQL: a whole number. Slurm's "no value" (slurm.h: NO_VAL64, INFINITE64) is too great for 63 bits, and so is NULL."""
    return f"try_cast({column} AS BIGINT)"


def counted(column: str) -> str:
    """SQL: a whole number from 0 on."""
    return f"nullif(greatest({whole(column)}, -1), -1)"


def small(column: str) -> str:
    """SQL: a whole number of 31 bits; Slurm's "no value" (slurm.h: NO_VAL) is too great, and NULL."""
    return f"try_cast({column} AS INTEGER)"


def unread(column: str, parsed: str, *known: str) -> str:
    """SQL: whether a text says something that ``parsed`` could make no number of, and is none of the known words."""
    return f"(({parsed}) IS NULL AND coalesce({column}, '') NOT IN ({_quoted((*_NEVER, '0', *known))}))"


def face(column: str) -> str:
    """SQL: the seconds since 1970 that a stamp without a zone shows on its clock."""
    return _late(f"try_cast(epoch(try_cast({column} AS TIMESTAMP)) AS BIGINT)")


def _late(seconds_: str) -> str:
    """SQL: seconds, where they are after EARLIEST_S."""
    return f"nullif(greatest({seconds_}, {EARLIEST_S}), {EARLIEST_S})"


def unix(column: str) -> str:
    """SQL: Unix seconds of a stamp in seconds or milliseconds, or in ISO 8601 with an offset; 0 is not a valid time."""
    number = f"nullif(try_cast({column} AS BIGINT), 0)"
    iso = f"try_cast(epoch(try_cast(regexp_replace({column}, '([+-]\\d\\d)(\\d\\d)$', '\\1:\\2') AS TIMESTAMPTZ)) AS BIGINT)"
    return _late(f"coalesce(CASE WHEN {number} > 100000000000 THEN {number} // 1000 ELSE {number} END, {iso})")


def duration_ms(column: str) -> str:
    """SQL: milliseconds of ``[days-][hours:]minutes:seconds[.fraction]``."""
    clock = f"split_part({column}, '-', -1)"
    days = f"CASE WHEN contains({column}, '-') THEN try_cast(split_part({column}, '-', 1) AS BIGINT) ELSE 0 END"
    hours, minutes, rest = (f"split_part({clock}, ':', -{place})" for place in (3, 2, 1))
    added = (
        f"86400 * ({days}) + 3600 * coalesce(try_cast({hours} AS BIGINT), 0) + 60 * try_cast({minutes} AS BIGINT) "
        f"+ try_cast({rest} AS DOUBLE)"
    )
    # Nearly all are 02:03:04, which is read ten times as fast.
    return (
        f"CASE WHEN length({column}) = 8 AND {column} < '24' THEN epoch_ms(try_cast({column} AS TIME)) "
        f"ELSE try_cast(round(1000 * ({added})) AS BIGINT) END"
    )


def memory(column: str) -> str:
    """SQL: bytes of ``64G``, ``2434024K``; Slurm's ``n`` (of each node) and ``c`` (of each CPU) are left to the caller."""
    bare = f"rtrim({column}, 'nc')"
    number = f"try_cast(rtrim({bare}, 'KMGTP') AS DOUBLE)"
    units = " ".join(f"WHEN '{unit}' THEN {size}" for unit, size in _UNITS.items() if unit)
    return f"try_cast({number} * (CASE right({bare}, 1) {units} ELSE 1 END) AS BIGINT)"


def tres(text: str) -> dict[str, str]:
    """``cpu=8,gres/gpu:h200=4``."""
    return {name: value for name, mark, value in (part.partition("=") for part in text.split(",")) if mark}


def gpus_of(text: str) -> tuple[int | None, str]:
    """GPUs and their type from Slurm's TRES (``gres/gpu:h200=4,gres/gpu=4``) or GRES (``gpu:h200:2``,
    ``gpu:2(IDX:0-1)``); None where the text names none."""
    typed: dict[str, int] = {}
    plain = None
    for name, number in re.findall(r"(?:gres[/:])?\bgpu(?::([\w.-]*[A-Za-z_][\w.-]*))?[=:]([0-9]{1,9})(?![0-9])", text):
        if name:
            typed[name] = typed.get(name, 0) + int(number)
        else:
            plain = int(number)
    count = plain if plain is not None else sum(typed.values()) if typed else None
    return count, "+".join(sorted(typed))
