"""Plans of acceptances that tests begin with."""

from __future__ import annotations

#: Two requirements, and a command that answers the first.
TWO_REQUIREMENTS = """
name = "p"
title = "P"
[[requirement]]
id = "a"
clause = "1.1"
text = "A."
[[requirement]]
id = "b"
clause = "2.2"
text = "B."
[[test]]
id = "say"
requirements = ["a"]
kind = "command"
command = ["echo", "fine"]
expect = ["fine"]
"""

#: A test by a person for a requirement: ``LOOK % "b"``.
LOOK = """[[test]]
id = "look"
requirements = ["%s"]
kind = "manual"
steps = ["Look."]
[[test.field]]
name = "seen"
title = "Seen"
type = "yes-no"
expect = "yes"
"""
