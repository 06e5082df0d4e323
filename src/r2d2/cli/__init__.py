"""What the user types (DESIGN: a contract; extend it, do not rename)."""
