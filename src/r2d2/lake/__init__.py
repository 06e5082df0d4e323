"""The lake: which tables there are, what their metadata says, and how a slice of one is read."""
