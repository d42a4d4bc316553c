"""The language server: editors in, canvas requests out."""
