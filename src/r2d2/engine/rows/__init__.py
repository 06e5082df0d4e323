"""Sample, look up, hash and compare rows."""
