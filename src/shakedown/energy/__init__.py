"""From readings to energy with its uncertainty: pure functions over traces, numpy and scipy inside.

Trace (metering/trace.py)  ->  energy of a phase (phase.py: counters, integrals, padded windows, forward model)  ->  Quantity
Character (metering/character.py): what a meter does to the truth, found by characterise/
Quantity (uncertainty/quantity.py): value, uncertainty, the budget behind it
green500/: the rules of the EE HPC WG    facility/: heat, PUE, COP    archive/: months of many nodes
"""
