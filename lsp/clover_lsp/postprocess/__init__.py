"""From what the model wrote to what is worth showing: small pure rules, each on plain strings."""

from clover_lsp.postprocess.brackets import only_closers
from clover_lsp.postprocess.specials import with_newlines

__all__ = ["only_closers", "with_newlines"]
