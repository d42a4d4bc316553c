"""One file an architecture."""
