"""`shakedown tune hpl`: find the fastest configuration of HPL on this machine, by measuring, within a budget.

    space.py      the axes and their values here            -> Space
    prior.py      what a run should take (prediction/)      -> Predict, from Rates learnt of the trials
    search.py     which run comes next: a generator         Request -> Trial -> Request ...
    history.py    what the trials say; costs of further runs
    paired.py     comparing what ran in the same blocks     -> effects with intervals
    windows.py    parts of a run -> the whole
    loop.py       the budget, and answers from the journal  (the only place that knows the time)
    journal.py    trials.jsonl: every run, kept at once
    program.py    a Request carried out by the ``hpl`` workload -> Trial
    effects.py    what mattered and by how much             -> Effect, Interaction
    outcome.py    everything above                          -> Result
    launch.py     HPL.dat, and the command lines that run it
    explain.py    the result in words;  page.py: report.html

What decides is pure: the same trials lead to the same requests, so a search that was interrupted goes on by answering
its first requests from the journal, and the whole of it runs against a simulated machine in the tests.
"""
