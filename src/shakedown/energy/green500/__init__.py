"""The EE HPC WG's rules (data in ``rules/``): a submission, its aspects, its level, and what is handed in."""
