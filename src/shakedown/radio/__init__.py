"""Radio: the loss of every path between radios over terrain and through towns, on maps, live and in an emulated network.

``scene`` has the records (places, radios, the setting of a model, the budget of a link); ``terrain/`` reads heights of the
ground or makes them; ``engine`` speaks with the native program that finds the losses (native/radio_engine).
"""
