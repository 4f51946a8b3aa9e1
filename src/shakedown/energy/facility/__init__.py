"""The plant around the machine: PUE and its like, cooling, heat, as ratios of integrals with budgets."""
