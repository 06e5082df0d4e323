"""Spark: the session, and one file per job. Nothing outside this package sees a DataFrame."""
