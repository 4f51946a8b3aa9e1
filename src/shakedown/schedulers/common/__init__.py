"""What several batch engines share."""
