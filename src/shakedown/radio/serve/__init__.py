"""Losses of moving radios, live: positions come in, and every half second what changed goes out.

    inputs -> Radios -> Updater (a thread of its own: the engine, Book) -> Outbox, Reader, EEL file
              who moved     losses, what to send                            paced, never waiting for anybody

``loop.serve`` is the thin loop at the edge; all else decides without a clock or a socket: ``schedule`` what is due,
``radios`` what is a position, ``book`` what is sent, ``readers`` who is too slow, ``tally`` what is said of it.
"""
