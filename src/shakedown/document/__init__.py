"""What a page says, free of how it looks, and its drawings and tables: shared by all rooms that write pages. Pure."""
