"""The playground: a local page with an editor, which shows how the engine writes."""
