"""What a PCI Express link carries. Pure."""

from __future__ import annotations

#: Bytes a second of one lane one way, by generation: GT/s x encoding (8b/10b; 128b/130b from 3; 242 of 256 bytes of a flit
#: from 6) / 8. PCI Express Base Specification 6.0, chapters 4.2.1 to 4.2.3.
LANE_B_S = {
    1: 2.5e9 * 8 / 10 / 8,
    2: 5e9 * 8 / 10 / 8,
    3: 8e9 * 128 / 130 / 8,
    4: 16e9 * 128 / 130 / 8,
    5: 32e9 * 128 / 130 / 8,
    6: 64e9 * 242 / 256 / 8,
}
#: A write of 256 bytes, the usual largest payload, goes with 24 more: framing 4, header 16, CRC 4 (ibid., 2.2 and 4.2.2).
#: What copies reach in practice; flow control takes another one or two per cent.
PAYLOAD = 256 / 280


def bandwidth(generation: int, lanes: int) -> float | None:
    """Bytes a second one way, with all that frames them; None for a generation that is not known."""
    lane = LANE_B_S.get(generation)
    return lane * lanes if lane and lanes > 0 else None


def payload(generation: int, lanes: int) -> float | None:
    """Bytes a second that copies can reach one way."""
    raw = bandwidth(generation, lanes)
    return raw * PAYLOAD if raw is not None else None
