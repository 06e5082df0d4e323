"""The state folder: runs and recipes that later commands start from. docs/state.md documents the format."""
