"""Histories of runs: is it still as good, and if not, since when and why. ``gather.py`` finds series in run directories,
``chart.py`` and ``levels.py`` find changes at a chosen rate of false alarms, ``explain.py`` ranks what changed with them,
``judge.py`` says what it comes to."""

from __future__ import annotations

from .gather import Histories, HistoryRun, Key, directories, read, renamed, unfit
from .judge import judged

__all__ = ["Histories", "HistoryRun", "Key", "directories", "judged", "read", "renamed", "unfit"]
