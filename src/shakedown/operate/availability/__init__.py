"""Availability of a machine over a contract's window, from the histories of its nodes.

    sources           history              segments          cumulative_downtime  evaluate              page, explain
    events, watch, -> History (columns) -> Segments       -> rates over time   -> AvailabilityReport -> html, text, json
    CSV, reporting    per node, states     of equal state    and its windows      with a verdict

``history`` holds who was there and what was recorded of whom; ``words`` says what recorded states and reasons mean;
``contract`` is what was agreed; ``segments`` lays all that on one time axis a node, where overlapping records count once;
``cumulative_downtime`` adds up and slides the window. All times are Unix seconds in integers, all weights integers, so
that a verdict at the limit is exact: nothing is rounded before it is shown.

Three things that are easily confused are kept apart throughout: a node that was *down*, one that was *not observed* (the
watch had a gap, nobody knows), and one that was *not scheduled* (an exclusion of the contract, or not there at all).
"""
