"""Deleting tables so that no row is lost: journal, quarantine, pins, drills, restoring. docs/safety.md is its contract.

Start reading at `operations.py` (what an apply does, as a list) and `apply.py` (which does it).
"""
