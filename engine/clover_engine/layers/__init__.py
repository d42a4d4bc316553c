"""The layers that models share."""
