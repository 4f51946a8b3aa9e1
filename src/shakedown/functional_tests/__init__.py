"""Functional tests as Python programs: each is started as ``python -m shakedown.functional_tests.NAME`` by the workload of
its name, and prints the events of ``native/README.md`` through ``programs.emitter``. Nothing here is imported by the
harness. Two are no tests: ``application`` carries out the steps of a site's application and prints a transcript,
``alignment`` makes an input for two of them.
"""
