"""Is this node well, now: checks that are quick, that nothing can hang, and that never take "could not look" for "fine".

    health.toml + what the last call kept -> one child process a check -> findings -> table, JSON, Nagios, Prometheus, drain

A call forks one child for each check and each mount, gathers what they say and stops waiting after a few seconds: a child
that a driver or a file system holds in the kernel cannot be killed, so it is left, named, and not started again until it
is gone. What must outlive a call (counters, the cursor in the kernel's log, faults, load) is one small file. ``checks/``
holds one check a file; nothing here imports numpy, and the path of a plain check imports only msgspec besides the
standard library.
"""
