"""The kinds of layers: one a file, each with one constant ``KIND``. A new one is a new file; nothing else is edited."""
