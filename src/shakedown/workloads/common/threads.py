"""Numbers of threads in words and lists: what several workloads take as their parameter ``threads``."""

from __future__ import annotations

from ...errors import BadInput
from ...launchers.mpirun import cores
from ...records import Host
from ...units import whole_number


def counts(text: str, host: Host, *, where: str) -> tuple[int, ...]:
    """``all``, ``sweep`` or numbers separated by commas -> numbers of threads, each once. Raises BadInput.

    A core counts where this process may use one of its CPUs; more threads than usable CPUs are refused.
    """
    most = cores(host)
    if text == "all":
        return (most,)
    if text == "sweep":
        powers = [2**power for power in range(most.bit_length()) if 2**power < most]
        return (*powers, most)
    words = [str(most) if word.strip() == "all" else word.strip() for word in text.split(",")]
    usable = len(host.usable_cpus) or most
    for word in words:
        if whole_number(word, 1, usable) is None:
            raise BadInput(
                f"{where}: {word!r} is not a number of threads from 1 to {usable}, the CPUs that may be used",
                hint="write all, sweep, or numbers separated by commas: 1,2,4",
            )
    return tuple(dict.fromkeys(int(word) for word in words))
