"""Spark as a cluster of its own on the hosts of a job: what ``functional_tests/bigdata.py`` starts, asks and ends.

    bigdata.py --- orders over TCP, with a secret of the job ---> node.py on each host --- starts ---> master, worker
        |                                                             checks files, writes them out, cleans up
        +--- lines on standard input ---> app.py (the application, with pyspark) ---> executors of the workers

A node ends all that it started, and removes what was written, as soon as the connection to it closes: also when whoever
asked was killed. Nothing here is imported by the harness.
"""
