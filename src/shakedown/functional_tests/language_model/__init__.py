"""A small language model that is trained: its numbers, a step in JAX on each rank, and the same steps in numpy with
float64.

Nothing here needs a package of ours, so that it runs under whatever Python has JAX: ``training.py`` beside this folder
starts ``rank.py`` there."""
