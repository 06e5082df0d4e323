"""Parquet: footers, statistics, slices."""

NAME = "parquet"
