"""The nouns: tables, schemas, profiles, graphs, evidence. Frozen, and made of the standard library only."""
