"""Search for the condition that picks a child's rows."""
