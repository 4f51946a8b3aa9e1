"""A campaign handed to a batch engine: submitted, followed, submitted again where it was cut short."""
