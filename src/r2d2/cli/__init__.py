"""What the user types (a contract: extend it, do not rename)."""
