"""How bytes become tables."""
