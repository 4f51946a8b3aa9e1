"""How anything is put on disk or read from it: whole or not at all, one writer at a time, packed or not.

atomic.py     a file that is there is whole: written beside, flushed, renamed; with its mode bits; and room kept for a note
journal.py    lines only ever added, one writer at a time, each on the disk before anything follows from it
locks.py      one holder at a time, where the file system can
packed.py     folders as one packed file
"""
