"""Where radios are at a time: pure functions of it. ``waypoint`` makes ways at random, ``tracks`` holds ways of any source.

The same seed gives the same ways on every machine, so that several hosts of an emulation agree on them without a word.
"""
