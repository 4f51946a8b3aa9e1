"""A machine in production: whether it is there as promised, whether it is well, and who used it.

One folder a subject: ``availability`` (node states over time against a contract), ``health`` (checks of one node, now),
``burnin`` (all devices of a node at work), ``accounting`` (what the batch engine's records add up to), ``group_tests``
(rounds of collectives that show who is slow). They read; only what a verb is asked to do changes anything.
"""
