"""View models and their JSON: what the terminal draws, `--json` prints, and a page or notebook shows."""
