"""Burn-in: every device of a node at work at once, for minutes to days, and what went wrong first.

``devices`` (what there is to burn in) -> ``records.BurninPlan`` -> ``supervise`` starts one worker a device
(native/burnin) and reads what they tell, looks at clocks, heat, power, error counters and the kernel's log (``monitor``),
writes all that matters into ``journal``; ``state`` folds a journal into a verdict, during the run and years later alike.
"""
