"""How anything is put on disk or read from it: whole or not at all, one writer at a time, packed or not.

    atomic.py     a file that is there is whole: written beside, flushed, renamed, with its mode bits; room kept for a note
    journal.py    lines only ever added, one writer at a time, each on the disk before anything follows from it
    locks.py      one holder at a time, where the file system can
    packed.py     files that users bring, packed or not
    parquet.py    a query's rows as a file, whole or not at all; texts as SQL takes them

Nothing else renames, locks or flushes files, but for what measures a disk and the sampler's raw readings.
"""
