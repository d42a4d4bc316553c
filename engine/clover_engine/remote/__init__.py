"""Other people's engines, reached over HTTP, behind the same `CanvasRequest`. No torch."""
