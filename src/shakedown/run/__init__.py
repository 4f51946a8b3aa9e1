"""Carrying out a plan: what runs now (``loop``), over several hosts (``multihost``), through a batch engine (``batch``)."""
