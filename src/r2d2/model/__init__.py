"""Nouns: tables, schemas, profiles, graphs, evidence. Frozen dataclasses; standard library only."""
