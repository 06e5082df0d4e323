"""Read recipes written as SELECT."""
