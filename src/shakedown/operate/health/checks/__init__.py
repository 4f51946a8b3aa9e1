"""One check a file, each with one constant ``CHECK``; names that begin with ``_`` are parts of checks."""
