"""The state folder: runs, recipes and hashes that later commands start from. docs/state.md documents the format."""
