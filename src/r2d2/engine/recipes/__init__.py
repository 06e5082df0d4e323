"""Search for recipes and try them."""
