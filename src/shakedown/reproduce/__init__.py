"""The evaluation of a published document done again on the user's machine: every table and figure of it is a row, with what
it prints (by reference to ``published/``), the runs of ours that answer it, and how the two are drawn together.

    names() / load(name) -> Evaluation       check(evaluation) -> problems           model.py: the file, key for key
    planned(evaluation, machine) -> rows with their runs, cost and what is missing   choosing.py
    chosen(rows, only, budget_s) -> Choice;  text(choice) -> a campaign for run.session
    answers(evaluation, run directories) -> Answer of every row                      answering.py
    document(evaluation, answers) -> the page                                        page.py

A document is one TOML file in ``shipped/``; nothing else is edited for a new one.
"""

from __future__ import annotations

from .model import Evaluation, Row, Theirs, check, load, names, parse

__all__ = ["Evaluation", "Row", "Theirs", "check", "load", "names", "parse"]
