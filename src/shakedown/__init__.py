"""Shakedown takes a GPU/CPU cluster from installation to production. ARCHITECTURE.md maps the house."""

__version__ = "0.1.0"
