"""What a run left: output -> Measurement, and the run directory in which it is kept."""
