"""Where bytes lie: listing, opening and versions of files."""
