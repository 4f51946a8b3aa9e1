"""An emulated network of radios: frames through it a second, the delay that it adds, and whether it loses what it should.

Every radio is a network namespace with a TAP, as ``shakedown radio emulate`` makes them, and the same forwarder lies
between: it reads a frame from a TAP, finds who receives it by the losses of the moment, and writes it to their TAPs.
Frames are sent and counted at packet sockets in the namespaces, so that all of the way is real.

``rate``: each of at most 64 radios sends to the next, as fast as the forwarder takes it; a sample is so many frames,
from the first call to the last frame read. Senders run on the same CPUs as the forwarder. Each frame must reach its
receiver's interface, as the kernel counts there: one that does not leaves no score. ``delay``: frames sent one by one
at a given rate; from before the sender's call to the arrival at the receiver's interface (the kernel's time stamp),
which is all that the emulation adds where the radio model adds nothing. ``loss``: each of at most 50 radios sends to
all, 20 of which hear it with probabilities from 2 to 98 %; the frames that come on each of these links must be a
likely draw of its binomial distribution. Of the links 1 % may lie outside of their 99 % interval; more than chance
makes once in a million runs, one link beyond all chance, or a frame that was not counted, and the run has failed.
``up`` and ``down``: making the radios, and until the kernel has taken the last of them apart. Needs root, or user
namespaces and /dev/net/tun. See native/manet/README.md.

Source: ARL-TR-7085, section 2 (emulations of up to 5,000 devices; namespaces and TAPs are today's form of its
machines).
"""

from __future__ import annotations

from ..records import Host, Machine, Params
from .common.memory import check_room
from .common.table import table_of

TABLE = table_of(__file__)

#: Kernel memory of a namespace with its TAP, as measured.
_RADIO_BYTES = 400_000


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    radios = int(params["radios"])
    check_room("manet.radios", f"{radios} radios", radios * _RADIO_BYTES, machine.hosts[0], "ask for fewer radios")
    return ({**params, "kernels": ",".join(TABLE.selection(params, "kernels"))},)


def _estimate_s(params: Params, host: Host) -> float:
    """7 ms for each radio, 10 us for a frame, 10 us for each link's frame."""
    radios, kernels = int(params["radios"]), TABLE.selection(params, "kernels")
    total = 0.3 + 0.007 * radios
    if "rate" in kernels:
        total += max(float(params["seconds"]), int(params["samples"]) * int(params["frames"]) * 1e-5)
    if "delay" in kernels:
        total += int(params["delay-frames"]) / float(params["delay-rate"])
    if "loss" in kernels:
        total += min(radios, 50) * 20 * int(params["loss-frames"]) * 1e-5
    return total


def _label(params: Params) -> str:
    return f"manet {params['radios']} radios, {str(params['kernels']).replace(',', '+')}"


WORKLOAD = TABLE.workload(title="Emulated network of radios", estimate_s=_estimate_s, resolve=_resolve, label=_label)
