"""Rebuild and compare tables by values with Spark's own reader; no code is shared with the scan."""
