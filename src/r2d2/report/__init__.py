"""What a person or a machine gets to see: frozen objects, rendered to terminal, JSON, CSV or HTML."""
