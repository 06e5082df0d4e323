"""View models and their JSON, for the terminal, `--json`, web pages and notebooks."""
