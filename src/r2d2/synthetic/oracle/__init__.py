"""The right answers for made lakes, counted the slow way."""
