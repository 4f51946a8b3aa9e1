"""Where the ranks of an MPI job run, what is wrong with that, and what it costs.

``command_line`` puts a small watcher (``native/placement``) in front of each rank of any launcher's command, ``launch``
starts it and keeps what the watchers saw, ``records`` is that. ``diagnosis`` names what is wrong, in words with its
evidence, by the rules of ``sharing`` and ``memory``; ``price`` makes a factor with an interval of paired launches;
``recorded`` reads the same from runs of Shakedown's own programs. All but ``launch`` is pure.
"""
