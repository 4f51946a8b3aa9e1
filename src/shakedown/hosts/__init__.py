"""A host as the harness meets it: files, commands, clock, processes, names of hosts, what else it was doing."""
