"""What goes over the wire and lies in files: EMANE's events and EEL, NMEA, lines of JSON, traces of positions. All pure.

What others sent is decoded here and nowhere else. What cannot be raises ``Malformed`` with one of a few causes, so that a
server can count them; a file's reader raises BadInput with the line.
"""
