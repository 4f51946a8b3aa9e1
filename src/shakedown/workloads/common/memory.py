"""The refusal of what would not fit into a host's memory."""

from __future__ import annotations

from ...errors import BadInput
from ...records import Host
from ...units import show_bytes


def check_room(where: str, what: str, need_bytes: int, host: Host, hint: str) -> None:
    """Raises BadInput where ``what`` needs more memory than this process may take of the host; ``where``: the parameter."""
    room = host.memory.room_bytes
    if need_bytes > room:
        raise BadInput(
            f"{where}: {what} need {show_bytes(need_bytes)}, and {show_bytes(room)} are free on {host.name}", hint=hint
        )
