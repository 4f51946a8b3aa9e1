"""One kind of layer a file, each with one constant ``KIND``."""
