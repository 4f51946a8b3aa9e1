"""What a program can be started under: natively, in namespaces, in a container, behind a command of the site's.

``asked`` reads what a user writes (``--under``), ``model`` says what a kind is; ``kinds/`` has one file a kind, with one
constant ``KIND``. ``start`` makes the words that stand in front of a program, with a witness (`native/witness`) on both
sides of them; ``witness`` reads what those saw and judges whether the program was where it was to be. What is requested
is never believed: a run without that proof has no result.
"""
