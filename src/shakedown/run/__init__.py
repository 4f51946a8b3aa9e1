"""The story of a run: what a person asks for (``session``), done here (``harness``: plan, ``loop`` over ``single`` runs as
``schedule`` says), over several hosts (``multihost``) or in jobs of a batch engine (``batch``). Nothing here prints: whoever
calls is told through an ``observer``.
"""
