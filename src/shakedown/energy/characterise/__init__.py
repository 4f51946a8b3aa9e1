"""What a meter does to the truth, found out by a load that we drive: experiments, the fit, its page."""
