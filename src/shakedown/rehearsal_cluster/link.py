"""One link of a cluster in user space: frames between two TAP devices, with delay, loss and rate in each direction.

    python -I -S link.py TAP_A TAP_B DELAY_S LOSS RATE_BIT_S SEED

For kernels without netem. A frame that passes is sent on once the rate has let it out, and the delay has passed; one that
finds 50 ms of others waiting before the rate is dropped, as a switch port drops. Bandwidth is bounded by what one process
can carry: some 1.5 Gbit/s. Prints ``ready`` once both devices are there. Only the standard library.
"""

import contextlib
import fcntl
import os
import random
import select
import struct
import sys
import time
from collections import deque

QUEUE_S = 0.05  # that of network.py
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
#: Each frame has 24 bytes on a wire that the device does not show: preamble, check sequence, gap (IEEE 802.3). They are
#: left out: a rate here is one of frames as netem and tbf count them.
BATCH = 64


def tap(name: str) -> int:
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return handle


class Direction:
    """Frames that came in at one end and have not yet left at the other."""

    def __init__(self, delay_s: float, loss: float, rate_bit_s: float, seed: int) -> None:
        self.delay_s, self.loss, self.rate_bit_s = delay_s, loss, rate_bit_s
        self.random = random.Random(seed)
        self.free_s = 0.0  # when the rate has let the last frame out
        self.waiting: deque[tuple[float, bytes]] = deque()

    def offer(self, frame: bytes, now_s: float) -> bool:
        """Take a frame; False where it is lost."""
        if self.loss and self.random.random() < self.loss:
            return False
        begin_s = max(self.free_s, now_s)
        if begin_s - now_s > QUEUE_S:
            return False
        self.free_s = begin_s + (len(frame) * 8 / self.rate_bit_s if self.rate_bit_s else 0.0)
        self.waiting.append((self.free_s + self.delay_s, frame))
        return True

    def due(self, now_s: float) -> "list[bytes]":
        """The frames whose time has come, in order."""
        found = []
        while self.waiting and self.waiting[0][0] <= now_s:
            found.append(self.waiting.popleft()[1])
        return found


def carry(a: int, b: int, there: Direction, back: Direction) -> None:
    """Carry frames until killed."""
    ways = {a: (there, b), b: (back, a)}
    while True:
        heads = [way.waiting[0][0] for way, _ in ways.values() if way.waiting]
        wait_s = min(heads) - time.monotonic() if heads else 1.0
        for handle in select.select([a, b], [], [], max(0.0, wait_s))[0]:
            for _ in range(BATCH):
                try:
                    frame = os.read(handle, 65536)
                except OSError:
                    break
                ways[handle][0].offer(frame, time.monotonic())
        now_s = time.monotonic()
        for way, out in ways.values():
            for frame in way.due(now_s):
                # the device may be down, or its queue full: the frame is lost
                with contextlib.suppress(OSError):
                    os.write(out, frame)


def main() -> None:
    first, second, delay_s, loss, rate_bit_s, seed = sys.argv[1:7]
    a, b = tap(first), tap(second)
    asked = float(delay_s), float(loss), float(rate_bit_s)
    print("ready", flush=True)
    carry(a, b, Direction(*asked, int(seed)), Direction(*asked, int(seed) + 1))


if __name__ == "__main__":
    main()
