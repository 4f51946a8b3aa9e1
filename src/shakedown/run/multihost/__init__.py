"""One campaign on many hosts at once: an agent on each, told each run by a line."""
