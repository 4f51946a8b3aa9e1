"""What a message that cannot be read raises."""

from __future__ import annotations

from ...errors import ShakedownError
from ..scene import FIRST_ID, LAST_ID


class Malformed(ShakedownError):
    """A message of others that cannot be read. ``what`` is its cause, one of a bounded number of texts: it is counted."""


BEYOND_IDS = f"an id that is not from {FIRST_ID} to {LAST_ID}"


def check_id(number: int) -> int:
    """The id of a radio. Raises Malformed where it cannot be one."""
    if not FIRST_ID <= number <= LAST_ID:
        raise Malformed(BEYOND_IDS)
    return number
