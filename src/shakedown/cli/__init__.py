"""The verbs: one a file, which parses, calls a room below and prints."""
