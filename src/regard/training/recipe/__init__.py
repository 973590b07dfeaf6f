"""What a run is: its recipe, the defaults, and all that follows from what was said."""
