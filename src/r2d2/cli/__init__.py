"""The command line (a contract: extend it, do not rename)."""
