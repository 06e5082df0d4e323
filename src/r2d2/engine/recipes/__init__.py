"""Search for recipes, run them, and compare their output with the child."""
