"""From readings to energy with its uncertainty: pure functions over traces, numpy and scipy inside.

Trace (trace.py)  ->  energy of a phase (phase.py: counters, integrals, padded windows, forward model)  ->  Quantity
Character (character.py): what a meter does to the truth, found by characterise/
Quantity (quantity.py): value, uncertainty, the budget behind it
levels.py: the rules of the EE HPC WG    facility.py: heat, PUE, COP    archive.py: months of many nodes
"""
