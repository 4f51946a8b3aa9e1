"""Somebody else's files of power: what their tables hold, told before it is written as a trace of ours."""
