"""Lists of numbers and words, and the memory that is free: what the workloads of many particles take alike."""

from __future__ import annotations

from ..errors import BadInput
from ..records import Host, Value


def words(value: Value) -> tuple[str, ...]:
    """Words between commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in str(value).split(",") if word.strip()))


def counts_of(text: str, *, where: str, low: int, high: int) -> tuple[int, ...]:
    """Whole numbers between commas, each once. Raises BadInput."""
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if not (word.isascii() and word.isdigit()) or not low <= int(word) <= high:
            raise BadInput(
                f"{where}: {word!r} is no number from {low} to {high}",
                hint="write whole numbers between commas: 16384,65536",
            )
    return tuple(dict.fromkeys(map(int, found)))


def free_bytes(host: Host) -> int:
    """The memory that is free: the least of what is available and what the control group allows."""
    memory = host.memory
    return min(bound for bound in (memory.available_bytes, memory.limit_bytes, memory.total_bytes) if bound is not None)
