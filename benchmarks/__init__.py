"""Benchmarks: each prints ratios from one run and writes what it saw to results/, with machine, data and commit."""
