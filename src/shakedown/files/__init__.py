"""How anything is put on disk or read from it: whole or not at all, one writer at a time, packed or not."""
