"""Demonstrations that are Python programs: each is started as ``python -m shakedown.functional_tests.NAME`` by the workload
of its name, and prints the events of ``native/README.md`` through ``programs.emitter``. Nothing here is imported by the
harness.
"""
