"""Acceptance: requirement -> test -> evidence -> verdict, and a report to be signed.

    plan.toml --plan, checking--> AcceptancePlan   what must be shown, how, and at which number
    AcceptancePlan --running, forms--> evidence    one attempt after the other, each sealed in the journal
    journal + evidence --verdict--> Result         verdicts: made again from the evidence each time, never typed in
    Result --page, pdf--> HTML, PDF, md, JSON      with the checksums of all that they rest on

An acceptance directory is an archive: ``directory.py`` names its files, ``journal.py`` chains its entries by their
hashes, and ``sealing.py`` tells what was changed, removed or added since.
"""
