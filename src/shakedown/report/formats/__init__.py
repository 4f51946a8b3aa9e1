"""The formats of a report: one file each, with one constant ``REPORT``."""
