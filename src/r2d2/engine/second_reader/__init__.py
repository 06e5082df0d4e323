"""Spark's own reader: rebuild and compare tables by values, sharing nothing with the scan."""
