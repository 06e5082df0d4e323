"""Delete tables so that no row is lost: journal, quarantine, pins, drills, restore. docs/safety.md is the contract.

Start reading at `operations.py` (the list of operations of an apply) and `apply.py` (which performs them).
"""
