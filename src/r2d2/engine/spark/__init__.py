"""The Spark session and what it needs."""
