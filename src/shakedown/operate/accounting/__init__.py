"""Who used a machine, from the records that its batch engine keeps: use, waiting, efficiency, charges.

    sources        readers            jobs (one table)       settle             measure            document, csv, cli
    sacct, GE, ->  one file a form -> columns.COLUMNS    ->  attempts, twice -> AccountingReport -> page, tables, JSON
    PBS, LSF, CSV                     in DuckDB, on disk     open, clock jumps

``text`` parts a file into whole rows, whatever names hold, in pieces of bounded size; a reader turns pieces into rows of one
set of columns; ``settle`` decides what is one job, one attempt, one row too many; ``measure`` cuts at the window's edges and
adds up; ``tariff`` prices. Times are Unix seconds and amounts integers up to the end: the parts of a window, days or
projects, add up to the whole to the last second and the last cent. What an engine did not record is None, never zero.
"""
