"""One site for all runs: an offline folder of pages over any number of run directories, acceptances and health records.

    folders --find--> places --gather, in parallel--> Fleet --judge--> what stands out --pages--> records --write--> HTML

``find.py`` walks the folders, ``gather.py`` reads the summary of each run into columns, ``fleet.py`` holds them by figure
and node, ``judge.py`` says which nodes are slow or worse, ``others.py`` reads acceptances and health records, ``beside.py``
lays published systems beside. ``overview.py`` and the files of single pages make a record of each, and ``write.py`` renders
those that changed. The same input gives the same bytes.
"""

from __future__ import annotations
