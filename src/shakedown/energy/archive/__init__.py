"""Months of readings of many nodes, in Parquet, through DuckDB: energy per job, per node and per hour."""
