"""Collective operations against what they should take: bounds from messages between two ranks, and mock-ups.

Pure. ``bounds.py`` has the formulas, ``guidelines.py`` decides what is slower than its mock-up, ``cures.py`` names settings
that cure it, ``findings.py`` lays all of it beside the findings."""
