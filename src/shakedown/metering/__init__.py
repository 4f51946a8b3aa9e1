"""Meters (``meters/``, one kind a file), read over time by a process of its own, and the traces that this leaves."""
