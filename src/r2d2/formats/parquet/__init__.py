"""Parquet: footers, statistics, slices."""
