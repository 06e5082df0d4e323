"""Arithmetic on edges and pairs that steps share."""
