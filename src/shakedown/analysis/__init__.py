"""From run directories to one analysis: metrics of cases, findings with intervals, limits and their causes, and beside them
what was published. Pure but for reading the directory; only this room and those above it derive numbers from measurements.
"""
