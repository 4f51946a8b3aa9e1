"""Measurements to findings with intervals, their limits and verdicts, and published systems beside them.

Pure but for reading run directories."""
