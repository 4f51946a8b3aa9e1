"""Which time a stamp means: a meter's clock against the host's and against the load, and two hosts' clocks."""
