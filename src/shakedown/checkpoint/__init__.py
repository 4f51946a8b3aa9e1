"""How often to save an application's state and at which level, and what saved state on disk is worth.

    costs                mtti                  interval, pattern       plan                  page
    seconds by level  +  mean time to      ->  expected time by    ->  policies with      -> waste over
                         interrupt, range      formula, exactly        their intervals       the MTTI
                                               simulate: the check

``interval`` has the published formulas, ``pattern`` the exact expectation of nested levels, ``simulate`` draws failures and
knows neither. ``library`` calls the checkpoint library that applications use (native/checkpoint),
``session`` is that library for programs in Python, and ``installed`` knows where it lies.

*Waste* is what failures and the guard against them cost, as a share of useful time: T/Ts - 1, where Ts is the time that
the work takes on a machine that never fails and without checkpoints. An efficiency is 1/(1 + waste). Levels: 1 the node's
own storage, 2 a copy on a partner node, 3 erasure code over a group of nodes, 4 the global file system. A failure of class i
needs a checkpoint of level i or above. Failures are a Poisson process: without memory, at a constant rate.
"""
