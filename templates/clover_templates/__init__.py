"""Documents and templates: segmentation, placing, assembly and their checks."""
