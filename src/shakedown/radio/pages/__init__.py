"""Pages of radio: the table of links with what it makes of the network, coverage maps, one link with every step drawn. Pure:
from records and arrays to documents, tables and pictures; `cli/` writes them."""
